"""The page of an experiment: what it holds, from a folder of trials that are simulated."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support import experiments
from tests.support.experiments import Machine

from pyrometer.api import write_report
from pyrometer.cli.main import run_verb
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.schema import doubt
from pyrometer.experiments.folder import Ended, LeftOutTreatment, PlannedTreatment, Surroundings
from pyrometer.experiments.journal import opened_journal
from pyrometer.experiments.judge import page as experiment
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.judge.best import verdict
from pyrometer.experiments.judge.files import keep_curve
from pyrometer.experiments.judge.page import unreported, write_experiment
from pyrometer.experiments.judge.plots import trend
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.scaling.analysis import Question, analyse
from pyrometer.scaling.curve import CurveReport
from pyrometer.statistics.scaling.levels import Observation

FACTORS = {"snappy": 1.0, "none": 0.9, "zstd": 1.2}


def folder(root: Path, *, baseline: str | None = "codec=snappy, tasks=1", evil: str = "") -> Path:
    """Two factors, four blocks; one combination is left out."""
    cells = {(codec, tasks): time for codec, time in FACTORS.items() for tasks in ("1", "2")}
    del cells["none", "2"]
    names = {f"codec={codec}, tasks={tasks}{evil}": (codec, tasks) for codec, tasks in cells}
    plan = experiments.plan(names, 4, 1)
    plan.baseline = baseline
    plan.treatments = [
        PlannedTreatment(name=name, levels={}, varied={"codec": codec + evil, "tasks": tasks})
        for name, (codec, tasks) in names.items()
    ]
    plan.left_out = [
        LeftOutTreatment(
            name="codec=none, tasks=2",
            reason=f"no CPUs{evil}",
            varied={"codec": f"none{evil}", "tasks": "2"},
        )
    ]
    times = [cells[names[trial.treatment]] for trial in plan.trials]
    machine = Machine(1, len(times), lambda at: times[at], sd=0.01, drift=0.02, outliers=0)
    begin(root, plan)
    carry_out(root, actions=machine.actions())
    return root


def content(page: Path) -> dict[str, Any]:
    found = re.search(r'id="content">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    made: dict[str, Any] = json.loads(found[1])
    return made


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("experiment") / "out")


def test_the_verb_writes_the_page_into_the_folder(made: Path, capsys: Any) -> None:
    assert run_verb(["report", str(made), "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert Path(told["report"]) == made / "report.html"
    found = content(made / "report.html")
    assert found["schema"] == "pyrometer/experiment-page/1"
    assert len(found["plots"]["order"]["points"]) == found["report"]["done_count"] == 20
    assert found["verdict"].startswith("codec=none, tasks=1 has the lowest mean and is faster than")
    assert "the baseline codec=snappy, tasks=1: −" in found["verdict"]


def test_the_matrix_is_beside_the_baseline_and_shows_its_gaps(made: Path) -> None:
    matrix = content(write_report(made))["plots"]["matrix"]
    assert matrix["factors"] == {"codec": ["snappy", "none", "zstd"], "tasks": ["1", "2"]}
    cells = {cell["treatment"]: cell for cell in matrix["cells"]}
    assert cells["codec=snappy, tasks=1"]["ratio"] == 1
    judged = {name: cell for name, cell in cells.items() if cell["ratio"] is not None}
    assert len(judged) == len(cells) - 1
    for name, cell in judged.items():
        if cell["ratio"] is not None:
            planted = FACTORS[cell["levels"]["codec"]]
            assert cell["ratio"] == pytest.approx(planted, rel=0.1), name
            assert cell["time"]["low"] < cell["time"]["value"] < cell["time"]["high"]
    assert cells["codec=none, tasks=2"]["reason"] == "left out: no CPUs"
    assert cells["codec=none, tasks=2"]["ratio"] is None


def test_without_a_baseline_ratios_are_of_the_geometric_mean(tmp_path: Path) -> None:
    plan = experiments.plan(["a", "b"], 3, 1)
    plan.baseline = None
    begin(tmp_path / "out", plan)
    carry_out(tmp_path / "out", actions=Machine(1, 6).actions())
    matrix = content(write_experiment(tmp_path / "out"))["plots"]["matrix"]
    ratios = [cell["ratio"] for cell in matrix["cells"] if cell["ratio"]]
    assert math.prod(ratios) == pytest.approx(1)
    assert matrix["reference"] == "the geometric mean of all"


def test_residuals_are_of_their_treatment_and_canaries_of_their_median(made: Path) -> None:
    points = content(write_report(made))["plots"]["order"]["points"]
    assert [point["number"] for point in points] == list(range(1, 21))
    for name in {point["treatment"] for point in points}:
        own = [math.log1p(p["residual"]) for p in points if p["treatment"] == name]
        assert sum(own) == pytest.approx(0, abs=1e-12)
    seen = sorted(point["canaries"]["alu_ns"] for point in points)
    assert (seen[9] + seen[10]) / 2 == pytest.approx(0, abs=1e-9)


def test_costs_add_up_and_what_is_left_is_told(made: Path, tmp_path: Path) -> None:
    cost = content(write_report(made))["plots"]["cost"]
    assert sum(one["total_s"] for one in cost["treatments"]) == pytest.approx(cost["trials_s"])
    assert cost["left_s"] == 0
    plan = experiments.plan(["a", "b"], 2, 1)
    begin(tmp_path / "none", plan)
    empty = content(write_experiment(tmp_path / "none"))
    assert empty["plots"]["cost"]["left_s"] is None
    assert empty["verdict"].startswith("Nothing can be compared: two treatments with a finished")
    assert all(figure["reason"] for figure in empty["figures"])


def taking_turns(root: Path) -> Path:
    """Two JVMs, in which two treatments take turns: 60 s each, 20 s of them waiting for calm."""
    plan = experiments.plan(["a", "b"], 2, 1)
    begin(root, plan)
    for one in plan.trials:
        one.launch, one.folder = one.block, f"{one.block:04d}"
    (root / "experiment.json").write_text(plan.model_dump_json(by_alias=True))
    with opened_journal(root) as journal:
        for one in plan.trials:
            journal.append(
                Ended(
                    trial=one.number, attempt=1, block=one.block, treatment=one.treatment,
                    status="finished", folder=one.folder, seconds=10 * one.block + one.number / 10,
                    duration_s=30.0, before=Surroundings(waited_s=20.0),
                    wall_ns=one.block * 60_000_000_000 + one.number,
                )
            )  # fmt: skip
    return root


def test_a_launch_that_is_shared_takes_and_waits_once(tmp_path: Path) -> None:
    page = content(write_experiment(taking_turns(tmp_path / "out")))
    cost = page["plots"]["cost"]
    assert (cost["trials_s"], cost["waited_s"]) == (120, 40)
    assert cost["elapsed_s"] == pytest.approx(120)
    assert "(40.0 s of it waiting for a quiet machine)" in page["figures"][3]["note"]


def test_a_run_that_trials_share_gets_one_report(tmp_path: Path) -> None:
    root = taking_turns(tmp_path / "out")
    runs = [root / "trials" / name for name in ("0001", "0002")]
    for run in runs:
        run.mkdir(parents=True)
        (run / "manifest.json").write_text("{}")
    assert unreported(root) == runs
    (runs[0] / "report.html").write_text("x")
    assert unreported(root) == runs[1:]


def test_the_page_holds_what_its_curve_doubts(tmp_path: Path) -> None:
    root = taking_turns(tmp_path / "out")
    plain = content(write_experiment(root))["report"]["doubts"]
    rows = [Observation(p, 10 / p) for p in (1, 2, 4)]
    fit = analyse(rows, "elapsed", Question(), source="out")
    curve = CurveReport(
        experiment="out", folder=str(root), workload="w", scale="1", factor="layout.tasks",
        trials_count=4, done_count=4, levels=[], fit=fit,
        doubts=[Doubt.model_validate(plain[0]), doubt("simulation_fair", "1 of 3 runs")],
    )  # fmt: skip
    keep_curve(root, curve)
    found = [one["code"] for one in content(write_experiment(root))["report"]["doubts"]]
    assert found == [
        *(one["code"] for one in plain),
        "scaling_few_levels", "scaling_unreplicated", "simulation_fair",
    ]  # fmt: skip


def test_times_of_two_trials_have_no_interval_below_nothing(tmp_path: Path) -> None:
    page = content(write_experiment(taking_turns(tmp_path / "out")))
    means = [one["mean"] for one in page["report"]["treatments"]]
    assert [(mean["n"], mean["low"]) for mean in means] == [(2, 0.0), (2, 0.0)]


def test_the_page_of_many_trials_is_bounded_and_says_so(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert content(write_experiment(made))["cut"] is None
    monkeypatch.setattr(experiment, "MOST", 6)
    page = content(write_experiment(made))
    points = page["plots"]["order"]["points"]
    assert [point["number"] for point in points] == list(range(15, 21))
    assert all(len(one["values"]) == 1 for one in page["report"]["treatments"])
    assert "the last 6 of 20 attempts" in page["cut"]
    monkeypatch.setattr(experiment, "MOST", 3)
    page = content(write_experiment(made))
    assert len(page["report"]["comparison"]["pairs"]) == 3
    assert "the first 3 of 4 pairs" in page["cut"]


def test_reports_of_trials_are_found_beside_the_page(made: Path, tmp_path: Path) -> None:
    name = content(write_report(made))["plots"]["order"]["points"][0]["folder"]
    run = made / "trials" / name
    run.mkdir(parents=True, exist_ok=True)
    (run / "report.html").write_text("x")
    assert content(write_report(made))["runs"] == {name: f"trials/{name}/report.html"}
    elsewhere = content(write_report(made, tmp_path / "page.html"))["runs"][name]
    assert (tmp_path / elsewhere).resolve() == (run / "report.html").resolve()
    odd = tmp_path / "50 % #1"
    made.rename(odd)
    link = content(write_report(odd, tmp_path / "page.html"))["runs"][name]
    odd.rename(made)
    assert link == f"50%20%25%20%231/trials/{name}/report.html"


def test_reports_of_trials_are_for_experiments(tmp_path: Path, capsys: Any) -> None:
    assert run_verb(["report", str(tmp_path), "--runs"]) == 2
    assert "is not an experiment's folder" in capsys.readouterr().err
    with pytest.raises(UsageError, match="no treatment is called x"):
        write_experiment(folder(tmp_path / "out"), control="x")


def test_a_trend_is_seen_and_its_interval_holds_it() -> None:
    rising = [0.001 * at + 0.004 * math.sin(at * at) for at in range(40)]
    found = trend(rising)
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < math.expm1(0.039) < found.high
    assert found.n == 40


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        # The change is that of the best: from 2 s to 1 s.
        ((1.0, 2.0), r"Best: a \(the baseline\), faster than b: −(49|50|51)\.\d+ % \(.*\)\.$"),
        ((2.0, 1.0), r"Best: b, faster than the baseline a: −(49|50|51)\.\d+ % \(95 %: .*\)\.$"),
        ((1.0, 1.0), r".* has the lowest mean, but (may not be faster than|is the same as) "),
        ((1.0, 2.0, 3.0), r"Best: a \(the baseline\), faster than b: .* 2 pairs: 2 slower\."),
        ((2.0, 1.0, 3.0), r"Best: b, faster than the baseline a: .* 2 pairs: .*1 slower"),
        # Others are compared with the baseline alone: which of two is the best is not known.
        (
            (3.0, 1.0, 1.001),
            r"[bc] has the lowest mean and is faster than the baseline a: .*"
            r" Also faster than the baseline, and not compared with it: [bc]\.",
        ),
    ],
)
def test_the_best_treatment_leads(tmp_path, times, sentence) -> None:
    names = "abc"[: len(times)]
    plan = experiments.plan(list(names), 5, 1)
    by_name = dict(zip(names, times, strict=True))
    order = [by_name[trial.treatment] for trial in plan.trials]
    machine = Machine(1, len(order), lambda at: order[at], sd=0.01, drift=0, outliers=0)
    begin(tmp_path / "e", plan)
    entries = carry_out(tmp_path / "e", actions=machine.actions())
    assert re.match(sentence, verdict(experiment_report(plan, entries)))
