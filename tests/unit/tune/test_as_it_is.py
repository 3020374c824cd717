"""What holds in a job as it is, before any run of it, is the default of its space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.support.tuning import COLLECTOR, PARTITIONS, SPACE, Drawn, Simulated, tuning

from pyrometer.collect.launch.observe import Watch
from pyrometer.collect.launch.settings_before import settings_of_workload
from pyrometer.core.errors import UsageError, WorkloadError
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.trial.trial import Trial
from pyrometer.tune import start
from pyrometer.tune.advise.adviser import Suggestion
from pyrometer.tune.carry import search
from pyrometer.tune.engine import adviser_of
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.space.cube import encode, plain
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.job import job_from
from pyrometer.tune.space.memory import memory_of
from pyrometer.tune.space.space import Knob, Space
from pyrometer.tune.start import Wanted, started
from pyrometer.tune.trials.folder import Fidelity, SavedSpace, Tuning, TuningPaths, begin
from pyrometer.tune.trials.records import KINDS
from pyrometer.tune.trials.refused import why_not
from pyrometer.tune.trials.replay import History, history_of
from pyrometer.tune.trials.screen import QuietTuning
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


YARN = (
    "spark-submit", "--master", "yarn", "--conf", "spark.executor.instances=20",
    "--executor-memory", "8g", "--executor-cores", "4", "app.py",
)  # fmt: skip


def test_executors_elsewhere_are_bounded_by_what_the_job_asks_for_and_not_by_this_host(
    tmp_path: Path,
) -> None:
    found = space_of(tmp_path, *YARN, space="spark-sql+jvm+layout+os")
    heap, threads = found.knob("jvm.heap"), found.knob("jvm.gc_threads")
    assert (heap.low, heap.high, heap.default) == (4.0 * G, 8.0 * G, "8g")
    assert (threads.low, threads.high) == (1, 4)
    assert found.knob(PARTITIONS).high == 64 * 80
    for level in ("5g", "8g"):
        assert infeasible(found, {"jvm.heap": level}) is None
    # Only the driver has to fit into this host.
    for free, refused in ((7.0 * G, False), (4.0 * G, True)):
        why = why_not({"jvm.heap": "5g"}, {}, found, "sort-text", tmp_path, (free, 16.0 * G),
                      lambda treatments, workload, folder: treatments)  # fmt: skip
        assert (why is not None) == refused
    for factor in ("layout.executors", "cpu.bind", "os.thp"):
        assert factor in found.left_out
    alone = space_of(tmp_path, *YARN, space="layout")
    assert [one.factor for one in alone.knobs] == ["jvm.heap"]
    with pytest.raises(UsageError, match="nothing that can be varied here"):
        space_of(tmp_path, *YARN, "--driver-memory", "2g", space="os")
    mine = tmp_path / "mine.yaml"
    mine.write_text("{name: mine, knobs: {jvm.heap: {from: 4g, to: 16g}}}\n")
    assert space_of(tmp_path, *YARN, space=str(mine)).knob("jvm.heap").high == 16.0 * G


def _home(root: Path, version: str) -> Path:
    """A folder that looks like Spark's home, with a script that nobody runs."""
    for name in (f"jars/spark-core_2.13-{version}.jar", "bin/spark-submit"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
        (root / name).chmod(0o755)
    for name in ("pyspark.zip", "py4j-1-src.zip"):
        (root / "python" / "lib").mkdir(parents=True, exist_ok=True)
        (root / "python" / "lib" / name).write_text("")
    return root


def test_spark_is_known_before_the_first_trial_and_its_defaults_are_inside_the_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = _home(tmp_path / "spark", "4.1.0")
    script = str(home / "bin" / "spark-submit")
    for words in ((script, "app.py"), ()):
        if not words:
            monkeypatch.setenv("SPARK_HOME", str(home))
        found = space_of(tmp_path, *words, space="spark-sql")
        partitions = found.knob(PARTITIONS)
        assert partitions.default == "200"
        wanted = Wanted(None, words) if words else Wanted("sort-text")
        assert started(wanted, tmp_path / "t").tuning.spark == "4.1.0"
        assert partitions.high is not None
        assert partitions.high >= 200
        assert infeasible(found, {PARTITIONS: "200"}) is None
        codec = {"spark.io.compression.codec": "lz4", "spark.memory.fraction": "0.6"}
        assert plain(found, codec) == {}
    # What runs Spark on its own is asked for nothing.
    monkeypatch.delenv("SPARK_HOME")
    assert space_of(tmp_path, "sh", "job.sh", space="spark-sql").knob(PARTITIONS).default is None


def test_settings_that_the_spark_of_the_first_run_does_not_have_are_dropped_then(
    tmp_path: Path,
) -> None:
    root, machine = tmp_path / "t", Simulated()
    actions = replace(machine.actions(), spark=lambda run_dir: "3.0.3")
    hash_join = "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold"
    newer = Knob(hash_join, "size", 1 << 20, 1 << 28, log=True)
    space = replace(SPACE, knobs=(*SPACE.knobs, newer))
    begin(root, tuning("12", space=SavedSpace.of(space)))
    found = search(root, lambda one: Drawn(one.seed), actions=actions)
    assert found.dropped == {hash_join: "new in Spark 3.2, and the job runs on 3.0.3"}
    assert found.said[-1][0] == 1  # Right after the first run.
    report = tuning_report(root, causes=False)
    assert hash_join not in {one.factor for one in report.knobs}
    again = search(root, lambda one: Drawn(one.seed), actions=actions)
    assert again.dropped == found.dropped


def test_levels_of_all_trials_win_over_the_command_and_a_run_tells_the_rest(tmp_path: Path) -> None:
    of_program = "spark.sql.files.maxPartitionBytes"
    run = job_from({ADVISORY: "32m", of_program: "8m"}, "yarn", "4.0.1", {"slots": 40.0})
    words = (
        "spark-submit", "--master", "local[2]", "--driver-memory", "4g",
        "-c", f"{ADVISORY}=256m", "app.py",
    )  # fmt: skip
    found = space_of(tmp_path, *words, job=run)
    assert found.knob(ADVISORY).default == "256m"
    assert found.knob(of_program).default == "8m"
    assert found.knob("layout.tasks").default == "2"
    assert (found.facts or {})["heap"] == 4.0 * G
    plain = ("spark-submit", "app.py")
    assert space_of(tmp_path, *plain, job=run).knob(ADVISORY).default == "32m"
    shared = space_of(tmp_path, *plain, job=run, shared={"jvm.heap": "6g"})
    assert (shared.facts or {})["heap"] == 6.0 * G


def _searched(root: Path, machine: Simulated) -> History:
    return search(root, lambda one: Drawn(one.seed), actions=machine.actions())


def test_a_check_that_the_job_as_it_is_fails_is_called_that(tmp_path: Path) -> None:
    begin(tmp_path / "t", tuning(check="diff a b"))
    machine = Simulated(checks=lambda command, run: "1 line differs")
    with pytest.raises(WorkloadError, match="finished, and its check fails: 1 line") as caught:
        _searched(tmp_path / "t", machine)
    assert "run the check by hand, with PYROMETER_RUN_DIR=" in caught.value.remedy
    assert len(machine.launched) == 1


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"objective": "memory"}, "the job as it is finished, and its memory is not known"),
        ({"conditions": ["peak_memory < 3g"]}, "the first run of the job does not show peak_mem"),
    ],
)
def test_a_first_run_that_lacks_what_is_asked_for_is_the_last(
    tmp_path: Path, keys: dict[str, Any], told: str
) -> None:
    root, machine = tmp_path / "t", Simulated()
    begin(root, tuning(**keys))
    with pytest.raises(WorkloadError, match=told):
        _searched(root, machine)
    assert len(machine.launched) == 1
    with pytest.raises(WorkloadError, match=told):
        _searched(root, machine)


