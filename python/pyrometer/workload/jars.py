"""Jars that come with Pyrometer, as a workload's class names them.

Naming one must not fail where it was not built: the class is also loaded to be listed, and in the
runner process. Whether the jar is there is checked when the workload is launched.
"""

from __future__ import annotations

from pyrometer import _artifacts


def workloads_jar() -> str:
    """Absolute path of the jar with the programs of ``jvm/workloads``, built or not.

    Examples
    --------
    >>> workloads_jar().endswith("pyrometer-workloads.jar")
    True
    """
    return str(_artifacts.BUNDLED / "pyrometer-workloads.jar")
