"""Values of the workload contract: variants, data files, results, mismatches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Progress = Callable[[str, int, int], None]
"""``progress(what, done, total)``: `total` is 0 where unknown; equal to `done` at the end."""

PATTERN_SIGNS = "[]{}*?\\"
"""Signs that Hadoop takes for a pattern in a path that is read."""


def no_progress(what: str, done: int, total: int) -> None:
    """Report nothing: for callers that show no progress."""


@dataclass(frozen=True)
class Variant:
    """Something about a workload that can be varied.

    Parameters
    ----------
    levels : Mapping[str, str]
        Each level with a line on what it is.
    default : str
        The default level.
    doc : str
        What is varied.
    integer : bool
        Whether any positive integer is a level besides the named ones.
    text : bool
        Whether any text is one.
    joined : bool
        Whether several levels other than the default may be joined by ``+``.

    Examples
    --------
    >>> query = Variant({"all": "", "q1": "", "q2": ""}, "all", "", joined=True)
    >>> [query.accepts(level) for level in ("q1", "q1+q2", "q1+q9", "q1+all", "q1+")]
    [True, True, False, False, False]
    """

    levels: Mapping[str, str]
    default: str
    doc: str
    integer: bool = False
    text: bool = False
    joined: bool = False

    def accepts(self, level: str) -> bool:
        """Whether `level` is one of this variant's levels."""
        if self.joined and "+" in level:
            parts = level.split("+")
            return self.default not in parts and all(map(self._accepts_one, parts))
        return self._accepts_one(level)

    def _accepts_one(self, level: str) -> bool:
        return (
            self.text
            or level in self.levels
            or (self.integer and level.isdecimal() and int(level) > 0)
        )


@dataclass(frozen=True)
class Needs:
    """What must be installed before a workload can run.

    Parameters
    ----------
    python : tuple of str
        Packages that the data or the program imports, by import name.
    jars : tuple of str
        Jars the program needs on Spark's class path: absolute paths.
    spark_python : tuple of str
        Packages that the Python of the observed Spark must have, by import name.
    """

    python: tuple[str, ...] = ()
    jars: tuple[str, ...] = ()
    spark_python: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorkloadSpec:
    """One workload, fully specified: the value that is passed to the runner process.

    Parameters
    ----------
    name : str
        Registered name.
    entry : str
        ``module:class`` of the workload.
    levels : Mapping[str, str]
        A level for every variant of the workload.
    scale : str
        As asked for: ``test``, ``default``, ``seed`` or a number.
    size : int
        What the scale stands for, in the workload's `scale_unit`.
    """

    name: str
    entry: str
    levels: Mapping[str, str]
    scale: str
    size: int


