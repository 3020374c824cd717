"""The record of a trial in a machine: what came out of it, completed by what the host saw."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pyrometer.collect.host.room import room
from pyrometer.collect.launch.process import Ending
from pyrometer.collect.launch.record import Record
from pyrometer.core import units
from pyrometer.core.errors import (
    CapabilityError,
    CommandNotExecutableError,
    CommandNotFoundError,
    PyrometerError,
    UsageError,
    WorkloadError,
)
from pyrometer.guests import facts, here, pings
from pyrometer.guests.conversation import CONSOLE, CONSOLE_BYTES, CPUS, Heard
from pyrometer.guests.described import WAITED, waited_ratio
from pyrometer.guests.facts import Seen
from pyrometer.guests.hearing import TIME_OUT
from pyrometer.guests.machine import Machine, split
from pyrometer.guests.qemu import Accelerator
from pyrometer.store.manifest import Exit, Manifest, Phase
from pyrometer.trial.trial import Trial

GUEST_MANIFEST = "machine-manifest.json"
"""The machine's own manifest, in ``raw/``."""
LARGEST_MANIFEST = 64 << 20
OURS = ("run_id", "created_wall_ns", "pyrometer_version", "launcher", "treatment", "machine")
"""Fields that the host's manifest keeps whatever the machine's says."""
REFUSALS: dict[str, type[PyrometerError]] = {
    one.kind: one
    for one in (
        UsageError, CommandNotFoundError, CommandNotExecutableError, CapabilityError, WorkloadError
    )
}  # fmt: skip
"""Errors that mean the same in a machine as here, by their kinds."""
OF_HOST = ("hostname", "cpu_model", "cpus_count", "memory_bytes", "kernel", "virtualised")
"""What is kept of the host of a machine: its manifest's ``host`` is the machine."""
UNKNOWN = "What the machine had is not known: what it reported about itself is not valid"
TAIL = 600
"""Characters of a console that a message shows."""
_GRAVE = re.compile(r"\bBUG:|\bOops\b|\bKernel panic\b|\bdouble fault\b|\bRIP: |Out of memory")
"""What a kernel says as it fails (kernel/panic.c, arch/x86/kernel/dumpstack.c, mm/oom_kill.c)."""


@dataclass(frozen=True)
class Guest:
    """What became of a machine.

    Attributes
    ----------
    heard : Heard
        What it said.
    clock : dict
        Of the host against the machine.
    accelerator : {"kvm", "tcg"}
        How it ran.
    emulated_because : str or None
        Why not by KVM.
    kernel : str
        Release.
    interrupted_by : str or None
        The signal by which we were asked to end.
    code : int or None
        How QEMU ended; negative: by a signal; ``None``: it was ended by us.
    qemu_said : str
        What it complained about.
    sent_bytes : int
        What came of the trial's files.
    started_mono_ns, ended_mono_ns : int
        On the host's clock.
    """

    heard: Heard
    clock: dict[str, Any]
    accelerator: Accelerator
    emulated_because: str | None
    kernel: str
    interrupted_by: str | None
    code: int | None
    qemu_said: str
    sent_bytes: int
    started_mono_ns: int
    ended_mono_ns: int


class _LastWord(BaseModel):
    """How the application ended, as its machine said."""

    model_config = ConfigDict(extra="ignore")

    code: int | None = Field(default=None, ge=0, le=255)
    signal: str | None = Field(default=None, max_length=32)
    interrupted_by: str | None = Field(default=None, max_length=32)
    mono_ns: int = Field(ge=0, lt=1 << 62)
    wall_ns: int = Field(ge=0, lt=1 << 63)
    oom_kills_count: int | None = Field(default=None, ge=0, lt=1 << 32)


def begin(
    record: Record,
    trial: Trial,
    kernel: str,
    doubts: Iterable[tuple[str, str]] = (),
    qemu: str | None = None,
) -> None:
    """Write down what is known before a machine is booted: what a kill of ours leaves.

    Records of the machine are on its clock; pairs of the host's would be taken for that.
    """
    record.manifest.clock_pairs = []
    host = record.manifest.host.model_dump(include=set(OF_HOST))
    record.manifest.machine = {
        "asked": split(trial.treatment)[0],
        "kernel": kernel,
        "host": {**host, "cpus_allowed_count": room().cpus_count, "qemu_version": qemu},
    }
    for code, text in doubts:
        record.doubt(code, text)
    record.save()


