"""Experiments for tests: files, and trials that are simulated instead of launched."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyrometer.collect.host.room import room
from pyrometer.experiments.folder import (
    Canaries,
    ExperimentPaths,
    Plan,
    PlannedTreatment,
    PlannedTrial,
    Surroundings,
)
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.experiments.run.environment import Actions
from pyrometer.experiments.run.guard import Look
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.trial.trial import Trial

NAP = """\
name: nap
summary: Sleeps.
command: [sleep, "{time}"]
variants:
  time:
    doc: How long.
    default: short
    levels:
      short: {doc: A moment., argv: ["0.02"]}
      long: {doc: Twice as long., argv: ["0.04"]}
"""
HEAD = "name: naps\nworkload: ./workload.yaml\nprofile: 'off'\n"
CALM = "canaries: none\nguard: {policy: flag, busy: 100%, steal: 100%}\n"


def makers_of_machines(folder: Path) -> None:
    """Make programs that stand for those that make virtual machines, and do nothing.

    Among them an apt that knows every package, for hosts without a kernel.
    """
    folder.mkdir()
    for name in ("qemu-system-x86_64", "busybox", "mke2fs", "mkfs.xfs", "mkfs.btrfs"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    knows_packages(folder)


def knows_packages(folder: Path, version: str = "1", known: str = "*") -> None:
    """Make an apt that knows packages by this version; it downloads none."""
    (folder / "apt-get").write_text("#!/bin/sh\nexit 100\n")
    (folder / "apt-cache").write_text(
        '#!/bin/sh\nfor name; do :; done\ncase "${name%=*}" in\n'
        f'{known}) case "$name" in *=*) echo "Version: ${{name#*=}}" ;;'
        f' *) echo "Version: {version}" ;; esac ;;\n'
        "*) echo 'E: No packages found' >&2; exit 100 ;;\nesac\n"
    )
    for name in ("apt-get", "apt-cache"):
        (folder / name).chmod(0o755)


def free_here(monkeypatch: pytest.MonkeyPatch, free_bytes: int) -> None:
    """Let this host have so much memory for programs that experiments start."""
    found = replace(room(), free_bytes=free_bytes)
    monkeypatch.setattr("pyrometer.experiments.run.honoured.room", lambda: found)


def napping(folder: Path, text: str = "") -> Path:
    """Write a workload that sleeps, and an experiment file with it."""
    (folder / "workload.yaml").write_text(NAP)
    path = folder / "naps.yaml"
    path.write_text(text or HEAD + CALM + "matrix: {workload.time: [short, long]}\nblocks: 3\n")
    return path


def plan(
    treatments: Iterable[str], blocks: int, seed: int, kind: str = "randomized-blocks"
) -> Plan:
    """A plan of treatments that nothing launches."""
    from pyrometer.experiments.plan.design import schedule

    names = list(treatments)
    slots = schedule({name: {} for name in names}, blocks, seed, kind=kind)  # type: ignore[arg-type]
    return Plan(
        name="simulated", files=[], workload="parquet-scan", scale="test", profile="off",
        iterations=1, warmup=0, seed=seed, kind=kind, split=[], blocks=blocks, margin=0.02,
        timeout_s=60.0, canaries="trial", guard={"policy": "flag"}, baseline=names[0],
        treatments=[PlannedTreatment(name=name, levels={}, varied={}) for name in names],
        left_out=[],
        trials=[
            PlannedTrial(
                number=one.number, block=one.block, treatment=one.treatment,
                folder=f"{one.number:04d}",
            )
            for one in slots
        ],
    )  # fmt: skip


class Machine:
    """A machine that drifts: autocorrelated noise, a trend, outliers; canaries see its speed.

    Parameters
    ----------
    seed : int
        Of the noise.
    trials : int
        How many it makes.
    effect : callable
        Factor on the time, by the number of the trial.
    """

    def __init__(
        self,
        seed: int,
        trials: int,
        effect: Callable[[int], float] = lambda number: 1.0,
        *,
        sd: float = 0.03,
        correlation: float = 0.4,
        drift: float = 0.1,
        outliers: float = 0.03,
    ) -> None:
        draw = np.random.default_rng(seed)
        noise = np.zeros(trials)
        for at in range(trials):
            before = noise[at - 1] if at else draw.normal(0, sd)
            noise[at] = correlation * before + draw.normal(0, sd * math.sqrt(1 - correlation**2))
        self.speed = noise + drift * np.arange(trials) / trials
        self.own = draw.normal(0, 0.3 * sd, trials) + (draw.random(trials) < outliers) * 0.3
        self.seen = draw.normal(0, 0.2 * sd, trials)
        self.effect = effect
        self.at = -1

    def actions(self) -> Actions:
        """What simulates instead of touching the machine."""
        idle = Look(0.0, [0] * 10, 0, 0.0, {})
        return Actions(
            run_trial=self.make,
            measure_canaries=self.canaries,
            wait_for_calm=lambda guard, say: Surroundings(),
            read_counters=lambda: idle,
            judge_others=lambda first, guard, swap: Surroundings(),
        )

    def canaries(self) -> Canaries:
        self.at += 1
        return Canaries(alu_ns=1e6 * math.exp(self.speed[self.at] + self.seen[self.at]))

    def make(self, trial: Trial, watch: object) -> Attempt:
        seconds = self.effect(self.at) * 10 * math.exp(self.speed[self.at] + self.own[self.at])
        facts = TrialFacts((seconds,), seconds, 1, "00", "plan")
        return Attempt("finished", seconds=seconds, facts=facts)


NAMES = ("a", "b", "c")


def simulated(
    root: Path,
    seed: int = 1,
    blocks: int = 4,
    names: Iterable[str] = NAMES,
    effect: Mapping[str, float] | None = None,
    actions: Actions | None = None,
    **machine: float,
) -> tuple[Plan, Any]:
    """Run an experiment on a machine that drifts, with factors on the times of treatments."""
    made = plan(names, blocks, seed)
    begin(root, made)
    if actions is None:
        treatment = {one.number: one.treatment for one in made.trials}
        factors = effect or {}
        count = len(made.trials)
        drifting = Machine(seed, count, lambda at: factors.get(treatment[at + 1], 1.0), **machine)
        actions = drifting.actions()
    return made, carry_out(root, actions=actions)


def ending(how: Callable[[str, int], Attempt]) -> Actions:
    """Actions whose trials end as `how` says by treatment and number."""
    calm = Look(0.0, [0] * 10, 0, 0.0, {})
    count = iter(range(1, 1000))
    return Actions(
        run_trial=lambda trial, watch: how(Path(trial.run_dir or "").name, next(count)),
        measure_canaries=lambda: pytest.fail("not asked for"),
        wait_for_calm=lambda limits, say: Surroundings(),
        read_counters=lambda: calm,
        judge_others=lambda first, limits, swap: Surroundings(),
    )


def lines(root: Path) -> list[dict[str, Any]]:
    """Read the records of a journal."""
    text = ExperimentPaths(root).journal.read_bytes()
    return [json.loads(line) for line in text.splitlines()]
