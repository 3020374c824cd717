"""A configuration in the words of who deploys: spark-defaults.conf, spark-submit, a diff. Pure."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyrometer.collect.launch.jvm_options import with_more
from pyrometer.collect.launch.option_text import join_options, reader_of, split_options
from pyrometer.collect.launch.properties import entries, written
from pyrometer.collect.launch.treatment import apply_treatment
from pyrometer.core.redaction import Redactor
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.layout import resolve_layout

OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
"""Settings whose values add up: what a file says stays, ours stand behind it."""


@dataclass(frozen=True)
class Deployed:
    """A configuration as it is deployed.

    Attributes
    ----------
    settings : dict of str to str
        Spark settings, JVM options among them.
    otherwise : dict of str to str
        Levels that no Spark setting expresses: of the host, or of the job's own code.
    """

    settings: dict[str, str]
    otherwise: dict[str, str] = field(default_factory=dict)

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
            if name == "spark.driver.memory":
                words += ["--driver-memory", value]
            elif name == "spark.master":
                words += ["--master", value]
            else:
                words += ["--conf", f"{name}={value}"]
        return shlex.join(words)


def deployed(
    configuration: Mapping[str, str], declared: Mapping[str, list[str]] | None = None
) -> Deployed:
    """Translate a configuration.

    Parameters
    ----------
    declared : mapping, optional
        Factors that the workload declares, with their levels.

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
    settings = dict(applied.force)
    for name, more in zip(
        OPTIONS,
        ((*applied.driver_options, *applied.jvm_options), applied.jvm_options),
        strict=True,
    ):
        if more:
            settings[name] = join_options(more)
    said = {name for name in rest if name.startswith(("spark.", "jvm.", "layout."))}
    otherwise = {name: level for name, level in configuration.items() if name not in said}
    if layout.standalone:
        otherwise |= {name: level for name, level in rest.items() if name.startswith("layout.")}
    return Deployed(settings, otherwise)


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
        f"{name} (now)",
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
