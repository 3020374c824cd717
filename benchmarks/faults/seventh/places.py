"""Where the seventh set's causes are, as their author names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

LARGEST = ({"stage_id": "main"},)
DRIVER = ({"layer": "driver"}, {"source": r".*_steps\.py.*"})
JVM = ({"layer": "jvm"}, {"setting": ".*(extraJavaOptions|memory|XX:).*"})
HOST = ({"layer": "host"}, {"layer": "os"}, {"layer": "machine"}, {"setting": ".*(master|cores).*"})


def writes(more: Sequence[Mapping[str, str]]) -> tuple[Mapping[str, str], ...]:
    """Give places at a write: its operators, its stage, and what the driver commits."""
    return (*more, *LARGEST, *DRIVER)
