"""Raw files of several hosts: which host each is from, and what an ingest makes of them."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from pyrometer.core.process_numbers import KEY
from pyrometer.store import Run
from pyrometer.store.axis.files import FileHosts
from pyrometer.store.ingest import ingest_run
from pyrometer.store.paths import RunPaths

S = 1_000_000_000
WALL = 1_700_000_000 * S
EAST, WEST = 500 * S, 90_000 * S
"""What the clocks of two hosts show when the driver's shows 100 s."""


def written(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in records))
    return path


def process(host: str, pid: int, role: str = "executor", mono: int = 0) -> dict[str, Any]:
    return {"k": "process", "role": role, "executor_id": role if role == "driver" else str(pid),
            "pid": pid, "host": host, "app_id": "app-1", "app_name": "x", "mono_ns": mono,
            "wall_ns": WALL, "java_version": "17", "jvm": "OpenJDK 17", "gc_names": ["G1"],
            "master": "yarn"}  # fmt: skip


def bye(mono: int) -> dict[str, Any]:
    return {"k": "bye", "mono_ns": mono, "wall_ns": WALL + 60 * S, "own_cpu_ns": 1}


def shipped(raw: Path, host: str, name: str) -> Path:
    return raw / "shipped" / "app-1" / "1" / "1700" / host / name


