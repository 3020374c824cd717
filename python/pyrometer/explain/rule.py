"""A rule: how one cause is recognised, what would be different without it, and its manual.

Each module of a folder of `pyrometer.explain.catalogue` is one rule; no list names them. Its
docstring is the rule's manual, from which the reference is generated: what it is, mechanism,
evidence, remedy, when it is wrong, source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyrometer.core.doubt import Doubt
from pyrometer.explain.change import Change
from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import ALL, Extent


@dataclass(frozen=True)
class Suspect:
    """What a rule suspects, for the simulator to judge.

    Attributes
    ----------
    change : tuple of Edit
        What would be different without the cause.
    extent : Extent
        How much of the change the remedy achieves: sampling, and what the remedy costs itself.
    mechanism : str
        One sentence with the numbers in it.
    unseen_count : int
        Further places of the rule, each smaller than this one, that nobody looked at.
    higher_serves : bool
        The level of its factor is the least that serves: the highest of several places serves all.
    """

    place: Place
    mechanism: str
    change: Change
    evidence: Sequence[Evidence]
    remedies: Sequence[Remedy]
    extent: Extent = ALL
    refute: str | None = None
    doubts: Sequence[Doubt] = ()
    unseen_count: int = 0
    higher_serves: bool = False

    @property
    def factors(self) -> frozenset[str]:
        """Factors that can be tried without a human; none for an edit of code or data."""
        return frozenset(one.factor for one in self.remedies if one.factor is not None)


@dataclass(frozen=True)
class Remark:
    """What a rule has to say that saves no time, or none that the simulator could know.

    Attributes
    ----------
    mechanism : str
        One sentence: why, with the numbers in it.
    settings : mapping of str to str
        Settings that it is about, with their values.
    """

    place: Place
    mechanism: str
    settings: Mapping[str, str] = field(default_factory=dict)
    evidence: Sequence[Evidence] = ()
    remedies: Sequence[Remedy] = ()


@dataclass(frozen=True)
class Need:
    """What a rule must have to look at all.

    Attributes
    ----------
    missing : callable
        Gives what is missing, in words; None where the rule can look.
    remedy : str
        What would allow it.
    """

    missing: Callable[[Facts], str | None]
    remedy: str


@dataclass(frozen=True)
class Rule:
    """How one cause is recognised.

    Attributes
    ----------
    code : str
        Stable name, its family first: ``gc.heap-too-small``.
    title : str
        The finding in a few words.
    cause : str
        The field's term for the cause.
    needs : sequence of Need
        Without one of them the rule is listed as not judged.
    suspects : callable
        Looks at the facts; gives all that might be worth something. No threshold decides here
        what is worth telling: the saving does. What saves no time is a remark.
    explains : tuple of str
        Codes, or families (``spill.``), that are symptoms of this cause where they concern the
        same stages.
    refute : str
        How to show that a finding of the rule is wrong.
    """

    code: str
    title: str
    cause: str
    suspects: Callable[[Facts], Iterable[Suspect | Remark]]
    refute: str
    needs: Sequence[Need] = ()
    explains: tuple[str, ...] = ()
    manual: str = field(default="", repr=False)

    @property
    def family(self) -> str:
        """First word of the code."""
        return self.code.split(".", 1)[0]


def table(name: str, remedy: str, what: str | None = None) -> Need:
    """Need rows of a table, to the end of the window where JVMs write them as they run."""

    def missing(facts: Facts) -> str | None:
        if facts.has(name):
            return None
        return facts.scope.cut_short(name) or what or f"no {name.replace('_', ' ')}"

    return Need(missing, remedy)


PROFILE = "pyrometer run --profile full -- COMMAND"
SAMPLES = table("samples", PROFILE, "no CPU samples: which code used the CPU is not known")
SQL_PLANS = table(
    "plan_nodes", "run SQL or DataFrames with the event log on", "no SQL plan in the event log"
)
GC_LOG = table("gc_pauses", PROFILE, "no log of the garbage collector")
"""Needs that many rules share."""
