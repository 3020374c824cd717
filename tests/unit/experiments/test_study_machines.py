"""Studies in machines: knobs found first, evidence beside times, claims that are withheld."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from tests.support import experiments

from pyrometer.cli.main import run_verb
from pyrometer.collect.host.card import this_host
from pyrometer.collect.launch.record import new_manifest
from pyrometer.core.errors import UsageError
from pyrometer.experiments.folder import Surroundings
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.judge.schema import Measures
from pyrometer.experiments.plan.source import read_source
from pyrometer.experiments.plan.treatments import facts_in
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.experiments.run.calibrate import Knob, Tried
from pyrometer.experiments.run.environment import Actions
from pyrometer.experiments.run.guard import Look
from pyrometer.experiments.run.planned import checked
from pyrometer.experiments.studies.experiments import (
    calibrated_file,
    conditions_of,
    planned_experiments,
    run_experiments,
)
from pyrometer.experiments.studies.judge import report
from pyrometer.experiments.studies.plan import known_studies, read_study, study_file
from pyrometer.store.manifest import read_manifest, write_manifest

GIB = 1 << 30
FILE = """\
name: sort
workload: sort-text
scale: test
profile: light
set: {machine.memory: 2g, machine.swap: 1g, memory.by: ballast}
matrix:
  machine.lru_gen: ["off", "on"]
  memory.condition: [under, over]
blocks: 4
canaries: none
guard: {policy: flag}
"""
STUDY = """\
title: T
source: S
machine: M
experiments:
  sort:
    file: sort.yaml
    calibrate: true
    emulated: an emulated CPU is slow and its disk is not
    evidence:
      - {what: refaults, ours: series.host.refaulted_file_pages_count}
      - {what: reclaimed, ours: series.host.a / series.host.b, unit: ratio}
      - {what: kswapd, ours: series.kernel/kswapd.cpu_ns, unit: s}
