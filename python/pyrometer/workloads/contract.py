"""The `Workload` contract: what to implement for a program to be run, verified and measured.

Only the standard library is imported here, and the module of a workload must do the same: the
runner process loads both in the Python of the observed Spark, where only this package may be
installed. Libraries that generate data are imported inside `Workload.prepare`.

Workloads whose data are one generated dataset, which determines the right answer.
"""

from __future__ import annotations

import abc
import ast
import importlib
import importlib.util
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.workloads.spark import workloads_jar
from pyrometer.workloads.values import (
    DataFile,
    IterationResult,
    Mismatch,
    Needs,
    Prepared,
    Progress,
    Truth,
    Variant,
    WorkloadSpec,
    no_progress,
)

if TYPE_CHECKING:
    from pyrometer.workloads.data_cache import DataCache


SCALE_NAMES = ("test", "default", "seed")
PYTHON_SUFFIX = ".py"

GROUPS = {
    "catalogue": "Programs that are bound by something known",
    "suite": "Suites of queries",
    "truth": "Programs with a declared truth, to test measurements with",
}
"""Groups in which workloads are listed, in this order, each with its title."""


class Workload(abc.ABC):
    """A program that can be run by name, with generated data and a verified result.

    One object may prepare, run and verify any specification: all that an instance keeps of a run is
    what `setup` started, for that session and specification.

    Attributes
    ----------
    name : str
        What users type.
    group : str
        Where it is listed: one of `GROUPS`.
    engine : str
        What runs it: ``spark``, or ``process`` where it starts other programs and no Spark;
        `setup` and `run` get ``None`` for the session then.
    summary : str
        One line.
    description : str
        What it does and why it is worth measuring.
    source : str
        Where it comes from.
    expectation : str
        What a reader should expect to see.
    variants : Mapping[str, Variant]
        By factor name (``workload.variant``, ``data.codec``); users may type the last word only.
    scales : Mapping[str, int]
        Size for ``test``, ``default`` and ``seed``.
    scale_unit : str
        What a size counts, for example ``"rows of web_sales"``.
    scale_factor : int
        Size of scale factor 1, where a benchmark's standard has scale factors: users may type
        ``sf1``, ``sf0.1``. 0: there is none.
    least_scale : int
        Least size that can be made.
    needs : Needs
        What must be installed.
    repeats : bool
        Whether every iteration must give the first one's result, for programs without a known
        right answer: its checksum or, where results have an `answer`, the same rows, floating
        point within a tolerance.
    """

    name: ClassVar[str]
    group: ClassVar[str] = "catalogue"
    engine: ClassVar[str] = "spark"
    summary: ClassVar[str]
    description: ClassVar[str]
    source: ClassVar[str]
    expectation: ClassVar[str]
    variants: ClassVar[Mapping[str, Variant]] = {}
    scales: ClassVar[Mapping[str, int]]
    scale_unit: ClassVar[str]
    scale_factor: ClassVar[int] = 0
    least_scale: ClassVar[int] = 1
    needs: ClassVar[Needs] = Needs()
    repeats: ClassVar[bool] = False

    def annotation(self, spec: WorkloadSpec) -> str | None:
        """Name what its processes say of themselves, as ``pyrometer probe --annotate`` takes it."""
        return None

    def least_size(self, levels: Mapping[str, str]) -> int:
        """Least size that `prepare` takes; a variant that `levels` lacks has its default."""
        return self.least_scale

    @abc.abstractmethod
    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Build the data, or find it in the cache. Same specification, same bytes.

        Raises
        ------
        CapabilityError
            If the disk has too little room or a library is missing.
        """

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Spark settings that define this workload; the user's values win."""
        return {}

    def limits(self, spec: WorkloadSpec) -> dict[str, str | int | float]:
        """Limits of the host (factors ``cgroup.*``, ``cpu.quota``) that define this workload.

        They are applied to the whole application; the user's levels win.

        Raises
        ------
        CapabilityError
            If this host lacks what they need.
        """
        return {}

    def setup(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> None:  # noqa: B027
        """Do once per session, before the first iteration and outside of it (register views)."""

    def teardown(self, prepared: Prepared, spec: WorkloadSpec) -> None:  # noqa: B027
        """Clean up at the end, in any case: stop what `setup` started, even in part."""

    def read_files(self, prepared: Prepared, spec: WorkloadSpec) -> Sequence[str]:
        """Absolute paths of the files that `run` reads, once `setup` is done."""
        return [f"{prepared.root}/{file.path}" for file in prepared.files]

    @abc.abstractmethod
    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Run one iteration on a ``SparkSession``."""

    @abc.abstractmethod
    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare a result with what is known: ``None`` if it is right."""

    def truth(self, spec: WorkloadSpec) -> Truth | None:
        """Give what a run is known to show, for programs that declare it; else ``None``."""
        return None

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """Estimate of the disk that the data takes, in bytes; 0 if there is no data."""
        return 0

    def describe(self) -> dict[str, Any]:
        """Everything a reader needs to know, as JSON values."""
        return {
            "name": self.name,
            "group": self.group,
            "summary": self.summary,
            "description": self.description,
            "source": self.source,
            "expectation": self.expectation,
            "variants": {name: asdict(variant) for name, variant in self.variants.items()},
            "scales": dict(self.scales),
            "scale_unit": self.scale_unit,
            "needs": {word: list(names) for word, names in asdict(self.needs).items()},
        }


def load(entry: str) -> Workload:
    """Instantiate the workload at ``module:class``, or at ``/path/of/file.py:class``.

    Raises
    ------
    UsageError
        If it cannot be imported or is no workload.
    """
    module_name, _, attribute = entry.rpartition(":")
    try:
        workload = getattr(_module(module_name), attribute)()
    except PyrometerError:
        raise
    except Exception as error:
        raise UsageError(
            f"workload {entry} cannot be loaded: {type(error).__name__}: {error}",
            "correct it; its module may import only the standard library and pyspark",
        ) from error
    if not isinstance(workload, Workload):
        raise UsageError(
            f"{entry} is a {type(workload).__name__}, not a workload",
            "derive the class from pyrometer.workloads.contract.Workload",
        )
    return workload


def _module(name: str) -> ModuleType:
    """Import a module by its name, or by the absolute path of its file, which is its name then."""
    if not name.endswith(PYTHON_SUFFIX):
        return importlib.import_module(name)
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, name)
        if spec is None or spec.loader is None:
            raise ImportError(f"{name} is not a file of Python")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[name])
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def in_file(path: Path) -> Workload:
    """Instantiate the one workload that a file of Python defines.

    Raises
    ------
    UsageError
        If the file cannot be imported, or defines none or several. What has no class at all, as
        most programs, is not executed.
    """
    name = str(path.absolute())
    program = f"to run it as a program: pyrometer run -- spark-submit {shlex.quote(str(path))}"
    try:
        if not any(isinstance(one, ast.ClassDef) for one in ast.walk(ast.parse(path.read_bytes()))):
            raise UsageError(f"{path} defines no workload", program)
        module = _module(name)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(
            f"{path} cannot be imported: {type(error).__name__}: {error}",
            "correct it; at its top it may import only the standard library and pyspark",
        ) from error
    found = [
        key
        for key, one in vars(module).items()
        if isinstance(one, type) and issubclass(one, Workload) and one.__module__ == name
    ]
    if not found:
        raise UsageError(f"{path} defines no workload", program)
    if len(found) > 1:
        raise UsageError(
            f"{path} defines {len(found)} workloads: {', '.join(found)}",
            "define one class that is derived from pyrometer.workloads.contract.Workload",
        )
    return load(f"{name}:{found[0]}")


