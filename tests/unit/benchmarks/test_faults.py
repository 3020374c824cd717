"""Planted faults: every later cause is an application, and only pairs of equal results count."""

import importlib
import json
import re
import subprocess
from pathlib import Path

import pytest
from benchmarks.faults import by_rule
from benchmarks.faults.authored import authored
from benchmarks.faults.cases import DEVELOPMENT, Case, Set
from benchmarks.faults.judge import Found, Outcome, judge
from benchmarks.faults.later_cases import LATER
from benchmarks.faults.record import RECORDED, command, failure, record, recorded, treatment
from benchmarks.faults.third_cases import THIRD
from benchmarks.faults.verdict import explained, line, outcomes

ROOT = Path(__file__).parents[3]
AUTHORED = [authored(name) for name in ("fourth", "fifth", "sixth")]
SEVENTH, EIGHTH, NINTH = authored("seventh"), authored("eighth"), authored("ninth")
CONDITIONS, SURROUNDINGS = authored("conditions"), authored("surroundings")
STEPPED = [(of, shape) for of in (SEVENTH, EIGHTH, NINTH, SURROUNDINGS) for shape in of.shapes]
SPILL = Case(
    "spill", ("spill.a",), {"x": "1"}, {"x": "2"}, ({"operator": "Sort"},), "local[2,4]",
    {"events": Case("spill", on={"y": "3"}, places=({"operator": "Window"},))},
)  # fmt: skip
SPILLS = Set("later", Path("app.py"), (SPILL,), {"z": "0"})


def test_a_shape_says_what_differs_and_the_rest_is_the_cases() -> None:
    here = SPILL.of("events")
    assert (here.codes, here.on, here.off) == (("spill.a",), {"y": "3"}, {"x": "2"})
    assert here.places == ({"operator": "Window"},)
    assert here.master == "local[2,4]"
    elsewhere = Case("spill", by_shape={"events": Case("spill", master="local[1,4]")})
    assert elsewhere.of("events").master == "local[1,4]"
    assert SPILL.of("orders") == SPILL


def test_settings_of_all_runs_and_of_the_mode_are_given_and_data_is_made_without() -> None:
    on = command(SPILLS, SPILL, "events", "on", Path("d"))
    assert on[:3] == ["spark-submit", "--master", "local[2,4]"]
    assert [word for word in on if "=" in word] == ["z=0", "y=3"]
    assert on[-4:] == ["spill", "events", "on", "d"]
    made = command(SPILLS, SPILL, "orders", "data", Path("d"))
    assert [word for word in made if "=" in word] == ["z=0", "x=2"]


def test_a_pair_whose_results_differ_has_failed() -> None:
    same = {"checksum": "3 rows, 17"}
    assert failure({"on": same, "off": same}) is None
    assert "4 rows" in str(failure({"on": same, "off": {"checksum": "4 rows, 17"}}))
    assert failure({"on": {"failed": "no"}, "off": same}) == "no"
    assert failure({"on": {"checksum": None}, "off": {"checksum": None}}) is None


def test_levels_of_factors_are_those_of_the_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = Case("crowd", treatment_on={"layout.tasks": "8"})
    ran: list[list[str]] = []
    done = subprocess.CompletedProcess([], 3, "", "no such limit here")
    monkeypatch.setattr(subprocess, "run", lambda words, **_: ran.append(words) or done)
    record(SPILLS, [(crowd, "orders")], 1, tmp_path / "data", tmp_path, seed=1)
    levels = {words[-2]: words[: words.index("--")][-2:] for words in ran if "pyrometer" in words}
    assert levels["on"] == ["--set", "layout.tasks=8"]
    assert "--set" not in levels["off"]
    assert recorded(SPILLS, tmp_path)[tmp_path / "crowd-orders-0"]["failed"] == "no such limit here"


