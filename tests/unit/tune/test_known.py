"""What is known before a search: findings of the first run, the job in a few numbers, others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.support.explain.findings import invented
from tests.support.report_fixture import write_run
from tests.support.tuning import PARTITIONS, SPACE, Simulated, tuning

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import UsageError
from pyrometer.store import Run
from pyrometer.tune import known as module
from pyrometer.tune.advise.engines import engine
from pyrometer.tune.carry import search
from pyrometer.tune.judge.screen import said_words
from pyrometer.tune.known import job_from_run, known_before, known_from
from pyrometer.tune.memory.recall import NEAR
from pyrometer.tune.memory.remembered import Remembered, RememberedTrial, keep
from pyrometer.tune.portrait import distance, portrait_of
from pyrometer.tune.space.job import job_of
from pyrometer.tune.space.named import named_space
from pyrometer.tune.trials.folder import Prior, begin
from pyrometer.tune.trials.records import Known

LEVELS = {
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "2",
    "layout.executors": "4",
}


RECORDED = Path(__file__).parents[2] / "fixtures" / "eventlog" / "recorded"
PROGRAMS = ("scan", "executors", "python-udf")
SPARKS = ("3.5.9", "4.3.0")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Event logs of three programs, each on two versions of Spark."""
    root = tmp_path_factory.mktemp("logs")
    names = [(program, spark) for program in PROGRAMS for spark in SPARKS]
    return {one: Path(shutil.copy(RECORDED / f"{one[0]}-{one[1]}.zstd", root)) for one in names}


@pytest.fixture(scope="module")
def run_dir(logs: dict[tuple[str, str], Path]) -> Path:
    return logs["scan", "4.3.0"]


def test_the_portrait_of_a_run_has_its_plans_its_ledger_and_its_sizes(run_dir: Path) -> None:
    found = portrait_of(run_dir)
    assert found.operators == {"loads": 1, "aggregates": 1, "writes": 1}
    assert found.shares["idle/driver"] > found.shares["task/on_cpu"] > 0
    assert sum(found.shares.values()) == pytest.approx(1.0, abs=0.01)
    assert found.sizes["tasks_count"] == 7
    assert distance(found, found) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_the_nearest_to_a_program_is_the_same_on_another_spark(
    logs: dict[tuple[str, str], Path],
) -> None:
    seen = {name: portrait_of(path) for name, path in logs.items()}
    for name, one in seen.items():
        apart = {other: distance(one, seen[other]) for other in seen if other != name}
        nearest = min(apart, key=lambda other: apart[other] or 1.0)
        assert nearest[0] == name[0]
        assert (apart[nearest] or 1.0) < NEAR
        assert all((far or 0.0) > NEAR for other, far in apart.items() if other[0] != name[0])


