"""Of trials on a cluster: the wait for executors is no treatment's, and a slow host has a name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support import experiments
from tests.support.hosts.two_hosts import ELSEWHERE, WEST, TwoHosts, one_machine
from tests.support.tables import HOST, MS, StageSpec, mono, wall, write_tables

from pyrometer.collect.launch.process import TIMEOUT
from pyrometer.experiments.folder import HostSeen, Surroundings
from pyrometer.experiments.plan.file import Guard
from pyrometer.experiments.run.attempt import Attempt, TrialFacts, run_trial, trial_facts
from pyrometer.experiments.run.attempts import as_asked, with_hosts
from pyrometer.experiments.run.environment import Quiet
from pyrometer.experiments.run.hosts import disturbances_of_hosts, on_a_cluster
from pyrometer.store import Run
from pyrometer.store.manifest import Host, Manifest, Workload, write_manifest
from pyrometer.trial.trial import Trial

S = 1000


def task(number: int, stage: int, host: str, ran_ms: int) -> dict[str, Any]:
    return {"app_index": 0, "task_attempt_id": number, "stage_id": stage, "stage_attempt": 0,
            "task_index": number, "attempt": 0, "executor_id": "1", "host": host,
            "launch_wall_ns": wall(10 * S), "finish_wall_ns": wall(11 * S), "status": "success",
            "executor_run_time_ns": ran_ms * MS, "has_metrics": True}  # fmt: skip


def written(
    folder: Path,
    master: str,
    added_ms: list[int],
    tasks: list[dict[str, Any]],
    jobs_ms: Sequence[int] = (),
    *,
    second: dict[str, Any] | None = None,
    second_added_ms: int = 0,
    first_end_ms: int | None = None,
    driver_ms: int = 1,
    conf: dict[str, str] | None = None,
    cores: int = 1,
) -> Path:
    """A run of 60 s that began at 0, whose executors and jobs came when they did."""
    folder.mkdir(parents=True, exist_ok=True)
    executors = [
        {"app_index": 0, "executor_id": str(n), "host": "h", "cores_count": cores,
         "add_wall_ns": wall(at)}
        for n, at in enumerate(added_ms)
    ]  # fmt: skip
    driver = {"app_index": 0, "executor_id": "driver", "host": "d",
              "add_wall_ns": wall(driver_ms)}  # fmt: skip
    app = {"app_index": 0, "app_id": "a", "master": master, "start_wall_ns": wall(2 * S),
           "spark_conf": json.dumps(conf or {}), "source_files": "[]", "events_count": 1,
           "uncompressed_bytes": 1}  # fmt: skip
    jobs = [
        {"app_index": 0, "job_id": n, "submit_wall_ns": wall(at), "status": "succeeded",
         "stage_ids": []}
        for n, at in enumerate(jobs_ms)
    ]  # fmt: skip
    apps = [app]
    if first_end_ms is not None:
        app["end_wall_ns"] = wall(first_end_ms)
    if second is not None:
        apps.append({**app, "app_index": 1, "end_wall_ns": wall(58 * S), **second})
        added = {"app_index": 1, "add_wall_ns": wall(second_added_ms)}
        executors.append({**executors[0], **added})
    rows = {"apps": apps, "executors": [driver, *executors], "tasks": tasks, "jobs": jobs}
    write_tables(folder, rows)
    manifest = Manifest(
        run_id="r", created_wall_ns=wall(0), pyrometer_version="0", profile="light",
        state="finished", workload=Workload(command=["x"]), host=Host(hostname="d"),
        started_mono_ns=0, ended_mono_ns=60 * S * MS, ended_wall_ns=wall(60 * S),
    )  # fmt: skip
    write_manifest(folder, manifest)
    return folder


@pytest.mark.parametrize(
    ("master", "added_ms", "jobs_ms", "waited_s"),
    [
        ("yarn", [32 * S, 30 * S, 55 * S], [], 28.0),
        ("yarn", [30 * S], [31 * S, 40 * S], 28.0),
        ("spark://m:7077", [1 * S], [], 0.0),
        ("k8s://x", [], [], None),
        ("local[4]", [30 * S], [], None),
        ("local-cluster[2,1,1024]", [30 * S], [], None),
    ],
)
def test_the_wait_for_the_first_executor_is_measured_and_in_no_time(
    tmp_path: Path, master: str, added_ms: list[int], jobs_ms: list[int], waited_s: float | None
) -> None:
    with Run.open(written(tmp_path / "run", master, added_ms, [], jobs_ms)) as run:
        facts = trial_facts(run)
    assert facts.waited_s == waited_s
    assert facts.seconds == 60.0 - (waited_s or 0.0)


DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}


@pytest.mark.parametrize(
    ("master", "driver_s", "conf", "job_s", "added_s", "waited_s"),
    [
        # A context waits on YARN and Kubernetes, for 30 s or as long as it is told to.
        ("yarn", 4, {}, 45, 40, 30.0),
        ("k8s://x", 4, {}, 45, 40, 30.0),
        ("k8s://x", 4, {"spark.scheduler.maxRegisteredResourcesWaitingTime": "20s"}, 45, 40, 20.0),
        ("yarn", 4, {"spark.scheduler.minRegisteredResourcesRatio": "0"}, 45, 40, 2.0),
        # YARN's queue is waited for however long it is.
        ("yarn", 42, {}, 55, 50, 40.0),
        # None is asked for before there is a job, but of those that there are from the begin.
        ("yarn", 4, DYNAMIC, 25, 30, 7.0),
        ("k8s://x", 4, DYNAMIC, 25, 30, 5.0),
        ("k8s://x", 4, {**DYNAMIC, "spark.dynamicAllocation.minExecutors": "2"}, 25, 26, 24.0),
        # A standalone master's context waits for none: the program is at work until it has a job.
        ("spark://m:7077", 4, {}, 12, 9, 0.0),
        ("spark://m:7077", 4, {}, 12, 40, 28.0),
        ("spark://m:7077", 4, {"spark.scheduler.minRegisteredResourcesRatio": "1"}, 12, 9, 7.0),
    ],
)
def test_what_a_driver_did_meanwhile_is_no_wait(
    tmp_path: Path, master: str, driver_s: int, conf: dict[str, str], job_s: int, added_s: int,
    waited_s: float,
) -> None:  # fmt: skip
    root = written(
        tmp_path / "run", master, [added_s * S], [], [job_s * S], driver_ms=driver_s * S, conf=conf
    )
    with Run.open(root) as run:
        assert trial_facts(run).waited_s == pytest.approx(waited_s)


@pytest.mark.parametrize(("added_ms", "waited_s"), [([45 * S], 5.0), ([], 20.0)])
def test_of_a_run_that_ran_out_of_time_its_wait_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, added_ms: list[int], waited_s: float
) -> None:
    root = written(tmp_path / "run", "yarn", added_ms, [], [40 * S], conf=DYNAMIC)
    stopped = SimpleNamespace(
        ending=SimpleNamespace(interrupted_by=TIMEOUT),
        record=SimpleNamespace(paths=SimpleNamespace(root=root)),
    )
    launch = "pyrometer.experiments.run.attempt.orchestrator.run"
    monkeypatch.setattr(launch, lambda trial, watch, report: stopped)
    found = run_trial(Trial(command=("x",), timeout_s=60.0), Quiet())
    assert (found.status, found.censored_s, found.waited_s) == ("timeout", 60.0, waited_s)


@pytest.mark.parametrize(
    ("second", "waited_s"),
    [
        # One that works while the other waits: nothing but the time before counts.
        ({"start_wall_ns": wall(1 * S), "master": "local[2]"}, 0.0),
        ({"start_wall_ns": wall(20 * S), "master": "local[2]"}, 18.0),
        # They wait from 2 s to 30 s and from 12 s to 40 s; the first works from 30 s to 35 s.
        ({"start_wall_ns": wall(12 * S), "master": "yarn"}, 33.0),
        # One after the other: both waits are lost time.
        ({"start_wall_ns": wall(38 * S), "master": "yarn"}, 30.0),
    ],
)
def test_of_two_applications_a_wait_counts_while_none_works(
    tmp_path: Path, second: dict[str, Any], waited_s: float
) -> None:
    root = written(
        tmp_path / "run", "yarn", [30 * S], [], second=second, second_added_ms=40 * S,
        first_end_ms=35 * S,
    )  # fmt: skip
    with Run.open(root) as run:
        facts = trial_facts(run)
    assert facts.waited_s == pytest.approx(waited_s)
    assert facts.seconds == pytest.approx(60.0 - waited_s)


@pytest.mark.parametrize(
    ("varied", "conf", "why"),
    [
        ({"spark.executor.instances": "3"}, {}, "spark.executor.instances=3: it had 2 executors"),
        ({"spark.executor.instances": "2"}, {}, None),
        ({"spark.executor.instances": "3"}, DYNAMIC, None),
        ({"spark.cores.max": "9"}, {}, "spark.cores.max=9: it had 6 cores at most"),
        # An executor of three cores does not fit what is left of them.
        ({"spark.cores.max": "7"}, {}, None),
        ({}, {}, None),
    ],
)
def test_a_trial_that_had_fewer_executors_than_its_level_says_has_failed(
    tmp_path: Path, varied: dict[str, str], conf: dict[str, str], why: str | None
) -> None:
    root = written(tmp_path / "run", "yarn", [3 * S, 9 * S], [], conf=conf, cores=3)
    plan = experiments.plan(["a"], 1, 1)
    plan.treatments[0].varied.update(varied)
    with Run.open(root) as run:
        outcome = Attempt("finished", 1.0, facts=trial_facts(run))
    (found,) = as_asked(plan, plan.trials, [outcome])
    assert found.status == ("failed" if why else "finished")
    assert (found.reason or "").startswith(why or "")
    assert why is None or "(free the cluster, or ask for less)" in (found.reason or "")


def test_a_host_on_which_tasks_take_longer_is_named_whatever_stages_take(tmp_path: Path) -> None:
    tasks = []
    for number in range(60):
        stage, host = number % 2, f"h{number % 3}"
        ran = (100 if stage else 4000) * (2 if host == "h1" else 1)
        tasks.append(task(number, stage, host, ran))
    tasks += [task(900 + n, 7, "h9", 90_000) for n in range(30)]
    with Run.open(written(tmp_path / "run", "yarn", [3 * S], tasks)) as run:
        found = {one.host: one.slower_ratio for one in on_a_cluster(run).hosts}
    # A stage of one host alone says nothing of it.
    assert found.keys() == {"h0", "h1", "h2"}
    assert found["h1"] == pytest.approx(2.0)
    assert max(found["h0"] or 0, found["h2"] or 0) < 1


def test_what_others_took_of_each_host_is_by_the_probe_there(tmp_path: Path) -> None:
    two = TwoHosts([StageSpec([400, 300, 500, 200, 350, 450])])
    with Run.open(two.write(tmp_path)) as run:
        hosts = on_a_cluster(run).hosts
    assert [one.host for one in hosts] == [HOST, WEST]
    whole = two.cpus * two.world.end_ms * MS
    for one in hosts:
        # What others did there lies within the window of the application but for its ends.
        assert one.busy_ratio == pytest.approx(ELSEWHERE / whole, abs=0.01)
        assert one.busy_ratio
        assert one.steal_ratio == 0
        # That there is no canary is said.
        assert one.canary is not None
        assert one.canary.alu_ns is None
        assert one.canary.reason is not None


def test_a_host_that_was_watched_for_a_while_is_judged_by_that(tmp_path: Path) -> None:
    stages = [StageSpec([400] * 40)]
    two = TwoHosts(stages, since_ms=TwoHosts(stages).world.end_ms * 7 // 10)
    two.take(WEST, 0.5)
    with Run.open(two.write(tmp_path)) as run:
        hosts = on_a_cluster(run).hosts
    assert {one.host: one.busy_ratio for one in hosts}[WEST] == pytest.approx(0.5, abs=0.01)
    (said,) = disturbances_of_hosts(hosts, Guard())
    assert said.startswith("west: others use 50")


def test_what_probes_use_themselves_is_not_what_others_took(tmp_path: Path) -> None:
    two = TwoHosts([StageSpec([400, 300, 500, 200, 350, 450])])
    whole = two.cpus * two.world.end_ms * MS
    own = whole // 4
    for row in two.rows["os_series"]:
        if row["t_mono_ns"] == mono(two.world.end_ms):
            row["value"] += {"cpu_user_ns": own, "cpu_idle_ns": -own, "own_cpu_ns": own}.get(
                row["name"], 0
            )
    with Run.open(two.write(tmp_path)) as run:
        hosts = on_a_cluster(run).hosts
    assert [one.host for one in hosts] == [HOST, WEST]
    for one in hosts:
        assert one.busy_ratio == pytest.approx(ELSEWHERE / whole, abs=0.01)


def test_of_hosts_that_are_one_machine_nobody_says_what_others_took(tmp_path: Path) -> None:
    with Run.open(one_machine([StageSpec([400, 300, 500])]).write(tmp_path)) as run:
        hosts = on_a_cluster(run).hosts
    assert [(one.host, one.busy_ratio, one.steal_ratio) for one in hosts] == [
        (HOST, None, 0), (WEST, None, 0),
    ]  # fmt: skip


def test_hosts_beyond_the_guards_limits_disturb_a_trial() -> None:
    hosts = (HostSeen(host="h1", busy_ratio=0.1, slower_ratio=1.0),
             HostSeen(host="h2", busy_ratio=0.5, steal_ratio=0.2, slower_ratio=1.8))  # fmt: skip
    facts = TrialFacts((), 1.0, None, None, None, hosts=hosts)
    during = Surroundings(disturbed=["others use 30 % of the CPUs"])
    found = with_hosts(during, [Attempt("finished", 1.0, facts=facts)], Guard())
    assert found.hosts == list(hosts)
    assert found.disturbed[0] == "others use 30 % of the CPUs"
    # Tasks that are slower there are no reason to repeat it: they may always be.
    assert [text.partition(":")[0] for text in found.disturbed[1:]] == ["h2"] * 2
    assert json.loads(found.model_dump_json())["hosts"][1]["slower_ratio"] == 1.8
    assert with_hosts(during, [Attempt("failed")], Guard()).disturbed == during.disturbed