def test_a_jvm_s_files_are_of_the_host_that_its_plugin_names(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    paths = RunPaths(tmp_path)
    written(raw / "plugin-executor-1-71.ndjson", process("east", 71))
    written(raw / "plugin-executor-2-72.ndjson", process("west", 72))
    (raw / "probe-north-threads.arrows").write_bytes(b"")
    found = FileHosts.of_run(paths, "front")
    files = ["gc-71.log", "gc-72.log.3", "jit-72.log", "profile-executor-71.jfr",
             "codegen/codegen-executor-2-72.ndjson", "python-worker-71.ndjson", "gc-73.log",
             "gc.log"]  # fmt: skip
    assert found.of([raw / file for file in files]) == [
        "east", "west", "west", "east", "west", "east", "front", "front",
    ]  # fmt: skip
    assert found.several
    assert found.probes == {"north"}


def test_one_number_in_the_folders_of_two_hosts_is_of_each(tmp_path: Path) -> None:
    raw, paths = tmp_path / "raw", RunPaths(tmp_path)
    found = FileHosts.of_run(paths, "front")
    files = [shipped(raw, host, "gc-71.log") for host in ("node-1", "node%2D2")]
    assert found.of(files) == ["node-1", "node-2"]
    assert not found.several
    plugin = written(shipped(raw, "node-1", "plugin-executor-1-71.ndjson"), process("pod-a", 71))
    found.add(plugin, 71, "pod-a")
    # The JVM knows its host better than who shipped its files; so do files beside it.
    assert found.of([*files, shipped(raw, "node-1", "gc.log")]) == ["pod-a", "node-2", "pod-a"]


def test_executors_of_one_number_in_one_folder_are_told_apart_where_names_do(
    tmp_path: Path,
) -> None:
    raw, paths = tmp_path / "raw", RunPaths(tmp_path)
    written(raw / "plugin-driver-driver-62.ndjson", process("front", 62, "driver"))
    written(raw / "plugin-executor-0-62.ndjson", process("east", 62))
    written(raw / "plugin-executor-1-62.ndjson", process("west", 62))
    found = FileHosts.of_run(paths, "front")
    files = [raw / name for name in ("profile-executor0-62.jfr", "profile-executor1-62.jfr",
             "profile-driver-62.jfr", "codegen/codegen-executor-1-62.ndjson",
             "gc-executor0-62.log.1", "jit-executor1-62.log", "gc-driver-62.log")]  # fmt: skip
    assert found.of(files) == ["east", "west", "front", "west", "east", "west", "front"]
    assert found.shared(files) == []
    # Logs of older versions bear the number alone: whoever wrote a line of one is not known.
    log = raw / "gc-62.log"
    assert found.of([log]) == [None]
    assert found.shared([log]) == [(log, ["east", "front", "west"])]


def test_a_log_that_two_hosts_wrote_has_no_times_and_a_doubt(run: Path) -> None:
    raw = run / "raw"
    written(
        raw / "plugin-executor-73-71.ndjson", process("west", 71, mono=WEST), bye(WEST + 60 * S)
    )
    report = ingest_run(run)
    (doubt,) = [d for d in report.doubts if d.code == "file_of_several_hosts"]
    assert "gc-71.log" in doubt.message
    with Run.open(run) as opened:
        times = opened.tables.query(
            "SELECT host, start_mono_ns IS NULL FROM gc_pauses ORDER BY host NULLS LAST"
        )
    assert times == [("west", False), (None, True)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    raw = tmp_path / "raw"
    written(raw / "plugin-driver-driver-70.ndjson", process("front", 70, "driver", 100 * S),
            *({"k": "clock", "mono_ns": (100 + n) * S, "wall_ns": WALL + n * S}
              for n in range(60)), bye(160 * S))  # fmt: skip
    for host, pid, clock in (("east", 71, EAST), ("west", 72, WEST)):
        pings = [
            {"k": "ping", "sent_mono_ns": clock + n * S, "driver_mono_ns": 100 * S + n * S + 50_000,
             "received_mono_ns": clock + n * S + 100_000}
            for n in range(60)
        ]  # fmt: skip
        written(
            raw / f"plugin-executor-{pid}-{pid}.ndjson",
            process(host, pid, mono=clock),
            *pings,
            bye(clock + 60 * S),
        )
        stamp = clock + 30 * S
        (raw / f"gc-{pid}.log").write_text(
            f"[{stamp - 10 * S}ns][info][gc] Using G1\n"
            f"[{stamp}ns][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause)"
            " 10M->2M(64M) 5.000ms\n"
        )
    return tmp_path


def test_an_ingest_puts_all_hosts_on_the_drivers_clock(run: Path) -> None:
    report = ingest_run(run)
    assert [d.code for d in report.doubts if d.severity != "info"] == []
    with Run.open(run) as opened:
        hosts = opened.tables.query("SELECT host, clock, bound_ns FROM hosts ORDER BY number")
        pauses = opened.tables.query("SELECT host, pid, start_mono_ns FROM gc_pauses ORDER BY host")
        of_process = opened.tables.query(
            "SELECT p.host FROM gc_pauses g JOIN processes p USING (pid) WHERE p.host = g.host"
        )
    assert [host[:2] for host in hosts] == [
        ("front", "axis"), ("east", "messages"), ("west", "messages"),
    ]  # fmt: skip
    assert [(host, pid) for host, pid, _ in pauses] == [
        ("east", KEY + 71), ("west", 2 * KEY + 72),
    ]  # fmt: skip
    # Both paused 30 s after the beginning, for 5 ms.
    for _, _, start in pauses:
        assert abs(start - (130 * S - 5_000_000)) <= max(bound for *_, bound in hosts)
    assert len(of_process) == 2


def test_without_times_in_files_the_lines_give_them_and_doubts_of_clocks_stay(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(
        run / "raw" / "plugin-executor-73-73.ndjson", process("south", 73, mono=WEST), bye(WEST)
    )
    query = "SELECT host, start_mono_ns FROM gc_pauses ORDER BY host"

    def found() -> tuple[list[str], list[tuple[Any, ...]]]:
        report = ingest_run(run)
        with Run.open(run) as opened:
            return [doubt.code for doubt in report.doubts], opened.tables.query(query)

    doubts, pauses = found()
    assert "clock_unknown" in doubts

    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pyrometer.store.ingest.write_times", full)
    assert found() == ([*doubts, "ingest_source_failed"], pauses)