def test_findings_that_a_level_cures_are_priors_with_their_predicted_saving(
    tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = invented(tmp_path)
    monkeypatch.setattr(module, "findings_of", lambda path: found)
    known = known_before(tmp_path / "t", run_dir, tuning())
    first = known.priors[0]
    assert first.levels == LEVELS
    saving = next(one.saving_ratio.value for one in found.findings if one.remedies[0].level == "2")
    assert first.saving_ratio == saving
    assert known.reason is None
    # Nobody asked to remember anything.
    assert known.portrait is None
    words = said_words(known)[0]
    assert words.startswith("before any trial: ")
    assert "predicted to save" in words
    assert words.endswith("of the first run)")


def test_earlier_tunings_of_the_same_job_are_found_by_its_first_run(
    tmp_path: Path, run_dir: Path
) -> None:
    store = tmp_path / "store"
    trials = [RememberedTrial(configuration={}, value=1e9)]
    trials += [RememberedTrial(configuration={"jvm.gc": "parallel"}, value=8e8)] * 4
    one = Remembered(
        id="a", job="other", scale="test", objective="elapsed", portrait=portrait_of(run_dir),
        trials=trials, winner={"jvm.gc": "parallel"}, folder="/runs/other", wall_ns=1,
    )  # fmt: skip
    keep(store, one)
    (store / "bad.json").write_text("{")
    known = known_before(tmp_path / "t", run_dir, tuning(memory=str(store)))
    (similar,) = known.similar
    assert (similar.of, similar.distance, similar.trials) == ("/runs/other", 0.0, 5)
    assert "the job" in similar.differs
    assert known.priors[-1].levels == {"jvm.gc": "parallel"}
    assert len(known.earlier) == 5
    assert "bad.json" in known.unread[0]
    assert any("not read: " in text for text in said_words(known))


def test_a_run_that_says_nothing_is_a_reason_and_no_error(tmp_path: Path) -> None:
    known = known_before(tmp_path / "t", tmp_path, tuning(memory=str(tmp_path / "store")))
    assert known.priors == []
    assert known.reason
    assert known.portrait is None
    assert said_words(known) == [f"before any trial: nothing is known: {known.reason}"]


def test_what_is_known_is_looked_for_once_after_the_first_run_and_tried_first(
    tmp_path: Path,
) -> None:
    looked = []

    def known() -> Known:
        looked.append(1)
        prior = Prior(source="x", levels={"jvm.gc": "parallel", "not.of.this.space": "1"})
        return Known(priors=[prior], wall_ns=1)

    begin(tmp_path / "t", tuning("12"))
    machine = Simulated(known=known)
    history = search(
        tmp_path / "t",
        lambda one: engine("rules", SPACE, ideas=[]),
        actions=machine.actions(),
    )
    assert history.steps[0].asked.early
    assert history.steps[1].asked.configuration == {"jvm.gc": "parallel"}
    assert len(looked) == 1
    assert history.known is not None


def _ran(root: Path, workload: dict[str, object], **keys: object) -> Path:
    """A run of parquet-scan, or of what is given."""
    write_run(root)
    file = root / "manifest.json"
    said = json.loads(file.read_text())
    said["workload"] = {**said["workload"], **workload}
    file.write_text(json.dumps({**said, **keys}))
    return root


def test_a_run_of_another_job_is_refused(tmp_path: Path) -> None:
    run = _ran(tmp_path / "r", {})
    assert known_from(run, "parquet-scan", "default", {})[1] == []
    assert job_from_run(run) is not None
    for job, scale in (
        ("sort-text", "default"),
        ("parquet-scan", "test"),
        ("python a.py", "default"),
    ):
        with pytest.raises(UsageError, match="it ran parquet-scan at scale default") as error:
            known_from(run, job, scale, {})
        assert "one of the same job" in (error.value.remedy or "")
    own = _ran(tmp_path / "c", {"name": None, "command": ["python", "a.py"], "scale": None})
    assert known_from(own, "python a.py", "default", {})[1] == []
    with pytest.raises(UsageError, match=r"it ran python a\.py"):
        known_from(own, "python b.py", "default", {})


def test_a_run_at_another_level_of_the_workload_is_refused(tmp_path: Path) -> None:
    run = _ran(tmp_path / "r", {"variant": {"data.codec": "gzip"}})
    with pytest.raises(UsageError, match=r"with data\.codec=gzip, not snappy") as error:
        known_from(run, "parquet-scan", "default", {})
    assert "--set data.codec=gzip" in (error.value.remedy or "")
    assert known_from(run, "parquet-scan", "default", {"data.codec": "gzip"})[1] == []
    levels = {one: {"doc": "d.", "argv": ["python", f"{one}.py"]} for one in ("slow", "fast")}
    mode = {"doc": "d.", "default": "slow", "levels": levels}
    file = tmp_path / "job.yaml"
    text = {"name": "job", "summary": "s.", "command": ["{mode}"], "variants": {"mode": mode}}
    file.write_text(json.dumps(text))
    ran = {"name": str(file), "variant": {"workload.mode": "fast"}}
    own = _ran(tmp_path / "o", ran)
    with pytest.raises(UsageError, match=r"workload\.mode=fast, not slow"):
        known_from(own, str(file), "default", {})
    # Tuned as a command, it is the one that the run had.
    assert known_from(own, "python fast.py", "default", {})[1] == []
    with pytest.raises(UsageError, match="it ran"):
        known_from(own, "python slow.py", "default", {})


def test_a_run_may_have_any_level_of_what_the_tuning_itself_varies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _ran(tmp_path / "r", {"variant": {"data.codec": "gzip"}})
    space = tmp_path / "space.yaml"
    words = ["tune", "parquet-scan", "--from", str(run), "--space", str(space), "--dry-run"]
    knobs = "{data.codec: [snappy, gzip], jvm.gc: [g1, parallel]}"
    space.write_text(f"{{name: mine, knobs: {knobs}}}")
    assert run_verb(words) == 0
    space.write_text(f"{{name: mine, knobs: {knobs}, without: [data.codec]}}")
    assert run_verb(words) == 2
    assert "with data.codec=gzip, not snappy" in " ".join(capsys.readouterr().err.split())


def test_what_does_not_say_its_job_gives_findings_and_nothing_that_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, findings = _ran(tmp_path / "r", {"name": None}), invented(tmp_path / "i")
    assert job_from_run(run) is None
    monkeypatch.setattr(module, "findings_of", lambda path: findings)
    sources = [one.source for one in known_from(run, "sort-text", "test", {})[0]]
    assert sources
    assert all("does not say what job it is of" in one for one in sources)


def test_levels_that_a_run_was_given_are_candidates_and_not_the_jobs_own(tmp_path: Path) -> None:
    levels = {PARTITIONS: "8", "layout.tasks": 3, "data.codec": "snappy", "cgroup.cpus": "2"}
    origin = {"cgroup.cpus": "workload"}
    run = _ran(tmp_path / "r", {}, treatment=levels, treatment_origin=origin)
    priors = known_from(run, "parquet-scan", "default", {"layout.tasks": "3"})[0]
    assert priors[0].levels == {PARTITIONS: "8"}
    assert priors[0].source == f"levels of {run}"
    found = job_from_run(run)
    assert found is not None
    assert not {PARTITIONS, "layout.tasks", "layout.executors"} & found.now.keys()


def test_how_parquet_files_are_written_is_varied_only_where_a_run_may_have_written_some(
    logs: dict[tuple[str, str], Path], tmp_path: Path
) -> None:
    with Run.open(logs["scan", "4.3.0"]) as run:
        facts = job_of(run.tables).facts
    assert facts["writes_parquet"] == 1.0
    codec = "spark.sql.parquet.compression.codec"
    for known, offered in (
        ({}, True),
        ({"writes_parquet": 1.0}, True),
        ({"writes_parquet": 0.0}, False),
    ):
        found = named_space("data", {"cpus": 4.0, **known})
        assert (codec in {one.factor for one in found.knobs}) == offered
        assert ("no Parquet files" in found.left_out.get(codec, "")) != offered
