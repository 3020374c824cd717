"""What agents that run as services shipped becomes rows of the runs whose executors they saw."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.hosts.agent import unpacked
from tests.support.hosts.probes import ProbeOf
from tests.support.hosts.shipping import APP, BEGIN, OTHER, TICK, Place, S, found, probe, times

from pyrometer.core.errors import UsageError
from pyrometer.core.process_numbers import KEY
from pyrometer.store import Run, ingest_run
from pyrometer.store.ingest import IngestReport
from pyrometer.store.manifest import read_manifest, write_manifest
from pyrometer.store.services.canaries import canaries_before


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("agent"))


@pytest.fixture
def place(tmp_path: Path, agent: Path) -> Place:
    return Place(tmp_path, agent)


def series(run: Run, name: str) -> list[tuple[Any, ...]]:
    return run.tables.query(
        "SELECT host, scope, count(*), count(DISTINCT t_mono_ns), max(value) - min(value)"
        f" FROM os_series WHERE name = '{name}' GROUP BY ALL ORDER BY ALL"
    )


def codes(report: IngestReport) -> set[str]:
    return {doubt.code for doubt in report.doubts} - {"clock_unknown", "clock_bound_unknown"}


def test_a_host_that_a_service_saw_counts_once_and_only_with_what_is_the_runs(
    place: Place,
) -> None:
    """The service sees another application's executor, and its own shell; neither is the run's."""
    place.executor("h", "1", 62, probe(times(300, 1500), 62))
    all_times = times(0, 2000)
    whole = probe(all_times, 62, 63, 99, 500, children={63: 62, 99: 1, 500: 99})
    place.service("h", whole, [found(APP, "1", 62), found(OTHER, "1", 99)])
    place.describe()
    report = ingest_run(place.paths.root)
    assert codes(report) == set()
    with Run.open(place.paths.root) as run:
        idle, cpu = series(run, "cpu_idle_ns"), series(run, "cpu_ns")
        assert run.manifest is not None
        entries = [(one.host, one.service, one.executor_id, one.tier, one.own_cpu_ns)
                   for one in run.manifest.probes]  # fmt: skip
    # Every moment of the host is one probe's, and both grow as one counter does.
    assert idle == [("h", "host", 200, 200, 1_990 * 10**6 // 2)]
    # The executor's own probe, then the service; the child was the service's alone.
    assert [row[1] for row in cpu] == ["process/62", "process/63"]
    assert {row[2:] for row in cpu} == {(200, 200, 1_990 * 10**6 // 10)}
    assert entries == [("h", False, "1", "T2", None), ("h", True, None, "T0", None)]


def test_what_only_a_service_recorded_is_kept(place: Place) -> None:
    """Threads' states come from the probe that knows their tasks, intervals from the one at T0."""
    state = {"host": "h", "pid": 62, "tid": 62, "begin_mono_ns": BEGIN + S, "state": "sleeping",
             "end_mono_ns": BEGIN + S + 1, "passes_count": 2, "weight_ns": 1}  # fmt: skip
    own = probe(times(300, 1500), 62)
    place.executor(
        "h", "1", 62,
        ProbeOf(own.times, own.host_counters, processes=own.processes,
                more={"states": [{**state, "task_attempt_id": 7}]}),
    )  # fmt: skip
    whole = probe(times(0, 2000), 62)
    counts = {"host": "h", "scope": "thread", "pid": 62, "tid": 62, "t_mono_ns": BEGIN + S,
              "event": "cycles", "value": 5, "enabled_ns": 1, "running_ns": 1}  # fmt: skip
    place.service(
        "h",
        ProbeOf(whole.times, whole.host_counters, processes=whole.processes,
                more={"states": [state], "perf-counts": [counts, {**counts, "pid": 99}]}),
        [found(APP, "1", 62)],
    )  # fmt: skip
    place.describe()
    ingest_run(place.paths.root)
    with Run.open(place.paths.root) as run:
        assert run.tables.query("SELECT pid, task_attempt_id FROM thread_states") == [(62, 7)]
        assert run.tables.query("SELECT pid, value FROM perf_counts") == [(62, 5)]