def complete(record: Record, trial: Trial, machine: Machine, guest: Guest) -> Ending:
    """Complete the record; gives how the application ended.

    Raises as :func:`check_launched`.
    """
    check_launched(guest, record.paths.raw)
    seen = _seen(guest.heard)
    record.launched = True
    record.clock_offset_ns = guest.clock.get("host_to_machine_ns") or 0
    theirs = _manifest(record.paths.raw / GUEST_MANIFEST)
    ending = None if theirs is None else _ending(guest)
    if ending is None:
        record.doubt("machine_lost", f"{_lost(guest)}.")
    if theirs is not None:
        _take(record.manifest, theirs)
    manifest = record.manifest
    levels, _ = split(trial.treatment)
    manifest.treatment |= levels
    manifest.treatment_origin |= dict.fromkeys(levels, "user")
    manifest.phases = [*_boot_phases(guest.heard), *manifest.phases]
    differs = [UNKNOWN] if seen is None else facts.differences(machine, guest.kernel, seen)
    host = (manifest.machine or {}).get("host") or {}
    manifest.machine = _block(record.paths.raw, levels, guest, seen, differs, host)
    for text in differs:
        record.doubt("machine_differs", f"{text}.")
    waited = waited_ratio(manifest.machine)
    if waited is not None and waited >= WAITED:
        record.doubt(
            "machine_waited",
            f"A CPU of the machine waited {units.percent(waited)} of the machine's time for a CPU"
            " of the host.",
        )
    crowded = here.crowded(machine, host.get("cpus_allowed_count"))
    if crowded is not None and guest.accelerator == "kvm":
        record.doubt("machine_oversubscribed", f"{crowded}.")
    if (off := pings.off(guest.clock)) is not None:
        record.doubt("machine_clock", off)
    if guest.accelerator == "tcg":
        why = guest.emulated_because
        text = f"Times mean nothing in absolute terms: the machine was emulated ({why})."
        record.doubt("emulated", text)
    if ending is None:
        ending = _assumed(manifest, guest)
        manifest.state = "interrupted" if guest.interrupted_by else "failed"
        manifest.exit = Exit(code=None, signal=None, reason=_lost(guest))
        # 0 where the machine never said what time it is.
        manifest.ended_mono_ns = manifest.ended_mono_ns or ending.mono_ns or None
        manifest.ended_wall_ns = manifest.ended_wall_ns or ending.wall_ns or None
    record.save()
    return ending


def check_launched(guest: Guest, raw: Path) -> None:
    """Check that a trial was launched in its machine.

    Parameters
    ----------
    guest : Guest
        The machine.
    raw : Path
        Where its console is.

    Raises
    ------
    UsageError, CapabilityError, WorkloadError
        If the machine did not come up, or the trial was refused in it.
    PyrometerError
        If Pyrometer failed in it.
    KeyboardInterrupt
        If we were asked to end before anything was launched.
    """
    heard = guest.heard
    refused, broken = heard.said("refused"), heard.said("broken")
    if guest.interrupted_by and (refused or broken or heard.said("machine") is None):
        raise KeyboardInterrupt
    if refused is not None:
        kind = REFUSALS.get(str(refused.get("kind")), PyrometerError)
        remedy = refused.get("remedy")
        raise kind(
            f"in the virtual machine: {str(refused.get('message'))[:2000]}",
            None if remedy is None else str(remedy)[:2000],
        )
    if broken is not None:
        raise PyrometerError(f"Pyrometer failed in the virtual machine: {broken.get('message')}")
    if heard.said("machine") is None:
        failed = heard.at("failed")
        said = failed.said if failed else heard.damaged or guest.qemu_said or _console(raw)
        said = said or "it said nothing"
        raise CapabilityError(
            f"the virtual machine did not come up: {said}",
            "pyrometer doctor says what it needs; choose another kernel with"
            " --set machine.kernel=…, or give it more memory",
        )


def _console(raw: Path) -> str:
    """Give the kernel's first complaint, else the last that it said."""
    try:
        text = (raw / CONSOLE).read_bytes()[-CONSOLE_BYTES:].decode("utf-8", "replace")
    except OSError:
        return ""
    lines = [" ".join("".join(c if c.isprintable() else " " for c in one).split())
             for one in text.splitlines()]  # fmt: skip
    grave = [one for one in lines if _GRAVE.search(one)]
    return "; ".join(grave)[:TAIL] if grave else " ".join(lines)[-TAIL:]


