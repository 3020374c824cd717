"""A configuration in the words of who deploys: spark-defaults.conf, a command, a diff. Pure."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyrometer.collect.launch.command import understand, with_java_options, with_settings
from pyrometer.collect.launch.jvm_options import with_more
from pyrometer.collect.launch.option_text import join_options, reader_of, split_options
from pyrometer.collect.launch.properties import entries, written
from pyrometer.collect.launch.treatment import apply_treatment
from pyrometer.core.redaction import Redactor
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.layout import EXECUTOR_MEMORY, Layout, executor_mib, resolve_layout
from pyrometer.tune.space.levels import with_unit
from pyrometer.tune.trials.unapplied import OPTIONS

DRIVER_OPTIONS, DRIVER_MEMORY = OPTIONS[0], "spark.driver.memory"
MASTER = "MASTER"
"""Stands for the master of a cluster, which only who deploys knows."""


@dataclass(frozen=True)
class Deployed:
    """A configuration as it is deployed.

    Attributes
    ----------
    settings : dict of str to str
        Spark settings, JVM options among them.
    otherwise : dict of str to str
        Levels that no Spark setting expresses: of the host, or of the job's own code.
    executors : str or None
        Executors apart from the driver, as trials had them on one machine; ``None``: none.
    """

    settings: dict[str, str]
    otherwise: dict[str, str] = field(default_factory=dict)
    executors: str | None = None

    @property
    def conf(self) -> str:
        """Part of a ``spark-defaults.conf``."""
        width = max(map(len, self.settings), default=0)
        return "".join(
            f"{written(name, value, ' ' * (width - len(name) + 2))}\n"
            for name, value in self.settings.items()
        )

    @property
    def options(self) -> str:
        """Options of ``spark-submit``."""
        words: list[str] = []
        for name, value in self.settings.items():
            if name == DRIVER_MEMORY:
                words += ["--driver-memory", value]
            elif name == "spark.master":
                words += ["--master", value]
            else:
                words += ["--conf", f"{name}={value}"]
        return shlex.join(words)


def deployed(
    configuration: Mapping[str, str],
    declared: Mapping[str, list[str]] | None = None,
    said: Mapping[str, str] | None = None,
) -> Deployed:
    """Translate a configuration.

    Parameters
    ----------
    declared : mapping, optional
        Factors that the workload declares, with their levels.
    said : mapping, optional
        Settings that the job had in all trials.

    Examples
    --------
    >>> found = deployed({"spark.sql.shuffle.partitions": "8", "jvm.gc": "parallel"})
    >>> print(found.conf, end="")
    spark.sql.shuffle.partitions     8
    spark.driver.extraJavaOptions    -XX:+UseParallelGC
    spark.executor.extraJavaOptions  -XX:+UseParallelGC
    >>> deployed({"jvm.heap": "2g"}).options
    '--conf spark.executor.memory=2048m --driver-memory 2048m'
    """
    own = {name: level for name, level in configuration.items() if name in (declared or {})}
    rest = {name: level for name, level in configuration.items() if name not in own}
    parsed = parse_treatment([f"{name}={level}" for name, level in rest.items()], {})
    layout = resolve_layout(parsed)
    applied = apply_treatment(parsed, layout, None)
    settings = _of_cluster(applied.force, layout) if layout.executors else dict(applied.force)
    for name, more in zip(
        OPTIONS,
        ((*applied.driver_options, *applied.jvm_options), applied.jvm_options),
        strict=True,
    ):
        if more:
            settings[name] = join_options(more)
    ours = {name for name in rest if name.startswith(("spark.", "jvm.", "layout."))}
    otherwise = {name: level for name, level in configuration.items() if name not in ours}
    executors = None
    if layout.executors:
        theirs = f"{executor_mib(said or {}) or layout.heap_mib}m"
        memory = settings.get(EXECUTOR_MEMORY, theirs)
        cores = f"{layout.slots} core{'s' * (layout.slots != 1)}"
        executors = f"{layout.executors} × {cores} × {memory}"
    return Deployed(settings, otherwise, executors)


def _of_cluster(forced: Mapping[str, str], layout: Layout) -> dict[str, str]:
    """Say executors as managers of clusters take them: trials had a master that is for tests."""
    return {
        **{name: value for name, value in forced.items() if name != "spark.master"},
        "spark.executor.instances": str(layout.executors),
        "spark.executor.cores": str(layout.slots),
    }


def beside(found: Deployed, said: Mapping[str, str]) -> Deployed:
    r"""Put JVM options behind those of the job, as in the trials.

    Parameters
    ----------
    said : mapping of str to str
        Settings of the job's own command and files.

    Examples
    --------
    >>> ours = Deployed({"spark.driver.extraJavaOptions": "-XX:+UseParallelGC"})
    >>> beside(ours, {"spark.driver.extraJavaOptions": "-Da=1"}).conf
    'spark.driver.extraJavaOptions  -Da=1 -XX:+UseParallelGC\n'
    """
    settings = dict(found.settings)
    for name in OPTIONS:
        if name in settings and said.get(name):
            ours = split_options(settings[name])
            settings[name] = with_more(said[name], ours, reader_of(name))
    return replace(found, settings=settings)


def to_type(
    argv: Sequence[str], found: Deployed, own: Deployed, pyspark: str | None = None
) -> str | None:
    """Give a job's command with its options changed; ``None``: nothing in it can say them.

    Parameters
    ----------
    found, own : Deployed
        With the job's own JVM options, and without them.
    pyspark : str, optional
        ``PYSPARK_SUBMIT_ARGS`` of the job.

    Examples
    --------
    >>> ours = Deployed({"spark.a": "2"})
    >>> to_type(["spark-submit", "--conf", "spark.a=1", "a.py"], ours, ours)
    'spark-submit --conf spark.a=2 a.py'
    >>> to_type(["python", "a.py"], ours, ours)
    "PYSPARK_SUBMIT_ARGS='--conf spark.a=2 pyspark-shell' python a.py"
    """
    settings = dict(found.settings)
    if found.executors:
        settings["spark.master"] = MASTER
    command = understand(argv)
    redacted = Redactor.of(argv).words
    if command.kind == "submit":
        return shlex.join(redacted(with_settings(argv, settings)))
    if command.kind == "python":
        words = ["spark-submit", *_words(pyspark or "")]
        said = shlex.join(Redactor.of(words).words(with_settings(words, settings))[1:])
        return f"PYSPARK_SUBMIT_ARGS={shlex.quote(said)} {shlex.join(redacted(argv))}"
    if command.kind != "java":
        return None
    # The JVM is started by these words: what is for the driver's are options of its own.
    options = split_options(own.settings.get(DRIVER_OPTIONS, ""))
    heap = settings.pop(DRIVER_MEMORY, None)
    settings.pop(DRIVER_OPTIONS, None)
    options += [] if heap is None else [f"-Xmx{heap}"]
    options += [f"-D{name}={value}" for name, value in settings.items()]
    theirs = [one for one in argv if not one.startswith(tuple(f"-D{name}=" for name in settings))]
    return shlex.join(redacted(with_java_options(theirs, options)))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text) or ["pyspark-shell"]
    except ValueError:
        return ["pyspark-shell"]  # A quote is not closed: Spark would not start with it.


def overruled(
    settings: Mapping[str, str],
    command: Mapping[str, str],
    said: Mapping[str, str],
    held: Mapping[str, str],
) -> list[str]:
    """Say which settings a file would not bring about, and what wins over it.

    Parameters
    ----------
    command : mapping of str to str
        What the job's command line says, and ``PYSPARK_SUBMIT_ARGS``.
    said : mapping of str to str
        What command line, files and environment say together.
    held : mapping of str to str
        What held in a run of the job as it is, as far as it is known.

    Examples
    --------
    >>> overruled({"spark.a": "2"}, {"spark.a": "1"}, {"spark.a": "1"}, {})
    ['the command itself says spark.a=1, which wins over spark-defaults.conf']
    >>> overruled({"spark.a": "2"}, {}, {}, {"spark.a": "1"})
    ['the program itself sets spark.a=1, which wins over spark-defaults.conf and the command line']
    """
    found, shown = [], Redactor().setting
    for name, value in settings.items():
        same = {with_unit(name, one) for one in (value, said.get(name, value))}
        if name in command and with_unit(name, command[name]) != with_unit(name, value):
            theirs = f"{name}={shown(name, command[name])}"
            found.append(f"the command itself says {theirs}, which wins over spark-defaults.conf")
        elif name in (*OPTIONS, *command) or with_unit(name, held.get(name, value)) in same:
            continue  # Options of JVMs that a run shows have ours among them.
        else:
            theirs = f"{name}={shown(name, held[name])}"
            found.append(
                f"the program itself sets {theirs}, which wins over spark-defaults.conf and the"
                " command line"
            )
    return found


def merged(text: str, settings: Mapping[str, str]) -> str:
    r"""Write settings into a ``spark-defaults.conf``: they win, and all else in it stays.

    Options of JVMs are kept as they are written, and ours stand behind them; those that say
    otherwise are dropped.

    Examples
    --------
    >>> old = "# ours\nspark.eventLog.enabled true\nspark.executor.memory = 1g\n"
    >>> print(merged(old, {"spark.executor.memory": "2g", "spark.executor.cores": "2"}), end="")
    # ours
    spark.eventLog.enabled true
    spark.executor.memory  2g
    spark.executor.cores  2
    """
    left = dict(settings)
    lines: list[str] = []
    theirs = entries(text)
    before = {one.name: one.value for one in theirs}
    for one in theirs:
        if one.name not in settings:
            lines += one.lines
        elif one.name in left:  # Said twice: the first place has the new value.
            value = left.pop(one.name)
            if one.name in OPTIONS:
                ours = split_options(value)
                value = with_more(before[one.name], ours, reader_of(one.name))
            lines.append(written(one.name, value))
    if left and lines and lines[-1].endswith("\\"):
        lines.append("")  # Else the first of ours would go on with theirs.
    lines += [written(name, value) for name, value in left.items()]
    return "".join(f"{line}\n" for line in lines)


def difference(before: str, after: str, name: str = "spark-defaults.conf") -> str:
    r"""Show what changes, as ``diff -u`` does; values of secret settings are struck out.

    Examples
    --------
    >>> before = "spark.my.password  plum\n"
    >>> print(difference(before, before + "spark.a  1\n"), end="")
    --- spark-defaults.conf (now)
    +++ spark-defaults.conf (tuned)
    @@ -1 +1,2 @@
     spark.my.password  *********(redacted)
    +spark.a  1
    """
    lines = difflib.unified_diff(
        _shown(before),
        _shown(after),
        f"{name} (now)" if before else "/dev/null",
        f"{name} (tuned)",
        lineterm="",
        n=2,
    )
    return "".join(f"{line}\n" for line in lines)


def _shown(text: str) -> list[str]:
    redactor, lines = Redactor(), list[str]()
    for one in entries(text):
        name, value = one.name, one.value
        shown = value if name is None else redactor.setting(name, value)
        if name is None or shown == value:
            lines += [redactor.text(line) for line in one.lines]
        else:
            lines.append(written(name, shown))
    return lines


def defaults(configuration: Mapping[str, str], known: Mapping[str, str | None]) -> str:
    """Write what holds today of the factors of a configuration, as far as it is known.

    Parameters
    ----------
    known : mapping of str to str or None
        Level that holds where nobody sets one, by factor.
    """
    today = {name: level for name in configuration if (level := known.get(name)) is not None}
    spark = {name: level for name, level in today.items() if name.startswith("spark.")}
    return Deployed(spark).conf