def prepared_to_json(prepared: Prepared) -> dict[str, Any]:
    """Turn `Prepared` into JSON values."""
    return asdict(prepared)


def prepared_from_json(value: Mapping[str, Any]) -> Prepared:
    """Build `Prepared` from the result of `prepared_to_json`."""
    known = {f.name for f in fields(Prepared)}
    files = tuple(DataFile(**file) for file in value.get("files", ()))
    return Prepared(**{**{k: v for k, v in value.items() if k in known}, "files": files})


def parse_scale(workload: Workload, scale: str) -> int:
    """Size that `scale` stands for: a name, a number, or a scale factor as ``sf0.1``.

    Raises
    ------
    UsageError
        If it is none of these, or less than can be made.
    """
    if scale in workload.scales:
        return workload.scales[scale]
    by_factor = workload.scale_factor > 0 and scale[:2].lower() == "sf"
    try:
        size = float(scale[2:]) * workload.scale_factor if by_factor else float(scale)
    except ValueError:
        size = 0.0
    words = f"one of {', '.join(workload.scales)}, or a number ({workload.scale_unit})"
    if workload.scale_factor:
        words += ", or a scale factor (sf1, sf0.1)"
    if not 0 < size < 1e15 or (not by_factor and size < 1):
        raise UsageError(f"{workload.name} has no scale {scale!r}", f"use {words}")
    if round(size) < workload.least_scale:
        raise UsageError(
            f"{workload.name} cannot be made at scale {scale}: the least is {workload.least_scale}"
            f" {workload.scale_unit}",
            f"use {words}",
        )
    return round(size) if by_factor else int(size)


NEEDS = Needs(python=("pyarrow", "numpy"))
NEEDS_JVM = replace(NEEDS, jars=(workloads_jar(),))
"""The same, and the programs that run in the JVM."""
ROOM = 1_000_000
"""Bytes that do not grow with the data."""


@dataclass(frozen=True)
class Dataset:
    """A dataset to build, or to find in the cache.

    Parameters
    ----------
    name : str
        Readable part of its folder's name.
    recipe : Mapping
        Everything that determines its bytes.
    build : callable
        ``build(folder, progress)`` writes the files and returns the facts.
    """

    name: str
    recipe: Mapping[str, Any]
    build: Callable[[Path, Progress], Mapping[str, Any]]


class GeneratedWorkload(Workload):
    """A workload of one dataset.

    Attributes
    ----------
    tables : Mapping[str, str]
        File or folder of each table, relative to the dataset.
    unit_bytes : int
        At most this many bytes are written for each unit of the scale.
    """

    needs = NEEDS
    tables: ClassVar[Mapping[str, str]]
    unit_bytes: ClassVar[int] = 20

    @abc.abstractmethod
    def dataset(self, spec: WorkloadSpec) -> Dataset:
        """Give the recipe of the data and the function that builds them."""

    def answer(self, spec: WorkloadSpec, prepared: Prepared) -> Dataset | None:
        """Give how the right answer is computed, if not with the data: a dataset of facts only."""
        return None

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """Estimate the size from the bytes of a unit."""
        return spec.size * self.unit_bytes + ROOM

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Build or find the data and the answer; give facts of both and paths of the data."""

        def ensure(what: Dataset, room: int) -> Prepared:
            return cache.ensure(
                what.name, what.recipe, what.build, bytes_needed=room, progress=progress
            )

        prepared = ensure(self.dataset(spec), self.bytes_needed(spec))
        prepared = prepared.with_paths(**self.tables)
        answer = self.answer(spec, prepared)
        if answer is None:
            return prepared
        found = ensure(answer, ROOM)
        return replace(
            prepared,
            facts={**prepared.facts, **found.facts},
            recipe=f"{prepared.recipe}+{found.recipe}",
        )
