"""The pilot that fixes the knob of memory.condition, on simulated hosts."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from pyrometer.collect.host import memory
from pyrometer.collect.host.card import this_host
from pyrometer.collect.host.memory import condition
from pyrometer.collect.launch.observe import Silent, Watch
from pyrometer.collect.launch.record import new_manifest
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.experiments.plan.source import read_source
from pyrometer.experiments.run import calibrate as pilot
from pyrometer.experiments.run.attempt import Attempt, RunTrial
from pyrometer.experiments.run.calibrate import Knob, Tried, calibrate, calibrated, next_available
from pyrometer.store.manifest import write_manifest
from pyrometer.trial.trial import Trial

MIB = 1 << 20
FILE = """\
name: sort
workload: sort-text
scale: test
matrix:
  memory.condition: [under, over]
  layout.tasks: [2, 4]
  exclude: [{memory.condition: over, layout.tasks: 4}]
baseline: {memory.condition: under, layout.tasks: 2}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 16777216 kB\nMemAvailable: 12582912 kB\nSwapTotal: 999999 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", meminfo)
    monkeypatch.setattr(pilot, "MEMINFO", meminfo)
    path = tmp_path / "sort.yaml"
    path.write_text(FILE)
    return path


def application(own: int, files: int, swaps: float = 1.0) -> RunTrial:
    """Make trials of an application that takes `own` bytes and reads `files` bytes."""

    def make(trial: Trial, watch: Watch) -> Attempt:
        wanted = condition(trial.treatment)
        assert wanted is not None
        assert trial.run_dir is not None
        left = wanted.knob if wanted.by == "cgroup" else 12 * (1 << 30) - wanted.knob
        if left < own // 3:
            return Attempt("out_of_memory")
        swapped = max(0, own + 100 * MIB - left) * swaps
        inactive = min(files, max(0, left - own) // 2)
        manifest = new_manifest(trial, this_host(with_card=False), [], [])
        manifest.memory = {
            "condition": wanted.name, "by": wanted.by, "of_bytes": left, "reason": None,
            "inactive_file_ratio": inactive / left, "swapped_ratio": swapped / left,
            "anonymous_bytes": min(own, left), "wanted_ratio": wanted.share,
        }  # fmt: skip
        trial.run_dir.mkdir(parents=True)
        write_manifest(trial.run_dir, manifest)
        return Attempt("finished", seconds=1.0)

    return make


def searched(file: Path, run_trial: RunTrial) -> dict[str, Knob]:
    def watching(trial: Trial) -> contextlib.nullcontext[Watch]:
        return contextlib.nullcontext(Silent())

    found = calibrate(file, file.parent / "pilot", watching, lambda text: None, run_trial)
    return {knob.level: knob for knob in found}


@pytest.mark.parametrize("files", [300 * MIB, 40_000 * MIB])
@pytest.mark.parametrize("by", ["cgroup", "ballast"])
def test_both_conditions_are_found_with_few_trials(file: Path, files: int, by: str) -> None:
    file.write_text(FILE + f"set: {{memory.by: {by}}}\n")
    found = searched(file, application(2_000 * MIB, files))
    for level in ("under", "over"):
        knob = found[level]
        assert knob.near, knob
        assert 2 <= len(knob.trials) <= pilot.MOST_TRIALS
        assert knob.baseline == f"memory.condition={level}, layout.tasks=2"
        assert knob.knobbed.startswith(f"{level}@")
    text = calibrated(file, read_source(file).experiment, list(found.values()))
    (file.parent / "knobbed.yaml").write_text(text)
    experiment = read_source(file.parent / "knobbed.yaml").experiment
    under, over = found["under"].knobbed, found["over"].knobbed
    assert experiment.matrix.factors["memory.condition"] == [under, over]
    assert experiment.matrix.exclude == [{"memory.condition": over, "layout.tasks": "4"}]
    assert experiment.baseline == {"memory.condition": under, "layout.tasks": "2"}
    with pytest.raises(UsageError, match="nothing to calibrate"):
        searched(file.parent / "knobbed.yaml", application(1, 1))


@pytest.mark.parametrize("own", [600, 900])
def test_in_a_machine_memory_is_that_of_the_machine_and_swap_too(file: Path, own: int) -> None:
    # This host has neither: what it has is not asked for.
    memory.MEMINFO.write_text("MemTotal: 1 kB\nMemAvailable: 1 kB\nSwapTotal: 0 kB\n")
    machine = "set: {memory.by: ballast, machine.memory: 2g, machine.swap: 2g}\n"
    file.write_text(FILE + machine)

    def make(trial: Trial, watch: Watch) -> Attempt:
        wanted = condition(
            {k: v for k, v in trial.treatment.items() if not k.startswith("machine.")},
            {"SwapTotal": 2 << 30, "MemAvailable": 1_600 * MIB}, here=False,
        )  # fmt: skip
        assert wanted is not None
        left = 1_700 * MIB - wanted.knob
        swapped = max(0, (own + 150) * MIB - left)
        inactive = min(400 * MIB, max(0, left - own * MIB) // 2)
        manifest = new_manifest(trial, this_host(with_card=False), [], [])
        manifest.memory = {
            "condition": wanted.name, "by": "ballast", "of_bytes": left, "reason": None,
            "inactive_file_ratio": inactive / left, "swapped_ratio": swapped / left,
            "anonymous_bytes": min(own * MIB, left), "wanted_ratio": wanted.share,
        }  # fmt: skip
        assert trial.run_dir is not None
        trial.run_dir.mkdir(parents=True)
        write_manifest(trial.run_dir, manifest)
        return Attempt("finished", seconds=1.0)

    found = searched(file, make)
    assert all(one.near for one in found.values()), found
    file.write_text(FILE + machine.replace(", machine.swap: 2g", ""))
    with pytest.raises(CapabilityError, match="no swap"):
        searched(file, make)


def test_the_baseline_is_tried_wherever_it_stands_in_the_matrix(file: Path) -> None:
    file.write_text(FILE.replace("layout.tasks: 2}", "layout.tasks: 4}"))
    found = searched(file, application(2_000 * MIB, 300 * MIB))
    assert found["under"].baseline == "memory.condition=under, layout.tasks=4"
    # The baseline's other levels are left out with this condition: the first that is there.
    assert found["over"].baseline == "memory.condition=over, layout.tasks=2"


def test_one_knob_for_two_ways_to_turn_it_is_refused(file: Path) -> None:
    file.write_text(
        FILE.replace("layout.tasks: [2, 4]", "memory.by: [cgroup, ballast]")
        .replace("layout.tasks: 4", "memory.by: ballast")
        .replace("layout.tasks: 2", "memory.by: cgroup")
    )
    with pytest.raises(UsageError, match=r"memory\.condition=under differ in"):
        searched(file, application(1, 1))


def test_a_trial_that_runs_out_of_memory_asks_for_more() -> None:
    told = {"anonymous_bytes": 1000, "inactive_file_ratio": 0.0, "of_bytes": 9000}
    tried = [Tried(9000, 0.0, told)]
    assert next_available("over", tried, 0.1, 9000) == 909
    tried.append(Tried(909, None))
    assert next_available("over", tried, 0.1, 9000) == 1091
    tried.append(Tried(1091, 0.01))
    assert next_available("over", tried, 0.1, 9000) == 1000


def test_what_cannot_be_reached_is_told(file: Path) -> None:
    knob = searched(file, application(2_000 * MIB, 300 * MIB, swaps=0.0))["over"]
    assert not knob.near
    assert knob.ratio == 0.0


def test_files_that_are_too_few_end_the_search(file: Path) -> None:
    knob = searched(file, application(2_000 * MIB, 100 * MIB))["under"]
    assert not knob.near
    assert len(knob.trials) == 2
    assert knob.why is not None
    assert "100 MiB, and it takes 2000 MiB itself: 10.0 % of its memory" in knob.why
    assert "would be 222 MiB" in knob.why


def test_a_pilot_that_fails_or_a_host_without_swap_ends_it(file: Path) -> None:
    with pytest.raises(CapabilityError, match=r"pilot .*under-0 failed: no Java"):
        searched(file, lambda trial, watch: Attempt("failed", reason="no Java"))
    with pytest.raises(KeyboardInterrupt):
        searched(file, lambda trial, watch: Attempt("interrupted"))
    memory.MEMINFO.write_text("MemTotal: 16777216 kB\nMemAvailable: 12582912 kB\nSwapTotal: 0 kB\n")
    with pytest.raises(CapabilityError, match="no swap"):
        searched(file, application(1, 1))
