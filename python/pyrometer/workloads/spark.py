"""Which Spark and which Python the runner process uses.

Paths of the jars that come with Pyrometer, for the class of a workload.

A path must not fail where the jar was not built: the class is also loaded to be listed, and in the
runner process. Whether the jar exists is checked when the workload is launched.

Facts from the executed plan of a DataFrame (runs in the runner process, through py4j).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyrometer
from pyrometer import _artifacts
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.installation import install_spark


@dataclass(frozen=True)
class SparkInstall:
    """A Spark to run on.

    Parameters
    ----------
    home : Path
        Spark's home: holds ``bin/spark-submit`` and ``jars``.
    python : str
        Interpreter of the driver program.
    import_path : tuple of str
        First entries of ``PYTHONPATH``, so that the pyspark of this Spark is imported;
        empty where `python` finds it by itself.
    """

    home: Path
    python: str
    import_path: tuple[str, ...] = ()


def find_spark(spark_home: str | Path | None = None) -> SparkInstall:
    """Find the Spark to use.

    Parameters
    ----------
    spark_home : path, optional
        Spark's home, or a Python environment that holds pyspark (its interpreter is used then).
        Without it ``SPARK_HOME``, else the pyspark of this Python.

    Raises
    ------
    UsageError
        If the path holds no Spark.
    CapabilityError
        If there is no Spark at all.
    """
    if spark_home is None:
        spark_home = os.environ.get("SPARK_HOME") or None
    if spark_home is None:
        spec = importlib.util.find_spec("pyspark")
        if spec is None or spec.origin is None:
            raise CapabilityError(
                "no Spark: SPARK_HOME is not set and this Python has no pyspark",
                f"{install_spark()}, or set SPARK_HOME",
            )
        home = Path(spec.origin).parent
        if not _is_home(home):
            raise CapabilityError(
                f"no Spark: the pyspark of this Python has no bin/spark-submit and jars ({home})",
                "set SPARK_HOME to a Spark, or --set spark.home=PATH to an environment whose"
                " pyspark has them",
            )
        return SparkInstall(home, sys.executable)
    # Not resolved: the interpreter of a virtual environment is itself a link out of it.
    path = Path(os.path.abspath(spark_home))
    if _is_home(path):
        return SparkInstall(path, sys.executable, _bundled_pyspark(path))
    interpreter = path / "bin" / "python"
    homes = [p for p in sorted(path.glob("lib/python3*/site-packages/pyspark")) if _is_home(p)]
    if interpreter.exists() and homes:
        return SparkInstall(homes[0], str(interpreter))
    raise UsageError(
        f"{path} is neither a Spark home (bin/spark-submit and jars) "
        "nor a Python environment with pyspark",
        "give the folder that SPARK_HOME would name",
    )


def _is_home(path: Path) -> bool:
    return (path / "bin" / "spark-submit").is_file() and (path / "jars").is_dir()


def _bundled_pyspark(home: Path) -> tuple[str, ...]:
    library = home / "python" / "lib"
    archives = [library / "pyspark.zip", *sorted(library.glob("py4j-*-src.zip"))[-1:]]
    if len(archives) != 2 or not archives[0].is_file():
        raise UsageError(
            f"{home} holds no Python API (python/lib/pyspark.zip and py4j-*-src.zip)",
            "use a Spark distribution that includes PySpark",
        )
    return tuple(str(path) for path in archives)


def spark_version(home: Path) -> str | None:
    """Version of a Spark installation, by the name of its core jar."""
    for jar in sorted((home / "jars").glob("spark-core_*.jar")):
        match = re.fullmatch(r"spark-core_[0-9.]+-(.+)\.jar", jar.name)
        if match:
            return match[1]
    return None


def import_folder(cache_root: Path, module: str) -> Path:
    """Folder from which another Python can import Pyrometer and `module`, and nothing else.

    With our ``site-packages`` on its path it would import our pyspark, too. So the folder only
    holds links to the packages.

    Parameters
    ----------
    cache_root : Path
        The folder is created in ``import/`` below it.
    module : str
        Module of the workload.
    """
    sources = {"pyrometer": Path(pyrometer.__file__).parent}
    top = module.partition(".")[0]
    spec = importlib.util.find_spec(top)
    if spec is not None and spec.origin is not None:
        origin = Path(spec.origin)
        sources.setdefault(top, origin.parent if origin.name == "__init__.py" else origin)
    digest = hashlib.sha256(repr(sorted(sources.items())).encode()).hexdigest()[:16]
    folder = cache_root / "import" / digest
    folder.mkdir(parents=True, exist_ok=True)
    for source in sources.values():
        link = folder / source.name
        if not link.exists():
            # Linked under another name first: two processes may do this at once.
            temporary = folder / f".{source.name}.{os.getpid()}"
            temporary.unlink(missing_ok=True)
            temporary.symlink_to(source)
            temporary.replace(link)
    return folder


def workloads_jar() -> str:
    """Absolute path of the jar with the programs of ``jvm/workloads``, built or not.

    Examples
    --------
    >>> workloads_jar().endswith("pyrometer-workloads.jar")
    True
    """
    return str(_artifacts.BUNDLED / "pyrometer-workloads.jar")


def java_class(spark: Any, name: str) -> Any:
    """Class `name` of the JVM of a session, to call its static methods through py4j.

    Raises
    ------
    CapabilityError
        If the JVM cannot find it; the error of py4j is not clear.
    """
    found = spark._jvm
    for part in name.split("."):
        found = getattr(found, part)
    if type(found).__name__ == "JavaPackage":
        raise CapabilityError(
            f"Spark's JVM cannot find the class {name}",
            f"put {workloads_jar()} on spark.jars, beside your own",
        )
    return found


def executed_plan(frame: Any) -> str:
    """Text of the physical plan that ran, or would run."""
    return str(frame._jdf.queryExecution().executedPlan().toString())


def scanned_rows(frame: Any) -> int:
    """Rows that the scans of an executed DataFrame produced, by their own SQL metric.

    Only for plans whose scans are in sight from the root: not below adaptive query stages.
    """
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    return sum(
        int(leaves.apply(i).metrics().apply("numOutputRows").value()) for i in range(leaves.size())
    )
