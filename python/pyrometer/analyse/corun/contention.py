"""What a workload loses beside others: by the ledger, and as far as its rows can be told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyrometer.analyse.compare.two import ALPHA, geometric_mean_of, student
from pyrometer.analyse.corun.model import Contention, Growth, RoleGrowth
from pyrometer.analyse.corun.spent import RESOURCES, Spent
from pyrometer.estimate import Estimate

NAMED = 0.05
"""Share of all growth from which on a row is named in the verdict."""

Pairs = Sequence[tuple[Mapping[str, float], Mapping[str, float]]]
"""Alone and beside others, by block."""


def contention(alone: Sequence[Spent], beside: Sequence[Spent], slower: bool) -> Contention:
    """Say what grew beside others.

    Parameters
    ----------
    alone, beside : sequence of Spent
        By block, the same blocks.
    slower : bool
        Whether it surely is slower beside them.
    """
    pairs = list(zip(alone, beside, strict=True))
    reason = next((one.reason for pair in pairs for one in pair if one.reason), None)
    if reason is not None or not pairs:
        return Contention(reason=reason or "no block has both")
    ratios = [two.ipc / one.ipc for one, two in pairs if one.ipc and two.ipc]
    made = Contention(
        grown=_grown([(one.seconds, two.seconds) for one, two in pairs]),
        roles=_roles([(one.queues, two.queues) for one, two in pairs]),
        ipc=geometric_mean_of(ratios) if len(ratios) == len(pairs) else None,
        ipc_reason=next((one.ipc_reason for pair in pairs for one in pair if not one.ipc), None),
    )
    made.told = _told(made) if slower else "not surely slower: there is nothing to explain"
    return made


def _grown(pairs: Pairs) -> list[Growth]:
    names = [one for one in RESOURCES if any(one in side for pair in pairs for side in pair)]
    made = []
    for name in names:
        alone, more, sure = _more(pairs, name, len(names))
        what = RESOURCES[name][0]
        made.append(Growth(name=name, what=what, alone_s=alone, more_s=more, share=None, sure=sure))
    all_grown = sum(max(one.more_s.value or 0.0, 0.0) for one in made)
    for growth in made:
        growth.share = (growth.more_s.value or 0.0) / all_grown if all_grown else None
    return made


def _roles(pairs: Pairs) -> list[RoleGrowth]:
    names = list(dict.fromkeys(name for pair in pairs for side in pair for name in side))
    made = []
    for name in names:
        alone, more, sure = _more(pairs, name, len(names))
        made.append(RoleGrowth(role=name, queue_alone_s=alone, queue_more_s=more, sure=sure))
    return made


def _more(pairs: Pairs, name: str, asked: int) -> tuple[float, Estimate, bool]:
    """Give what there was alone, how much more beside, and whether that is sure."""
    more = [two.get(name, 0.0) - one.get(name, 0.0) for one, two in pairs]
    # Whether it grew is asked of one side only, of all names together (Bonferroni).
    careful = student(more, 1 - 2 * ALPHA / asked)
    alone = sum(one.get(name, 0.0) for one, _ in pairs) / len(pairs)
    return alone, student(more), careful.low is not None and careful.low > 0


def _told(found: Contention) -> str:
    sure = {one.name: one for one in found.grown if one.sure and (one.share or 0) >= NAMED}
    if not sure:
        return "what they fight over cannot be told: no row of the ledger surely grew"
    told = [
        f"{one.what} ({one.share:.0%} of what grew)"
        for one in sorted(sure.values(), key=lambda one: -(one.share or 0))
    ]
    if "cpu_time" in sure:
        told.append(_stalls(found))
    for name in ("gc", "driver"):
        if name in sure:
            told.append(_waited(found, name))
    return "; ".join(told)


def _waited(found: Contention, role: str) -> str:
    """Say whether threads of a role had more to do, or waited for a CPU."""
    one = next((one for one in found.roles if one.role == role), None)
    threads = {"gc": "collectors", "driver": "the driver's threads"}[role]
    if one is None or not one.sure:
        return f"whether {threads} did more or waited for something is not separable"
    return f"{threads} waited {one.queue_more_s.value:.2g} s more for a CPU"


def _stalls(found: Contention) -> str:
    if found.ipc is None:
        return (
            "what makes CPU time grow (caches, memory bandwidth, a core that is shared, frequency)"
            f" is not separable: {found.ipc_reason or 'no counters'}"
        )
    if found.ipc.high is not None and found.ipc.high < 1:
        return (
            f"instructions per cycle are {found.ipc.value:.2f} times those alone: caches, memory"
            " bandwidth, or a core that is shared"
        )
    return "instructions per cycle did not surely fall: more instructions, or a lower frequency"