def _seen(heard: Heard) -> Seen | None:
    try:
        return Seen.model_validate(heard.said("machine") or {})
    except ValidationError:
        return None


def _last_word(heard: Heard) -> _LastWord | None:
    try:
        return _LastWord.model_validate(heard.said("finished") or {})
    except ValidationError:
        return None


def _ending(guest: Guest) -> Ending | None:
    found = _last_word(guest.heard)
    if found is None or (found.code is None and found.signal is None):
        return None
    said = found.model_dump(exclude={"oom_kills_count"})
    ending = Ending(**{**said, "interrupted_by": _asked(found, guest)})
    try:
        known = ending.exit_code <= 255
    except (KeyError, ValueError):
        known = False  # No signal of that name.
    return ending if known else None


def _asked(found: _LastWord, guest: Guest) -> str | None:
    return found.interrupted_by and (guest.interrupted_by or found.interrupted_by)


def _lost(guest: Guest) -> str:
    if guest.heard.damaged is not None:
        return guest.heard.damaged
    if guest.interrupted_by == TIME_OUT:
        return "stopped by Pyrometer with its virtual machine, which hung past the time limit"
    if guest.interrupted_by:
        return f"ended by {guest.interrupted_by} to Pyrometer, with its virtual machine"
    how = "was ended by us" if guest.code is None else f"ended with code {guest.code}"
    said = f": {guest.qemu_said.splitlines()[0]}" if guest.qemu_said else ""
    return f"QEMU {how} before the trial was closed{said}"


def _assumed(manifest: Manifest, guest: Guest) -> Ending:
    """Say when the application was last known to run: nobody saw its end."""
    pairs = manifest.clock_pairs
    mono, wall = (pairs[-1].mono_ns, pairs[-1].wall_ns) if pairs else (0, 0)
    return Ending(None, "SIGKILL", guest.interrupted_by, mono, wall)


def _manifest(path: Path) -> Manifest | None:
    try:
        if path.stat().st_size > LARGEST_MANIFEST:
            return None
        return Manifest.model_validate(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return None


def _take(ours: Manifest, theirs: Manifest) -> None:
    kept = list(ours.doubts)
    for name in type(ours).model_fields:
        if name not in (*OURS, "doubts", "schema_name", "schema_version"):
            setattr(ours, name, getattr(theirs, name))
    ours.treatment = {**theirs.treatment, **ours.treatment}
    ours.doubts = [*theirs.doubts, *(one for one in kept if one not in theirs.doubts)]


def _boot_phases(heard: Heard) -> list[Phase]:
    started = heard.at("started")
    if started is None or started.uptime_s is None:
        return []
    return [Phase(name="boot", start_mono_ns=0, end_mono_ns=round(started.uptime_s * 1e9))]


def _block(
    raw: Path,
    levels: dict[str, Any],
    guest: Guest,
    seen: Seen | None,
    differs: list[str],
    host: dict[str, Any],
) -> dict[str, Any]:
    heard = guest.heard
    last = _last_word(heard)
    return {
        "asked": levels,
        "kernel": guest.kernel,
        "accelerator": guest.accelerator,
        "emulated_because": guest.emulated_because,
        "found": None if seen is None else seen.model_dump(mode="json"),
        "differs": differs,
        "boot": [
            {
                "step": one.name,
                "uptime_s": one.uptime_s,
                "host_s": (one.host_mono_ns - guest.started_mono_ns) / 1e9,
            }
            for one in heard.milestones
        ],
        "clock": guest.clock,
        "host": {
            **host,
            "started_mono_ns": guest.started_mono_ns,
            "ended_mono_ns": guest.ended_mono_ns,
            **_cpus(raw / CPUS),
        },
        "oom_kills_count": None if last is None else last.oom_kills_count,
        "received_bytes": guest.sent_bytes,
    }


def _cpus(path: Path) -> dict[str, Any]:
    """Give the last reading of the threads that are the machine's CPUs."""
    try:
        last = json.loads(path.read_bytes().splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return {"cpus": None, "reason": "its threads were never read"}
    return {"cpus": last["cpus"], "other_run_ns": last["other_run_ns"]}
