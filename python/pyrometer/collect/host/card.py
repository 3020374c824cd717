"""The host card: what this machine can attain, how steady it is, what effect it can resolve.

The machine as a value.
"""

from __future__ import annotations

import json
import math
import os
import platform
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from pyrometer import _artifacts
from pyrometer.collect.host.facts import _text, parse_cpu_model, parse_meminfo, parse_virtualised
from pyrometer.core.errors import CapabilityError
from pyrometer.core.estimate import Estimate
from pyrometer.core.installation import reinstall
from pyrometer.core.replacing import replacing
from pyrometer.statistics.distributions import t_quantile
from pyrometer.store.manifest import Host
from pyrometer.workloads import page_cache

SCHEMA = "pyrometer/host-card/1"
DISK_BYTES = 256 << 20
LEVEL = 0.95
POWER = 0.8
PAIRS = (5, 10, 20, 40)
FREE_MEMORY = "end what takes the memory, or raise the limit of the control group"
_WITHOUT_MEMORY = (1, -signal.SIGKILL, -signal.SIGABRT)
"""What the probe ends with: it says so, the kernel kills it, or an allocation fails."""
MEMORY_DIFFERS = 0.05
"""Relative difference from which on memory is another: less, and another kernel keeps it back."""


class Card(BaseModel):
    """What was measured of a host.

    Attributes
    ----------
    copy_bytes_per_s, triad_bytes_per_s : Estimate
        Attainable memory bandwidth of all CPUs together; bytes read plus bytes written by the
        program (what the caches fetch in order to write is not counted).
    threads_count : int or None
        Threads that attained it; ``None`` in older cards.
    cpus_allowed_count : int or None
        CPUs that the measurement might use: more than threads where memory was short; ``None`` in
        older cards.
    read_bytes_per_s : dict of str to Estimate
        Attainable when memory is only read, by number of threads; empty in older cards.
    latency_ns : Estimate
        A dependent load from memory.
    latency_loaded_ns : Estimate or None
        The same while all other CPUs read memory; ``None`` on one CPU and in older cards.
    disk_write_bytes_per_s, disk_read_bytes_per_s : Estimate or None
        Sequential, past the page cache (written with fsync, read after it was dropped).
    disk_reason : str or None
        Why they are missing.
    steal_ratio : float or None
        Share of CPU time that the hypervisor took while the card was measured.
    alu_sd, copy_sd : float
        Standard deviation of the logarithm of the time of identical work: of arithmetic, and of
        copying memory.
    smallest_effect : dict of str to float
        Smallest relative difference that n pairs can be expected to show (level 0.95, power
        0.8), by n, if the noise is that of copying memory. Applications are noisier.
    """

    schema_name: str = SCHEMA
    measured_wall_ns: int
    hostname: str
    cpu_model: str | None
    cpus_count: int | None
    threads_per_core: int | None
    numa_nodes_count: int | None
    memory_bytes: int | None
    copy_bytes_per_s: Estimate
    triad_bytes_per_s: Estimate
    threads_count: int | None = None
    cpus_allowed_count: int | None = None
    read_bytes_per_s: dict[str, Estimate] = Field(default_factory=dict)
    latency_ns: Estimate
    latency_loaded_ns: Estimate | None = None
    disk_write_bytes_per_s: Estimate | None
    disk_read_bytes_per_s: Estimate | None
    disk_reason: str | None = None
    steal_ratio: float | None
    alu_sd: float
    copy_sd: float
    smallest_effect: dict[str, float]


