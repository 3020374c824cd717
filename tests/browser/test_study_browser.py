"""The page of a study in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Browser
from tests.browser.test_report_browser import NASTY

from pyrometer.experiments.studies.evidence import (
    EvidenceOfPair,
    EvidenceOfTreatment,
    EvidenceReport,
)
from pyrometer.experiments.studies.judge import report
from pyrometer.experiments.studies.page import write_study
from pyrometer.experiments.studies.plan import Study
from pyrometer.experiments.studies.schema import EffectComparison, StudyRunFacts
from pyrometer.statistics.warmup import mean_estimate
from pyrometer.statistics.welch import welch_as_given

pytestmark = pytest.mark.browser


def study(name: str) -> Study:
    return Study.model_validate(
        {
            "title": name,
            "source": f"talk {name}",
            "machine": f"theirs {name}",
            "differences": [f"less memory {name}"],
            "runs": {"warm": {"workload": "parquet-scan"}},
            "values": [
                {"what": name, "place": "p. 1", "published": 2.0, "ours": "warm.cpu.ratio",
                 "within": 0.1},
                {"what": "range", "place": "p. 2", "published": [1.0, 1.9], "unit": "s",
                 "ours": "warm.cpu.gone", "derived": f"a / {name}"},
            ],
            "tables": [
                {
                    "title": f"Table {name}", "run": "warm",
                    "columns": [
                        {"name": "time", "unit": "s", "ours": "t", "compare": "share",
                         "within": 1.5},
                        {"name": "heavy", "unit": "truth", "ours": "heavy", "compare": "equal"},
                        {"name": "operators", "unit": "text", "ours": "operators"},
                    ],
                    "rows": {"q1": ["10", "true", name], "q2": ["30", "true", "2 loads"]},
                }
            ],
        }
    )  # fmt: skip


@pytest.mark.parametrize("kind", NASTY)
def test_evidence_stands_by_treatment_and_what_is_not_claimed_says_so(
    browser: Browser, tmp_path: Path, kind: str
) -> None:
    name = NASTY[kind]
    made = report("s", study(name), [], {})
    mean = mean_estimate([3.0, 5.0])
    made.evidence = [
        EvidenceReport(
            what=name, ours="series.host.x", unit="s", experiment=name,
            treatments=[
                EvidenceOfTreatment(treatment=f"a {name}", mean=mean, values=[3.0, 5.0]),
                EvidenceOfTreatment(
                    treatment="b", mean=mean.model_copy(update={"value": None}), values=[],
                    missing_count=1, reason=f"none {name}",
                ),
            ],
            pairs=[EvidenceOfPair(a=f"a {name}", b="b", difference=mean, p=0.01)],
        )
    ]  # fmt: skip
    made.effects = [
        EffectComparison(
            what=name, place="t", published=-0.1, experiment=name, a="a", b="b", ours=mean,
            withheld=f"emulated {name}",
            welch=welch_as_given([10.0, 11.0, 12.0], [8.0, 9.0, 10.0]),
        )
    ]  # fmt: skip
    page = browser.go(write_study(made, tmp_path / "study.html"))
    assert page.complaints() == []
    assert page.requests() == []
    assert page.text("#evidence h3") == name
    first = page.all_texts("#evidence tbody tr:first-child td")
    assert first[0] == f"a {name}"
    assert first[1].startswith("4")
    assert f"none {name}" in page.text("#evidence")
    effect = page.all_texts("#effects tbody td")
    assert effect[6].startswith("−38.8 % to") or effect[6].startswith("-38.8 % to")
    assert effect[-1] == f"Nothing is claimed of these times: emulated {name}"


@pytest.mark.parametrize("kind", NASTY)
def test_published_values_stand_beside_ours(browser: Browser, tmp_path: Path, kind: str) -> None:
    name = NASTY[kind]
    t = mean_estimate([1e9, 1e9]).model_dump()
    warm: dict[str, Any] = {
        "cpu": {"ratio": 1.9},
        "parts": [
            {"name": "q1", "t": t, "heavy": True, "operators": {"loads": 1}},
            {"name": "q2", "t": t, "heavy": False, "operators": {"loads": 2}},
        ],
    }
    fact = StudyRunFacts(
        name="warm", workload="parquet-scan", scale="test", iterations=3, levels={"a": name},
        run_dir=f"/runs/{name}", machine=f"ours {name}", spark_version="4.3.0", doubts=[name],
    )  # fmt: skip
    made = report("s", study(name), [fact], {"warm": warm})
    page = browser.go(write_study(made, tmp_path / "study.html"))
    assert page.complaints() == []
    assert page.requests() == []
    assert page.text("h1") == name
    assert page.all_texts("#study dd") == [f"theirs {name}", f"ours {name}"]
    assert page.all_texts("#study li") == [f"less memory {name}"]
    values = "#values tbody tr"
    assert page.all_texts(f"{values}:first-child td") == [
        name, "p. 1", "2", "1.90", "1", "yes", "–",
    ]  # fmt: skip
    second = page.all_texts(f"{values}:last-child td")
    assert second[2:4] == [f"1 to 1.9 s (a / {name})", "–"]
    assert second[-1] == "warm.cpu.gone: no gone"
    assert page.text("#tables h3") == f"Table {name}"
    cells = page.all_texts("#tables tbody td")
    assert cells == [
        "q1", "10 | 1.00 (1.00 to 1.00) ✗", "yes | yes ✓",
        "q2", "30 | 1.00 (1.00 to 1.00) ✓", "yes | no ✗",
        "q1", f"{name} | 1 loads", "q2", "2 loads | 2 loads",
    ]  # fmt: skip
    assert f"a={name}" in page.all_texts("#runs tbody td")
    assert page.all_texts("#runs li") == [name]
