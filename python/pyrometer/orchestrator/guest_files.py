"""What a machine is made of, from the trials that run in it: kernel, disks, first files."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyrometer
from pyrometer.collect.launch.environment import pip_spark
from pyrometer.collect.launch.java import require_java
from pyrometer.collect.launch.observe import Watch
from pyrometer.core.schema import schema_folder
from pyrometer.guests import delay, job, qemu
from pyrometer.guests.cache import cache_root, kernel_cache
from pyrometer.guests.here import is_amd
from pyrometer.guests.machine import Machine
from pyrometer.guests.parts import closure, images, initrd, kernels, nameless, programs
from pyrometer.guests.parts.closure import Listing
from pyrometer.guests.parts.kernels import Kernel
from pyrometer.guests.parts.modules import OF_SCHEDULERS
from pyrometer.guests.qemu import Accelerator, Boot, Disk
from pyrometer.guests.tsc import tsc_khz
from pyrometer.orchestrator.command_files import (
    CommandFiles,
    files_named,
    files_of_command,
    pythons_of,
    roots_of,
)
from pyrometer.orchestrator.guest_data import check_in_memory, data_of
from pyrometer.trial.trial import Trial
from pyrometer.workloads import registry
from pyrometer.workloads.custom.yaml import YamlCommand
from pyrometer.workloads.spark import find_spark

SCRATCH_BYTES = 64 << 30
"""What a machine may write at most; its disk has holes, and takes what is written."""


@dataclass(frozen=True)
class Disks:
    """Disks of one machine, open.

    Attributes
    ----------
    boot : Boot
        What it starts with; its ports are not known yet.
    descriptors : tuple of int
        What QEMU inherits: files without a name, sockets to servers of disks.
    """

    boot: Boot
    descriptors: tuple[int, ...]

    def arguments(
        self, machine: Machine, descriptors: Sequence[int], accelerator: Accelerator
    ) -> list[str]:
        """Give QEMU's arguments; `descriptors` are of console, boot and stream."""
        console, boot, stream = descriptors
        ports = (("boot", boot), ("stream", stream))
        whole = replace(self.boot, ports=ports, console=console)
        return qemu.command_line(machine, whole, accelerator)


