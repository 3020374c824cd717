"""The command line of QEMU for a described machine: a pure translation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pyrometer.guests.disk import Limits
from pyrometer.guests.machine import Machine
from pyrometer.guests.numa import GRAIN
from pyrometer.trial.factors import write_numbers

Accelerator = Literal["kvm", "tcg"]

EMULATED_CPU = "Nehalem"
"""x86-64-v2: what today's distributions and wheels need, and no wide vectors, slow in emulation."""

_CX16 = 4 * 32 + 13
"""Of ``cmpxchg16b`` among the kernel's features (arch/x86/include/asm/cpufeatures.h)."""

TRANSLATED_BYTES = 512 << 20
"""Room for translated instructions, which an emulator that runs JVMs fills."""

OWN_BYTES = 128 << 20
"""What QEMU takes beside the memory of its machine."""

EMULATED_PATIENCE = 20
"""How many times as long a trial waits there for what takes moments."""

THROTTLE = "measured"
"""Name of the group that shares the limits of ``machine.disk``: they are those of one disk."""


@dataclass(frozen=True)
class Disk:
    """A virtual disk.

    Attributes
    ----------
    name : str
        Its serial number, by which the machine finds it; at most 20 characters.
    file : str
        What holds its content, as QEMU opens it, or as its server calls it.
    writable : bool
        Whether the machine may write to it.
    measured : bool
        Whether it is what a trial measures: past the host's page cache, and with the limits.
    server : int or None
        Descriptor of a socket to an NBD server that has the file open; ``None``: QEMU has.
    """

    name: str
    file: str
    writable: bool = False
    measured: bool = False
    server: int | None = None


@dataclass(frozen=True)
class Boot:
    """What a machine is started with.

    Attributes
    ----------
    kernel, initrd : str
        Files, as QEMU opens them.
    disks : tuple of Disk
        In the order in which the machine sees them.
    ports : tuple of (str, int)
        Serial ports by name, each with the descriptor of a socket.
    console : int
        Descriptor of a socket for its console.
    direct : bool
        Whether measured disks go past the host's page cache: not all file systems let them.
    tsc_khz : int or None
        How fast the host's time stamp counter counts.
    amd : bool
        Whether the host's processor is AMD's, or of its make (Hygon).
    """

    kernel: str
    initrd: str
    disks: tuple[Disk, ...]
    ports: tuple[tuple[str, int], ...]
    console: int
    direct: bool = True
    tsc_khz: int | None = None
    amd: bool = False


def own_bytes(accelerator: Accelerator) -> int:
    """Memory of the host that a machine takes beside its own.

    Examples
    --------
    >>> own_bytes("tcg") - own_bytes("kvm") == TRANSLATED_BYTES
    True
    """
    return OWN_BYTES + (TRANSLATED_BYTES if accelerator == "tcg" else 0)


def command_line(machine: Machine, boot: Boot, accelerator: Accelerator) -> list[str]:
    """Give the arguments of ``qemu-system-x86_64``.

    No network, no default device, no monitor: what the machine can reach is its disks, read-only
    but for those made for it, and its serial ports. System calls that QEMU needs for nothing of
    this are forbidden to it.
    """
    return [
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-name", "pyrometer,debug-threads=on",
        "-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
        "-machine", "q35,usb=off,vmport=off",
        *_accelerator(machine, accelerator, boot.amd),
        *_processors(machine),
        *_memory(machine),
        "-rtc", "base=utc,clock=host",
        "-kernel", boot.kernel, "-initrd", boot.initrd,
        "-append", kernel_words(machine, accelerator, boot.tsc_khz),
        "-object", "rng-random,id=entropy,filename=/dev/urandom",
        "-device", "virtio-rng-pci,rng=entropy",
        *_ports(boot),
        *(word for disk in boot.disks for word in _disk(disk, machine.limits, boot.direct)),
    ]  # fmt: skip


def kernel_words(machine: Machine, accelerator: Accelerator, tsc_khz: int | None = None) -> str:
    """Give the kernel's command line.

    A machine that cannot go on is to end, not to boot again: ``panic=-1`` with ``-no-reboot``.

    An emulated processor shows the host's counter. A kernel measures how fast it counts, and is
    wrong, up to tens of times, where the emulator had to wait for a CPU meanwhile: so it is told.

    A kernel that sees no tick of its timer within a few milliseconds panics, unless it is not to
    look: an emulator that has to wait for a CPU is late.

    An emulated processor speculates on nothing. What a kernel does against speculation (other page
    tables in the kernel than in programs) empties the emulator's table of translations at every
    system call and every interrupt, and is left out; ``machine.cmdline`` comes later, and wins.

    Linux 6.12 on QEMU 7.2 crashed in its memory allocator, in 5 of 12 boots; in none of 12 once it
    was told to do without ``cmpxchg16b``. Programs still see it: it is part of x86-64-v2.

    A word of no meaning to the kernel, in capitals, is a variable of the first process.
    """
    words = ["console=ttyS0", "quiet", "loglevel=4", "panic=-1", "rdinit=/init"]
    if accelerator == "tcg":
        words += [f"tsc_early_khz={tsc_khz}"] if tsc_khz else []
        words += ["no_timer_check", "mitigations=off", f"PATIENCE={EMULATED_PATIENCE}"]
        words += [f"clearcpuid={_CX16}"]
    return " ".join([*words, *([machine.cmdline] if machine.cmdline else [])])