def measure(say: Callable[[str], Any], folder: Path | None = None) -> Card:
    """Measure this host, for about twenty seconds; nothing else should run meanwhile.

    Parameters
    ----------
    say : callable
        Called with what is being measured.
    folder : Path, optional
        On the disk to be measured; the current one by default.

    Raises
    ------
    CapabilityError
        If the probe binary cannot measure.
    """
    host = this_host(with_card=False)
    before = cpu_times()
    say("measuring memory bandwidth, latency and noise (10 s)")
    raw = _ask_probe()
    after = cpu_times()
    threads, cpus = raw.get("threads_count"), raw.get("cpus_count")
    if threads and cpus and threads < cpus:
        say(f"memory is short: its bandwidth was measured by {threads} of {cpus} CPUs")
    say("measuring the disk")
    disk = measure_disk(folder or Path.cwd())
    copies = [1 / rate for rate in raw["copy_bytes_per_s"]]
    return Card(
        measured_wall_ns=time.time_ns(),
        hostname=host.hostname,
        cpu_model=host.cpu_model,
        cpus_count=host.cpus_count,
        threads_per_core=threads_per_core(),
        numa_nodes_count=_nodes(),
        memory_bytes=host.memory_bytes,
        copy_bytes_per_s=median(raw["copy_bytes_per_s"]),
        triad_bytes_per_s=median(raw["triad_bytes_per_s"]),
        threads_count=threads,
        cpus_allowed_count=cpus,
        read_bytes_per_s={n: median(found) for n, found in raw["read_bytes_per_s"].items()},
        latency_ns=median(raw["latency_ns"]),
        latency_loaded_ns=median(loaded) if (loaded := raw["latency_loaded_ns"]) else None,
        disk_write_bytes_per_s=disk[0],
        disk_read_bytes_per_s=disk[1],
        disk_reason=disk[2],
        steal_ratio=steal(before, after),
        alu_sd=log_sd(raw["alu_ns"]),
        copy_sd=log_sd(copies),
        smallest_effect={str(n): smallest_effect(log_sd(copies), n) for n in PAIRS},
    )


def median(values: Sequence[float]) -> Estimate:
    """Median with an interval from order statistics (no assumption on the distribution).

    Examples
    --------
    >>> median([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    Estimate(value=5.0, low=2.0, high=8.0, level=0.95, n=9, method='median, order statistics')
    """
    ordered = sorted(values)
    n = len(ordered)
    rank = 0
    # Largest rank k with P(Binomial(n, 1/2) < k) <= (1 - level) / 2.
    tail = 0.0
    while rank < n // 2:
        tail += math.comb(n, rank) / 2**n
        if tail > (1 - LEVEL) / 2:
            break
        rank += 1
    known = rank > 0
    return Estimate(
        value=statistics.median(ordered),
        low=ordered[rank - 1] if known else None,
        high=ordered[n - rank] if known else None,
        level=LEVEL,
        n=n,
        method="median, order statistics",
    )


def log_sd(times: Sequence[float]) -> float:
    """Give the standard deviation of the logarithm: the relative noise."""
    return statistics.stdev(math.log(value) for value in times)


def smallest_effect(sd: float, pairs: int) -> float:
    """Smallest relative difference that so many pairs show with level 0.95 and power 0.8.

    Parameters
    ----------
    sd : float
        Standard deviation of the log of one observation; the two of a pair are independent.
    pairs : int
        Number of pairs.

    Examples
    --------
    >>> round(smallest_effect(0.05, 10), 3)
    0.073
    """
    quantiles = t_quantile(1 - (1 - LEVEL) / 2, pairs - 1) + t_quantile(POWER, pairs - 1)
    return float(math.expm1(quantiles * sd * math.sqrt(2 / pairs)))


def cpu_times(text: str | None = None) -> list[int]:
    r"""Ticks of the first line of ``/proc/stat``.

    Examples
    --------
    >>> cpu_times("cpu  1 2 3 4 5 6 7 8 9 10\n")[7]
    8
    """
    text = Path("/proc/stat").read_text() if text is None else text
    return [int(word) for word in text.split("\n", 1)[0].split()[1:]]


def steal(before: Sequence[int], after: Sequence[int]) -> float | None:
    """Share of steal in the time between two readings; ``None`` if nothing passed.

    Examples
    --------
    >>> steal([0] * 10, [40, 0, 0, 50, 0, 0, 0, 10, 40, 0])
    0.1
    """
    # guest and guest_nice (the last two) are inside user and nice.
    spent = [new - old for old, new in zip(before[:8], after[:8], strict=True)]
    return spent[7] / sum(spent) if sum(spent) else None


