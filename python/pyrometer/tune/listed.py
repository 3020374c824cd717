"""A tuning in the list of a folder's runs: how far it is."""

from __future__ import annotations

from pathlib import Path

from pyrometer.experiments.folder import read_plan
from pyrometer.experiments.history.listing import Entry, entry_of_trials
from pyrometer.experiments.journal import Entries, read_journal
from pyrometer.tune.confirm.blocks import folders_of, going_on, scales_of
from pyrometer.tune.place import is_tuning
from pyrometer.tune.trials.folder import Tuning, read_tuning
from pyrometer.tune.trials.records import KINDS, Decided
from pyrometer.tune.trials.replay import History, history_of


def listed(place: Path) -> Entry | None:
    """Give the entry of a tuning, trials of its confirmation included; of anything else, nothing.

    Raises
    ------
    UsageError
        If it cannot be read.
    """
    if not is_tuning(place):
        return None
    tuning, entries = read_tuning(place), read_journal(place, KINDS)
    history = history_of(entries)
    if tuning.online is not None:
        return _recurring(place, tuning, entries, history)
    scales: list[str | None] = [None, *scales_of(place)]
    folders = [one for scale in scales for one in folders_of(place, scale)]
    ended = {one: list(read_journal(one).ended.values()) for one in folders}
    planned = {one: len(read_plan(one).trials) for one in folders}
    open_ = [one for scale in scales for one in going_on(place, history, scale)]
    whole = bool(folders) and all(len(ended[one]) >= planned[one] for one in open_)
    settled = history.settled
    return entry_of_trials(
        place,
        "tuning",
        tuning.name,
        [*entries.ended.values(), *(one for folder in folders for one in ended[folder])],
        trials_count=len(history.steps) + sum(planned.values()),
        finished=settled is not None and (whole or history.stopped or not settled.configuration),
    )


def _recurring(place: Path, tuning: Tuning, entries: Entries, history: History) -> Entry:
    """Give the entry of a job that recurs: it is never finished, and its last run is what counts.

    Its policy is not replayed: the journal says what was adopted.
    """
    found = entry_of_trials(
        place, "tuning", tuning.name, list(entries.ended.values()),
        trials_count=len(history.steps), finished=False,
    )  # fmt: skip
    found.state = "recurring"
    found.done_count = sum(one.counts for one in history.steps)
    for record in entries.others:
        if isinstance(record, Decided) and record.what in ("adopted", "rolled back"):
            found.treatment = dict(record.configuration) if record.what == "adopted" else {}
    if history.steps:
        last = history.steps[-1]
        found.last_wall_ns = last.asked.wall_ns
        if last.told is not None and not last.counts:
            found.last_failed = last.told.failed or "it ran out of time"
    return found