effects:
  - what: generations, overcommitted
    place: Table 1
    published: [-0.11, -0.09]
    experiment: sort
    a: {memory.condition: over, machine.lru_gen: "off"}
    b: {memory.condition: over, machine.lru_gen: "on"}
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study whose machines can be made: programs that stand for those that make them."""
    tools = tmp_path / "bin"
    experiments.makers_of_machines(tools)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    (tmp_path / "sort.yaml").write_text(FILE)
    path = tmp_path / "s.yaml"
    path.write_text(STUDY)
    return path


class Machines:
    """Simulates trials in machines: over-committed, generations take a tenth less."""

    def __init__(self, *, emulated: bool) -> None:
        self.draw = np.random.default_rng(3)
        self.doubted: tuple[str, ...] = ("emulated",) if emulated else ()
        self.asked: list[dict[str, object]] = []

    def actions(self) -> Actions:
        calm = Look(0.0, [0] * 10, 0, 0.0, {})
        return Actions(
            run_trial=self.run,
            wait_for_calm=lambda limits, say: Surroundings(),
            read_counters=lambda: calm,
            judge_others=lambda first, limits, swap: Surroundings(),
        )

    def run(self, trial, watch) -> Attempt:
        self.asked.append(dict(trial.treatment))
        over = str(trial.treatment["memory.condition"]).startswith("over")
        faster = over and trial.treatment["machine.lru_gen"] == "on"
        seconds = (13.0 if over else 10.0) * (0.9 if faster else 1.0) * self.noise()
        manifest = new_manifest(trial, this_host(with_card=False), [], [])
        manifest.memory = {
            "condition": "over" if over else "under", "wanted_ratio": 0.1, "reason": None,
            "swapped_ratio": 0.11 if over else 0.0, "inactive_file_ratio": 0.02 if over else 0.09,
        }  # fmt: skip
        trial.run_dir.mkdir(parents=True)
        write_manifest(trial.run_dir, manifest)
        facts = TrialFacts((seconds,), seconds, 1, "00", None, doubted=self.doubted)
        return Attempt("finished", seconds, facts=facts)

    def noise(self) -> float:
        return float(np.exp(self.draw.normal(0, 0.01)))

    def read(self, root: Path, paths) -> Measures:
        refaults = 100.0 if "on" in root.name else 1000.0
        found = {
            "series.host.refaulted_file_pages_count": refaults * self.noise(),
            "series.host.a": 80.0, "series.host.b": 100.0,
        }  # fmt: skip
        assert set(paths) == {*found, "series.kernel/kswapd.cpu_ns"}
        return Measures(found, {"series.kernel/kswapd.cpu_ns": "the kernel shows none"})


def knobs(file: Path, folder: Path) -> list[Knob]:
    return [
        Knob("under", "under@900m", 0.1, 0.1, "t", [Tried(900 << 20, 0.1)]),
        Knob("over", "over@1200m", 0.1, 0.1, "t", [Tried(1200 << 20, 0.1)]),
    ]


def ran(path: Path, made: Machines, find=knobs):
    found = read_study(str(path))
    experiments = run_experiments(
        found, path, path.parent / "out", screen=lambda: nullcontext(), find_knobs=find,
        actions=made.actions(), read=made.read,
    )  # fmt: skip
    judged = report("s", found, [], {}, experiments.facts, experiments.judged, experiments.evidence)
    return experiments, judged


def test_pilots_come_first_and_every_trial_says_which_condition_it_reached(study: Path) -> None:
    made = Machines(emulated=False)
    experiments, judged = ran(study, made)
    assert {str(one["memory.condition"]) for one in made.asked} == {"under@900m", "over@1200m"}
    (fact,) = experiments.facts
    assert (fact.done_count, fact.withheld) == (16, None)
    assert {(one.condition, one.reached_count, one.trials_count) for one in fact.conditions} == {
        ("over", 4, 4), ("under", 4, 4),
    }  # fmt: skip
    (effect,) = judged.effects
    assert (effect.agrees, effect.verdict, effect.withheld) == (True, "faster", None)
    # The published test of the same times: A less B in per cent of A.
    low, high = effect.welch.percent_of_a
    assert 5 < low < 10 < high < 15
    again = Machines(emulated=False)
    ran(study, again, find=lambda file, folder: pytest.fail("knobs are there already"))
    assert not again.asked


def test_an_experiment_that_has_ended_does_not_need_what_its_trials_needed(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(study, Machines(emulated=False))
    experiments.free_here(monkeypatch, 0)
    again = Machines(emulated=False)
    made, _ = ran(study, again)
    (fact,) = made.facts
    assert (fact.reason, fact.done_count) == (None, 16)
    assert not again.asked


def test_times_of_emulated_machines_are_shown_and_not_claimed(study: Path) -> None:
    experiments, judged = ran(study, Machines(emulated=True))
    (effect,) = judged.effects
    assert effect.ours.value == pytest.approx(-0.1, abs=0.02)
    assert (effect.agrees, effect.verdict) == (None, None)
    assert effect.withheld == "an emulated CPU is slow and its disk is not"
    assert experiments.facts[0].withheld == effect.withheld
    refaults, reclaimed, kswapd = judged.evidence
    (pair,) = refaults.pairs
    assert pair.difference.high < -800
    assert pair.p < 1e-6
    assert {round(one.mean.value, 3) for one in reclaimed.treatments} == {0.8}
    assert {(one.mean.value, one.reason, one.missing_count) for one in kswapd.treatments} == {
        (None, "the kernel shows none", 4)
    }


def test_times_of_machines_with_more_cpus_than_their_host_are_not_claimed(study: Path) -> None:
    made = Machines(emulated=False)
    made.doubted = ("machine_oversubscribed",)
    _, judged = ran(study, made)
    (effect,) = judged.effects
    assert (effect.agrees, effect.verdict) == (None, None)
    assert "more CPUs than their host" in (effect.withheld or "")


def test_a_condition_that_pilots_do_not_reach_runs_no_trial_and_says_so(study: Path) -> None:
    def far(file: Path, folder: Path) -> list[Knob]:
        return [Knob("over", "over@1g", 0.01, 0.1, "t", why="too few files")]

    made = Machines(emulated=False)
    experiments, _ = ran(study, made, find=far)
    assert not made.asked
    reason = experiments.facts[0].reason
    assert "over of memory.condition was not reached: 1.0 % instead of 10.0 %; too few" in reason


def test_knobs_of_data_of_another_scale_are_found_again(study: Path, tmp_path: Path) -> None:
    asked: list[str | None] = []

    def find(file: Path, folder: Path) -> list[Knob]:
        asked.append(read_source(file).experiment.scale)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return knobs(file, folder)

    def made(scale: str | None) -> Path:
        return calibrated_file(tmp_path / "sort.yaml", tmp_path / "out", "sort", scale, find)

    made("default")
    assert made("default").is_file()
    assert {one.stat().st_mode & 0o077 for one in (tmp_path / "out").glob("*.yaml")} == {0}
    with pytest.raises(KeyboardInterrupt):
        made(None)
    # What was found for the first scale is not taken for that of the second.
    made(None)
    assert read_source(made(None)).experiment.scale == "test"
    assert asked == ["default", "test", "test"]


@pytest.mark.parametrize("text", ["scale: 2020-99-99", "\xff", "[" * 5000, "{"])
def test_a_file_of_pilots_that_is_damaged_is_written_again(
    study: Path, tmp_path: Path, text: str
) -> None:
    (tmp_path / "out").mkdir(exist_ok=True)
    (tmp_path / "out" / "sort-calibrated.yaml").touch()
    pilot = tmp_path / "out" / "sort-pilot.yaml"
    pilot.write_text(text, encoding="latin-1")
    made = calibrated_file(tmp_path / "sort.yaml", tmp_path / "out", "sort", "default", knobs)
    assert read_source(made).experiment.scale == read_source(pilot).experiment.scale == "default"


def test_a_trial_that_missed_its_condition_is_counted_apart(study: Path, tmp_path: Path) -> None:
    ran(study, Machines(emulated=False))
    root = tmp_path / "out" / "sort"
    ended = list(read_journal(root).ended.values())
    place = root / "trials" / ended[0].folder
    manifest = read_manifest(place)
    assert manifest.memory is not None
    manifest.memory |= {"swapped_ratio": 0.01, "inactive_file_ratio": 0.01}
    write_manifest(place, manifest)
    by_name = {one.treatment: one for one in conditions_of(root, ended)}
    assert by_name[ended[0].treatment].reached_count == 3
    assert sum(one.reached_count for one in by_name.values()) == 15


def test_a_dry_run_plans_machines_and_says_what_will_not_be_claimed(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYROMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        "pyrometer.guests.emulator.accelerator", lambda cache: ("tcg", "no /dev/kvm")
    )
    command = ["study", "run", str(study), "--dry-run", "--blocks", "10", "--json"]
    assert run_verb(command) == 0
    out, told = capsys.readouterr()
    assert "4 treatments × 10 blocks = 40 trials" in told
    assert "pilots find the knob" in told
    assert (
        "machines are emulated here (no /dev/kvm), 10 to 50 times slower: no claim is made" in told
    )
    (planned,) = json.loads(out.splitlines()[-1])["experiments"]
    assert (planned["machines"], planned["trials_count"]) == (True, 40)
    assert not (tmp_path / "pyrometer-runs").exists()
    text = study.read_text()
    study.write_text(text.replace("emulated: an", "untimed: memory lies anywhere #"))
    assert run_verb(command) == 0
    told = capsys.readouterr().err
    assert "no claim is made about its times: memory lies anywhere" in told
    assert "machines are emulated here (no /dev/kvm), 10 to 50 times slower" in told


@pytest.mark.parametrize(
    ("name", "treatments", "trials"),
    [("reclaim-sort", {"sort": 12}, 120), ("numa-spark", {"svm-machines": 10}, 30)],
)
def test_the_studies_in_machines_can_be_planned(
    study: Path, name: str, treatments: dict[str, int], trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiments.free_here(monkeypatch, 16 * GIB)
    monkeypatch.setattr("pyrometer.guests.emulator.accelerator", lambda cache: ("kvm", None))
    planned = planned_experiments(
        read_study(name), study_file(name), study.parent / "out", only=tuple(treatments)
    )
    assert {one.name: len(one.treatments) for one in planned} == treatments
    assert [one.trials_count for one in planned] == [trials]
    assert not planned[0].left_out
    assert all("no claim is made about times" not in note for note in planned[0].notes)


def planned(study: Path, *settings: str) -> int:
    command = ["study", "run", str(study), "-o", str(study.parent / "out"), "--dry-run", "--json"]
    return run_verb([*command, *(word for one in settings for word in ("--set", one))])


def test_a_study_is_fitted_to_a_smaller_host_as_its_refusal_advises(
    study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    experiments.free_here(monkeypatch, 2 * GIB)
    assert planned(study) == 0
    out, told = capsys.readouterr()
    (found,) = json.loads(out.splitlines()[-1])["experiments"]
    assert found["trials_count"] == 0
    assert "set a smaller machine.memory" in told.replace("\n", " ")
    assert planned(study, "sort.machine.memory=1g") == 0
    (found,) = json.loads(capsys.readouterr().out.splitlines()[-1])["experiments"]
    assert (found["trials_count"], found["left_out"]) == (16, {})
    assert planned(study, "other.machine.memory=1g") == 2
    assert "no run 'other'" in capsys.readouterr().err
    assert planned(study, "sort.machine.lru_gen=on") == 2
    assert "machine.lru_gen cannot be set: the matrix of" in capsys.readouterr().err


def test_levels_that_were_set_are_those_of_pilots_and_trials_and_of_no_others(
    study: Path, tmp_path: Path
) -> None:
    asked: list[Path] = []

    def find(file: Path, folder: Path) -> list[Knob]:
        asked.append(file)
        assert read_source(file).experiment.set["machine.memory"] == "1g"
        return knobs(file, folder)

    def go(memory: str, made: Machines) -> str | None:
        done = run_experiments(
            read_study(str(study)), study, tmp_path / "out", screen=lambda: nullcontext(),
            find_knobs=find, levels={"sort": {"machine.memory": memory}}, actions=made.actions(),
            read=made.read,
        )  # fmt: skip
        return done.facts[0].reason

    made = Machines(emulated=False)
    assert go("1g", made) is None
    assert {one["machine.memory"] for one in made.asked} == {GIB}
    again = Machines(emulated=False)
    assert go("1g", again) is None
    assert "another set of shared levels" in (go("2g", again) or "")
    assert (len(asked), again.asked) == (1, [])


def test_every_effect_of_the_studies_in_machines_names_two_treatments() -> None:
    for name in ("reclaim-sort", "numa-spark"):
        found, folder = read_study(name), known_studies()[name].parent
        for experiment, declared in found.experiments.items():
            _, treatments = checked(folder / declared.file)
            everything = [*treatments.run.values(), *treatments.left_out]
            levels = [dict(one.varied) for one in everything]
            for effect in found.effects:
                if effect.experiment == experiment:
                    for side in (effect.a, effect.b):
                        fits = [one for one in levels if side.items() <= one.items()]
                        assert len(fits) == 1, (name, experiment, side)


def test_constraints_speak_of_the_machine_that_a_treatment_has() -> None:
    host = {"cpus": 2.0, "mem_total": 8.0 * GIB, "swap_total": 0.0, "numa_nodes": 1.0}
    assert facts_in({"jvm.gc": "z"}, host) == host
    inside = facts_in({"machine.cpus": 8, "machine.memory": GIB, "machine.swap": GIB // 2}, host)
    assert (inside["cpus"], inside["mem_total"], inside["swap_total"]) == (8, GIB, GIB // 2)
    # What contradicts itself is the reason why it is left out, and no error of the constraint.
    assert facts_in({"machine.numa": "3", "machine.cpus": 4}, host) == host


@pytest.mark.parametrize("ours", ["show.memory.x", "series", "series.host.x + 1", "host.x"])
def test_evidence_that_nothing_reads_is_refused(tmp_path: Path, ours: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "title: T\nsource: S\nmachine: M\nexperiments: {a: {file: x, evidence: [{what: w, ours:"
        f" '{ours}'}}]}}}}\n"
    )
    with pytest.raises(UsageError, match="ours"):
        read_study(str(path))
