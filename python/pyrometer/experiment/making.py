"""One attempt at a trial: made, or read from a run that is there already."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pyrometer import pipeline
from pyrometer.analyse.trial_facts import TrialFacts, trial_facts
from pyrometer.errors import PyrometerError
from pyrometer.plan import Trial
from pyrometer.run.observe import Watch
from pyrometer.run.process import TIMEOUT
from pyrometer.store import Run
from pyrometer.store.experiment import Status
from pyrometer.store.layout import RunPaths
from pyrometer.store.manifest import Manifest, read_manifest

_TAIL_BYTES = 1 << 16
_OUT_OF_MEMORY = (b"java.lang.OutOfMemoryError", b"Java heap space", b"GC overhead limit")


@dataclass(frozen=True)
class Made:
    """What an attempt came to.

    Parameters
    ----------
    status : str
        As the journal has it, or ``interrupted``: somebody ended it, and it is to be made again.
    seconds : float or None
        Its value, where it finished.
    censored_s : float or None
        How long it ran, where time or memory ran out.
    reason : str or None
        Why it did not finish.
    facts : TrialFacts or None
        Of a run that finished.
    """

    status: Status | Literal["interrupted"]
    seconds: float | None = None
    censored_s: float | None = None
    reason: str | None = None
    facts: TrialFacts | None = None


Make = Callable[[Trial, Watch], Made]
"""Makes one trial. Another one than :func:`make` simulates trials."""

MakeTurns = Callable[[Trial, Watch], list[Made]]
"""Makes a trial in which treatments take turns: what each came to."""

Place = tuple[Path, Collection[int]]
"""A run, and which of its iterations are meant; none: all."""


def make(trial: Trial, watch: Watch) -> Made:
    """Launch a trial in fresh processes, measured as ``pyrometer run`` measures it."""
    killed = _kernel_kills()
    try:
        outcome = pipeline.run(trial, watch, report=False)
    except PyrometerError as error:
        return Made("failed", reason=error.message)
    kills = None if killed is None else (_kernel_kills() or 0) - killed
    by_us = outcome.ending.interrupted_by
    found = read(outcome.record.paths.root, bool(kills), detected=trial.warmup == "auto")
    if by_us == TIMEOUT:
        return Made("timeout", censored_s=trial.timeout_s, reason=found.reason)
    return found


def make_turns(trial: Trial, watch: Watch) -> list[Made]:
    """Launch a trial whose treatments take turns in one JVM."""
    whole = make(trial, watch)
    if whole.status == "interrupted" or trial.run_dir is None:
        return [whole] * len(trial.turns)
    if whole.status != "finished":
        # Whose turn it was has it; the others' trials ended for that, not by themselves.
        at = last_begun(trial.run_dir)
        other = Made("failed", reason="the JVM ended in another treatment's turn")
        return [whole if at is None or at in turn else other for _, turn in trial.turns]
    places = [(trial.run_dir, positions) for _, positions in trial.turns]
    return read_together(places, detected=trial.warmup == "auto")


def last_begun(root: Path) -> int | None:
    """Give the iteration that a run ended in; ``None`` where it ended between them."""
    try:
        results = read_manifest(root).results
    except PyrometerError:
        return None
    return results[-1].iteration if results and results[-1].status != "ok" else None


def read_together(places: Sequence[Place], *, detected: bool) -> list[Made]:
    """Read runs that are set beside each other: in each as many iterations count."""
    found = [read(root, detected=detected, only=only) for root, only in places]
    start = max((one.facts.counted_from or 0 for one in found if one.facts), default=0)
    return [read(root, detected=False, only=only, start=start) for root, only in places]


def read(
    root: Path,
    kernel_killed: bool = False,
    *,
    detected: bool = True,
    only: Collection[int] = (),
    start: int = 0,
) -> Made:
    """Read what became of a run.

    Parameters
    ----------
    kernel_killed : bool
        Whether the kernel ended processes for want of memory meanwhile.
    detected, only, start
        Which iterations count: see :func:`pyrometer.analyse.trial_facts.trial_facts`.
    """
    manifest = read_manifest(root)
    if manifest.state == "interrupted":
        return Made("interrupted", reason=manifest.exit.reason)
    if manifest.state == "finished":
        try:
            with Run.open(root) as opened:
                facts = trial_facts(opened, detected=detected, only=only, start=start)
        except PyrometerError as error:
            return Made("failed", reason=error.message)
        if facts.seconds is None or facts.seconds <= 0:
            return Made("failed", reason="no iteration's time is known")
        return Made("finished", seconds=facts.seconds, facts=facts)
    if any(one.status == "wrong_result" for one in manifest.results):
        return Made("wrong_result", reason=manifest.exit.reason)
    if kernel_killed or _short_of_memory(root, manifest):
        return Made("out_of_memory", censored_s=_ran(manifest), reason=manifest.why)
    return Made("failed", reason=manifest.why)


def _ran(manifest: Manifest) -> float | None:
    if manifest.started_mono_ns is None or manifest.ended_mono_ns is None:
        return None
    return (manifest.ended_mono_ns - manifest.started_mono_ns) / 1e9


def _short_of_memory(root: Path, manifest: Manifest) -> bool:
    if (manifest.cgroup or {}).get("oom_kills_count"):
        return True
    texts = [(one.error or "").encode() for one in manifest.results]
    texts.append((manifest.exit.reason or "").encode())
    paths = RunPaths(root)
    texts += [_tail(paths.stderr), _tail(paths.stdout)]
    return any(word in text for text in texts for word in (*_OUT_OF_MEMORY, b"OutOfMemoryError"))


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return file.read()
    except OSError:
        return b""


def _kernel_kills() -> int | None:
    """Count the processes that the kernel has killed for want of memory since boot."""
    try:
        text = Path("/proc/vmstat").read_text()
    except OSError:
        return None
    return next((int(w[9:]) for w in text.splitlines() if w.startswith("oom_kill ")), None)
