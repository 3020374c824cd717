"""Addresses of pods: each has its own, reached by way of its host, which answers for it."""

from __future__ import annotations

import ipaddress
import subprocess
from collections.abc import Iterable
from pathlib import Path

UPLINK = "eth0"
GATEWAY = "169.254.1.1"
"""Next hop of every pod: no address of anybody, for which the host's end of the cable answers."""
COMMAND_S = 20.0


class NoAddressError(Exception):
    """All addresses of this node are taken."""


def free(first: str, last: str, taken: Iterable[str]) -> str:
    """Choose the first address that nobody has.

    Raises
    ------
    NoAddressError
        If there is none.

    Examples
    --------
    >>> free("192.0.2.4", "192.0.2.6", ["192.0.2.4"])
    '192.0.2.5'
    """
    known = set(taken)
    lowest, highest = (int(ipaddress.ip_address(one)) for one in (first, last))
    for number in range(lowest, highest + 1):
        address = str(ipaddress.ip_address(number))
        if address not in known:
            return address
    raise NoAddressError(f"all pod addresses of this node are taken: {first} to {last}")


def interface(address: str) -> str:
    """Give the host's end of the cable to a pod."""
    return f"pod{address.rpartition('.')[2]}"


def prepare_host() -> None:
    """Have this host pass packets on, and answer for its pods at once."""
    _write("ipv4/ip_forward", "1")
    _answer_for_others(UPLINK)


def connect(pid: int, address: str) -> None:
    """Connect the network namespace of a process, under an address."""
    outer = interface(address)
    disconnect(address)
    _ip("link", "add", outer, "type", "veth", "peer", "name", UPLINK, "netns", str(pid))
    _answer_for_others(outer)
    _ip("link", "set", outer, "up")
    _ip("route", "replace", f"{address}/32", "dev", outer)
    inside = ["nsenter", f"--target={pid}", "--net", "--", "ip"]
    _do([*inside, "link", "set", "lo", "up"])
    _do([*inside, "addr", "add", f"{address}/32", "dev", UPLINK])
    _do([*inside, "link", "set", UPLINK, "up"])
    _do([*inside, "route", "add", GATEWAY, "dev", UPLINK, "scope", "link"])
    _do([*inside, "route", "add", "default", "via", GATEWAY, "src", address])


def disconnect(address: str) -> None:
    """Take the cable away, if there is one."""
    _do(["ip", "link", "delete", interface(address)], check=False)


def _answer_for_others(name: str) -> None:
    _write(f"ipv4/conf/{name}/proxy_arp", "1")
    _write(f"ipv4/neigh/{name}/proxy_delay", "0")


def _write(name: str, text: str) -> None:
    Path("/proc/sys/net", name).write_text(text, "ascii")


def _ip(*words: str) -> None:
    _do(["ip", *words])


def _do(words: list[str], check: bool = True) -> None:
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        timeout=COMMAND_S,
    )  # fmt: skip
    if check and done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
