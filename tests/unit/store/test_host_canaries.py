"""Canaries of hosts: lines of an agent, and which of them was measured before a run's executors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyrometer.store.paths import RunPaths
from pyrometer.store.services.canaries import (
    CanaryLine,
    before,
    canaries_before,
    parse_canary,
    read_canaries,
)
from pyrometer.store.services.executors import Found

S = 10**9
BOOT = 1_700_000_000 * S
"""When the hosts' CLOCK_MONOTONIC was nothing, Unix time."""
RECORDED = Path(__file__).parents[2] / "fixtures" / "canary" / "host.ndjson"


def line(at_s: float, state: str = "measured", **more: Any) -> dict[str, Any]:
    """A line as agents write it; ``None`` takes a field away."""
    mono = int(at_s * S)
    said: dict[str, Any] = {
        "schema": "pyrometer/canary/1", "state": state,
        "begin_wall_ns": BOOT + mono - S // 2, "begin_mono_ns": mono - S // 2,
        "end_wall_ns": BOOT + mono, "end_mono_ns": mono, "reason": None,
    }  # fmt: skip
    if state == "measured":
        said |= {"alu_ns": [5, 7, 6], "latency_ns": [90.5], "copy_bytes_per_s": [8e9, 9e9]}
    return {name: one for name, one in (said | more).items() if one is not ...}


def read(*lines: dict[str, Any]) -> list[CanaryLine]:
    found = [parse_canary(json.dumps(one).encode()) for one in lines]
    assert None not in found
    return [one for one in found if one is not None]


def executor(seen_s: float, start_s: float | None, executor: str = "1") -> Found:
    start = None if start_s is None else int(start_s * S)
    seen = BOOT + int(seen_s * S)
    return Found("app", executor, "executor", 7, 7, start, seen_wall_ns=seen)


def test_the_last_canary_before_the_first_executor_counts_from_its_begin() -> None:
    lines = read(line(100), line(160), line(220), line(290, "not_free"), line(400))
    found = before(lines, [executor(305, 301), executor(239, 230.25), executor(500, 230)])
    assert found.line is not None
    assert (found.line.end_mono_ns, found.age_s) == (220 * S, 10.25)
    assert found.line.medians == {"alu_ns": 6, "latency_ns": 90.5, "copy_bytes_per_s": 8.5e9}


@pytest.mark.parametrize(
    "start_s",
    [
        None,
        # A shell of before that became the JVM.
        150,
        # The host had been suspended: its processes are told in another time.
        9000,
    ],
)
def test_without_a_begin_it_counts_until_the_executor_was_found(start_s: float | None) -> None:
    found = before(read(line(160), line(220)), [executor(235, start_s)])
    assert (found.line and found.line.end_mono_ns, found.age_s) == (220 * S, 15.0)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "had measured none"),
        ([line(900)], "had measured none"),
        ([line(10, "failed", reason="exit\nstatus: 3")], "failed: exit status: 3"),
        ([line(10, "failed"), line(20, "killed", reason="late")], "was killed: late"),
        ([line(10, "broken_off")], "was broken off"),
        ([line(10, "not_free", reason="executors are there")], "not free: executors are there"),
    ],
)
def test_where_none_was_measured_it_is_said_why(lines: list[dict[str, Any]], reason: str) -> None:
    found = before(read(*lines), [executor(235, 230)])
    assert (found.line, found.age_s) == (None, None)
    assert found.reason is not None
    assert reason in found.reason


def test_an_agent_that_does_not_say_when_is_not_guessed_about() -> None:
    found = before(read(line(10)), [Found("app", "1", "executor", 7, 7, 1)])
    assert found.line is None
    assert found.reason


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema": "pyrometer/canary/2"}, {"state": "dreamt"}, {"end_wall_ns": 1.5},
        {"end_mono_ns": -1}, {"begin_wall_ns": 1 << 63}, {"begin_mono_ns": None},
        {"alu_ns": []}, {"alu_ns": [0]}, {"alu_ns": [True]}, {"alu_ns": 5}, {"alu_ns": ["5"]},
        {"latency_ns": [-1]}, {"latency_ns": [10**400]}, {"copy_bytes_per_s": [1.0] * 65},
        {"alu_ns": ...}, {"schema": ...}, {"end_mono_ns": ...},
    ],
)  # fmt: skip
def test_what_is_no_line_is_left_out(wrong: dict[str, Any]) -> None:
    assert parse_canary(json.dumps(line(1, **wrong)).encode()) is None


def test_lines_that_an_agent_wrote_are_read() -> None:
    found = read_canaries(RECORDED)
    assert [one.state for one in found] == ["measured", "not_free", "measured"]
    for one in found:
        assert one.begin_mono_ns <= one.end_mono_ns
        assert one.begin_wall_ns <= one.end_wall_ns
    first = found[0]
    assert {name: len(values) for name, values in first.repetitions.items()} == {
        "alu_ns": 5, "latency_ns": 5, "copy_bytes_per_s": 5,
    }  # fmt: skip
    # A tenth of a second to a few, and loads of tens to hundreds of nanoseconds.
    assert 1e7 < first.end_mono_ns - first.begin_mono_ns < 2e10
    assert 10 < first.medians["latency_ns"] < 1000
    assert found[1].repetitions == {}


def test_lines_of_all_lives_of_an_agent_count_and_half_a_line_does_not(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    log = paths.eventlog / "app-20261126101112-0001"
    log.mkdir(parents=True)
    record = {
        "schema": "pyrometer/executor/1", "wall_ns": BOOT + 235 * S, "host": "node",
        "found": {"role": "executor", "app": log.name, "executor": "1", "pid": 7,
                  "pid_inside": 7, "start_ticks": 23_000},
    }  # fmt: skip
    texts = {
        ("18f", "node"): [json.dumps(line(160)), json.dumps(line(220)), json.dumps(record)[:9]],
        ("190", "node"): [json.dumps(line(220)), json.dumps(line(400))],
        ("18f", "other"): [json.dumps(line(230))],
    }
    for (attempt, host), lines in texts.items():
        folder = paths.shipped / "host" / "host" / attempt / host
        folder.mkdir(parents=True)
        (folder / f"canary-{host}.ndjson").write_text("\n".join(lines))
        if host == "node":
            late = record | {"wall_ns": BOOT + (235 + 1000 * (attempt == "190")) * S}
            (folder / "executor-23000-7.json").write_text(json.dumps(late))
    found = canaries_before(paths)
    assert found.keys() == {"node"}
    assert found["node"].line is not None
    assert (found["node"].line.end_mono_ns, found["node"].age_s) == (220 * S, 10.0)
