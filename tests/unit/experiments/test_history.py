"""History of runs: change points against a definition and a known series, subjects, the verb."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyrometer.cli.main import run_verb
from pyrometer.collect.host.card import this_host
from pyrometer.collect.launch.record import new_manifest
from pyrometer.experiments.history import history as page_of_history
from pyrometer.experiments.history.history import (
    HistoryReport,
    StoredRun,
    Subject,
    history,
    regressions,
)
from pyrometer.experiments.judge.files import parse_rule
from pyrometer.statistics.change_points import best_cut, change_points, place_interval
from pyrometer.store.manifest import write_manifest
from pyrometer.trial.trial import Trial

# Yearly flow of the Nile at Aswan, 1871 to 1970 (Cobb 1978): it fell after 1898.
NILE = """
1120 1160 963 1210 1160 1160 813 1230 1370 1140 995 935 1110 994 1020 960 1180 799 958 1140
1100 1210 1150 1250 1260 1220 1030 1100 774 840 874 694 940 833 701 916 692 1020 1050 969
831 726 456 824 702 1120 1100 832 764 821 768 845 864 862 698 845 744 796 1040 759
781 865 845 944 984 897 822 1010 771 676 649 846 812 742 801 1040 860 874 848 890
744 749 838 1050 918 986 797 923 975 815 1020 906 901 1170 912 746 919 718 714 740
"""


def by_definition(values: list[float], least: int) -> tuple[int, float]:
    """The statistic of Matteson and James, sum by sum."""

    def mean(pairs: list[float]) -> float:
        return sum(pairs) / len(pairs)

    def scaled(left: list[float], right: list[float]) -> float:
        n, m = len(left), len(right)
        between = mean([abs(a - b) for a in left for b in right])
        inside = [
            mean([abs(one[i] - one[j]) for i in range(len(one)) for j in range(i)])
            for one in (left, right)
        ]
        return n * m / (n + m) * (2 * between - sum(inside))

    return max(
        (
            (cut, scaled(values[:cut], values[cut:end]))
            for cut in range(least, len(values) - least + 1)
            for end in range(cut + least, len(values) + 1)
        ),
        key=lambda one: one[1],
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_statistic_is_that_of_the_paper(seed: int) -> None:
    draw = np.random.default_rng(seed)
    values = [float(v) for v in draw.normal(0, 1, 14) + (np.arange(14) > 8) * seed]
    series = np.asarray(values)
    found = best_cut(np.abs(series[:, None] - series[None, :]), 3)
    wanted = by_definition(values, 3)
    assert found is not None
    assert found[0] == wanted[0]
    assert found[1] == pytest.approx(wanted[1])


def test_the_nile_fell_after_1898_and_nothing_else_happened() -> None:
    (cut,) = change_points([float(one) for one in NILE.split()])
    assert 1871 + cut.index == 1899
    assert cut.p == pytest.approx(1 / 200)


def test_a_level_that_comes_and_goes_is_two_changes() -> None:
    noise = np.random.default_rng(1).normal(0, 0.02, 60)
    values = noise + np.repeat([0.0, 0.1, 0.0], [25, 15, 20])
    assert [cut.index for cut in change_points(list(values))] == [25, 40]


def test_what_has_no_noise_and_no_change_has_no_cut() -> None:
    assert change_points([1.0] * 20) == []
    assert change_points([]) == change_points([1.0, 2.0]) == []
    assert [cut.index for cut in change_points([1.0] * 8 + [2.0] * 8)] == [8]
    with pytest.raises(ValueError, match="finite"):
        change_points([1.0, math.nan])
    with pytest.raises(ValueError, match="at most"):
        change_points([1.0] * 501)


def test_the_place_is_wider_where_the_step_is_small() -> None:
    noise = list(np.random.default_rng(1).normal(0, 1, 40))
    small, large = (place_interval(noise, [x + step for x in noise]) for step in (1.5, 20))
    assert small[0] > large[0] == 1
    assert place_interval([1.0, 2.0], [1.0, 2.0]) == (1, 1)


SUBJECT = Subject(workload="w", scale="test", treatment="", profile="off", host="h")


def runs(levels: dict[float, int], facts: dict[float, dict[str, str]] | None = None) -> Any:
    draw, at = np.random.default_rng(2), 0
    for level, count in levels.items():
        for _ in range(count):
            at += 1
            seconds = level * math.exp(draw.normal(0, 0.01))
            yield StoredRun(SUBJECT, at, seconds, f"run-{at}", (facts or {}).get(level, {}))


def test_a_change_has_effect_place_and_what_else_changed() -> None:
    facts = {10.0: {"java": "17", "kernel": "6"}, 11.0: {"java": "21", "kernel": "6"}}
    (series,) = history(runs({10.0: 12, 11.0: 9}, facts)).series
    (change,) = series.changes
    assert (change.index, change.folder) == (12, "run-13")
    assert change.change.low is not None
    assert change.change.high is not None
    assert change.change.low < 0.1 < change.change.high
    assert change.change.n == 9
    assert (change.verdict, change.now) == ("slower", change.change)
    assert (change.place.low, change.place.value, change.place.high) == (11, 12, 13)
    assert [(f.name, f.before, f.behind) for f in change.facts] == [("java", "17", "21")]
    assert [run.level for run in series.runs] == [0] * 12 + [1] * 9
    assert [round(level.value or 0) for level in series.levels] == [10, 11]


def test_a_regression_fails_until_it_is_undone() -> None:
    rule = parse_rule("regression(wall) > 3%")
    assert len(regressions(history(runs({10.0: 12, 11.0: 9})), rule)) == 1
    assert regressions(history(runs({10.0: 12, 11.0: 9, 10.01: 12})), rule) == []
    assert regressions(history(runs({11.0: 12, 10.0: 9})), rule) == []
    assert regressions(history(runs({10.0: 12, 10.2: 12})), rule) == []
    # An improvement that followed does not make up for it.
    assert len(regressions(history(runs({10.0: 12, 12.0: 9, 11.0: 12})), rule)) == 1


def test_few_runs_say_so_and_old_ones_are_counted() -> None:
    few = history(runs({10.0: 5})).series[0]
    assert few.reason == "5 runs: at least 8 are needed"
    assert history(runs({10.0: 20}), most=8).series[0].left_out_count == 12


def test_runs_that_resemble_their_neighbours_are_doubted() -> None:
    walk = np.cumsum(np.random.default_rng(4).normal(0, 0.01, 60))
    made = history(
        StoredRun(SUBJECT, at, math.exp(value), str(at)) for at, value in enumerate(walk)
    )
    assert [doubt.code for doubt in made.doubts] == ["runs_alike"]


def test_the_page_holds_the_first_series_and_counts_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = history(runs({10.0: 12, 11.0: 9}))
    made.series *= 3
    monkeypatch.setattr(page_of_history, "MOST_SERIES", 2)
    text = page_of_history.write_history(made, tmp_path / "history.html").read_text()
    assert '"series_count":3,"changes_count":3,"slower_count":3' in text
    assert text.count('"subject":') == 2


def stored(folder: Path, number: int, seconds: float, **facts: Any) -> None:
    """A run directory of a command that took so long."""
    root = folder / f"run-{number:03d}"
    (root / "raw").mkdir(parents=True)
    trial = Trial(command=("true",), profile="off", run_dir=root)
    manifest = new_manifest(trial, this_host(with_card=False), [], [])
    manifest.state, manifest.exit.code = "finished", 0
    manifest.started_wall_ns = (number + 1) * 86_400 * 10**9
    manifest.started_mono_ns, manifest.ended_mono_ns = 0, int(seconds * 1e9)
    for name, value in facts.items():
        setattr(manifest, name, value)
    write_manifest(root, manifest)


def test_the_verb_reads_folders_fails_and_writes(tmp_path: Path, capsys: Any) -> None:
    draw = np.random.default_rng(3)
    for number in range(24):
        level = 1.0 if number < 14 else 1.2
        versions = {"java": "17" if number < 14 else "21"}
        stored(tmp_path / "runs", number, level * math.exp(draw.normal(0, 0.01)), versions=versions)
    stored(tmp_path / "runs", 98, 9.0, state="failed")
    (tmp_path / "runs" / "run-099").mkdir()
    (tmp_path / "runs" / "run-099" / "manifest.json").write_text("{")
    table, page = tmp_path / "runs.csv", tmp_path / "page.html"
    command = ["experiment", "history", str(tmp_path / "runs"), "--json", "--csv", str(table)]
    assert run_verb([*command, "-o", str(page), "--fail-if", "regression(wall) > 3%"]) == 1
    out = capsys.readouterr()
    found = json.loads(out.out.splitlines()[-1])
    report = HistoryReport.model_validate(found)
    (change,) = report.series[0].changes
    assert change.index == 14
    assert [(f.name, f.before, f.behind) for f in change.facts] == [("java", "17", "21")]
    assert found["fail_if"]["failed"][0]["index"] == 14
    assert len(report.unread) == 1
    assert "java 17 → 21" in " ".join(out.err.split())
    assert len(list(csv.DictReader(table.open()))) == 24
    assert '"pyrometer/history/1"' in page.read_text()
    later = [*command, "--since", "1970-01-16T12:00", "--fail-if", "regression(wall) > 3%"]
    assert run_verb(later) == 0
    assert run_verb([*command, "--workload", "other"]) == 2
    assert run_verb([*command, "--since", "yesterday"]) == 2
    assert run_verb(["experiment", "history", str(tmp_path / "absent")]) == 2
