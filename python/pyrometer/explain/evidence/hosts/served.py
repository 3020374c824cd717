"""What those who serve shuffle blocks did while tasks waited for these, as the ledger has it."""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.explain.evidence.places import bounds
from pyrometer.explain.facts import Facts, once
from pyrometer.explain.schema import Evidence

_SIDES = ("shuffle_fetch/remote", "shuffle_fetch/both")
# Part of the ledger, and what to say of it.
_DID = {
    "disk": "waited for a disk",
    "on_cpu": "were on a CPU",
    "run_queue": "waited for a CPU",
    "gc_pause": "were stopped by the collector",
    "network_or_unknown": "had nothing to do (the network, or not known)",
}
_LEAST = 0.05

Parts = dict[str, tuple[float, float, float]]


@once
def served(facts: Facts) -> Parts:
    """Give what tasks waited for blocks by what serving threads did: ns, low end, high end.

    It is that of the window, whose waits are divided together; empty where nothing was divided, or
    the window has several applications.
    """
    if not facts.has("thread_states") or len(facts.summary.apps) != 1:
        return {}
    found: Parts = {}
    for row in facts.summary.ledger.slot_view.memos:
        side, _, name = row.path.rpartition("/")
        if side in _SIDES and name in _DID and row.value_ns:
            ends = (row.low_ns, row.high_ns)
            low, high = (row.value_ns if end is None else end for end in ends)
            value = found.get(name, (0.0, 0.0, 0.0))
            found[name] = (value[0] + row.value_ns, value[1] + low, value[2] + high)
    return found


def in_words(parts: Parts) -> str:
    """Say it in a sentence; nothing where it is not known.

    Examples
    --------
    >>> in_words({"disk": (3e9, 0, 4e9), "on_cpu": (1e9, 0, 4e9)}).split(": ")[1]
    '75 % waited for a disk, 25 % were on a CPU (estimated).'
    >>> in_words({})
    ''
    """
    whole = sum(value for value, _, _ in parts.values())
    large = sorted(
        (name for name in parts if parts[name][0] >= _LEAST * whole),
        key=lambda name: -parts[name][0],
    )
    shares = ", ".join(
        f"{parts[name][0] / whole:.0%} {_DID[name]}".replace("%", " %") for name in large
    )
    return (
        f" Of the threads that serve blocks, in all such waits: {shares} (estimated)."
        if shares
        else ""
    )


def evidence(parts: Parts) -> Iterator[Evidence]:
    """Give the parts as evidence, the largest first."""
    for name, (value, low, high) in sorted(parts.items(), key=lambda one: -one[1][0]):
        yield Evidence(
            what=f"waits in which serving threads {_DID[name].partition(' (')[0]}",
            estimate=bounds(value, low, high, 0, "apportioned, whoever served"),
            unit="ns",
            table="thread_states",
            link="/ledger",
            query=f"ledger --json: slot_view.memos, shuffle_fetch/…/{name}",
        )


def busy_servers(parts: Parts) -> str | None:
    """Say what most waits were for, where that is neither the network nor unknown."""
    whole = sum(value for value, _, _ in parts.values())
    groups = {
        "disk": ("disk",), "cpu": ("on_cpu", "run_queue"), "heap": ("gc_pause",),
    }  # fmt: skip
    for group, names in groups.items():
        if 2 * sum(parts[name][0] for name in names if name in parts) > whole:
            return group
    return None