def test_what_was_recorded_is_not_run_again_and_is_read_by_set(tmp_path: Path) -> None:
    for name, of in (("spill-orders-0", "later"), ("spill-events-0", "development")):
        (tmp_path / name).mkdir()
        row = {"key": name.replace("-", "/"), "set": of, "failed": None}
        (tmp_path / name / RECORDED).write_text(json.dumps(row))
    record(SPILLS, [(SPILL, "orders")], 1, tmp_path / "data", tmp_path, seed=1)
    found = recorded(SPILLS, tmp_path)
    assert [row["key"] for row in found.values()] == ["spill/orders/0"]


def test_runs_that_failed_are_neither_explained_nor_judged() -> None:
    rows = explained({Path("a"): {"key": "spill/orders/0", "failed": "results differ"}})
    assert rows == {"spill/orders/0": {"failed": "results differ"}}
    assert line(rows["spill/orders/0"]) == "failed: results differ"
    assert outcomes(rows, [SPILL]) == []


def test_notes_are_said_beside_findings() -> None:
    healthy = {"elapsed_ns": 5e9, "findings": []}
    row = {"on": {**healthy, "notes": ["heap.oversized"]}, "off": healthy}
    assert line(row) == (
        "5.00 s with, 5.00 s without (0%): heap.oversized (note); healthy: nothing"
    )


def test_a_finding_is_in_its_place_by_the_shape_it_was_planted_in() -> None:
    found = {
        "code": "spill.a", "value": 0.3, "low": 0.2, "high": 0.4, "place": {"operator": "Window"},
    }  # fmt: skip
    on = {"elapsed_ns": 10e9, "main_stage": 3, "findings": [found]}
    row = {"on": on, "off": {"elapsed_ns": 7e9, "main_stage": 3, "findings": []}}
    here = judge(outcomes({"spill/events/0": row}, [SPILL]))
    elsewhere = judge(outcomes({"spill/orders/0": row}, [SPILL]))
    assert (here.recall.value, here.places.value) == (1.0, 1.0)
    assert (elsewhere.recall.value, elsewhere.places.value) == (1.0, 0.0)


def test_what_both_twins_have_counts_neither_way() -> None:
    text = Found("scan.text-format", 0.2, 0.1, 0.3)
    wrong = Found("gc.full", 0.2, 0.1, 0.3)
    both = [
        Outcome("a", ("spill.a",), [text], 0.3, also=("scan.text-format",)),
        Outcome("a", (), [text], also=("scan.text-format",)),
    ]
    assert judge(both).precision.n == 0
    assert judge(both).healthy_with_findings.value == 0.0
    assert judge([*both, Outcome("b", (), [text, wrong], also=("scan.text-format",))]).wrong == [
        ("b", "gc.full", 0.2)
    ]


@pytest.mark.parametrize(
    ("of", "shape"), [(of, shape) for of in (LATER, THIRD, *AUTHORED) for shape in of.shapes]
)
def test_every_later_cause_is_planted_in_every_shape(of: Set, shape: str) -> None:
    pytest.importorskip("pyspark")
    application, tables = importlib.import_module(f"benchmarks.faults.{of.app.stem}").of(shape)

    assert set(application.planted) == {case.name for case in of.cases}
    needed = {*tables, *(name for needs in application.needs.values() for name in needs)}
    assert needed == set(application.inputs)
    for case in of.cases:
        assert set(case.by_shape) <= set(of.shapes)
        assert case.of(shape).codes
        assert case.of(shape).places


@pytest.mark.parametrize("of", [LATER, THIRD, *AUTHORED, SEVENTH, EIGHTH, CONDITIONS, SURROUNDINGS])
def test_later_codes_are_of_rules_that_there_are(of: Set) -> None:
    from pyrometer.explain.every_rule import every_rule

    codes = {rule.code for rule in every_rule()}
    for case in of.cases:
        for shape in of.shapes:
            for code in case.of(shape).codes:
                assert (
                    any(one.startswith(code) for one in codes)
                    if code.endswith(".")
                    else (code in codes)
                ), code


