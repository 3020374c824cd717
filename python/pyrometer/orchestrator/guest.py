"""Trials in a virtual machine that is made for them: booted, heard to its end, thrown away.

It has one trial, or all those that run at the same time.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pyrometer.collect.host.room import room
from pyrometer.collect.launch import process
from pyrometer.collect.launch.observe import Watch
from pyrometer.collect.launch.process import Ending
from pyrometer.collect.launch.record import Record, opened
from pyrometer.collect.probes.selection import probes_of
from pyrometer.guests import emulator, job
from pyrometer.guests.conversation import QEMU_LOG, SEEN_FROM_HERE, Conversation
from pyrometer.guests.hearing import Patience, hear
from pyrometer.guests.here import check_here
from pyrometer.guests.machine import Machine
from pyrometer.guests.qemu import Accelerator
from pyrometer.guests.receive import OfEach, Received
from pyrometer.orchestrator.guest_files import GuestFiles, guest_files
from pyrometer.orchestrator.guest_record import (
    GUEST_MANIFEST,
    Guest,
    begin,
    check_launched,
    complete,
)
from pyrometer.trial.trial import Trial

PATIENCE: dict[Accelerator, Patience] = {
    "kvm": Patience(first_sign_s=20, start_s=120, grace_s=45),
    "tcg": Patience(first_sign_s=300, start_s=900, grace_s=180),
}


def measure_in_guest(trials: Sequence[Trial], watch: Watch) -> list[tuple[Record, Ending]]:
    """Run trials in a fresh machine and record them here.

    Parameters
    ----------
    trials : sequence of Trial
        One, or several that run at the same time: all ask for the same machine.
    watch : Watch
        Who is shown how they go on.

    Raises
    ------
    UsageError, CapabilityError
        Before anything was launched, or if one was refused in the machine; then no run directory
        remains. Nothing of the machine ever does.
    """
    machine = check_here(trials[0].treatment, room().free_bytes)
    with contextlib.ExitStack() as opening:
        records = [opening.enter_context(opened(one, probes_of(one), [])) for one in trials]
        inner = [
            job.inside(one, record.paths.root) for one, record in zip(trials, records, strict=True)
        ]
        watch.phase("machine")
        files = guest_files(machine, inner, watch)
        qemu = emulator.version()
        for trial, record in zip(trials, records, strict=True):
            begin(record, trial, files.kernel.release, files.doubts(), qemu)
        with process.held_signals() as late:
            guests = _boot(machine, files, records, watch, trials[0].timeout_s)
            _share_what_was_seen(records)
            for record, guest in zip(records, guests, strict=True):
                check_launched(guest, record.paths.raw)
            endings = [
                complete(record, trial, machine, guest)
                for trial, record, guest in zip(trials, records, guests, strict=True)
            ]
        if late and not any(one.interrupted_by for one in endings):
            signal.raise_signal(late[0])
    return list(zip(records, endings, strict=True))


def _share_what_was_seen(records: Sequence[Record]) -> None:
    """Copy what was seen of a machine from the first run directory of its trials to the others."""
    first, *others = (one.paths.raw for one in records)
    for raw in others:
        for name in SEEN_FROM_HERE:
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(first / name, raw / name)


def _boot(
    machine: Machine,
    files: GuestFiles,
    records: Sequence[Record],
    watch: Watch,
    timeout_s: float | None,
) -> list[Guest]:
    """Boot by KVM where it works, and else by emulation; gives what each trial is told of."""
    accelerator, why = emulator.accelerator(cache=files.cache)
    guests = _attempt(machine, files, records, watch, accelerator, why, timeout_s)
    guest = guests[0]
    if accelerator == "kvm" and not guest.heard.milestones and not guest.interrupted_by:
        said = guest.qemu_said.splitlines()
        why = f"KVM started no machine: {said[0] if said else 'it showed no sign of life'}"
        guests = _attempt(machine, files, records, watch, "tcg", why, timeout_s)
        # A machine that cannot be had either way (too little memory here) says nothing of KVM.
        if guests[0].heard.milestones:
            emulator.note_failed(files.cache, why)
    return guests


def _attempt(
    machine: Machine,
    files: GuestFiles,
    records: Sequence[Record],
    watch: Watch,
    accelerator: Accelerator,
    why: str | None,
    timeout_s: float | None,
) -> list[Guest]:
    each = [
        Received(
            one.paths.root,
            one.paths.raw / GUEST_MANIFEST,
            reserved=(*SEEN_FROM_HERE, GUEST_MANIFEST),
        )
        for one in records
    ]
    raw = records[0].paths.raw
    for name in SEEN_FROM_HERE:
        # Of an attempt before.
        (raw / name).unlink(missing_ok=True)
    log = raw / QEMU_LOG
    began = time.monotonic_ns()
    watch.phase("boot")
    ends = emulator.Ends()
    with files.opened(log) as disks:
        arguments = disks.arguments(machine, ends.descriptors, accelerator)
        with emulator.running(arguments, ends, disks.descriptors, log) as running:
            talk = Conversation(running, OfEach(each), raw, _shown(watch))
            asked = hear(talk, _patience(accelerator, timeout_s), process.asked_to_end)
            code = running.process.poll()
    guest = Guest(
        heard=talk.heard,
        clock=talk.pings.clock(),
        accelerator=accelerator,
        emulated_because=why,
        kernel=files.kernel.release,
        interrupted_by=asked,
        code=code,
        qemu_said=emulator.complaints(log),
        sent_bytes=0,
        started_mono_ns=began,
        ended_mono_ns=time.monotonic_ns(),
    )
    return [
        replace(guest, heard=talk.heard.of(number), sent_bytes=one.bytes_count)
        for number, one in enumerate(each)
    ]


def _patience(accelerator: Accelerator, timeout_s: float | None) -> Patience:
    usual = PATIENCE[accelerator]
    if timeout_s is None:
        return usual
    return replace(usual, longest_s=timeout_s + usual.start_s + usual.grace_s)


def _shown(watch: Watch) -> Callable[[dict[str, Any]], None]:
    """Show how far a machine is; what it says is not trusted to be what it should."""

    def show(said: dict[str, Any]) -> None:
        phase, note, iteration = said.get("phase"), said.get("note"), said.get("iteration")
        if isinstance(phase, str):
            watch.phase(phase[:40])
        elif isinstance(note, str):
            watch.note(note[:2000])
        elif "iterations" in said:
            number = iteration if isinstance(iteration, int) else None
            watch.running(number, 0, bool(said.get("warmup")))

    return show
