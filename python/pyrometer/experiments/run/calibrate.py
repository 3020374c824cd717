"""The knob of ``memory.condition``, found by trials of the baseline before an experiment.

The knobs go to an experiment file that extends the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pyrometer.collect.host.ballast import SPARE_BYTES
from pyrometer.collect.host.facts import parse_meminfo
from pyrometer.collect.host.memory import MEMINFO, SHARE, condition, reached_ratio
from pyrometer.collect.launch.launch import factors_of_workload
from pyrometer.collect.launch.observe import Watch
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.experiments.plan.file import Experiment
from pyrometer.experiments.plan.treatments import Treatment, short_names
from pyrometer.experiments.run import attempt
from pyrometer.experiments.run.attempt import Attempt, RunTrial
from pyrometer.experiments.run.planned import checked
from pyrometer.guests.machine import machine_of, split
from pyrometer.store.manifest import read_manifest
from pyrometer.trial.factors import Level
from pyrometer.trial.trial import Trial

Watching = Callable[[Trial], AbstractContextManager[Watch]]

FACTOR = "memory.condition"
MOST_TRIALS = 8
NEAR = 0.25
"""How far from the wanted share a level may be, relative to it."""

LEAST_BYTES = 2 * SPARE_BYTES
_ALL = 0.8
"""Part of the files that were there with all the room, from which on they count as all."""

IN_MACHINE = 0.7
"""Share of a machine's memory that is available in it: the rest is its kernel's, page tables', and
that of what measures."""

_MIB = 1 << 20


@dataclass(frozen=True)
class Tried:
    """A trial of the search.

    Attributes
    ----------
    available : int
        Memory that the application could use, bytes.
    ratio : float or None
        The share that was reached; ``None``: the trial did not finish, for want of memory.
    memory : mapping or None
        What the manifest says of memory.
    """

    available: int
    ratio: float | None
    memory: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Knob:
    """What was found for a level.

    Attributes
    ----------
    level : str
        As the file has it: ``under`` or ``over``.
    knobbed : str
        With its knob.
    ratio : float or None
        The share that was reached with it.
    share : float
        The share that was wanted.
    baseline : str
        The treatment that was tried.
    trials : list of Tried
        All of the search.
    why : str or None
        Why it cannot be reached, where that is known.
    """

    level: str
    knobbed: str
    ratio: float | None
    share: float
    baseline: str
    trials: list[Tried] = field(default_factory=list)
    why: str | None = None

    @property
    def near(self) -> bool:
        """Whether it is near enough."""
        return self.ratio is not None and abs(self.ratio - self.share) <= NEAR * self.share


def calibrate(
    file: Path,
    folder: Path,
    watch: Watching,
    say: Callable[[str], None],
    run_trial: RunTrial = attempt.run_trial,
) -> list[Knob]:
    """Find the knob of each condition in an experiment file that has none yet.

    Parameters
    ----------
    file : Path
        The experiment.
    folder : Path
        For the runs of the search.
    watch : callable
        Gives the screen that shows the progress of a trial.
    say : callable
        Prints the outcome of each trial, a line.
    run_trial : callable
        Runs a trial.

    Raises
    ------
    UsageError
        No condition in the file lacks its knob.
    CapabilityError
        A condition cannot be reached here.
    """
    source, treatments = checked(file)
    declared = factors_of_workload(source.experiment.workload)
    base = short_names(source.experiment.baseline or {}, declared)
    base.pop(FACTOR, None)
    wanted: dict[str, Treatment] = {}
    for treatment in sorted(
        treatments.run.values(), key=lambda one: not base.items() <= one.varied.items()
    ):
        level = str(treatment.parsed.get(FACTOR, "@"))
        if "@" not in level and _how(wanted.setdefault(level, treatment)) != _how(treatment):
            raise UsageError(
                f"{file}: treatments of {FACTOR}={level} differ in memory.by or memory.share",
                "write a file for each: their knobs are not the same",
            )
    if not wanted:
        raise UsageError(
            f"{file}: there is nothing to calibrate: no level of {FACTOR} is without its knob",
            f"{FACTOR}: under, or over, without an @",
        )
    for level, treatment in wanted.items():
        # Fails before the first trial where there is no swap or levels contradict each other.
        inside = split(treatment.parsed)[1]
        memory = memory_of(treatment.parsed)
        condition(
            {**inside, FACTOR: f"{level}@{LEAST_BYTES}"}, memory, here=inside == treatment.parsed
        )
    return [
        _search(level, treatment, source.experiment, folder, watch, say, run_trial)
        for level, treatment in wanted.items()
    ]


def memory_of(levels: Mapping[str, Level]) -> dict[str, int]:
    """Memory of the host in which a treatment applies: this one, or the machine made for it."""
    machine = machine_of(levels, 1)
    if machine is None:
        return parse_meminfo(MEMINFO.read_text(encoding="ascii"))
    return {
        "MemTotal": machine.memory_bytes,
        "MemAvailable": int(IN_MACHINE * machine.memory_bytes),
        "SwapTotal": machine.swap_bytes,
    }


def _how(treatment: Treatment) -> tuple[Level | None, ...]:
    """Levels on which the knob depends."""
    return tuple(treatment.parsed.get(name) for name in ("memory.by", "memory.share"))


def _search(
    level: str,
    treatment: Treatment,
    experiment: Experiment,
    folder: Path,
    watch: Watching,
    say: Callable[[str], None],
    run_trial: RunTrial,
) -> Knob:
    share = float(treatment.parsed.get("memory.share", SHARE))
    ballast = treatment.parsed.get("memory.by") == "ballast"
    memory = memory_of(treatment.parsed)
    # What is available in a machine is a guess, and may be more: it is asked for less then.
    least = SPARE_BYTES if machine_of(treatment.parsed, 1) else LEAST_BYTES
    free, room = memory["MemAvailable"], int(0.8 * memory["MemAvailable"])
    tried: list[Tried] = []
    why = None
    while len(tried) < MOST_TRIALS and (why := too_few_files(level, tried, share)) is None:
        available = max(least, min(next_available(level, tried, share, room), room)) // _MIB * _MIB
        if any(one.available == available for one in tried):
            break
        knob = free - available if ballast else available
        trial = Trial(
            name=experiment.workload,
            treatment={**treatment.parsed, FACTOR: f"{level}@{knob}"},
            profile=experiment.profile,
            iterations=experiment.iterations,
            warmup="auto" if experiment.warmup == "auto" else int(experiment.warmup),
            scale=experiment.scale,
            run_dir=folder / f"{level}-{len(tried)}",
            timeout_s=experiment.timeout,
            captured=True,
        )
        with watch(trial) as watching:
            tried.append(_tried(available, run_trial(trial, watching), trial))
        say(f"{level}@{knob // _MIB}m: {percent(tried[-1].ratio)}, {percent(share)} is wanted")
        if len(tried) > 1 and _distance(tried[-1], share) <= NEAR * share:
            break
    best = min(tried, key=lambda one: _distance(one, share))
    knob = free - best.available if ballast else best.available
    return Knob(level, f"{level}@{knob // _MIB}m", best.ratio, share, treatment.name, tried, why)


def _tried(available: int, outcome: Attempt, trial: Trial) -> Tried:
    assert trial.run_dir is not None
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    if outcome.status == "out_of_memory":
        return Tried(available, None)
    if outcome.status != "finished":
        raise CapabilityError(f"the pilot {trial.run_dir} {outcome.status}: {outcome.reason}")
    memory = read_manifest(trial.run_dir).memory
    assert memory is not None
    ratio = reached_ratio(memory)
    if ratio is None:
        raise CapabilityError(f"the pilot {trial.run_dir}: {memory['reason']}")
    return Tried(available, ratio, memory)


def next_available(level: str, tried: Sequence[Tried], share: float, room: int) -> int:
    """Decide how much memory the next trial has.

    The first has all the room: it shows how much the application takes. The more memory, the less
    is swapped out. The share of inactive file pages falls, too, where all files fit into memory
    with the application; where they do not, or are more than the share of all memory, it grows.

    Parameters
    ----------
    level : str
        ``under`` or ``over``.
    tried : sequence of Tried
        Trials so far.
    share : float
        The share that is wanted.
    room : int
        The most that is possible, bytes.
    """
    if not tried:
        return room
    first = tried[0].memory or {}
    anonymous = int(first.get("anonymous_bytes") or room)
    ratio = float(first.get("inactive_file_ratio") or 0.0)
    files = int(ratio * int(first.get("of_bytes") or 0))
    rising = level == "under" and (ratio > share or files / share < anonymous + files)
    if len(tried) == 1:
        if level == "over":
            return round(anonymous / (1 + share))
        return round(anonymous / (1 - share)) if rising else round(files / share)
    few = [one.available for one in tried[1:] if _too_little(one, share, rising)]
    many = [one.available for one in tried[1:] if not _too_little(one, share, rising)]
    if few and many:
        return (max(few) + min(many)) // 2
    return round(max(few) * 1.2) if few else round(min(many) / 1.2)


def too_few_files(level: str, tried: Sequence[Tried], share: float) -> str | None:
    """Say so where all files fit into memory with the application and are less than the share.

    More memory then makes the share smaller, and with less the application itself is swapped out.

    Examples
    --------
    >>> memory = {"anonymous_bytes": 1 << 30, "inactive_file_ratio": 0.01, "of_bytes": 7 << 30}
    >>> little = Tried(1193 << 20, 0.06)
    >>> too_few_files("under", [Tried(7 << 30, 0.01, memory), little], 0.1)[:61]
    'the files of the application that memory can drop are 72 MiB,'
    >>> too_few_files("under", [Tried(7 << 30, 0.01, memory), Tried(1193 << 20, 0.02)], 0.1) is None
    True
    """
    if level != "under" or len(tried) < 2:
        return None
    memory, last = tried[0].memory or {}, tried[-1]
    anonymous = int(memory.get("anonymous_bytes") or 0)
    files = float(memory.get("inactive_file_ratio") or 0.0) * int(memory.get("of_bytes") or 0)
    if not anonymous or last.ratio is None or last.ratio >= share * (1 - NEAR):
        return None
    if last.ratio * last.available < _ALL * files:
        return None
    wanted = share * anonymous / (1 - share)
    return (
        f"the files of the application that memory can drop are {files / _MIB:.0f} MiB, and it"
        f" takes {anonymous // _MIB} MiB itself: {percent(share)} of its memory would be"
        f" {wanted / _MIB:.0f} MiB. Give it more data (scale), or less heap (jvm.heap)"
    )


def _too_little(tried: Tried, share: float, rising: bool) -> bool:
    """Whether more memory is needed."""
    return tried.ratio is None or (tried.ratio < share) == rising


def _distance(tried: Tried, share: float) -> float:
    return float("inf") if tried.ratio is None else abs(tried.ratio - share)


def percent(ratio: float | None) -> str:
    """Write the share that a trial reached."""
    return "out of memory" if ratio is None else f"{100 * ratio:.1f} %"


def calibrated(file: Path, experiment: Experiment, knobs: Sequence[Knob]) -> str:
    """Write an experiment file that extends another, with the knobs in its levels.

    Parameters
    ----------
    file : Path
        The file to extend.
    experiment : Experiment
        What it says.
    knobs : sequence of Knob
        As found.
    """
    found = {knob.level: knob.knobbed for knob in knobs}

    def knobbed(levels: Mapping[str, str]) -> dict[str, str]:
        return {k: found.get(v, v) if k == FACTOR else v for k, v in levels.items()}

    matrix = experiment.matrix
    content: dict[str, Any] = {"extends": file.name}
    changed: dict[str, Any] = {}
    if FACTOR in matrix.factors:
        changed[FACTOR] = [found.get(level, level) for level in matrix.factors[FACTOR]]
    for word, given in (("include", matrix.include), ("exclude", matrix.exclude)):
        if any(FACTOR in one for one in given):
            changed[word] = [knobbed(one) for one in given]
    if changed:
        content["matrix"] = changed
    for word, one in (("set", experiment.set), ("baseline", experiment.baseline or {})):
        if FACTOR in one:
            content[word] = knobbed(one)
    comments = [
        f"# {knob.knobbed}: {percent(knob.ratio)} reached, {percent(knob.share)} wanted; tried"
        f" with {knob.baseline or 'the only treatment'}\n"
        for knob in knobs
    ]
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return "".join(comments) + "# The same for all treatments.\n" + text