def test_of_others_requests_to_a_disk_there_is_their_sum(place: Place) -> None:
    request = {"host": "h", "begin_mono_ns": BEGIN, "end_mono_ns": BEGIN + S, "kind": "block",
               "device": "sda", "operation": "read", "low_ns": 64, "count": 2, "sum_ns": 200,
               "bytes": 10}  # fmt: skip
    place.executor("h", "1", 62, None)
    whole = probe(times(0, 2000), 62, 98, 99)
    rows = [{**request, "pid": pid} for pid in (0, 62, 98, 99, None)]
    more = {"io-latency": [*rows, {**rows[2], "kind": "read"}]}
    place.service(
        "h", ProbeOf(whole.times, whole.host_counters, processes=whole.processes, more=more),
        [found(APP, "1", 62)],
    )  # fmt: skip
    place.describe()
    ingest_run(place.paths.root)
    with Run.open(place.paths.root) as run:
        assert run.tables.query(
            "SELECT kind, pid, count, sum_ns, bytes FROM io_latency ORDER BY pid NULLS LAST"
        ) == [
            ("block", 0, 2, 200, 10), ("block", 62, 2, 200, 10), ("block", None, 6, 600, 30)
        ]  # fmt: skip


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "with-a-probe-beside-it"])
def test_control_groups_that_rule_an_executor_are_kept(place: Place, beside: bool) -> None:
    """A pod's quota is that of the group above its containers; others' are nobody's business."""
    pod, other = "/kubepods/pod1", "/kubepods/pod2"
    place.executor("h", "1", 62, probe(times(300, 1500), 62) if beside else None)
    counters = {
        (f"cgroup{path}", "cpu_throttled_ns"): lambda t: (t - BEGIN) // 4
        for path in ("", "/kubepods", pod, f"{pod}/ctr", f"{pod}2", other)
    }
    whole = probe(times(0, 2000), 62)
    place.service(
        "h",
        ProbeOf(whole.times, {**whole.host_counters, **counters}, processes=whole.processes),
        [found(APP, "1", 62, cgroup=f"{pod}/ctr"), found(OTHER, "1", 99, cgroup=other)],
    )
    place.describe()
    ingest_run(place.paths.root)
    with Run.open(place.paths.root) as run:
        rows = series(run, "cpu_throttled_ns")
    assert [row[1] for row in rows] == ["cgroup/kubepods", f"cgroup{pod}", f"cgroup{pod}/ctr"]
    assert {row[2] == row[3] for row in rows} == {True}
    # What a probe beside it saw of the host is not counted twice.
    if not beside:
        assert {row[4] for row in rows} == {1_990 * 10**6 // 4}


def test_canaries_of_a_host_come_with_what_its_agent_recorded(place: Place) -> None:
    """The node is called as its executor calls it, and has the canary before that began."""
    place.executor("h", "1", 62, None)
    lines = [
        {"schema": "pyrometer/canary/1", "state": "measured", "reason": None,
         "begin_wall_ns": 0, "begin_mono_ns": 0,
         "end_wall_ns": place.now_ns - 2 * S + at, "end_mono_ns": BEGIN + at,
         "alu_ns": [5, 6, 7], "latency_ns": [90.5], "copy_bytes_per_s": [8e9]}
        for at in (-70 * S, -10 * S, 2 * S)
    ]  # fmt: skip
    text = "".join(json.dumps(one) + "\n" for one in lines)
    whole = probe(times(0, 2000), 62)
    place.service("node", whole, [found(APP, "1", 62)], **{"canary-node.ndjson": text})
    place.describe()
    ingest_run(place.paths.root)
    (host,) = canaries_before(place.paths).items()
    assert host[0] == "h"
    assert host[1].line is not None
    assert (host[1].line.end_mono_ns, host[1].age_s) == (BEGIN - 10 * S, 10.0)
    assert host[1].line.medians["alu_ns"] == 6


def test_lives_of_one_agent_go_on_from_one_another(place: Place) -> None:
    """An agent that was killed and started again has not seen a process twice."""
    place.executor("h", "1", 62, None)
    for at in (times(0, 900), times(1000, 2000)):
        place.service("h", probe(at, 62), [found(APP, "1", 62)])
    place.describe()
    ingest_run(place.paths.root)
    with Run.open(place.paths.root) as run:
        assert series(run, "cpu_ns") == [
            ("h", "process/62", 190, 190, 1_990 * 10**6 // 10)
        ]  # fmt: skip
        assert run.manifest is not None
        assert [one.service for one in run.manifest.probes] == [True]


def test_what_did_not_change_since_long_before_a_run_is_known_in_it(place: Place) -> None:
    """Of a value that stays a probe writes the first and the last reading alone."""
    begin = place.begin = BEGIN + 1800 * S
    meanwhile = times(1_800_000, 1_802_000)
    place.executor("h", "1", 62, probe(meanwhile[30:150], 62))
    long = ProbeOf(
        [BEGIN, *meanwhile, begin + 1800 * S],
        {("host", "cpu_idle_ns"): lambda t: t // 2, ("host", "cpu_steal_ns"): lambda _: 7},
        processes={62: lambda t: (t - BEGIN) // 10},
    )
    place.service("h", long, [found(APP, "1", 62)])
    place.describe()
    ingest_run(place.paths.root)
    with Run.open(place.paths.root) as run:
        times_of = "min(t_mono_ns), max(t_mono_ns), min(value), max(value) FROM os_series"
        steal = run.tables.query(f"SELECT {times_of} WHERE name = 'cpu_steal_ns'")
        # The process is known to be the one that the probe beside it follows, too.
        cpu = series(run, "cpu_ns")
    assert steal == [(begin - 60 * S, begin + 62 * S, 7, 7)]
    assert cpu == [("h", "process/62", 200, 200, 1_990 * 10**6 // 10)]


def test_pods_are_on_their_node_and_keep_their_names_and_numbers(place: Place) -> None:
    for number, name in (("1", "pod-a"), ("2", "pod-b")):
        place.executor(name, number, 17, probe(times(300, 1500), 17))
    place.service(
        "node",
        probe(times(0, 2000), 500, 600),
        [found(APP, "1", 500, 17, pod="pod-a"), found(APP, "2", 600, 17, pod="pod-b")],
    )
    ProbeOf(times(0, 2000), {("host", "cpu_idle_ns"): lambda t: t}).write(place.paths.raw, "launch")
    place.driver("launch")
    place.describe()
    report = ingest_run(place.paths.root)
    assert codes(report) == set()
    with Run.open(place.paths.root) as run:
        names = run.tables.query("SELECT name, host, pod FROM host_names ORDER BY 1")
        hosts = run.tables.query("SELECT host, clock FROM hosts ORDER BY 1")
        idle = series(run, "cpu_idle_ns")
        followed = run.tables.query(
            "SELECT DISTINCT host, pid % $1, pid FROM processes WHERE role = 'executor'"
            " ORDER BY ALL",
            [KEY],
        )
        scopes = {row[1] for row in series(run, "cpu_ns")}
        with run.on_host("node") as own:
            of_node = {row[0] for row in own.tables.query("SELECT DISTINCT host FROM os_series")}
            processes = own.tables.scalar("SELECT count(*) FROM processes")
    assert names == [("pod-a", "node", "pod-a"), ("pod-b", "node", "pod-b")]
    assert hosts == [("launch", "axis"), ("node", "wall")]
    # The node's series come from one probe at a time, though three read them.
    assert [(row[0], row[2], row[3]) for row in idle] == [("launch", 200, 200), ("node", 200, 200)]
    assert [row[:2] for row in followed] == [("node", 17), ("node", 17)]
    assert scopes == {f"process/{pid}" for _, _, pid in followed}
    assert (of_node, processes) == ({"node"}, 2)


def test_threads_of_a_pod_that_only_its_node_saw_are_doubted_and_not_guessed(place: Place) -> None:
    place.executor("pod-a", "1", 17, None)
    place.service(
        "node", probe(times(0, 2000), 500), [found(APP, "1", 500, 17, pod="pod-a")]
    )  # fmt: skip
    place.describe()
    report = ingest_run(place.paths.root)
    (told,) = [one.message for one in report.doubts if one.code == "agents_threads_apart"]
    assert "Executor 1" in told
    assert "pod pod-a on node" in told
    with Run.open(place.paths.root) as run:
        assert series(run, "cpu_ns") == []
        assert [row[2] for row in series(run, "cpu_idle_ns")] == [200]


def test_a_host_that_its_agent_calls_otherwise_has_the_name_that_its_jvms_know(
    place: Place,
) -> None:
    place.executor("h", "1", 62, None)
    place.service("h.example.com", probe(times(0, 2000), 62), [found(APP, "1", 62)])
    place.describe()
    assert codes(ingest_run(place.paths.root)) == set()
    with Run.open(place.paths.root) as run:
        assert series(run, "cpu_idle_ns") == [("h", "host", 200, 200, 1_990 * 10**6 // 2)]
        assert series(run, "cpu_ns") == [("h", "process/62", 200, 200, 1_990 * 10**6 // 10)]
        assert run.tables.query("SELECT DISTINCT host, pid FROM processes") == [("h", 62)]


def test_executors_of_one_number_leave_two_hosts_two(place: Place) -> None:
    """Of a further attempt of the driver, executors count from 1 again; containers say one pid."""
    for name, after_s in (("a", 0), ("b", -300)):
        place.executor(name, "1", 62, None, after_s)
        at = (BEGIN + after_s * S) // TICK
        here = [found(APP, "1", 62) | {"start_ticks": at}]
        place.service(f"{name}.example.com", probe(times(0, 2000), 62), here)
    place.describe()
    assert codes(ingest_run(place.paths.root)) == set()
    with Run.open(place.paths.root) as run:
        assert [row[:3] for row in series(run, "cpu_idle_ns")] == [
            ("a", "host", 200), ("b", "host", 200)
        ]  # fmt: skip
        processes = "SELECT host, pid % $1 FROM processes ORDER BY 1"
        assert run.tables.query(processes, [KEY]) == [("a", 62), ("b", 62)]


def test_a_name_that_two_hosts_claim_is_neithers(place: Place) -> None:
    place.executor("pod-a", "1", 17, None)
    for node in ("n1", "n2"):
        place.service(node, probe(times(0, 2000), 500), [found(APP, "1", 500, 17, pod="pod-a")])
    place.describe()
    report = ingest_run(place.paths.root)
    (told,) = [one.message for one in report.doubts if one.code == "agents_hosts_contested"]
    assert "pod-a may be on n1 or n2" in told
    with Run.open(place.paths.root) as run:
        assert [row[0] for row in series(run, "cpu_idle_ns")] == ["n1", "n2"]
        assert run.tables.query("FROM host_names") == []


@pytest.mark.parametrize(
    "stranger",
    [
        pytest.param(found(APP, "1", 63), id="another process recorded as it"),
        pytest.param(found(APP, "1", 62) | {"start_ticks": (BEGIN - 900 * S) // TICK},
                     id="it began long before"),
        pytest.param(found(APP, "2", 62), id="the event log has no such executor"),
        pytest.param(found(APP, "3", 62) | {"start_ticks": (BEGIN - 3600 * S) // TICK},
                     id="it began before the application"),
        pytest.param(found(APP, "3", 62, uid=1001), id="of another user"),
    ],
)  # fmt: skip
def test_a_process_that_only_says_it_is_an_executor_is_none(place: Place, stranger: Any) -> None:
    place.executor("h", "1", 62, None)
    place.service("h.example.com", probe(times(0, 2000), 62), [found(APP, "1", 62, uid=1000)])
    place.service("away", probe(times(0, 2000), stranger["pid"]), [stranger])
    added = [{"Event": "SparkListenerExecutorAdded", "Timestamp": place.began_ms + 900,
              "Executor ID": one, "Executor Info": {"Host": "h", "Total Cores": 1}}
             for one in ("1", "3")]  # fmt: skip
    place.log(*added)
    place.describe()
    report = ingest_run(place.paths.root)
    told = [one.message for one in report.doubts if one.code == "agents_strangers"]
    assert [one.rpartition(": ")[2] for one in told] == ["1 on away"]
    with Run.open(place.paths.root) as run:
        assert [row[0] for row in series(run, "cpu_idle_ns")] == ["h"]
        assert run.tables.query("SELECT host, pid FROM processes") == [("h", 62)]


def test_an_executor_that_recorded_nothing_is_kept_if_the_event_log_has_it(place: Place) -> None:
    place.executor("h", "1", 62, None)
    place.service("i", probe(times(0, 2000), 62), [found(APP, "3", 62, uid=1000)])
    place.log({"Event": "SparkListenerExecutorAdded", "Timestamp": place.began_ms + 900,
               "Executor ID": "3", "Executor Info": {"Host": "i", "Total Cores": 1}})  # fmt: skip
    place.describe()
    assert "agents_strangers" not in codes(ingest_run(place.paths.root))
    with Run.open(place.paths.root) as run:
        assert [row[0] for row in series(run, "cpu_idle_ns")] == ["i"]


def test_a_store_may_be_named_later_and_an_executor_needs_no_plugin(place: Place) -> None:
    """Of a run that has nothing but an event log, whose name says which application it is of."""
    place.paths.eventlog.mkdir()
    (place.paths.eventlog / APP).write_text(
        '{"Event":"SparkListenerApplicationStart","App ID":"' + APP + '","Timestamp":1}\n'
    )
    place.service("h", probe(times(0, 2000), 62), [found(APP, "1", 62)])
    place.describe(shipped=False)
    assert "os_series" not in ingest_run(place.paths.root).tables
    report = ingest_run(place.paths.root, agents=str(place.store))
    assert "agents_silent" not in codes(report)
    assert read_manifest(place.paths.root).agents == [str(place.store)]
    with Run.open(place.paths.root) as run:
        assert run.tables.query("SELECT host, pid, executor_id, app_id FROM processes") == [
            ("h", 62, "1", APP)
        ]
        assert [row[1] for row in series(run, "cpu_ns")] == ["process/62"]


def test_only_streams_of_the_run_are_looked_into(place: Place) -> None:
    place.executor("h", "1", 62, None)
    place.service("h", probe(times(0, 2000), 99), [found(OTHER, "1", 99)])
    place.service("i", probe(times(0, 2000), 62), [found(APP, "1", 62)])
    place.describe(agents=[str(place.store), str(place.folder / "none"), "s3://bucket/x"])
    late = time.time_ns()
    manifest = read_manifest(place.paths.root)
    report = ingest_run(place.paths.root)
    told = sorted(one.message for one in report.doubts if one.code == "agents_silent")
    assert len(told) == 1
    assert "no agent that runs as a service ships there" in told[0]
    away = [one.message for one in report.doubts if one.code == "chunks_elsewhere"]
    assert away == ["s3://bucket/x: no package that reads s3:// is installed;"
                    f" {sys.executable} -m pip install s3fs"]  # fmt: skip
    taken = list(place.paths.shipped.glob("host/host/*/*/*.arrows"))
    assert len({one.parent.parent.name for one in taken}) == 1
    # What has been taken whole is not copied again.
    numbers = [one.stat().st_ino for one in taken]
    ingest_run(place.paths.root)
    assert [one.stat().st_ino for one in taken] == numbers
    # A run of an hour ago cannot have been seen by an agent that began since.
    manifest.started_wall_ns, manifest.ended_wall_ns = late - 7200 * S, late - 3600 * S
    for folder in (place.paths.chunks, place.paths.shipped / "host"):
        subprocess.run(["rm", "-r", str(folder)], check=True)
    write_manifest(place.paths.root, manifest)
    told = [one.message for one in ingest_run(place.paths.root).doubts
            if one.code == "agents_silent"]  # fmt: skip
    assert any("found an executor of the run's applications" in one for one in told)


def test_a_run_under_way_keeps_its_manifest_itself(place: Place) -> None:
    from pyrometer.store.launcher import this_launcher

    place.describe()
    manifest = read_manifest(place.paths.root)
    manifest.state, manifest.launcher = "running", this_launcher()
    write_manifest(place.paths.root, manifest)
    with pytest.raises(UsageError, match="under way"):
        ingest_run(place.paths.root, agents=str(place.store))
