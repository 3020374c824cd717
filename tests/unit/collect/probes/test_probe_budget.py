"""What the OS probe may cost: its budget, to the binary and back as a doubt; and counters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyrometer.cli.measure.run import make_trial
from pyrometer.collect.probes.os import OsProbe
from pyrometer.collect.probes.selection import CLOSE_HZ, probes_of
from pyrometer.core.errors import UsageError
from pyrometer.store.axis.probe_reports import slowed
from pyrometer.store.manifest import Pace, ProbeEntry
from pyrometer.store.paths import RunPaths
from pyrometer.trial.trial import LIGHT_PROBE_BUDGET, PROBE_BUDGET, Trial


def probe_of(trial: Trial) -> OsProbe:
    (probe,) = [one for one in probes_of(trial) if isinstance(one, OsProbe)]
    return probe


def test_the_budget_of_the_command_line_reaches_the_probe() -> None:
    def trial(profile: str = "light", **given: str) -> Trial:
        return make_trial(["true"], True, [], 1, "0", profile, "test", None, **given)

    assert probe_of(trial()).budget == LIGHT_PROBE_BUDGET < PROBE_BUDGET
    assert probe_of(trial("full")).budget == probe_of(trial("cpu")).budget == PROBE_BUDGET
    assert probe_of(trial(probe_budget="0.5%")).budget == 0.005
    assert probe_of(trial(probe_budget="0.5%")).asked().endswith("for 0.50 % of a CPU")
    assert probe_of(trial(probe_budget="none")).budget is None
    for wrong in ("2", "0%", "-1%", "101%", "nan%", "much%", ""):
        with pytest.raises(UsageError, match=f"--probe-budget {wrong}: "):
            trial(probe_budget=wrong)


def test_who_looks_closer_may_cost_more() -> None:
    probe = probe_of(Trial(name="random-read"))
    assert probe.hz == CLOSE_HZ
    assert probe.budget == pytest.approx(5 * PROBE_BUDGET)


@pytest.mark.parametrize(
    ("profile", "counters"), [("light", "none"), ("full", "hardware"), ("cpu", "hardware")]
)
def test_counters_that_slow_switches_down_come_with_stacks(profile: str, counters: str) -> None:
    for trial in (Trial(command=("true",), profile=profile), Trial("random-read", profile=profile)):
        assert probe_of(trial).counters == counters
    assert OsProbe().counters == "none"


@pytest.mark.parametrize("counters", ["none", "hardware"])
def test_executors_on_other_hosts_get_the_same_counters(tmp_path: Path, counters: str) -> None:
    needs = OsProbe(counters=counters).needs(RunPaths(tmp_path))
    assert needs.agent["ship.counters"] == counters


@pytest.mark.parametrize(
    ("pace", "said"),
    [
        ({"mean_hz": 20.0, "changes_count": 0}, None),
        ({"mean_hz": 12.34, "changes_count": 3}, "12.3 passes per second, not 20: more"),
        ({"mean_hz": 2.0, "unheld_cpu_ratio": 0.07}, "still cost 7.00 % of a CPU: its budget"),
        ({"mean_hz": 2.0, "budget_ratio": None}, None),
    ],
)
def test_a_pace_that_was_not_kept_is_told(tmp_path: Path, pace: dict, said: str | None) -> None:
    paths = RunPaths(tmp_path)
    paths.raw.mkdir()
    found = {"asked_hz": 20.0, "hz": 5.0, "budget_ratio": 0.02, "changes": [], **pace}
    report = {"state": "finished", "passes_count": 9, "rows_count": {}, "pace": found}
    (paths.raw / "probe-here.report.json").write_text(json.dumps(report) + " " * 100)
    entry = OsProbe(host="here").report(paths)
    assert entry.pace is not None
    assert entry.pace.mean_hz == pace["mean_hz"]
    assert (said or "") in (slowed(entry) or "")
    assert (slowed(entry) is None) == (said is None)
    again = ProbeEntry.model_validate_json(entry.model_dump_json())
    assert slowed(again) == slowed(entry)


def test_of_an_older_run_nothing_is_said() -> None:
    assert slowed(ProbeEntry(name="os", asked="threads")) is None
    assert Pace(asked_hz=1, mean_hz=1).budget_ratio is None