@dataclass(frozen=True)
class GuestFiles:
    """What a machine is made of.

    Attributes
    ----------
    kernel : Kernel
        Its kernel.
    images : dict of str to Path
        Read-only disks by name, in the order in which they cover each other.
    first : bytes
        Archive with its first files.
    swap_bytes : int
        Size of its swap.
    cache : Path
        Where all this is kept.
    filesystem : str or None
        Of its disk for what is written; ``None``: ext4 without a journal.
    left_out : tuple of str
        What of the trials' does not go along, and why.
    latency_ms : int or None
        By how much requests of measured disks are held back.
    """

    kernel: Kernel
    images: dict[str, Path]
    first: bytes
    swap_bytes: int
    cache: Path
    filesystem: str | None = None
    left_out: tuple[str, ...] = ()
    latency_ms: int | None = None

    def doubts(self) -> Iterator[tuple[str, str]]:
        """Say, by codes, in what a trial in such a machine is not what it is elsewhere."""
        if not nameless.direct(self.cache):
            text = f"The file system of {self.cache} has no O_DIRECT: disks pass the page cache"
            yield "machine_disk_cached", f"{text} of the host."
        for text in self.left_out:
            yield "machine_left_out", text

    @contextlib.contextmanager
    def opened(self, log: Path) -> Iterator[Disks]:
        """Make the disks of one machine: they have no name, and are gone when nobody has them.

        Parameters
        ----------
        log : Path
            What servers of disks complain about.

        Raises
        ------
        CapabilityError
            If the file system has no such files, or they cannot be formatted.
        """
        free = shutil.disk_usage(self.cache).free
        size = min(SCRATCH_BYTES, free * 3 // 4) & -(1 << 20)
        held: list[int] = []
        try:
            first = _held(held, nameless.with_content(self.cache, self.first))
            scratch = _held(held, nameless.nameless(self.cache, size))
            if self.filesystem is None:
                nameless.format_ext4(nameless.path_of(scratch), size, pass_fd=scratch)
            else:
                nameless.format_as(self.filesystem, scratch)
            disks = [
                Disk(name, str(path), measured=name == "data") for name, path in self.images.items()
            ]
            disks.append(Disk("scratch", nameless.path_of(scratch), writable=True, measured=True))
            if self.swap_bytes:
                swap = _held(held, nameless.nameless(self.cache, self.swap_bytes))
                path = nameless.path_of(swap)
                disks.append(Disk("swap", path, writable=True, measured=True))
            with delay.delayed(disks, self.latency_ms, log) as served:
                boot = Boot(
                    kernel=str(self.kernel.image),
                    initrd=nameless.path_of(first),
                    disks=served,
                    ports=(),
                    console=-1,
                    direct=nameless.direct(self.cache),
                    tsc_khz=tsc_khz(),
                    amd=is_amd(),
                )
                sockets = [one.server for one in served if one.server is not None]
                yield Disks(boot, (*held, *sockets))
        finally:
            for descriptor in held:
                os.close(descriptor)


def _held(held: list[int], descriptor: int) -> int:
    held.append(descriptor)
    return descriptor


def guest_files(machine: Machine, trials: Sequence[Trial], watch: Watch) -> GuestFiles:
    """Find or make what a machine for trials is made of.

    Parameters
    ----------
    machine : Machine
        The machine.
    trials : sequence of Trial
        As they run in the machine.
    watch : Watch
        Who is shown how it goes on.

    Raises
    ------
    UsageError, CapabilityError
        If something is missing here, or a trial needs what cannot be given to it.
    """
    command_files = [_command_files(one) for one in trials]
    cache = cache_root()
    shell = initrd.busybox().read_bytes()
    kernel = kernels.find(machine.kernel, kernel_cache())
    modules = kernel.loading_order(further_modules(machine, trials))
    javas = [require_java(_java_environment(one), needed=_needs_java(one)) for one in trials]
    listings, left_out = _listings(trials, javas, command_files, watch)
    watch.phase("disks")
    made = {name: images.image_of(one, cache / "images") for name, one in listings.items()}
    environment = job.environment(os.environ, _java_home(trials, javas))
    command = [sys.executable, "-m", "pyrometer.orchestrator.inside"]
    first = {
        "images": "".join(f"{name}\n" for name in made).encode(),
        "hostname": initrd.HOSTNAME.encode(),
        "run_dir": str(folder_of(trials)).encode(),
        "start.sh": initrd.start_script(environment, os.getcwd(), command).encode(),
        "job.json": job.write(trials),
        "filesystem": (machine.filesystem or "ext4").encode(),
        **({} if machine.lru_gen is None else {"lru_gen": b"y\n" if machine.lru_gen else b"n\n"}),
    }
    archive = initrd.build(shell, modules, first, initrd.INIT.read_bytes())
    return GuestFiles(
        kernel=kernel,
        images=made,
        first=archive,
        swap_bytes=machine.swap_bytes,
        cache=cache,
        filesystem=machine.filesystem,
        left_out=left_out,
        latency_ms=machine.limits.latency_ms,
    )


def folder_of(trials: Sequence[Trial]) -> Path:
    """Give the folder in which all is written that comes out: a run directory, or that of several.

    Examples
    --------
    >>> folder_of([Trial(name="svm", run_dir=Path("/e/trials/1"))]).as_posix()
    '/e/trials/1'
    """
    roots = [str(one.run_dir) for one in trials]
    return Path(os.path.commonpath(roots))


def further_modules(machine: Machine, trials: Sequence[Trial]) -> list[str]:
    """Name the modules that levels need: inside, nothing is there that could load one later."""
    schedulers = (OF_SCHEDULERS.get(str(one.treatment.get("os.io_scheduler"))) for one in trials)
    found = dict.fromkeys((machine.filesystem, *schedulers))
    return [name for name in found if name is not None]


def _command_files(trial: Trial) -> CommandFiles:
    """Find what of a trial's command goes along; of a workload of ours, Pythons that it is told."""
    home = trial.treatment.get("spark.home")
    environment = dict(os.environ)
    if home is not None:
        environment["SPARK_HOME"] = str(find_spark(str(home)).home)
    if trial.name is None:
        return files_of_command(trial.command, environment, trial.treatment)
    workload = registry.get(trial.name)
    if isinstance(workload, YamlCommand):
        assert trial.run_dir is not None
        levels = {n: str(v) for n, v in trial.treatment.items() if n in workload.variants}
        command = workload.command(registry.resolve(trial.name, levels), trial.run_dir)
        environment |= command.env
        return files_of_command(command.argv, environment, trial.treatment)
    pythons = [] if workload.engine == "process" else pythons_of(environment)
    data, wide = files_named((), environment)
    return CommandFiles(tuple(roots_of(pythons, environment)), tuple(data), tuple(wide))


def _java_environment(trial: Trial) -> dict[str, str]:
    home = trial.treatment.get("jvm.home")
    return {**os.environ, **({"JAVA_HOME": str(home)} if home is not None else {})}


def _java_home(trials: Sequence[Trial], javas: Sequence[str | None]) -> str | None:
    """Give the Java of a trial that names none, else of any: the others set their own."""
    found = [(one, java) for one, java in zip(trials, javas, strict=True) if java is not None]
    named = sorted(found, key=lambda one: "jvm.home" in one[0].treatment)
    return programs.java_home(named[0][1]) if named else None


def _needs_java(trial: Trial) -> bool:
    return trial.name is not None and registry.get(trial.name).engine != "process"


def _listings(
    trials: Sequence[Trial],
    javas: Sequence[str | None],
    commands: Sequence[CommandFiles],
    watch: Watch,
) -> tuple[dict[str, Listing], tuple[str, ...]]:
    """List what lies on which disk, from the lowest up; says what of the trials' is left out."""
    libraries = closure.libraries_here()
    found = programs.python(sys.executable)
    package = str(Path(pyrometer.__file__).parent)
    of_commands = [program for one in commands for program in one.programs]
    roots, own = programs.parted([*found.roots, *of_commands], package)
    roots += [*programs.SYSTEM, *(root for one in trials for root in _spark_roots(one))]
    roots += [libraries[name] for name in programs.OPENED_LATER if name in libraries]
    for java in javas:
        if java is not None:
            # As it was named, too: links to it, and a home that JAVA_HOME names.
            roots += [programs.java_home(java), java]
    watch.phase("programs")
    listings = {"base": closure.collect(roots, libraries)}
    if own:
        # In a checkout what is bundled otherwise lies beside the sources.
        own.append(str(schema_folder()))
        listings["own"] = closure.collect(own, libraries, listings["base"])
    data = Listing()
    left_out: list[str] = []
    for trial, command in zip(trials, commands, strict=True):
        more, said = data_of(trial, command, libraries, listings["base"], watch)
        data.add(more)
        left_out += said
    check_in_memory([one for listing in (*listings.values(), data) for one in listing.in_memory])
    if data.files or data.folders or data.links:
        listings["data"] = data
    return listings, tuple(dict.fromkeys(left_out))


def _spark_roots(trial: Trial) -> list[str]:
    home = trial.treatment.get("spark.home")
    if trial.name is not None and registry.get(trial.name).engine == "process":
        return []
    if trial.name is None and home is None and not os.environ.get("SPARK_HOME"):
        return [str(place) for place in pip_spark() if place.is_dir()]
    spark = find_spark(None if home is None else str(home))
    roots = [str(spark.home)]
    if spark.python != sys.executable:
        roots += programs.python(spark.python).roots
    return roots
