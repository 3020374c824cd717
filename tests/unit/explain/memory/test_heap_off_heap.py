from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.explain.causes import log
from tests.support.explain.planted import judged

from pyrometer.explain.catalogue.memory.heap_off_heap import RULE
from pyrometer.explain.schema import Findings, Note

MIB = 1 << 20


def asked(folder: Path, peak_mib: int, heap_mib: int = 300, **conf: str) -> Findings:
    settings = {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "4g"}
    made = log([{"ms": 1000} for _ in range(8)], **{**settings, **conf})
    metrics = {"JVMHeapMemory": heap_mib * MIB, "OffHeapUnifiedMemory": peak_mib * MIB}
    made.rows["executors"][0]["peak_metrics"] = json.dumps(metrics)
    found = judged(made.write(folder), RULE)
    assert found.findings == []
    return found


def noted(folder: Path, peak_mib: int, **conf: str) -> list[Note]:
    return asked(folder, peak_mib, **conf).notes


@pytest.mark.parametrize(
    ("peak_mib", "factor", "level"),
    [
        (1000, "spark.memory.offHeap.size", "1024m"),
        (0, "spark.memory.offHeap.enabled", "false"),
    ],
)
def test_less_than_half_is_used(tmp_path: Path, peak_mib: int, factor: str, level: str) -> None:
    (note,) = noted(tmp_path, peak_mib)
    assert (note.remedies[0].factor, note.remedies[0].level) == (factor, level)


def test_most_of_it_is_used(tmp_path: Path) -> None:
    assert noted(tmp_path, 3000) == []


def test_a_run_that_ended_before_a_heartbeat_does_not_show_what_it_used(tmp_path: Path) -> None:
    found = asked(tmp_path, 0, heap_mib=0)
    assert found.notes == []
    assert "pollingInterval" in found.unjudged[0].remedy


def test_there_is_none(tmp_path: Path) -> None:
    assert noted(tmp_path, 0, **{"spark.memory.offHeap.enabled": "false"}) == []


def test_a_native_engine_uses_it_without_sparks_knowing(tmp_path: Path) -> None:
    assert noted(tmp_path, 0, **{"spark.plugins": "org.apache.gluten.GlutenPlugin"}) == []