@dataclass(frozen=True)
class DataFile:
    """One file of prepared data: path relative to its dataset, size in bytes, sha256 in hex."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Prepared:
    """Data ready to be read.

    Parameters
    ----------
    paths : Mapping[str, str]
        Absolute path of each table.
    files : Sequence of DataFile
        All files, paths relative to `root`, in sorted order.
    root : str
        Folder of the dataset in the cache; empty if the workload needs no data.
    facts : Mapping
        What is known about the data (row counts, expected results): JSON values.
    recipe : str
        Hash of everything that determines the bytes.
    """

    paths: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[DataFile] = ()
    root: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    recipe: str = ""

    @property
    def bytes(self) -> int:
        """Size of all files, in bytes."""
        return sum(file.bytes for file in self.files)

    def with_paths(self, **tables: str) -> Prepared:
        """Name the tables: each value is a path relative to `root`."""
        absolute = {name: f"{self.root}/{relative}" for name, relative in tables.items()}
        return replace(self, paths=absolute)

    def spark_path(self, table: str) -> str:
        r"""Path of a table where Spark reads: as the pattern of Hadoop that means nothing else.

        There ``g[1]`` would be ``g1``, and ``textFile`` would take ``a,b`` for two paths. Where
        Spark writes, a path is no pattern.

        Examples
        --------
        >>> print(Prepared({"sales": "/data/g[1]/a,b"}).spark_path("sales"))
        /data/g\[1\]/a{\,}b
        """
        path = "".join("\\" * (sign in PATTERN_SIGNS) + sign for sign in self.paths[table])
        return path.replace(",", r"{\,}")


@dataclass(frozen=True)
class PartResult:
    """Result of one part of a suite (a query).

    Parameters
    ----------
    name : str
        Name of the part, also the description of its Spark jobs.
    rows : int
        Rows of its result.
    checksum : str
        Order-insensitive checksum of its result.
    started_mono_ns, ended_mono_ns : int
        When it ran (CLOCK_MONOTONIC); 0 where the workload does not say.
    answer : sequence of rows
        The result itself, for `Workload.verify` and for a comparison with the first iteration's;
        written nowhere.
    error : str, optional
        Why it failed and has no result; the others ran all the same.
    """

    name: str
    rows: int
    checksum: str
    started_mono_ns: int = 0
    ended_mono_ns: int = 0
    answer: Sequence[Sequence[Any]] = field(default=(), repr=False)
    error: str | None = None

    def record(self) -> dict[str, Any]:
        """Give what is written to files: everything except the result itself."""
        return {key: value for key, value in vars(self).items() if key != "answer"}


@dataclass(frozen=True)
class IterationResult:
    """What one iteration produced.

    Parameters
    ----------
    rows : int
        Rows that the measured query produced.
    checksum : str
        Order-insensitive checksum of the result (`pyrometer.workloads.results`).
    counters : Mapping[str, int]
        What else `verify` looks at, for example rows that the scan read.
    parts : Sequence of PartResult
        Where the workload is a suite: the result of each query.
    answer : sequence of rows
        The result itself where `verify` compares numbers within a tolerance; written nowhere.
    ended_mono_ns : int
        When what is measured ended (CLOCK_MONOTONIC), where `run` computes something of its own
        after it, as a checksum of many rows; 0: when `run` returns.
    """

    rows: int
    checksum: str
    counters: Mapping[str, int] = field(default_factory=dict)
    parts: Sequence[PartResult] = ()
    answer: Sequence[Sequence[Any]] = field(default=(), repr=False)
    ended_mono_ns: int = 0


@dataclass(frozen=True)
class Mismatch:
    """A wrong result: what differs, the expected value and the actual one."""

    what: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, got {self.got}"


@dataclass(frozen=True)
class Truth:
    """What a run of a program is known to show, by construction.

    Parameters
    ----------
    quantity : str
        What is declared, in words.
    where : str
        The stage, task, operator, category or wait class that has it, in words.
    value : float
        The declared value, in `unit`.
    unit : str
        ``share`` (of what `of` names), ``ns``, ``bytes`` or ``count``, or how much there is of one
        for each other thing, which `of` counts: ``bytes per row``, ``count per ns``.
    tolerance : float
        Largest error of a correct measurement, in `unit`.
    measured_by : str, optional
        Where ``pyrometer show --json`` says it: names joined by dots, a row of a list chosen by
        one of its fields: ``ledger.slot_view.rows[path=task/run_queue].value_ns``.
    of : str, optional
        The same of what a share is taken of, or of what it is counted per.
    reason : str, optional
        Why nothing measures it, where `measured_by` is None.
    operator : str, optional
        The operator of the plan that has all CPU of the tasks except their start and end, for
        programs with such an operator.
    """

    quantity: str
    where: str
    value: float
    unit: str
    tolerance: float
    measured_by: str | None = None
    of: str | None = None
    reason: str | None = None
    operator: str | None = None

    def __post_init__(self) -> None:
        if (self.measured_by is None) == (self.reason is None):
            raise ValueError("a truth has either measured_by or a reason why nothing measures it")
        relative = self.unit == "share" or " per " in self.unit
        if self.measured_by is not None and relative != (self.of is not None):
            raise ValueError("a share or a rate, and nothing else, names what it is taken of")
