"""Which tier of the OS probe is asked for, and what is said where it cannot be had."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pyrometer.cli.measure.run import make_trial
from pyrometer.collect.probes import os as probes_os
from pyrometer.collect.probes.os import Capability, OsProbe
from pyrometer.collect.probes.selection import probes_of
from pyrometer.core.errors import UsageError
from pyrometer.store.paths import RunPaths
from pyrometer.trial.trial import Trial


def found(refused: set[str]) -> list[Capability]:
    return [
        Capability("os", tier, tier not in refused, f"{tier} was tried", f"allow {tier}")
        for tier in ("T0", "T1", "T2", "T3", "T4")
    ]


@pytest.mark.parametrize(
    ("asked", "refused", "said"),
    [
        (None, set(), []),
        (None, {"T0", "T1"}, [probes_os.BEST_TIER]),
        ("T1", {"T0", "T1"}, ["T1"]),
        ("T1", {"T0"}, []),
        ("T2", {"T0", "T1"}, []),
    ],
)
def test_a_worse_tier_than_asked_for_is_a_doubt_with_its_remedy(
    asked: str | None, refused: set[str], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes_os, "capabilities", lambda: found(refused))
    problems = OsProbe(tier=asked).check()
    assert [p.reason for p in problems] == [f"tier {tier}: {tier} was tried" for tier in said]
    assert [p.remedy for p in problems] == [f"allow {tier}" for tier in said]
    assert not any(p.fatal for p in problems)


def test_the_tier_of_the_command_line_reaches_the_probe() -> None:
    trial = make_trial(["true"], True, [], 1, "0", "light", "test", None, tier="T2")
    (probe,) = [p for p in probes_of(trial) if isinstance(p, OsProbe)]
    assert probe.tier == "T2"
    assert probe.asked().startswith("threads, processes and host at tier T2 at ")
    with pytest.raises(UsageError, match="--tier T9"):
        make_trial(["true"], True, [], 1, "0", "light", "test", None, tier="T9")
    assert make_trial(["true"], True, [], 1, "0", "light", "test", None).tier is None


@pytest.mark.parametrize("trial", [Trial(command=("true",)), Trial("random-read")])
@pytest.mark.parametrize(("profile", "tier"), [("light", "T1"), ("full", None), ("cpu", None)])
def test_no_event_of_the_scheduler_is_traced_unless_stacks_are_asked_for(
    trial: Trial, profile: str, tier: str | None
) -> None:
    probes = probes_of(replace(trial, profile=profile))
    (probe,) = (one for one in probes if isinstance(one, OsProbe))
    assert probe.tier == tier


def test_a_tier_asked_for_reaches_the_probe_of_a_workload_without_spark() -> None:
    (probe,) = probes_of(Trial("random-read", profile="light", tier="T2"))
    assert isinstance(probe, OsProbe)
    assert probe.tier == "T2"


@pytest.mark.parametrize("trial", [Trial(command=("true",)), Trial("random-read")])
def test_profile_off_has_no_probe_of_the_system(trial: Trial) -> None:
    probes = probes_of(replace(trial, profile="off"))
    assert not any(isinstance(one, OsProbe) for one in probes)


def test_the_report_says_the_tier_what_came_and_why_not_a_better_one(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    paths.raw.mkdir()
    told = {
        "tier": "T2", "tier_reason": "T1: not permitted", "state": "finished", "passes_count": 9,
        "rows_count": {"threads": 5, "states": 7}, "dropped_rows_count": 0, "own_cpu_ns": 3,
    }  # fmt: skip
    (paths.raw / "probe-here.report.json").write_text(json.dumps(told))
    entry = OsProbe(host="here").report(paths)
    assert (entry.tier, entry.reason) == ("T2", "T1: not permitted")
    assert entry.got == "5 rows of threads, 7 rows of states in 9 passes"
