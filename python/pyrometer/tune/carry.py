"""A tuning from its folder: the search, then the confirmation, each gone on with where it was."""

from __future__ import annotations

import os
from pathlib import Path

from pyrometer.core.errors import UsageError
from pyrometer.experiments.journal import opened_journal, read_journal
from pyrometer.experiments.run.environment import Quiet, Screen
from pyrometer.experiments.run.planned import check_same
from pyrometer.tune.confirm.run import confirm
from pyrometer.tune.known import known_before
from pyrometer.tune.memory.recall import FEWEST
from pyrometer.tune.memory.remembered import keep, remembered
from pyrometer.tune.trials.folder import Tuning, read_tuning
from pyrometer.tune.trials.measured import measured
from pyrometer.tune.trials.records import KINDS
from pyrometer.tune.trials.replay import History, MakeAdviser, history_of
from pyrometer.tune.trials.screen import QuietTuning, TuneScreen
from pyrometer.tune.trials.search import Search, TuneActions

VERB = "tune"


def search(
    root: Path,
    make: MakeAdviser,
    *,
    screen: TuneScreen | None = None,
    actions: TuneActions | None = None,
) -> History:
    """Search, or go on with it, until its part of the budget is spent.

    Parameters
    ----------
    root : Path
        Folder of the tuning.
    make : callable
        Makes the engine.

    Raises
    ------
    UsageError
        If there is no tuning, it is of another machine, its workload has changed, its command ran
        elsewhere, another process runs it, or its journal was edited.
    WorkloadError
        If the job as it is does not finish.
    CapabilityError
        If the journal cannot be written, or others have the memory that one configuration after
        another needs: what ended is kept.
    KeyboardInterrupt
        If the user stopped it; what ended is kept.
    """
    tuning = _read(root)
    with opened_journal(root, KINDS, VERB) as journal:
        entries = read_journal(root, KINDS)
        return Search(
            root, tuning, make, entries, journal,
            screen=screen or QuietTuning(), actions=actions or TuneActions(known=known_before),
        ).carry_out()  # fmt: skip


def confirm_winner(
    root: Path,
    *,
    screen: Screen | None = None,
    actions: TuneActions | None = None,
    blocks: int | None = None,
    scale: str | None = None,
) -> str | None:
    """Run what is to be run of the confirmation; more blocks, or another scale, if asked for.

    Returns
    -------
    str or None
        Why not all of it has run; ``None``: it has.

    Raises
    ------
    UsageError, CapabilityError, KeyboardInterrupt
        As :func:`search`.
    """
    tuning = _read(root)
    with opened_journal(root, KINDS, VERB) as journal:
        history = history_of(read_journal(root, KINDS))
        return confirm(
            root, tuning, history, screen=screen or Quiet(),
            actions=actions or TuneActions(), journal=journal, blocks=blocks, scale=scale,
        )  # fmt: skip


def remember(root: Path) -> Path | None:
    """Keep a tuning, so that it warms the start of others; ``None``: there is nothing to keep.

    Raises
    ------
    UsageError
        If it is no tuning, or its journal was edited.
    CapabilityError
        If it cannot be written.
    """
    memory = read_tuning(root).memory
    if memory is None:
        return None
    one = remembered(root, measured)
    return None if one is None or len(one.trials) < FEWEST else keep(Path(memory), one)


def _read(root: Path) -> Tuning:
    tuning = read_tuning(root)
    if tuning.online is not None:
        raise UsageError(
            f"{root} is of a recurring job: it has no end", f"pyrometer tune step {root}"
        )
    workloads = [] if tuning.command else [tuning.workload]
    check_same(root, tuning.machine, workloads, tuning.workload_sha256)
    if tuning.folder is not None and tuning.folder != os.getcwd():
        raise UsageError(
            f"{root}: its command was begun in {tuning.folder}",
            f"cd {tuning.folder}, and run this again there",
        )
    return tuning