def _accelerator(machine: Machine, accelerator: Accelerator, amd: bool) -> Sequence[str]:
    if accelerator == "kvm":
        # Hosts that are virtual machines themselves may refuse what this feature sets.
        cpu = "host,migratable=off,arch-capabilities=off"
        # By this leaf alone a kernel sees the threads of a core of AMD's.
        threads = ",topoext=on" if amd and machine.threads_per_core > 1 else ""
        return ("-accel", "kvm", "-cpu", cpu + threads)
    # With a thread for each CPU, one may run what another has just written over: a JVM, which
    # compiles while it runs, then crashes.
    threads = "multi" if machine.cpus_count == 1 else "single"
    return (
        "-accel",
        f"tcg,thread={threads},tb-size={TRANSLATED_BYTES >> 20}",
        "-cpu",
        EMULATED_CPU,
    )


def _processors(machine: Machine) -> Sequence[str]:
    threads, nodes = machine.threads_per_core, machine.topology.nodes if machine.topology else ()
    cores = machine.cpus_count // threads
    with_cpus = sum(1 for node in nodes if node.cpus)
    # A socket for each node, where they are alike: else the kernel would see nodes share a cache.
    sockets = with_cpus if nodes and len({len(n.cpus) for n in nodes if n.cpus}) == 1 else 1
    sockets = sockets or 1
    return (
        "-smp",
        f"cpus={machine.cpus_count},sockets={sockets},cores={cores // sockets},threads={threads}",
    )


def _memory(machine: Machine) -> Iterator[str]:
    yield from ("-m", f"{machine.memory_bytes // GRAIN}M")
    if machine.topology is None:
        return
    for number, node in enumerate(machine.topology.nodes):
        size = f"{node.memory_bytes // GRAIN}M"
        yield from ("-object", f"memory-backend-ram,id=memory{number},size={size}")
        cpus = "".join(f",cpus={part}" for part in write_numbers(node.cpus).split(",") if part)
        yield from ("-numa", f"node,nodeid={number}{cpus},memdev=memory{number}")
    for a, row in enumerate(machine.topology.distances):
        for b, distance in enumerate(row):
            if a != b:
                yield from ("-numa", f"dist,src={a},dst={b},val={distance}")


def _ports(boot: Boot) -> Iterator[str]:
    yield from ("-chardev", f"socket,id=console,fd={boot.console}", "-serial", "chardev:console")
    yield from ("-device", f"virtio-serial-pci,max_ports={len(boot.ports) + 1}")
    for number, (name, descriptor) in enumerate(boot.ports, 1):
        yield from ("-chardev", f"socket,id=port{number},fd={descriptor}")
        yield from ("-device", f"virtserialport,nr={number},chardev=port{number},name={name}")


def _disk(disk: Disk, limits: Limits, direct: bool) -> Iterator[str]:
    words = [
        f"if=none,id={disk.name},format=raw,{_source(disk)}",
        f"readonly={'off' if disk.writable else 'on'}",
        f"cache={'none' if disk.measured and direct else 'writeback'}",
    ]
    if disk.writable:
        words.append("discard=unmap")
    rates = {
        "bps-read": limits.read_bytes_per_s,
        "bps-write": limits.write_bytes_per_s,
        "iops-total": limits.iops,
    }
    throttled = [f"throttling.{name}={rate}" for name, rate in rates.items() if rate is not None]
    if disk.measured and throttled:
        words += [*throttled, f"throttling.group={THROTTLE}"]
    yield from ("-drive", ",".join(words))
    # By default a machine is halted when the host's disk is full, and nobody could wake it.
    errors = "werror=report,rerror=report"
    yield from ("-device", f"virtio-blk-pci,drive={disk.name},serial={disk.name},{errors}")


def _source(disk: Disk) -> str:
    if disk.server is None:
        return f"file={_escaped(disk.file)},file.locking=off"
    server = f"file.server.type=fd,file.server.str={disk.server}"
    return f"file.driver=nbd,{server},file.export={_escaped(disk.file)}"


def _escaped(file: str) -> str:
    # QEMU's options are separated by commas; a doubled one is a comma.
    return file.replace(",", ",,")