@pytest.mark.parametrize(("of", "shape"), STEPPED)
def test_steps_of_a_set_of_jobs_are_its_cases(of: Set, shape: str) -> None:
    pytest.importorskip("pyspark")
    tables, steps = importlib.import_module("benchmarks.faults.seventh.job").of(shape)
    here = [case.of(shape) for case, each in of.pairs() if each == shape]

    assert set(steps.STEPS) == {case.name for case in here}
    assert set(steps.INPUTS) <= set(steps.STEPS)
    assert {"report"} <= set(vars(tables))
    assert all(bool(case.codes) == bool(case.places) for case in here)
    assert any(not case.codes for case in here)


@pytest.mark.parametrize(("of", "shape"), STEPPED)
def test_names_and_command_lines_of_jobs_do_not_tell_what_is_planted(of: Set, shape: str) -> None:
    for case, each in of.pairs():
        if each != shape:
            continue
        here = case.of(shape)
        words = {word for code in here.codes for word in re.split(r"[.-]", code) if len(word) > 3}
        assert not {word for word in words if word in here.name}, here.name
        on, off = (command(of, case, shape, mode, Path("d"))[-4:] for mode in ("on", "off"))
        assert [one for one in on if one not in off] == ["on"]


@pytest.mark.parametrize("shape", CONDITIONS.shapes)
def test_steps_of_conditions_are_its_cases(shape: str) -> None:
    pytest.importorskip("pyspark")
    steps = importlib.import_module(f"benchmarks.faults.conditions.{shape}_steps").STEPS
    here = [case.of(shape) for case, each in CONDITIONS.pairs() if each == shape]

    assert set(steps) == {case.name for case in here}
    assert all(bool(case.codes) == bool(case.places) for case in here)
    assert any(not case.codes for case in here)


def test_a_case_gives_its_runs_a_treatment() -> None:
    limit = {"cgroup.memory": "1g"}
    case = Case("little", by_shape={"host": Case("little", treatment_on=limit)})
    assert treatment(case, "host", "on") == limit
    assert treatment(case, "host", "off") == treatment(case, "heap", "on") == {}


@pytest.mark.parametrize(
    ("of", "shape"), [(of, shape) for of in (EIGHTH, NINTH) for shape in of.shapes]
)
def test_a_set_has_as_many_causes_on_each_shape(of: Set, shape: str) -> None:
    planted = [bool(case.of(shape).codes) for case, each in of.pairs() if each == shape]

    assert (planted.count(True), planted.count(False)) == (12, 2)


def test_a_case_is_run_where_it_is_planted() -> None:
    here = [Case("everywhere"), Case("some", shapes=("silos", "sky"))]

    pairs = Set("seventh", Path("job.py"), here, {}).pairs()

    assert [(case.name, shape) for case, shape in pairs] == [
        ("everywhere", "silos"), ("everywhere", "sky"), ("everywhere", "shelves"),
        ("some", "silos"), ("some", "sky"),
    ]  # fmt: skip


def test_sets_have_applications() -> None:
    for each in (
        DEVELOPMENT,
        LATER,
        THIRD,
        *AUTHORED,
        SEVENTH,
        EIGHTH,
        NINTH,
        CONDITIONS,
        SURROUNDINGS,
    ):
        assert each.app.exists()
        assert len({case.name for case in each.cases}) == len(each.cases)


def test_every_cause_of_the_blind_sets_is_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    planted = by_rule.rows()
    groups = by_rule.by_rule(planted)
    assert sum(map(len, groups.values())) == len(planted) == 271
    assert sum(map(len, by_rule.by_size(planted).values())) == len(planted)
    assert by_rule.main([]) == 0
    whole = next(line for line in capsys.readouterr().out.splitlines() if "| all |" in line)
    named = sum(bool(row["named"]) for row in planted)
    assert f"| {named / len(planted):.1%} |".replace("%", " %") in whole


def test_the_page_shows_the_tables_of_the_blind_sets() -> None:
    page = (ROOT / "docs/explanation/planted-faults.md").read_text()
    planted = by_rule.rows()
    rules = {f"`{code}`": those for code, those in by_rule.by_rule(planted).items()}
    assert by_rule.table({**rules, "all": planted}) in page
    assert by_rule.table(by_rule.by_size(planted)) in page
