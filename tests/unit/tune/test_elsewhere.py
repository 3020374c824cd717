"""Executors on other hosts: what of them is measured counts, what is not is refused in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.hosts.two_hosts import DRIVER_PID, TwoHosts, WestClock
from tests.support.tables import HOST, PID, S, StageSpec, mono, wall
from tests.support.tuning import PARTITIONS, Listed, Simulated, begun, searched

from pyrometer.collect.host.disks import file_system
from pyrometer.core.errors import UsageError
from pyrometer.experiments.folder import Ended
from pyrometer.simulation.analysis import Prices
from pyrometer.tune import observed
from pyrometer.tune.carry import confirm_winner
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.start import Wanted, started
from pyrometer.tune.trials.folder import Tuning
from pyrometer.tune.trials.measured import Measured, Reserved, measured

PRICES = Prices(core_hour=0.1, gb_hour=0.01)
YARN = (
    "spark-submit", "--master", "yarn", "--conf", "spark.executor.instances=20",
    "--executor-memory", "8g", "--executor-cores", "4", "app.py",
)  # fmt: skip
OF_PROCESSES: list[dict[str, Any]] = [
    {"objective": "core-seconds"},
    {"objective": "memory"},
    {"conditions": ("executor_memory < 6g",)},
]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "SPARK_CONF_DIR", "SPARK_HOME", "MASTER", "PYSPARK_SUBMIT_ARGS", "PYROMETER_SHIP_TO",
        "PYROMETER_AGENTS",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(observed, "file_system", lambda folder: "ext4")


def tuning_of(tmp_path: Path, *more: str, **keys: Any) -> Tuning:
    command = (*YARN[:-1], *more, YARN[-1])
    return started(Wanted(None, command, **keys), tmp_path / "t").tuning


@pytest.mark.parametrize("keys", OF_PROCESSES)
def test_what_would_not_arrive_is_refused_before_the_first_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match=r"executors run elsewhere .* on this host alone") as told:
        tuning_of(tmp_path, **keys)
    assert "PYROMETER_SHIP_TO=" in (told.value.remedy or "")
    ship = ("--conf", "spark.pyrometer.ship.to=/mnt/shared")
    tuning_of(tmp_path, *ship, **keys)
    for more, profile, why in (
        (ship, "off", "--profile off measures nothing beside them"),
        ((*ship, "--conf", "spark.pyrometer.ship.probe=off"), "light", "starts no probe"),
    ):
        with pytest.raises(UsageError, match=why):
            tuning_of(tmp_path, *more, profile=profile, **keys)
    for name in ("PYROMETER_SHIP_TO", "PYROMETER_AGENTS"):
        monkeypatch.setenv(name, "/mnt/shared")
        tuning_of(tmp_path, **keys)
        monkeypatch.delenv(name)
    monkeypatch.setattr(observed, "file_system", lambda folder: "nfs4")
    tuning_of(tmp_path, **keys)


def test_times_and_costs_need_no_probe(tmp_path: Path) -> None:
    for keys in ({"objective": "cost", "prices": PRICES}, {"conditions": ("elapsed < 30min",)}):
        tuning_of(tmp_path, profile="off", **keys)


def test_core_time_is_that_of_the_executors_cores(tmp_path: Path) -> None:
    found = tuning_of(tmp_path, budget="2 core-hours")
    assert (found.cpus, found.budget.unit) == (80, "core-seconds")
    alone = ("spark-submit", "--master", "spark://m1:7077", "--conf", "spark.cores.max=24", "a.py")
    assert started(Wanted(None, alone, budget="2 core-hours"), tmp_path / "t").tuning.cpus == 24
    unknown = ("--conf", "spark.dynamicAllocation.enabled=true")
    with pytest.raises(UsageError, match="dynamic allocation decides how many") as told:
        tuning_of(tmp_path, *unknown, budget="2 core-hours")
    assert "--budget 25" in (told.value.remedy or "")
    tuning_of(tmp_path, *unknown, budget="25")


def test_the_file_system_of_a_folder_that_is_not_there_yet_is_known(tmp_path: Path) -> None:
    info = tmp_path / "proc/self/mountinfo"
    info.parent.mkdir(parents=True)
    info.write_text(
        "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 21 0:40 / /mnt/shared rw - nfs4 nas:/x rw\n"
    )
    assert file_system(Path("/mnt/shared/runs/new"), tmp_path) == "nfs4"
    assert file_system(Path("/mnt/sharedother"), tmp_path) == "ext4"
    assert file_system(Path("/x"), tmp_path / "none") == ""


def two_hosts(**keys: Any) -> TwoHosts:
    made = TwoHosts([StageSpec([400, 400, 400, 400])], WestClock(2 * S, 20), **keys)
    own = {HOST: 3, "west": 4} if made.probe else {HOST: 3}
    for host, gib in own.items():
        clock = made.west if host == "west" else int
        for pid, size in ((PID, gib << 30), (900, 1 << 30)):
            for at, value in ((10, size), (made.world.end_ms, size)):
                made.add("os_series", host=host, scope=f"process/{pid}", name="rss_bytes",
                         t_mono_ns=clock(mono(at)), value=value)  # fmt: skip
        # A Python worker below the executor, and the driver beside it.
        made.add("os_series", host=host, scope="process/900", name="parent_pid",
                 t_mono_ns=clock(mono(10)), value=PID)  # fmt: skip
    for at in (10, made.world.end_ms):
        made.add("os_series", host=HOST, scope=f"process/{DRIVER_PID}", name="rss_bytes",
                 t_mono_ns=mono(at), value=9 << 30)  # fmt: skip
    return made


def ended() -> Ended:
    return Ended(trial=1, attempt=1, block=0, treatment="baseline", status="finished",
                 folder="0001", seconds=1.0, wall_ns=1)  # fmt: skip


def test_processes_of_all_hosts_count_and_memory_of_one_executor_is_its_own(tmp_path: Path) -> None:
    made = two_hosts()
    found = measured(made.write(tmp_path), ended(), Reserved(1, 0.0), None)
    cpu = sum(
        row["value"] for row in made.rows["os_series"]
        if row["name"] == "cpu_ns" and row["value"]
    )  # fmt: skip
    assert found.metrics["core_seconds"] == pytest.approx(cpu / 1e9, rel=0.05)
    assert found.metrics["executor_memory"] == 5 << 30
    assert found.metrics["peak_memory"] == (3 + 1 + 4 + 1 + 9) << 30


def test_of_a_host_that_no_probe_saw_nothing_is_known_and_not_of_the_whole_either(
    tmp_path: Path,
) -> None:
    found = measured(two_hosts(probe=False).write(tmp_path), ended(), Reserved(1, 0.0), None)
    for name in ("core_seconds", "peak_memory", "executor_memory"):
        assert name not in found.metrics
        assert found.missing[name].startswith("no probe saw 1 of 2 executors (on ")


def test_the_cost_is_of_what_executors_had_for_as_long_as_they_had_it(tmp_path: Path) -> None:
    made = two_hosts(probe=False)
    for row in made.rows["executors"]:
        if row["executor_id"] == "2":
            row["remove_wall_ns"] = wall(250)
    folder = made.write(tmp_path)
    found = measured(folder, ended(), Reserved(1, 2e9, elsewhere=True), PRICES)
    end = made.world.end_ms
    first, second = (end - 50) / 1e3, 0.2
    core_h, gb_h = 2 * (first + second) / 3600, 2 * (first + second) / 3600
    assert found.metrics["cost"] == pytest.approx(0.1 * core_h + 0.01 * gb_h, rel=0.2)
    nothing = measured(tmp_path / "none", ended(), Reserved(1, 2e9, elsewhere=True), PRICES)
    assert "cost" in nothing.missing


def test_a_trial_that_was_not_seen_condemns_no_configuration(tmp_path: Path) -> None:
    class Once(Simulated):
        """Sees all executors but in the second trial."""

        def _measure(self, run_dir: Path, *of: Any) -> Measured:
            if run_dir.name.startswith("0002"):
                return Measured({"elapsed": 1.0}, {"core_seconds": "no probe saw 1 of 4 executors"})
            return Measured({"elapsed": 1.0, "core_seconds": 8.0})

    root = begun(tmp_path / "t", objective="core-seconds", profile="light")
    engine = Listed([{PARTITIONS: "50"}, {PARTITIONS: "50"}])
    found = searched(root, Once(), lambda seed: engine)
    first, again = found.steps[1].told, found.steps[2].told
    assert first is not None
    assert first.failed == "its core-seconds is not known: no probe saw 1 of 4 executors"
    assert first.passes
    assert engine.seen[1].void
    assert again is not None
    assert again.value == 8e9
    assert tuning_report(root, causes=False, measure=Once()._measure).discarded == []


def test_a_block_in_which_a_condition_cannot_be_judged_does_not_count(tmp_path: Path) -> None:
    class Once(Simulated):
        """Sees no executor of the winner in one block of the confirmation."""

        def _measure(self, run_dir: Path, *of: Any) -> Measured:
            found = super()._measure(run_dir, *of)
            unseen = "winner" in run_dir.name and int(run_dir.name[:4]) <= 2
            if unseen:
                return Measured(found.metrics, {"peak_memory": "no probe saw 1 of 4 executors"})
            return Measured({**found.metrics, "peak_memory": 1e9})

    root = begun(tmp_path / "t", "20", conditions=["peak_memory < 3g"], profile="light")
    machine = Once()
    searched(root, machine, lambda seed: Listed([{PARTITIONS: "50"}]))
    confirm_winner(root, actions=machine.actions())
    found = tuning_report(root, causes=False, measure=machine._measure).confirmation
    assert found is not None
    assert not found.failures
    assert 3 <= len(found.pairs) < found.blocks_planned
