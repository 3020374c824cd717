"""Engines on all tables of a folder: shares with intervals, warm starts, and what is missing."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.tune.compare import (
    BY_OTHERS,
    BY_SCALE,
    COLD,
    EVERY,
    Replays,
    compare,
    lines,
    main,
    read,
)
from benchmarks.tune.race import replay
from benchmarks.tune.surfaces import space
from benchmarks.tune.table import read_table

from pyrometer.tune.space.cube import draw

SMALL = space(2, 1)
NAMES = [one.factor for one in SMALL.knobs]


def seconds(levels: dict[str, str], shift: float) -> float:
    number = math.log10(int(levels.get("spark.number.1", "10")))
    choice = 0.9 if levels.get("spark.choice.0") == "c" else 1.0
    return 20 * math.exp(0.1 * (number - 2 - shift) ** 2) * choice


def written(path: Path, shift: float, *, smaller: bool) -> None:
    rng = np.random.default_rng(round(10 * shift))
    with path.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([*NAMES, "value_ns", "cost_core_ns", "fidelity", "block"])
        for block in range(6):
            for at in range(6):
                levels = draw(SMALL, rng) if at else {}
                value = 1e9 * seconds(levels, shift) * math.exp(rng.normal(0, 0.02))
                cells = [levels.get(name, "") for name in NAMES]
                writer.writerow([*cells, value, 2 * value + 20e9, "full", block])
                if smaller and at < 4:
                    writer.writerow([*cells, value / 10, value / 5 + 2e9, "scale", block])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("tables")
    written(found / "one.csv", 0.0, smaller=True)
    written(found / "other.csv", 0.3, smaller=False)
    return found


def test_a_launch_costs_the_same_however_fast_the_job_is(folder: Path):
    table = read_table(folder / "one.csv", SMALL)
    rng = np.random.default_rng(0)
    for levels in ({}, {"spark.choice.0": "c"}):
        shown = table.show(levels, "full", 0.0, rng)
        assert shown.cost == pytest.approx(2 * shown.value + 20e9)
        cheap = table.show(levels, "scale", 0.0, rng)
        assert cheap.cost == pytest.approx(2 * cheap.value + 2e9)


def test_what_was_seen_is_kept_for_another_replay(folder: Path):
    table, kept = read_table(folder / "other.csv", SMALL), []
    course = replay(table, "random", 1, (4.0,), kept=kept)
    assert len(kept) == course.trials > 2
    assert replay(table, "random", 1, (4.0,)) == course


@pytest.mark.slow
def test_engines_are_compared_on_each_table_and_in_the_mean(folder: Path):
    tables, headers = read(folder)
    found = compare(tables, headers, ["rules", "random"], range(2), Replays(tables))
    assert [(one.table, one.engine) for one in found.rows] == [
        ("one", "rules"), ("one", "random"), ("other", "rules"), ("other", "random"),
        (EVERY, "rules"), (EVERY, "random"),
    ]  # fmt: skip
    drawn = {one.table: one for one in found.rows if one.engine == "random"}
    for runs in (5.0, 10.0, 25.0):
        each = [drawn[name].shares[runs][0] for name in ("one", "other")]
        assert drawn[EVERY].shares[runs][0] == pytest.approx(sum(each) / 2)
    assert found.rows[0].estimate(5.0).low is not None
    assert found.rows[0].estimate(8.0) is None


@pytest.mark.slow
def test_the_command_prints_one_table_and_writes_it(folder: Path, tmp_path: Path, capsys):
    out = tmp_path / "compared.json"
    words = ["--engine", "own", "--engine", "rules", "--processes", "2"]
    assert main([str(folder), "--seeds", "2", *words, "-o", str(out)]) == 0
    text = capsys.readouterr().out
    assert "5 runs" in text
    assert "best known −" in text
    found = json.loads(out.read_text())
    engines = {one["engine"] for one in found["rows"] if one["table"] == "one"}
    assert {"own", "rules", COLD, BY_SCALE, BY_OTHERS} <= engines
    assert BY_SCALE not in {one["engine"] for one in found["rows"] if one["table"] == "other"}
    for row in found["rows"]:
        assert row["engine"] in text
        for one in row["shares"]:
            assert len(one["by_seed"]) == one["share"]["n"] == 2
    ours = next(one for one in found["rows"] if one["table"] == EVERY and one["engine"] == "own")
    assert ours["shares"][-1]["share"]["value"] > 0.5


def test_an_engine_that_is_not_there_is_named(folder: Path, monkeypatch):
    from pyrometer.core.errors import CapabilityError

    def missing(table, name, seed, *rest, **keys):
        if name == "tpe":
            raise CapabilityError("optuna is not installed")
        return replay(table, name, seed, *rest, **keys)

    monkeypatch.setattr("benchmarks.tune.compare.replay", missing)
    tables, headers = read(folder)
    found = compare(tables, headers, ["tpe", "rules"], [0], Replays(tables))
    assert {one.engine for one in found.rows} == {"rules"}
    assert "left out: one, tpe: optuna is not installed" in list(lines(found, 1))


def test_a_folder_without_tables_says_how_to_make_one(tmp_path: Path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "python -m benchmarks.tune.search" in capsys.readouterr().err
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    assert main([str(tmp_path)]) == 2
    assert "no column value_ns" in capsys.readouterr().err
