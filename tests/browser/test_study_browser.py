"""The page of a study in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Browser
from tests.browser.test_report_browser import NASTY

from pyrometer.experiments.studies.judge import report
from pyrometer.experiments.studies.page import write_study
from pyrometer.experiments.studies.plan import Study
from pyrometer.experiments.studies.schema import StudyRunFacts
from pyrometer.statistics.warmup import mean_estimate

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
