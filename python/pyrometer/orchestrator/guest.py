"""One trial in a virtual machine that is made for it: booted, heard to its end, thrown away."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
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
from pyrometer.guests.receive import Received
from pyrometer.orchestrator.guest_files import GuestFiles, guest_files
from pyrometer.orchestrator.guest_record import GUEST_MANIFEST, Guest, begin, complete
from pyrometer.trial.trial import Trial

PATIENCE: dict[Accelerator, Patience] = {
    "kvm": Patience(first_sign_s=20, start_s=120, grace_s=45),
    "tcg": Patience(first_sign_s=300, start_s=900, grace_s=180),
}


def measure_in_guest(trial: Trial, watch: Watch) -> tuple[Record, Ending]:
    """Run a trial in a fresh machine and record it here.

    Raises
    ------
    UsageError, CapabilityError
        Before anything was launched; then no run directory remains. Nothing of the machine ever
        does.
    """
    machine = check_here(trial.treatment, room().free_bytes)
    with opened(trial, probes_of(trial), []) as record:
        inner = job.inside(trial, record.paths.root)
        watch.phase("machine")
        files = guest_files(machine, inner, watch)
        begin(record, trial, files.kernel.release, files.doubts(), emulator.version())
        with process.held_signals() as late:
            guest = _boot(machine, files, record, watch, trial.timeout_s)
            ending = complete(record, trial, machine, guest)
        if late and not ending.interrupted_by:
            signal.raise_signal(late[0])
    return record, ending


def _boot(
    machine: Machine, files: GuestFiles, record: Record, watch: Watch, timeout_s: float | None
) -> Guest:
    """Boot by KVM where it works, and else by emulation."""
    accelerator, why = emulator.accelerator(cache=files.cache)
    guest = _attempt(machine, files, record, watch, accelerator, why, timeout_s)
    if accelerator == "kvm" and not guest.heard.milestones and not guest.interrupted_by:
        said = guest.qemu_said.splitlines()
        why = f"KVM started no machine: {said[0] if said else 'it showed no sign of life'}"
        guest = _attempt(machine, files, record, watch, "tcg", why, timeout_s)
        # A machine that cannot be had either way (too little memory here) says nothing of KVM.
        if guest.heard.milestones:
            emulator.note_failed(files.cache, why)
    return guest


def _attempt(
    machine: Machine,
    files: GuestFiles,
    record: Record,
    watch: Watch,
    accelerator: Accelerator,
    why: str | None,
    timeout_s: float | None,
) -> Guest:
    received = Received(
        record.paths.root,
        record.paths.raw / GUEST_MANIFEST,
        reserved=(*SEEN_FROM_HERE, GUEST_MANIFEST),
    )
    for name in SEEN_FROM_HERE:
        # Of an attempt before.
        (record.paths.raw / name).unlink(missing_ok=True)
    log = record.paths.raw / QEMU_LOG
    began = time.monotonic_ns()
    watch.phase("boot")
    ends = emulator.Ends()
    with files.opened() as disks:
        arguments = disks.arguments(machine, ends.descriptors, accelerator)
        with emulator.running(arguments, ends, disks.descriptors, log) as running:
            talk = Conversation(running, received, record.paths.raw, _shown(watch))
            asked = hear(talk, _patience(accelerator, timeout_s), process.asked_to_end)
            code = running.process.poll()
    return Guest(
        heard=talk.heard,
        clock=talk.pings.clock(),
        accelerator=accelerator,
        emulated_because=why,
        kernel=files.kernel.release,
        interrupted_by=asked,
        code=code,
        qemu_said=emulator.complaints(log),
        sent_bytes=received.bytes_count,
        started_mono_ns=began,
        ended_mono_ns=time.monotonic_ns(),
    )


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
