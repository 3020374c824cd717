"""Members of a co-run, and every party of them that is measured."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

from pyrometer.core.errors import UsageError
from pyrometer.trial.trial import Trial

_MEMBER = re.compile(r"(?P<workload>.+?)(?:@(?P<cpus>[0-9]+(?:[,-][0-9]+)*))?")
_OFFSET = re.compile(r"(?P<seconds>[0-9]+(?:\.[0-9]+)?)s?")


@dataclass(frozen=True)
class Member:
    """One of the workloads of a co-run.

    Attributes
    ----------
    name : str
        The workload, and a number where it occurs twice.
    workload : str
        Its name, or a file.
    cpus : str or None
        Its own CPUs, as a level of ``host.cpus``.
    levels : dict of str to str
        Levels of its factors.
    offset_s : float
        Start, in seconds after the first.
    """

    name: str
    workload: str
    cpus: str | None = None
    levels: dict[str, str] = field(default_factory=dict)
    offset_s: float = 0.0


@dataclass(frozen=True)
class Party:
    """Workloads that run at once: several, or one with a neighbour or alone.

    Attributes
    ----------
    own_cpus : bool
        Whether each has CPUs of its own.
    """

    members: tuple[Member, ...]
    neighbour: str | None = None
    own_cpus: bool = False

    def others(self, member: Member) -> list[str]:
        """Name the others."""
        return [one.name for one in self.members if one is not member]

    def treatment(self, member: Member) -> str:
        """Name the treatment of a member of the party.

        Examples
        --------
        >>> scan, rank = Member("scan", "scan"), Member("rank", "rank")
        >>> Party((scan,)).treatment(scan), Party((scan, rank), own_cpus=True).treatment(rank)
        ('scan alone', 'rank beside scan, own CPUs')
        """
        company = " and ".join(
            [*self.others(member), *([self.neighbour] if self.neighbour else [])]
        )
        how = f"beside {company}" if company else "alone"
        return f"{member.name} {how}{', own CPUs' if self.own_cpus else ''}"


def members_of(
    workloads: Sequence[str], settings: Iterable[str] = (), offsets: Iterable[str] = ()
) -> tuple[Member, ...]:
    """Parse the members of a co-run.

    Parameters
    ----------
    workloads : sequence of str
        ``WORKLOAD``, or ``WORKLOAD@CPUS``.
    settings : iterable of str
        ``FACTOR=LEVEL`` of all, ``MEMBER:FACTOR=LEVEL`` of one.
    offsets : iterable of str
        ``MEMBER:SECONDS``.

    Raises
    ------
    UsageError
        If CPUs are given for some only; if a setting or an offset is malformed or names nobody.

    Examples
    --------
    >>> [(one.name, one.cpus, one.offset_s) for one in members_of(["a@0", "a@1-2"], (), ["a#2:3"])]
    [('a', '0-0', 0.0), ('a#2', '1-2', 3.0)]
    """
    members: list[Member] = []
    seen: Counter[str] = Counter()
    for text in workloads:
        match = _MEMBER.fullmatch(text)
        if match is None:
            raise UsageError(
                f"{text!r} is not a workload", "give WORKLOAD, or WORKLOAD@CPUS: pagerank@0-1"
            )
        label = Trial(name=match["workload"]).label
        seen[label] += 1
        name = label if seen[label] == 1 else f"{label}#{seen[label]}"
        members.append(Member(name, _where(match["workload"]), _cpus(match["cpus"])))
    _check_cpus(members)
    for text in settings:
        whose, name, level = _setting(text, members)
        members = [
            replace(one, levels={**one.levels, name: level}) if whose in (None, one.name) else one
            for one in members
        ]
    for text in offsets:
        whose, seconds = _offset(text, members)
        members = [replace(one, offset_s=seconds) if one.name == whose else one for one in members]
    return tuple(members)


def parties(
    members: Sequence[Member],
    neighbours: Sequence[str] = (),
    *,
    at_once: bool = False,
    shared: bool = True,
    own: bool = True,
) -> list[Party]:
    """List every party: each alone, each with each neighbour, each pair.

    Parameters
    ----------
    at_once : bool
        All together instead of each pair.
    shared, own : bool
        Whether they are together on the same CPUs, and each on CPUs of its own.

    Raises
    ------
    UsageError
        If there is one workload and no neighbour.

    Examples
    --------
    >>> found = parties(members_of(["a", "b", "c"]), ["cpu"], own=False)
    >>> len(found), found[-1].treatment(found[-1].members[0])
    (9, 'b beside c')
    """
    groups = [tuple(members)] if at_once else list(combinations(members, 2))
    groups = [one for one in groups if len(one) > 1]
    if not groups and not neighbours:
        raise UsageError(
            f"{members[0].name} has nothing to run with",
            "name another workload, or --neighbour cpu",
        )
    alone = [Party((one,)) for one in members]
    with_neighbour = [Party((one,), neighbour) for one in members for neighbour in neighbours]
    together = [
        Party(group, own_cpus=its)
        for group in groups
        for its in (False, True)
        if (shared, own)[its]
    ]
    return [*alone, *with_neighbour, *together]


def experiment_name(members: Sequence[Member], neighbours: Sequence[str] = ()) -> str:
    """Name the experiment, and its folder.

    Examples
    --------
    >>> experiment_name(members_of(["pagerank"]), ["cpu:2"])
    'corun-pagerank-cpu-2'
    """
    words = ["corun", *(one.name for one in members), *neighbours]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(words)).strip("-.")


def _where(workload: str) -> str:
    # The experiment may be continued from another folder.
    path = Path(workload)
    return str(path.absolute()) if path.suffix and path.exists() else workload


def _cpus(text: str | None) -> str | None:
    # A lone number would be a number of CPUs.
    return f"{text}-{text}" if text and text.isdecimal() else text


def _check_cpus(members: Sequence[Member]) -> None:
    given = [one for one in members if one.cpus]
    if given and len(given) < len(members):
        lacking = next(one.name for one in members if not one.cpus)
        raise UsageError(
            f"{lacking} has no CPUs of its own, {given[0].name} has", "give all of them @CPUS"
        )


def _setting(text: str, members: Sequence[Member]) -> tuple[str | None, str, str]:
    front, equals, level = text.partition("=")
    whose, colon, name = front.rpartition(":")
    if not equals or not name.strip():
        raise UsageError(f"--set {text!r} is not of the form factor=level", "--set jvm.heap=2g")
    return (_known(whose, members) if colon else None), name.strip(), level.strip()


def _offset(text: str, members: Sequence[Member]) -> tuple[str, float]:
    whose, colon, seconds = text.rpartition(":")
    match = _OFFSET.fullmatch(seconds)
    if not colon or match is None:
        raise UsageError(
            f"--offset {text!r} is not of the form WORKLOAD:SECONDS",
            f"--offset {members[-1].name}:5",
        )
    return _known(whose, members), float(match["seconds"])


def _known(name: str, members: Sequence[Member]) -> str:
    names = [one.name for one in members]
    if name not in names:
        raise UsageError(
            f"{name!r} is not one of the workloads", f"choose one of: {', '.join(names)}"
        )
    return name
