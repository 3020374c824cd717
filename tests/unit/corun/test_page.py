"""The page of workloads that ran together: what it holds, from trials that are simulated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.corun.test_corun import SLOWER, ran, told, two_cpus
from tests.unit.experiments.test_page import content

from pyrometer.api import write_report
from pyrometer.cli.main import run_verb
from pyrometer.core.errors import UsageError
from pyrometer.corun import page as corun
from pyrometer.corun.page import verdict, write_corun
from pyrometer.experiments.folder import read_plan
from pyrometer.experiments.run.loop import begin


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        two_cpus(patch)
        made: Path = ran(tmp_path_factory.mktemp("corun"))
        return made


@pytest.fixture(scope="module")
def page(root: Path) -> dict[str, Any]:
    return content(write_corun(root, report=told(root)))


def test_the_verb_writes_the_page_and_says_why_losses_are_not_known(
    root: Path, tmp_path: Path, capsys: Any
) -> None:
    target = tmp_path / "page.html"
    assert run_verb(["report", str(root), "-o", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["report"] == str(target)
    made = content(target)
    assert made["schema"] == "pyrometer/corun-page/1"
    # These trials have no runs: times are told, what was lost is not.
    for cell in made["plots"]["matrix"]["cells"]:
        assert cell["ratio"] is not None
        assert cell["encounter"]["contention"]["reason"].endswith("no such file or directory")
        assert cell["encounter"]["contention"]["grown"] == []


def test_the_verb_that_runs_them_writes_it_into_their_folder(root: Path, capsys: Any) -> None:
    (root / "report.html").unlink(missing_ok=True)
    assert run_verb(["corun", str(root)]) == 0
    assert str(root / "report.html") in capsys.readouterr().out
    assert content(root / "report.html")["title"] == "e"


def test_each_slowdown_is_a_cell_by_workload_company_and_place(page: dict[str, Any]) -> None:
    matrix = page["plots"]["matrix"]
    assert matrix["factors"] == {
        "workload": ["parquet-scan", "pagerank"],
        "with": ["cpu", "pagerank", "parquet-scan"],
        "CPUs": ["shared", "own"],
    }
    found = {tuple(cell["levels"].values()): cell for cell in matrix["cells"]}
    assert found.keys() == {
        (member, beside, "own" if own else "shared") for member, beside, own in SLOWER
    }
    for (member, beside, own), slowdown in SLOWER.items():
        cell = found[member, beside, "own" if own else "shared"]
        assert cell["ratio"] == pytest.approx(slowdown, rel=0.05)
        assert cell["ratio"] == cell["encounter"]["slowdown"]["value"]
        names = [one["name"] for one in page["report"]["treatments"]]
        assert cell["treatment"] in names


def test_the_page_holds_advice_the_whole_trials_and_cost(page: dict[str, Any]) -> None:
    assert page["verdict"].startswith("parquet-scan and pagerank: together on the same CPUs: ")
    assert "6 slowdowns: 5 slower" in page["verdict"]
    assert "pagerank with parquet-scan (own CPUs) takes 2." in page["verdict"]
    assert [one["own_cpus"] for one in page["report"]["parties"]] == [False, True]
    assert [one["code"] for one in page["report"]["doubts"]] == ["drift", "drift"]
    assert "encounters" not in page["report"]
    assert len(page["plots"]["order"]["points"]) == 40
    assert len(page["plots"]["cost"]["treatments"]) == 8
    assert all(one["ends"] == {"finished": 5} for one in page["report"]["treatments"])
    assert page["plan"]["kind"] == "corun"
    assert all(figure["value"] for figure in page["figures"])
    assert page["cut"] is None


def test_links_lead_to_reports_of_trials(root: Path) -> None:
    name = read_plan(root).trials[0].folder
    run = root / "trials" / name
    run.mkdir(parents=True, exist_ok=True)
    (run / "report.html").write_text("x")
    assert content(write_report(root))["runs"] == {name: f"trials/{name}/report.html"}


def test_what_has_not_run_yet_is_said(root: Path, tmp_path: Path) -> None:
    begin(tmp_path / "none", read_plan(root))
    made = content(write_report(tmp_path / "none"))
    assert made["verdict"].startswith("Nothing can be compared: parquet-scan: two treatments with")
    for cell in made["plots"]["matrix"]["cells"]:
        assert (cell["ratio"], cell["encounter"]) == (None, None)
        assert cell["reason"].startswith("two treatments with a finished trial are needed")


def test_a_cell_whose_trials_did_not_finish_says_why(root: Path) -> None:
    plan, report = read_plan(root), told(root)
    gone, *report.encounters = report.encounters
    name = next(one.name for one in plan.treatments if one.name == f"{gone.member} beside cpu")
    reasons = {one.name: ["out of memory"] if one.name == name else [] for one in plan.treatments}
    cells = {one["treatment"]: one for one in corun.matrix(plan, report, reasons)["cells"]}
    assert (cells[name]["ratio"], cells[name]["reason"]) == (None, "out of memory")
    assert sum(one["encounter"] is None for one in cells.values()) == 1


def test_many_pieces_of_advice_are_counted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corun, "IN_WORDS", 0)
    assert verdict(told(root)).startswith(
        "Finished first, of 1 combinations: 1 × together on the same CPUs. 6 slowdowns"
    )


def test_a_report_of_one_workload_is_not_of_company(tmp_path: Path) -> None:
    from tests.support import experiments

    begin(tmp_path / "one", experiments.plan(["a", "b"], 1, 0))
    with pytest.raises(UsageError, match="nothing ran together"):
        write_corun(tmp_path / "one")
