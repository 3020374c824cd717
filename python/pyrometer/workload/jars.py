"""Jars that come with Pyrometer, as a workload's class names them.

Naming one must not fail where it was not built: the class is also loaded to be listed, and in the
runner process. Whether the jar is there is checked when the workload is launched.
"""

from __future__ import annotations

from typing import Any

from pyrometer import _artifacts
from pyrometer.errors import CapabilityError


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
        If the JVM cannot find it, for which py4j itself has no clear word.
    """
    found = spark._jvm
    for part in name.split("."):
        found = getattr(found, part)
    if type(found).__name__ == "JavaPackage":
        raise CapabilityError(
            f"Spark's JVM cannot find the class {name}",
            f"put {workloads_jar()} on spark.jars, beside your own; if it is missing: make bundled",
        )
    return found
