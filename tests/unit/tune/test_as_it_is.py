"""What holds in a job as it is, before any run of it, is the default of its space."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrometer.collect.launch.settings_before import settings_of_workload
from pyrometer.tune import start
from pyrometer.tune.space.cube import encode, plain
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.job import job_from
from pyrometer.tune.space.memory import memory_of
from pyrometer.tune.space.space import Space
from pyrometer.tune.start import Wanted, started
from pyrometer.tune.trials.folder import begin
from pyrometer.workloads import registry

G = 1 << 30
ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes"


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"mem_total": 16.0 * G, "swap_total": 0.0, "cpus": 8, "numa_nodes": 1}
    monkeypatch.setattr(start, "host_facts", lambda: facts)
    for name in ("SPARK_CONF_DIR", "SPARK_HOME", "MASTER", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)


def space_of(tmp_path: Path, *command: str, space: str = "all", **keys: object) -> Space:
    what = {"workload": None, "command": command} if command else {"workload": "sort-text"}
    wanted = Wanted(**{**what, "space": space, **keys})  # type: ignore[arg-type]
    return started(wanted, tmp_path / "t").tuning.space.read()


def test_every_level_but_the_commands_own_can_be_tried(tmp_path: Path) -> None:
    words = ("spark-submit", "--master", "local[2]", "-c", f"{ADVISORY}=256m", "app.py")
    found = space_of(tmp_path, *words)
    assert found.knob("layout.tasks").default == "2"
    assert found.knob(ADVISORY).default == "256m"
    # What would be Spark's own default is a change here, and what holds is none.
    changed = {ADVISORY: "64m", "layout.tasks": "8"}
    assert plain(found, changed) == changed
    assert plain(found, {ADVISORY: "256m", "layout.tasks": "2"}) == {}
    assert (encode(found, {}) == encode(found, {ADVISORY: "256m", "layout.tasks": "2"})).all()


def test_words_in_braces_reach_the_trials_as_they_were_typed(tmp_path: Path) -> None:
    words = ("python", "job.py", '{"a": 1}', "--out={date}", "{{APP_ID}}", "{typed}")
    made = started(Wanted(None, words, space="jvm"), tmp_path / "t")
    begin(tmp_path / "t", made.tuning, made.command_file)
    file = made.tuning.workload
    command = registry.get(file).command(registry.resolve(file, {}), tmp_path)  # type: ignore[attr-defined]
    assert command.argv == words


def test_a_properties_file_says_what_holds_too(tmp_path: Path) -> None:
    file = tmp_path / "own.conf"
    file.write_text("spark.sql.shuffle.partitions 300\n")
    found = space_of(tmp_path, "spark-submit", "--properties-file", str(file), "app.py")
    assert found.knob("spark.sql.shuffle.partitions").default == "300"


def test_memory_that_a_command_asks_for_is_reckoned_with(tmp_path: Path) -> None:
    layout = {"layout.executors": "2", "layout.cores_per_executor": "2"}
    small = space_of(tmp_path, "spark-submit", "app.py")
    assert infeasible(small, layout) is None
    large = space_of(tmp_path, "spark-submit", "--executor-memory", "8g", "app.py")
    assert "2 × (8.00 GiB heap" in (infeasible(large, layout) or "")
    driver = space_of(tmp_path, "spark-submit", "--driver-memory", "13g", "app.py")
    assert "14.3 GiB of the driver" in (infeasible(driver, layout) or "")


def test_numbers_alone_have_the_unit_that_spark_gives_them(tmp_path: Path) -> None:
    words = ("--conf", "spark.executor.memory=8192", "--conf", "spark.shuffle.file.buffer=64")
    found = space_of(tmp_path, "spark-submit", "--master", "local-cluster[1,2,8192]", *words, "a")
    assert (found.facts or {})["heap"] == 8.0 * G
    assert found.knob("jvm.heap").default == "8192m"
    assert found.knob("spark.shuffle.file.buffer").default == "64k"


def test_a_built_in_workload_has_the_heap_that_it_runs_with(tmp_path: Path) -> None:
    found = space_of(tmp_path)
    assert found.knob("jvm.heap").default == "2g"
    assert infeasible(found, {"jvm.young": "1536m"}) is None
    assert infeasible(found, {"jvm.young": "1920m"}) is not None


def test_executors_that_a_layout_adds_have_sparks_heap_and_not_the_drivers() -> None:
    facts = job_from(settings_of_workload("sort-text", {}, "test"), None, None, {}).facts
    found = memory_of({"layout.executors": "2", "layout.cores_per_executor": "1"}, facts)
    assert (found.heap, found.driver > 2 * G) == (1.0 * G, True)


def test_levels_of_all_trials_win_over_a_run_and_a_run_over_the_command(tmp_path: Path) -> None:
    run = job_from({ADVISORY: "32m", "spark.driver.memory": "4g"}, "local[4]", "4.0.1", {})
    words = ("spark-submit", "--master", "local[2]", "-c", f"{ADVISORY}=256m", "app.py")
    found = space_of(tmp_path, *words, job=run)
    assert found.knob(ADVISORY).default == "32m"
    assert found.knob("layout.tasks").default == "4"
    assert (found.facts or {})["heap"] == 4.0 * G
    shared = space_of(tmp_path, *words, job=run, shared={"jvm.heap": "6g"})
    assert (shared.facts or {})["heap"] == 6.0 * G
