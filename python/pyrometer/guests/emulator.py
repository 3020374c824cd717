"""QEMU as a process that ends with us, and never without being waited for."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyrometer.core.errors import CapabilityError
from pyrometer.guests.qemu import Accelerator

PROGRAM = "qemu-system-x86_64"
KVM = Path("/dev/kvm")
FAILED = "kvm-failed"
_END_S = 5.0
_ANSWER_S = 10.0
_TOLD_TO_END = ": terminating on signal "

# The kernel kills it as soon as we have ended, by whatever (PR_SET_PDEATHSIG, SIGKILL); a parent
# that ended before that was asked for is seen by its number.
_STARTER = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
signal.pthread_sigmask(signal.SIG_SETMASK, [])
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


def program() -> str:
    """Find QEMU.

    Raises
    ------
    CapabilityError
        If it is missing.
    """
    found = shutil.which(PROGRAM)
    if found is None:
        raise CapabilityError(
            f"{PROGRAM}, which runs virtual machines, is missing",
            "sudo apt-get install qemu-system-x86 busybox-static",
        )
    return found


def version() -> str | None:
    """Ask QEMU for its version; ``None`` if it says none."""
    with contextlib.suppress(OSError, subprocess.SubprocessError, CapabilityError):
        said = subprocess.run([program(), "--version"], capture_output=True, timeout=_ANSWER_S)
        found = re.search(rb"version (\d[\w.+-]{0,31})", said.stdout)
        return found[1].decode() if found else None
    return None


def accelerator(device: Path = KVM, cache: Path | None = None) -> tuple[Accelerator, str | None]:
    """Say whether a machine runs on the processor itself, and else why it is emulated.

    Parameters
    ----------
    device : Path
        By which the kernel offers it.
    cache : Path, optional
        Where it is kept that machines did not start although the device is there.
    """
    if cache is not None and (why := _failed(cache)) is not None:
        return "tcg", why
    try:
        os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        return "tcg", f"{device} is missing: no virtualisation here, or module kvm is not loaded"
    except OSError as error:
        return "tcg", f"{device}: {error.strerror}"
    return "kvm", None


def note_failed(cache: Path, why: str) -> None:
    """Keep that KVM starts no machines, until this host is booted again."""
    with contextlib.suppress(OSError):
        (cache / FAILED).write_text(f"{_boot_id()}\n{why}\n", encoding="utf-8")


def _failed(cache: Path) -> str | None:
    try:
        boot, _, why = (cache / FAILED).read_text(encoding="utf-8").partition("\n")
    except (OSError, ValueError):
        return None
    return f"{why.strip()} (kept in {cache / FAILED})" if boot == _boot_id() else None


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


@dataclass
class Running:
    """A machine that runs.

    Attributes
    ----------
    process : subprocess.Popen
        QEMU.
    console, boot, stream : socket.socket
        Our ends of its console and ports.
    """

    process: subprocess.Popen[bytes]
    console: socket.socket
    boot: socket.socket
    stream: socket.socket


class Ends:
    """Sockets for the ports of a machine: ours, and those that QEMU inherits."""

    def __init__(self) -> None:
        pairs = [socket.socketpair() for _ in range(3)]
        self.ours = [one for one, _ in pairs]
        self.theirs = [other for _, other in pairs]

    @property
    def descriptors(self) -> list[int]:
        """Of console, boot and stream, as QEMU has them."""
        return [one.fileno() for one in self.theirs]

    def close(self) -> None:
        """Close all that are open."""
        for one in (*self.ours, *self.theirs):
            one.close()


def start(
    command: Sequence[str],
    descriptors: Sequence[int],
    log: Path,
    talks_to: socket.socket | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program that the kernel kills when we have ended.

    Parameters
    ----------
    command : sequence of str
        Its path, and arguments.
    descriptors : sequence of int
        Those that it inherits.
    log : Path
        Gets what it says, after what is there.
    talks_to : socket.socket, optional
        Its standard input and output.
    """
    port = None if talks_to is None else talks_to.fileno()
    with log.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _STARTER, str(os.getpid()), *command],
            stdin=subprocess.DEVNULL if port is None else port,
            stdout=out if port is None else port,
            stderr=out,
            pass_fds=tuple(descriptors),
            start_new_session=True,
        )


@contextlib.contextmanager
def running(
    arguments: Sequence[str], ends: Ends, descriptors: Sequence[int], log: Path
) -> Iterator[Running]:
    """Run QEMU while the block lasts; it is ended at its end, if it has not ended itself.

    Parameters
    ----------
    arguments : sequence of str
        Of QEMU.
    ends : Ends
        Sockets of its ports.
    descriptors : sequence of int
        Further ones that it inherits.
    log : Path
        What it complains about.
    """
    process = start([program(), *arguments], (*ends.descriptors, *descriptors), log)
    for one in ends.theirs:
        one.close()
    try:
        yield Running(process, *ends.ours)
    finally:
        end(process)
        ends.close()


def complaints(log: Path) -> str:
    """Give what QEMU complained about last; that it was told to end was our doing."""
    with contextlib.suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace")[-2000:].splitlines()
        return "\n".join(one for one in lines if _TOLD_TO_END not in one).strip()
    return ""


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that :func:`start` has started, if it has not ended, and wait for it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
