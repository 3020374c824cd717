"""Contention: others' part of the CPUs and of the wait for them, told apart from the run's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.tables import HOST, MS, S, StageSpec, World, mono

from pyrometer.core.doubt import Doubt
from pyrometer.store import Run
from pyrometer.store.manifest import Host, Manifest, Workload
from pyrometer.summary.contention import contention, queue_words
from pyrometer.summary.rules.host_contended import RULE
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary
from pyrometer.summary.verdict import verdict

TASKS = [StageSpec([400, 400, 400, 400], iteration=0)]


def shown(made: World, folder: Path) -> Summary:
    with Run.open(made.write(folder)) as run:
        return summary(run, "application")


def found(one: Summary) -> list[Doubt]:
    return [doubt for doubt in one.doubts if doubt.code == RULE.code]


def series(made: World, scope: str, **values: int) -> None:
    """Set what series of the host stand at when the application ends; they began at 0."""
    kept = [r for r in made.rows["os_series"] if (r["scope"], r["name"]) not in
            {(scope, name) for name in values}]  # fmt: skip
    made.rows["os_series"] = kept
    for name, value in values.items():
        for at, seen in ((0, 0), (made.end_ms, value)):
            made.add("os_series", host=HOST, t_mono_ns=mono(at), scope=scope, name=name, value=seen)


def busy_host(made: World, others: float, steal: float = 0.0) -> World:
    """Let other processes and the hypervisor take these parts of the host's CPU time."""
    whole = made.cpus * made.end_ms * MS
    process = made.task_cpu + made.other_cpu
    took, stolen = round(others * whole), round(steal * whole)
    series(made, "host", cpu_user_ns=process + took, cpu_steal_ns=stolen,
           cpu_idle_ns=whole - process - took - stolen)  # fmt: skip
    return made


def world(**how: Any) -> World:
    return World(TASKS, **{"slots": 2, "cpus": 2, "on_cpu": 0.4, "run_queue": 0.25, **how})


def test_a_host_that_others_keep_busy_is_a_doubt_with_its_size(tmp_path: Path) -> None:
    one = shown(busy_host(world(), 0.5), tmp_path)
    (doubt,) = found(one)
    assert doubt.severity == "error"
    assert "50.0 % of the host's CPU time" in doubt.message
    assert one.contention.others_ratio == pytest.approx(0.5, abs=0.01)
    assert one.contention.run_queue_ratio == pytest.approx(0.25, abs=0.01)
    behind = one.contention.behind_others_ns
    assert behind is not None
    assert behind.value is not None
    assert behind.low is not None
    assert behind.high is not None
    assert behind.low <= behind.value <= behind.high
    # Others had more than half of the busy time, so tasks waited mostly behind them.
    assert behind.value > 0.5 * (one.contention.run_queue_ns or 0)
    assert f"{100 * (one.contention.behind_others_ratio or 0):.1f} %" in doubt.message
    assert "Other processes took 50.0 % of the host's CPU time" in one.verdict