def test_a_level_that_does_not_hold_is_no_trial_and_its_factor_is_dropped_once(
    tmp_path: Path,
) -> None:
    why = "jvm.gc=parallel, but the driver's collectors are G1."

    def behaviour(levels: Mapping[str, str], count: int) -> Attempt | None:
        if levels.get(COLLECTOR) != "parallel":
            return None
        facts = TrialFacts(
            (1.0,), 1.0, 10, "aa", None, doubted=("treatment_not_applied",), unapplied=(why,)
        )
        return Attempt("finished", seconds=1.0, facts=facts)

    class Within(Drawn):
        """Draws within the space that it is made for."""

        def __init__(self, space: Space, seed: int) -> None:
            super().__init__(seed)
            self._names = {one.factor for one in space.knobs}

        def ask(self) -> Suggestion | None:
            found = super().ask()
            if found is None:
                return None
            kept = {k: v for k, v in found.configuration.items() if k in self._names}
            return replace(found, configuration=kept)

    def made(one: Tuning) -> Within:
        return Within(one.space.read(), one.seed)

    root, machine = tmp_path / "t", Simulated(behaviour)
    begin(root, tuning("20"))
    found = search(root, made, actions=machine.actions())
    bad = [one for one in found.steps if one.told and one.told.unapplied]
    assert len(bad) == 1
    at = bad[0].asked.trial
    assert bad[0].told is not None
    assert bad[0].told.failed == f"not applied: {why[:-1]}"
    assert found.dropped == {COLLECTOR: f"trial {at}: not applied: {why[:-1]}"}
    assert not any(COLLECTOR in one.asked.configuration for one in found.steps[at:])
    assert found.settled is not None
    assert found.settled.configuration.keys() == {PARTITIONS}
    report = tuning_report(root, causes=False)
    assert report.unapplied == found.dropped
    assert COLLECTOR not in {one.factor for one in report.knobs}
    assert "treatment_not_applied" not in {one.code for one in report.doubts}
    # Whatever kills it, it goes on the same way.
    journal = TuningPaths(root).journal
    whole = journal.read_bytes().splitlines(keepends=True)
    for cut in range(len(whole)):
        journal.write_bytes(b"".join(whole[:cut]))
        again = search(root, made, actions=Simulated(behaviour).actions())
        asked = [one.asked.configuration for one in again.steps]
        assert asked == [one.asked.configuration for one in found.steps]
        assert history_of(read_journal(root, KINDS)).dropped == found.dropped


