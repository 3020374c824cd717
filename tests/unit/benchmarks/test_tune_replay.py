"""Replays: tables answer as measured, engines are compared at equal cost, and gains that are none
are not confirmed.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.tune.__main__ import main
from benchmarks.tune.race import Weather, confirmation, replay
from benchmarks.tune.standings import standings
from benchmarks.tune.surfaces import Surface, space, surfaces
from benchmarks.tune.table import read_table

from pyrometer.core.errors import UsageError
from pyrometer.tune.advise.adviser import Observation
from pyrometer.tune.space.cube import draw

SMALL = space(3, 1)


def _effect(places: dict[str, float]) -> float:
    return 0.6 * (places["spark.number.1"] - 0.8) ** 2 - 0.1 * (places["spark.choice.0"] > 0.7)


JOB = Surface("small", SMALL, _effect, outliers=0.0)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("tables") / "small.csv"
    names = [one.factor for one in SMALL.knobs]
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([*names, "value_ns", "cost_core_ns", "block", "failed"])
        for block in range(12):
            effect = rng.normal(0, 0.03)
            for at in range(6):
                levels = draw(SMALL, rng) if at else {}
                shown = JOB.show(levels, "full", effect, rng)
                cells = [levels.get(name, "") for name in names]
                writer.writerow([*cells, shown.value, 2 * shown.cost, block, ""])
        writer.writerow(["999", "", "", "", "", "1e9", "12", "OutOfMemoryError"])
    return path


def test_a_table_answers_with_what_was_measured_and_near_the_truth_beside(table: Path) -> None:
    found = read_table(table, SMALL)
    rng, errors = np.random.default_rng(2), []
    for _ in range(30):
        levels = draw(SMALL, rng)
        truth, told = JOB.truth(levels), found.truth(levels)
        assert truth is not None
        assert told is not None
        errors.append(abs(math.log(told / truth)))
    assert float(np.median(errors)) < 0.05
    assert found.best_known() < (found.truth({}) or 0)
    assert 0.01 < found.noise < 0.06
    assert 0.01 < found.block_noise < 0.1


def test_what_failed_when_measured_fails_again(table: Path) -> None:
    found = read_table(table, SMALL)
    shown = found.show({"spark.number.0": "999"}, "full", 0.0, np.random.default_rng(0))
    assert shown.value is None
    assert shown.failed


def test_a_baseline_that_failed_once_answers_as_does_what_finished_beside_a_failure(
    table: Path, tmp_path: Path
) -> None:
    path = tmp_path / "failed.csv"
    failures = ",,,,,12,3,OutOfMemoryError\n,,501,,,12,3,OutOfMemoryError\n"
    finished = ",,500,,2e10,4e10,3,\n"
    path.write_text(table.read_text() + failures + finished)
    found = read_table(path, SMALL)
    assert found.truth({}) is not None
    assert found.truth({"spark.number.2": "501"}) is None
    # Beside a failure what was not measured fails, too.
    assert found.truth({"spark.number.2": "502"}) is None
    assert found.truth({"spark.number.2": "500"}) is not None


def test_costs_are_those_of_the_table(table: Path) -> None:
    found = read_table(table, SMALL)
    shown = found.show({}, "full", 0.0, np.random.default_rng(0))
    assert shown.cost == pytest.approx(2 * (shown.value or 0))


def test_a_table_needs_no_space(table: Path) -> None:
    found = read_table(table)
    kinds = {one.factor: one.kind for one in found.space.knobs}
    assert kinds["spark.number.1"] == "int"
    assert kinds["spark.choice.0"] == "choice"
    assert found.truth({"spark.number.1": "500"}) is not None


def test_parquet_is_read_as_csv(table: Path, tmp_path: Path) -> None:
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    path = tmp_path / "small.parquet"
    pq.write_table(pc.read_csv(table), path)
    one, other = (read_table(each, SMALL) for each in (table, path))
    assert one.truth({"spark.number.1": "500"}) == other.truth({"spark.number.1": "500"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no trial"),
        ("a,b\n1,2\n", "no column value_ns"),
        ("spark.x,value_ns\n1,fast\n", "trial 1: could not convert"),
        ("spark.x,value_ns\n1,\n", "trial 1: neither a value nor a reason"),
    ],
)
def test_a_table_that_is_none_says_why(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_table(path)


def test_a_replay_spends_no_more_than_its_budget_and_repeats_itself() -> None:
    one, again = (replay(JOB, "random", 3, (3.0, 8.0)) for _ in range(2))
    assert one == again
    assert one.spent <= 8.0
    assert len(one.shares) == 2
    assert one.shares[1] <= 1.0 + 1e-9
    assert one != replay(JOB, "random", 4, (3.0, 8.0))


@pytest.mark.slow
def test_our_engine_beats_drawing_at_equal_cost() -> None:
    ours, drawn = (
        [replay(JOB, name, seed, (12.0,)).shares[0] for seed in range(4)]
        for name in ("own", "random")
    )
    assert float(np.mean(ours)) > 0.75
    assert float(np.mean(ours)) > float(np.mean(drawn))


@pytest.mark.slow
def test_trials_of_a_similar_job_warm_the_start(table: Path) -> None:
    known = read_table(table, SMALL).seen
    warm, cold = (
        [replay(JOB, "own", seed, (8.0,), earlier).shares[0] for seed in range(3)]
        for earlier in (known, ())
    )
    assert float(np.mean(warm)) > 0.8
    assert float(np.mean(warm)) >= float(np.mean(cold))


def test_the_weather_is_the_same_for_engines_with_and_without_blocks() -> None:
    found = Weather(1.0, np.random.default_rng(0))
    effects = [found.effect(0) for _ in range(12)]
    assert len(set(effects)) == 2
    assert found.effect(1) not in effects


@pytest.mark.slow
def test_tunings_of_what_does_nothing_confirm_nothing() -> None:
    null = surfaces()["null"]
    confirmed = 0
    for seed in range(100):
        course = replay(null, "random", seed, (8.0,))
        verdict = confirmation(null, course.best, 5, np.random.default_rng([seed, 1]))
        confirmed += verdict.outcome == "confirmed"
    assert confirmed <= 5


@pytest.mark.slow
def test_neither_does_our_engine() -> None:
    null = surfaces()["null"]
    outcomes = []
    for seed in range(4):
        course = replay(null, "own", seed, (10.0,))
        rng = np.random.default_rng([seed, 2])
        outcomes.append(confirmation(null, course.best, 5, rng).outcome)
    assert "confirmed" not in outcomes


def test_a_configuration_that_fails_is_not_confirmed() -> None:
    cliff = surfaces()["cliff"]
    beyond = {"spark.number.2": "1000"}
    assert cliff.truth(beyond) is None
    verdict = confirmation(cliff, beyond, 5, np.random.default_rng(0))
    assert verdict.outcome == "failed"


@pytest.mark.slow
def test_the_command_prints_every_engine_with_intervals(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engines = ["--engine", "rules", "--engine", "random", "--seeds", "2", "--runs", "4,2"]
    code = main(["--table", str(table), *engines, "--earlier", str(table)])
    out = capsys.readouterr().out
    assert code == 0
    assert "rules" in out
    assert "2 runs" in out.splitlines()[1]
    assert "%" in out
    assert main(["--table", "/nowhere.csv", "--seeds", "1"]) == 2


def test_what_was_measured_answers_with_its_mean_and_not_with_a_model(table: Path) -> None:
    found = read_table(table, SMALL)
    known = standings(found.seen)
    base = found.truth({}) or 0.0
    for one in known[:20]:
        assert found.truth(one.configuration) == pytest.approx(base * math.exp(one.change))
    assert found.best_known() == pytest.approx(base * math.exp(known[0].change))


@pytest.mark.parametrize("name", ["random", "own"])
def test_trials_of_all_engines_are_stopped_as_a_tuning_stops_them(name: str) -> None:
    """Whoever sets no limit pays no more for what takes far too long."""

    def steep(places: dict[str, float]) -> float:
        return 3.0 * places["spark.number.1"]

    seen: list[Observation] = []
    replay(Surface("steep", SMALL, steep, outliers=0.0), name, 1, (8.0,), kept=seen)
    first, *rest = seen
    assert any(one.censored for one in rest)
    best = first.value or 0.0
    for one in rest:
        assert one.value is not None
        assert one.value <= 2.0 * max(best, first.value or 0.0) * (1 + 1e-9)
        best = min(best, one.value)