def test_programs_that_the_application_starts_for_a_moment_are_its_own(tmp_path: Path) -> None:
    made = busy_host(world(), 0.2)
    took = round(0.2 * made.cpus * made.end_ms * MS)
    each = took // 100
    for n in range(100):
        made.add(
            "thread_counters", host=HOST, pid=90_000 + n, tid=90_000 + n, first=True, last=True,
            t_mono_ns=mono((n + 1) * made.end_ms // 101), comm="chmod", state="Z", run_ns=each,
            run_delay_ns=0, timeslices_count=1,
        )  # fmt: skip
    one = shown(made, tmp_path)
    assert not found(one)
    assert one.contention.others_ratio == pytest.approx(0, abs=0.01)
    rows = {row.path: row for row in one.ledger.core_view.rows}
    assert rows["other_processes"].value_ns == pytest.approx(0, abs=0.05 * took)
    assert rows["exited_threads/process chmod"].value_ns == pytest.approx(100 * each, rel=0.05)
    assert rows["exited_threads/process chmod"].n == 100
    assert abs(one.ledger.core_view.closure_ratio or 0) < 0.01


def test_threads_of_a_program_started_for_a_moment_bear_its_name(tmp_path: Path) -> None:
    made = world()
    for tid, comm in ((90_000, "java"), (90_001, "C2 CompilerThre"), (90_002, "GC Thread#0")):
        made.add(
            "thread_counters", host=HOST, pid=90_000, tid=tid, first=True, last=True,
            t_mono_ns=mono(made.end_ms // 2), comm=comm, state="Z", run_ns=MS, run_delay_ns=0,
            timeslices_count=1,
        )  # fmt: skip
    rows = shown(made, tmp_path).ledger.core_view.rows
    (row,) = [row for row in rows if row.path.startswith("exited_threads/")]
    assert (row.path, row.value_ns, row.n) == ("exited_threads/process java", 3 * MS, 3)


def test_threads_of_the_application_that_queue_for_each_other_are_no_contention(
    tmp_path: Path,
) -> None:
    one = shown(busy_host(world(slots=4, on_cpu=0.45, run_queue=0.5), 0.0), tmp_path)
    assert found(one) == []
    assert contention(one) is None
    assert "Other processes" not in one.verdict
    assert "for a CPU that the application's own threads held" in one.verdict
    assert (one.contention.run_queue_ratio or 0) > 0.4
    assert one.contention.behind_others_ratio == pytest.approx(0, abs=0.005)
    assert queue_words(one) == (
        "tasks waited 50.0 % of their time for a CPU that the application's own threads held"
    )


@pytest.mark.parametrize(
    ("others", "severity"), [(0.01, None), (0.06, "info"), (0.2, "warning"), (0.55, "error")]
)
def test_severity_goes_by_size(others: float, severity: str | None, tmp_path: Path) -> None:
    made = busy_host(world(run_queue=0.0), others)
    doubts = found(shown(made, tmp_path))
    assert [doubt.severity for doubt in doubts] == ([severity] if severity else [])


def test_the_more_others_take_the_more_of_the_queue_is_theirs(tmp_path: Path) -> None:
    behind = [
        shown(busy_host(world(), part), tmp_path / str(part)).contention.behind_others_ratio or 0
        for part in (0.0, 0.1, 0.3, 0.5)
    ]
    assert behind == sorted(behind)
    assert behind[0] < 0.02 < behind[-1] < 0.25


def test_a_run_with_cpus_of_its_own_does_not_compete_for_the_others(tmp_path: Path) -> None:
    made = busy_host(world(), 0.4)
    used = made.task_cpu + made.other_cpu
    whole = made.end_ms * MS
    series(made, "cpu/0", cpu_user_ns=round(0.8 * whole), cpu_steal_ns=0)
    series(made, "cpu/1", cpu_user_ns=used, cpu_steal_ns=0)
    for row in made.rows["thread_counters"]:
        row["cpu"] = 1
    one = shown(made, tmp_path)
    assert one.contention.cpus == [1]
    assert one.contention.others_ratio == pytest.approx(0, abs=0.01)
    (doubt,) = found(one)
    assert doubt.severity == "info"
    assert "on CPUs that this run did not use" in doubt.message
    assert "own threads" in (queue_words(one) or "")


def test_the_same_run_on_a_cpu_that_others_want_is_contended(tmp_path: Path) -> None:
    made = busy_host(world(), 0.3)
    used = made.task_cpu + made.other_cpu
    whole = made.end_ms * MS
    series(made, "cpu/0", cpu_user_ns=0, cpu_steal_ns=0)
    series(made, "cpu/1", cpu_user_ns=used + round(0.3 * whole), cpu_steal_ns=0)
    for row in made.rows["thread_counters"]:
        row["cpu"] = 1
    (doubt,) = found(shown(made, tmp_path))
    assert doubt.severity == "warning"
    assert "30.0 % of the time of CPU 1" in doubt.message


def test_what_the_hypervisor_took_counts_too(tmp_path: Path) -> None:
    (doubt,) = found(shown(busy_host(world(run_queue=0.0), 0.01, steal=0.15), tmp_path))
    assert doubt.severity == "warning"
    assert "the hypervisor took 15.0 % of it" in doubt.message


def test_neighbours_that_were_asked_for_are_told_and_no_warning(tmp_path: Path) -> None:
    one = shown(busy_host(world(), 0.5), tmp_path)
    asked = Doubt(code="accompanied", severity="info", message="Beside it ran x.", remedy="-")
    one.doubts = [asked]
    assert RULE.graded is not None
    assert RULE.graded(one) == "info"
    assert "Other processes" not in verdict(one)[0]


def test_both_sources_of_the_queue_are_told_where_both_matter(tmp_path: Path) -> None:
    said = queue_words(shown(busy_host(world(), 0.3), tmp_path)) or ""
    assert "behind other processes, the rest behind its own threads" in said


def test_the_processes_that_the_launch_saw_are_named(tmp_path: Path) -> None:
    folder = busy_host(world(), 0.5).write(tmp_path)
    manifest = Manifest(
        run_id="r", created_wall_ns=1, pyrometer_version="0", profile="full", state="finished",
        workload=Workload(command=["x"]), host=Host(cpus_count=2),
        takers=[{"pid": 7, "comm": "make", "cpu_ns": 9 * S}],
    )  # fmt: skip
    (folder / "manifest.json").write_text(manifest.model_dump_json(by_alias=True))
    with Run.open(folder) as run:
        (doubt,) = found(summary(run, "application"))
    assert "most over the whole run: make (7) 9.00 s" in doubt.message


def test_without_the_probe_nothing_is_claimed(tmp_path: Path) -> None:
    made = world()
    del made.rows["os_series"]
    one = shown(made, tmp_path)
    assert (contention(one), queue_words(one)) == (None, None)
    assert one.contention.reason