def threads_per_core() -> int | None:
    """Hardware threads of the first core."""
    try:
        path = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"
        text = Path(path).read_text().strip()
    except OSError:
        return None
    count = 0
    for part in text.split(","):
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1
    return count


def _nodes() -> int | None:
    return len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None


def measure_disk(folder: Path) -> tuple[Estimate | None, Estimate | None, str | None]:
    """Write and read a file of 256 MiB seven times, past the page cache.

    Returns
    -------
    tuple
        Bytes per second written and read, and why they are missing.
    """
    block = os.urandom(4 << 20)
    writes, reads = [], []
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".pyrometer-card-") as file:
            for _ in range(7):
                file.seek(0)
                start = time.perf_counter()
                for _ in range(DISK_BYTES // len(block)):
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())
                writes.append(DISK_BYTES / (time.perf_counter() - start))
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                if (page_cache.residency([file.name]).ratio or 0) > 0.5:
                    return None, None, f"{folder}: files there stay in memory, as on a tmpfs"
                start = time.perf_counter()
                file.seek(0)
                while file.read(len(block)):
                    pass
                reads.append(DISK_BYTES / (time.perf_counter() - start))
    except OSError as error:
        return None, None, f"{folder}: {error.strerror}"
    return median(writes), median(reads), None


def card_file() -> Path:
    """Where the card of this host is kept."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "pyrometer" / "host-card.json"


def keep(card: Card) -> Path:
    """Keep a card; later runs carry it in their manifest."""
    path = card_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as out:
        out.write(f"{card.model_dump_json(indent=1)}\n".encode())
    return path


def kept(host: Host) -> dict[str, Any] | None:
    """Give the card that is kept, if it is of this host as it is; ``None`` if there is none."""
    try:
        card = Card.model_validate_json(card_file().read_bytes())
    except (OSError, ValidationError):
        return None
    return card.model_dump(mode="json") if _is_of(card, host) else None


def _is_of(card: Card, host: Host) -> bool:
    """Whether a card is of a host: a machine in the cloud changes its size and keeps its name."""
    if (card.hostname, card.cpu_model) != (host.hostname, host.cpu_model):
        return False
    counts = ((card.cpus_count, host.cpus_count), (card.numa_nodes_count, _nodes()))
    if any(None not in pair and pair[0] != pair[1] for pair in counts):
        return False
    if not card.memory_bytes or not host.memory_bytes:
        return True
    return abs(host.memory_bytes / card.memory_bytes - 1) < MEMORY_DIFFERS


def _ask_probe() -> dict[str, Any]:
    binary = _artifacts.probe_binary()
    try:
        done = subprocess.run(
            [binary, "card", "--json"], capture_output=True, text=True, timeout=300, check=True
        )
        raw = json.loads(done.stdout)
    except subprocess.CalledProcessError as error:
        # Another code is of a probe that does not fit.
        remedy = FREE_MEMORY if error.returncode in _WITHOUT_MEMORY else reinstall()
        raise CapabilityError(f"{binary} card: {error.stderr.strip() or error}", remedy) from error
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise CapabilityError(f"{binary} card: {error}", reinstall()) from error
    assert isinstance(raw, dict)
    return raw


def this_host(with_card: bool = True) -> Host:
    """Read the machine, and the host card if one is kept; what cannot be read is ``None``."""
    cpuinfo = _text("/proc/cpuinfo")
    memory = parse_meminfo(_text("/proc/meminfo"))
    host = Host(
        hostname=socket.gethostname(),
        kernel=platform.release(),
        cpus_count=os.cpu_count(),
        cpu_model=parse_cpu_model(cpuinfo),
        memory_bytes=memory.get("MemTotal"),
        swap_bytes=memory.get("SwapTotal"),
        virtualised=parse_virtualised(cpuinfo, _text("/sys/class/dmi/id/product_name")),
    )
    return host.model_copy(update={"card": kept(host)}) if with_card else host
