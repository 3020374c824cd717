"""What a report leaves out: named once, with reasons, and only what has nothing to show."""

from __future__ import annotations

from typing import Any

from tests.support.report_fixture import manifest
from tests.support.summary_fixture import eventlog_only_summary, summary

from pyrometer.report.absent import absent
from pyrometer.report.data import build, key_figures

NO_FLAME = {"reason": "The run has no profiler samples."}


def found(source: dict[str, Any], flame: dict[str, Any]) -> dict[str, Any]:
    return absent(source, key_figures(source), flame)


def test_an_event_log_names_everything_that_it_cannot_have() -> None:
    made = found(eventlog_only_summary(), NO_FLAME)
    assert made["event_log_only"]
    assert {"cpu", "jvm", "waits", "hardware", "flame"} <= set(made["sections"])
    labels = [item["label"] for item in made["items"]]
    assert len(labels) == len(set(labels))
    assert {"process CPU", "GC pauses", "flame graph"} <= set(labels)
    assert all(item["reason"] for item in made["items"])
    reasons = {item["label"]: item["reason"] for item in made["items"]}
    assert "event log only" in reasons["process CPU"]


def test_a_measured_run_leaves_out_no_section_with_a_number() -> None:
    made = found(summary(), {})
    assert not made["event_log_only"]
    assert not {"cpu", "flame"} & set(made["sections"])
    one = summary()
    one["jvm"] = {"jit": {"compilations_count": 0, "reason": None}}
    assert "jvm" not in found(one, {})["sections"], "a zero is a number"
    one["jvm"] = {"jit": {"compilations_count": None, "by_tier": [], "reason": "no JIT log"}}
    one["memory"] = {}
    gone = found(one, {})
    assert "jvm" in gone["sections"]
    assert {"label": "GC, JIT compilation and safepoints", "reason": "no JIT log"} in gone["items"]


def test_tiles_hold_only_what_is_known() -> None:
    source = eventlog_only_summary()
    content = build(source, {}, None).content
    assert content["figures"]
    assert all(figure["value"] is not None for figure in content["figures"])
    assert content["absent"] == found(source, content["flame"])
    assert build(summary(), manifest(), None).content["figures"][0]["label"].startswith("Elapsed")


def test_the_first_tile_without_iterations_is_the_window_and_later_the_elapsed_view() -> None:
    source = eventlog_only_summary()
    source["window"] |= {"name": "application", "iterations": [], "length_ns": 418_000_000_000}
    # One iteration is invented for a bare command: it must not become "per iteration".
    source["iterations"] = [{"iteration": 0, "warmup": False, "status": "finished"}]
    first = key_figures(source)[0]
    assert (first["label"], first["value"]) == ("Elapsed", 418_000_000_000)
    source["elapsed"] = {"total_ns": 417_000_000_000}
    assert key_figures(source)[0]["value"] == 417_000_000_000
