from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.explain.causes import log
from tests.support.explain.planted import judged
from tests.support.tables import MS

from pyrometer.explain.catalogue.memory.heap_oversized import RULE
from pyrometer.explain.schema import Note

MIB = 1 << 20


def noted(
    folder: Path, heap: str, peak_mib: int, gc_ms: int = 0, unified_mib: int = 0, **conf: str
) -> list[Note]:
    """Eight tasks of 1 s in a heap of which so much was in use at most."""
    made = log(
        [{"ms": 1000, "jvm_gc_time_ns": gc_ms * MS} for _ in range(8)],
        **{"spark.executor.memory": heap, **conf},
    )
    metrics = {"JVMHeapMemory": peak_mib * MIB, "OnHeapUnifiedMemory": unified_mib * MIB}
    made.rows["executors"][0]["peak_metrics"] = json.dumps(metrics)
    found = judged(made.write(folder), RULE)
    assert found.findings == []
    return found.notes


def level(notes: list[Note]) -> Any:
    (note,) = notes
    assert note.remedies[0].factor == "spark.executor.memory"
    return note.remedies[0].level


def test_an_eighth_of_the_heap_is_used(tmp_path: Path) -> None:
    assert level(noted(tmp_path, "8g", 1000)) == "1024m"


def test_collections_must_not_become_dear(tmp_path: Path) -> None:
    # A hundredth of the time, and two more: a third of what is free is enough.
    assert level(noted(tmp_path, "8g", 1000, gc_ms=10)) == "3584m"
    assert noted(tmp_path / "dear", "8g", 1000, gc_ms=300) == []


def test_what_spark_holds_must_fit_into_its_share(tmp_path: Path) -> None:
    # 1800 MiB are 60 % of 3000 MiB, and 300 MiB stand beside them.
    assert level(noted(tmp_path, "8g", 1900, unified_mib=1800)) == "3328m"


def test_more_than_half_is_used(tmp_path: Path) -> None:
    assert noted(tmp_path, "8g", 5000) == []


def test_without_peaks_it_is_not_judged(tmp_path: Path) -> None:
    found = judged(log([{"ms": 1000} for _ in range(8)]).write(tmp_path), RULE)
    assert found.notes == []
    assert "peaks" in found.unjudged[0].missing