def test_a_space_of_which_nothing_holds_ends_the_search(tmp_path: Path) -> None:
    def behaviour(levels: Mapping[str, str], count: int) -> Attempt | None:
        said = tuple(f"{name}={level}, but it is not." for name, level in levels.items())
        facts = TrialFacts((1.0,), 1.0, 10, "aa", None, unapplied=said)
        return Attempt("finished", seconds=1.0, facts=facts) if levels else None

    root = tmp_path / "t"
    knobs = tuple(one for one in SPACE.knobs if one.factor in (PARTITIONS, COLLECTOR))
    begin(root, tuning("20", space=SavedSpace.of(replace(SPACE, knobs=knobs))))
    found = _searched(root, Simulated(behaviour))
    assert found.settled is not None
    assert found.settled.why == "nothing that can be varied is left"
    assert tuning_report(root, causes=False).told.startswith("Nothing better")


def test_an_engine_of_which_no_knob_holds_ends_the_search_for_good(tmp_path: Path) -> None:
    def behaviour(levels: Mapping[str, str], count: int) -> Attempt | None:
        if PARTITIONS not in levels:
            return None
        facts = TrialFacts((1.0,), 1.0, 10, "aa", None, unapplied=(f"{PARTITIONS}=1, it is 200.",))
        return Attempt("finished", seconds=1.0, facts=facts)

    root = tmp_path / "t"
    small = Fidelity(name="scale", scale="100", iterations=1, cost_ratio=0.2)
    machine = Simulated(behaviour, seconds=lambda levels: 1.0 if "scale" in levels else 10.0)
    begin(root, tuning("20", engine="three-knobs", fidelities=[small]))
    search(root, adviser_of, actions=machine.actions())
    journal = TuningPaths(root).journal
    whole = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(whole[:-1]))
    found = search(root, adviser_of, actions=machine.actions())
    assert found.settled is not None
    assert found.settled.why == "nothing that this engine varies is left"
    assert found.offers["scale"].left_out is None
    assert tuning_report(root, causes=False).told.startswith("Nothing better")


def test_one_run_as_it_is_does_not_show_whether_its_checksum_repeats(tmp_path: Path) -> None:
    """It runs again before anything is held against what differs in that alone."""

    def behaviour(levels: Mapping[str, str], count: int) -> Attempt:
        facts = TrialFacts((1.0,), 9.0 if levels else 10.0, 10, "aa", None)
        if stable and levels:
            facts = replace(facts, checksum="bb")
        if not stable:
            facts = replace(facts, checksum=f"{count:02x}")
        return Attempt("finished", seconds=facts.seconds, facts=facts)

    for stable in (False, True):
        root = tmp_path / str(stable)
        begin(root, tuning("20"))
        found = _searched(root, Simulated(behaviour))
        first, second = found.steps[1:3]
        assert first.told is not None
        assert (first.told.differs, first.told.void) == (True, True)
        assert (second.asked.own, second.is_baseline) == (True, True)
        assert sum(one.asked.own for one in found.steps) == 1
        rest = [one.told.failed for one in found.steps[3:] if one.told and not one.is_baseline]
        assert all(bool(one) is stable for one in rest)
        assert bool(tuning_report(root, causes=False).discarded) is stable


@pytest.mark.parametrize(
    ("budget", "told"),
    [("4min", "room for 1 block, and a verdict needs 3: nothing may be confirmed"), ("20min", "")],
)
def test_a_budget_of_time_without_room_for_a_verdict_says_so_after_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: str, told: str
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    actions = Simulated().actions()
    run = actions.trials.run_trial

    def runs(trial: Trial, watch: Watch) -> Attempt:
        now[0] += 30.0
        return run(trial, watch)

    class Noting(QuietTuning):
        notes: ClassVar[list[str]] = []

        def note(self, text: str) -> None:
            self.notes.append(text)

    begin(tmp_path / "t", tuning(budget))
    actions = replace(actions, trials=replace(actions.trials, run_trial=runs))
    Noting.notes.clear()
    search(
        tmp_path / "t", lambda one: Drawn(one.seed, stop_after=3), screen=Noting(), actions=actions
    )
    assert len(Noting.notes) == bool(told)
    assert told in "".join(Noting.notes)
