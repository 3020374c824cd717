"""The machine of a recorded trial in a line, and its host in another, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pyrometer.core.units import counted, percent, size

WAITED = 0.1
"""Share of a machine's time that one of its CPUs waits, from which on its times are doubted: what
others may take of a run's CPUs before that is a warning (`pyrometer.summary.contention`)."""

UNREADABLE = "its record cannot be read"


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Found(_Part):
    cpus_count: int | None = None
    memory_bytes: int = 0
    swap_bytes: int = 0
    nodes: list[Any] = Field(default_factory=list)
    lru_gen: int | None = None


class _Step(_Part):
    step: str
    uptime_s: float | None = None


class _Cpu(_Part):
    wait_ns: int


class _Host(_Part):
    hostname: str | None = None
    cpu_model: str | None = None
    cpus_count: int | None = None
    kernel: str | None = None
    qemu_version: str | None = None
    started_mono_ns: int = 0
    ended_mono_ns: int = 0
    cpus: list[_Cpu] | None = None


class _Block(_Part):
    """``machine`` of a manifest, as far as it is shown."""

    kernel: str | None = None
    accelerator: str | None = None
    found: _Found | None = None
    boot: list[_Step] = Field(default_factory=list)
    host: _Host = Field(default_factory=_Host)


def _read(block: Mapping[str, Any]) -> _Block | None:
    try:
        return _Block.model_validate(block)
    except ValidationError:
        return None


def waited_ratio(block: Mapping[str, Any]) -> float | None:
    """Share of a machine's time for which one of its CPUs waited for a CPU of the host.

    Of several, the one that waited longest: it was needed most. ``None`` where it is not known.

    Examples
    --------
    >>> cpus = [{"cpu": 0, "run_ns": 60, "wait_ns": 30}, {"cpu": 1, "run_ns": 1, "wait_ns": 0}]
    >>> waited_ratio({"host": {"started_mono_ns": 100, "ended_mono_ns": 200, "cpus": cpus}})
    0.3
    """
    found = _read(block)
    return None if found is None else _waited(found.host)


def _waited(host: _Host) -> float | None:
    lasted = host.ended_mono_ns - host.started_mono_ns
    if not host.cpus or lasted <= 0:
        return None
    return max(one.wait_ns for one in host.cpus) / lasted


def described(block: Mapping[str, Any]) -> str:
    """Say what a machine was, and how long it took to come up.

    Parameters
    ----------
    block : mapping
        ``machine`` of a manifest.

    Examples
    --------
    >>> found = {"cpus_count": 2, "memory_bytes": 2 << 30, "swap_bytes": 1 << 30, "lru_gen": 7}
    >>> boot = [{"step": "kernel", "uptime_s": 2.5}, {"step": "started", "uptime_s": 4.92}]
    >>> described({"kernel": "6.1.0", "accelerator": "tcg", "found": found, "boot": boot})
    'emulated, Linux 6.1.0, 2 CPUs, 2.00 GiB, swap 1.00 GiB, lru_gen 0x7; booted in 4.9 s'
    """
    known = _read(block)
    if known is None:
        return UNREADABLE
    found = known.found or _Found()
    parts = [how] if (how := how_it_ran(block)) else []
    parts += [f"Linux {known.kernel}"] if known.kernel else []
    if found.cpus_count is not None:
        parts += [counted(found.cpus_count, "CPU"), size(found.memory_bytes)]
    if found.swap_bytes:
        parts.append(f"swap {size(found.swap_bytes)}")
    if len(found.nodes) > 1:
        parts.append(counted(len(found.nodes), "NUMA node"))
    if found.lru_gen is not None:
        parts.append(f"lru_gen {found.lru_gen:#x}")
    up = next((one.uptime_s for one in known.boot if one.step == "started"), None)
    return (", ".join(parts) or "of an unknown kind") + (
        "" if up is None else f"; booted in {up:.1f} s"
    )


def how_it_ran(block: Mapping[str, Any]) -> str | None:
    """Say whether a machine was emulated; ``None`` where it is not known."""
    return {"kvm": "KVM", "tcg": "emulated"}.get(str(block.get("accelerator")))


def host_described(block: Mapping[str, Any]) -> str | None:
    """Say on which host a machine ran, by which QEMU; ``None`` where it is not known.

    Examples
    --------
    >>> host = {"hostname": "box", "cpu_model": "EPYC", "cpus_count": 2, "qemu_version": "7.2.0"}
    >>> host_described({"host": host})
    'box, EPYC, 2 CPUs, QEMU 7.2.0'
    """
    known = _read(block)
    if known is None:
        return None
    host = known.host
    parts = [host.hostname, host.cpu_model, host.cpus_count and counted(host.cpus_count, "CPU")]
    parts += [f"Linux {host.kernel}" if host.kernel else None]
    parts += [f"QEMU {host.qemu_version}" if host.qemu_version else None]
    return ", ".join(str(one) for one in parts if one) or None


def kind_of_host(block: Mapping[str, Any]) -> str | None:
    """Say how a machine ran and on what processor: machines alike in this are of one kind.

    Examples
    --------
    >>> host = {"hostname": "box", "cpu_model": "EPYC", "cpus_count": 2, "qemu_version": "7.2.0"}
    >>> kind_of_host({"accelerator": "kvm", "host": host})
    'KVM on EPYC, 2 CPUs'
    """
    known, how = _read(block), how_it_ran(block)
    host = _Host() if known is None else known.host
    parts = [host.cpu_model, host.cpus_count and counted(host.cpus_count, "CPU")]
    on = ", ".join(str(one) for one in parts if one)
    return " on ".join(one for one in (how, on) if one) or None


def names_of_host(block: Mapping[str, Any]) -> dict[str, str | None]:
    """Give what may differ between hosts of one kind, by what people call it."""
    known = _read(block)
    if known is None:
        return {}
    host = known.host
    found = {
        "host name": host.hostname,
        "kernel of the host": host.kernel,
        "QEMU": host.qemu_version,
    }
    return {name: value for name, value in found.items() if value is not None}


def shown(block: Mapping[str, Any]) -> dict[str, str]:
    """Give what reports show of a machine, by label.

    Examples
    --------
    >>> host = {"hostname": "box", "ended_mono_ns": 10, "cpus": [{"wait_ns": 3}]}
    >>> shown({"kernel": "6.1.0", "accelerator": "kvm", "host": host})["Virtual machine"]
    'KVM, Linux 6.1.0'
    >>> shown({"host": host})["Its host"]
    'box; the machine waited 30.0 % of its time for a CPU'
    """
    known = _read(block)
    found = {"Virtual machine": described(block)}
    waited = None if known is None else _waited(known.host)
    parts = [host_described(block)]
    parts += (
        [] if waited is None else [f"the machine waited {percent(waited)} of its time for a CPU"]
    )
    if said := "; ".join(one for one in parts if one):
        found["Its host"] = said
    return found
