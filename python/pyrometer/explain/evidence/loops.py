"""Queries that one piece of code submits again and again: rounds of a loop.

Rounds are alike if they come from the same line and their plans have the same shape: operators,
columns, functions. Values differ from round to round, such as the key that a filter asks for. Of a
program in Python, Spark often knows no line: then the shape alone says it. Queries that each give
one row of the same input are alike whatever they count: one query gives all of it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, groupby, takewhile
from statistics import median

from pyrometer.explain.evidence.driver_time import ORDINARY_BETWEEN_NS, JobTime, jobs_of
from pyrometer.explain.evidence.plan_nodes import TEXTS, unnumbered
from pyrometer.explain.evidence.shared_subtrees import KEPT, PASSES
from pyrometer.explain.facts import Facts, once

FEWEST_ROUNDS = 3
"""Of a loop: two jobs of a line may be any two."""
FEWEST_CHECKS = 5
"""Queries that each give one row of the same input, to be a loop: a few are what programs do."""
MOST_BODY = 5
"""Queries in the body of a loop, at most: the next of a kind is so many queries away."""

_WORDS = re.compile(r"[^\s()\[\],=<>+*/%!]+(?=#\d)|\w+(?=\()")
_FILES = " Batched: "
"""In the text of a scan: paths and pushed filters come behind it, cut where they are long."""
_STREAM = "runId = "
"""In the description of a micro-batch: `pyrometer.explain.evidence.micro_batches` has these."""
_GIVEN = re.compile(r"^(LocalTableScan|Scan ExistingRDD|Scan$|LogicalRDD|Scan OneRow)")
"""Rows that the program gives: texts say nothing of them."""
_ONE_ROW = re.compile(r"(Hash|ObjectHash|Sort)Aggregate\(keys?=\[\]")
_TOP = 3
"""Nodes at the top of a plan of which one adds all rows up: a limit may be above."""
_LOCATION = re.compile(r"Location: (.*?)(?:, [A-Z]\w+: |$)")
_PLANS = """
SELECT sql_id, depth, name, simple_string FROM plan_nodes
WHERE app_index = $1 AND plan_version = 0 ORDER BY sql_id, node_id
"""
PlanNode = tuple[int, str, str | None]
Key = tuple[object, ...]


@dataclass(frozen=True)
class Round:
    """A query of the program with all its jobs, or a job without a query; Unix times.

    Attributes
    ----------
    key : tuple or None
        What is the same in all rounds of a loop; None if nothing is known to tell by.
    is_weak : bool
        All lines of the program share what is known: it is a part of a loop, and makes none.
    text : tuple of str or None
        The plan with its values; None where it does not tell all that may differ.
    gives_one_row : bool
        It adds all rows of its input up.
    """

    number: int
    jobs: Sequence[JobTime]
    begin: int
    end: int
    key: Key | None = None
    is_weak: bool = False
    text: tuple[str, ...] | None = None
    gives_one_row: bool = False

    @property
    def source(self) -> str:
        """The line that it came from, or what is known of it."""
        first = self.jobs[0]
        lines = [job.line for job in self.jobs if job.line is not None]
        return lines[0] if lines else first.sql_description or first.source or "unknown"

    @property
    def sql_ids(self) -> set[int]:
        """Its SQL execution, and those within it."""
        known = {one for job in self.jobs for one in (job.sql_id, job.root_sql_id)}
        return {one for one in known if one is not None}


@dataclass(frozen=True)
class Loop:
    """Rounds one after another, by kind: as many kinds as queries in the loop's body.

    Attributes
    ----------
    kinds : sequence of sequence of Round
        In order of time, the kind with most rounds first.
    before : dict of int to int
        When all queries before one had ended, by its number.
    """

    kinds: Sequence[Sequence[Round]]
    before: dict[int, int]

    @property
    def rounds(self) -> list[Round]:
        """All, in order of time."""
        return sorted((one for kind in self.kinds for one in kind), key=lambda one: one.number)


def shape(nodes: Iterable[PlanNode]) -> tuple[object, ...]:
    """Give what is the same in plans that differ in values only.

    Examples
    --------
    >>> one = [(0, "Filter", "Filter (isnotnull(day#1) AND (day#1 = 3))"), (1, "Scan day3", "")]
    >>> shape(one)
    (('Filter', ('isnotnull', 'day', 'day')), ('Scan day0', ()))
    >>> other = [(0, "Filter", "Filter (isnotnull(day#7) AND (day#7 = 4))"), (1, "Scan day4", "")]
    >>> shape(other) == shape(one)
    True
    """
    return tuple((re.sub(r"\d+", "0", name), _words(text or "")) for _, name, text in _own(nodes))


@lru_cache(TEXTS)
def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORDS.findall(text.partition(_FILES)[0]))


def input_added_up(nodes: Sequence[PlanNode]) -> tuple[str, ...] | None:
    """Name the one input whose rows a query adds up to one row; None for any other query.

    Examples
    --------
    >>> scan = "FileScan parquet [a#1], Location: files(1 paths)[x/t], PushedFilters: []"
    >>> one = [(0, "HashAggregate", "HashAggregate(keys=[], functions=[count(1)])"),
    ...        (1, "Filter", "Filter isnull(a#1)"), (2, "Scan parquet", scan)]
    >>> input_added_up(one)
    ('files(1 paths)[x/t]',)
    >>> input_added_up(one[1:])
    """
    own = _own(nodes)
    added_up = any(_ONE_ROW.match(text or "") for _, _, text in own[:_TOP])
    if not added_up or any("Join" in name or name == "Union" for _, name, _ in own):
        return None
    _, name, text = own[-1]
    if KEPT.match(name):
        return tuple(unnumbered(text or name) for _, name, text in _beneath(nodes))
    place = _LOCATION.search(text or "")
    return (place[1],) if place else None


def _beneath(nodes: Sequence[PlanNode]) -> list[PlanNode]:
    """Give what a plan's first cache was made of."""
    at, depth = next((n, one[0]) for n, one in enumerate(nodes) if KEPT.match(one[1]))
    return list(takewhile(lambda one: one[0] > depth, nodes[at + 1 :]))


def _own(nodes: Iterable[PlanNode]) -> list[PlanNode]:
    """Leave out what only hands rows on, and what lies below a cache."""
    found, kept = [], None
    for node in nodes:
        depth, name, _ = node
        if kept is not None and depth > kept:
            continue
        kept = depth if KEPT.match(name) else None
        if not PASSES.match(name) or name.startswith("Project"):
            found.append(node)
    return found


def _text(nodes: Iterable[PlanNode]) -> tuple[str, ...] | None:
    """Give the plan with its values; None where rows are given, or Spark cut a text."""
    own = _own(nodes)
    texts = tuple(unnumbered(text or name) for _, name, text in own)
    hidden = any(_GIVEN.match(name.strip()) for _, name, _ in own)
    return None if hidden or any("..." in text for text in texts) else texts


@once
def rounds_of(facts: Facts) -> list[Round]:
    """Give the queries, and jobs without one, of the window, in order of time."""
    plans: dict[int, list[PlanNode]] = {}
    if facts.measured is not None and facts.has("plan_nodes"):
        texts: dict[str | None, str | None] = {}  # each is held once
        rows = facts.tables.batches(_PLANS, [facts.measured.app_index])
        for sql_id, group in groupby(rows, key=lambda row: row[0]):
            plans[sql_id] = [
                (depth, name, texts.setdefault(text, text)) for _, depth, name, text in group
            ]
    queries: dict[tuple[str, int], list[JobTime]] = defaultdict(list)
    for job in jobs_of(facts):
        known = job.root_sql_id
        queries[("job", job.job_id) if known is None else ("sql", known)].append(job)
    found = sorted((_round(jobs, plans) for jobs in queries.values()), key=lambda one: one.begin)
    return [replace(one, number=number) for number, one in enumerate(found)]


def _round(jobs: Sequence[JobTime], plans: dict[int, list[PlanNode]]) -> Round:
    first = jobs[0]
    begin = min(min(job.submit, job.sql_start or job.submit) for job in jobs)
    end = max(max(job.end, job.sql_end or job.end) for job in jobs)
    plain = Round(0, jobs, begin, end)
    said = first.sql_description
    if any(_STREAM in name for name in (said, first.description) if name):
        return plain
    ids = (first.root_sql_id, first.sql_id)
    known = next((plans[one] for one in ids if one is not None and one in plans), None)
    line = next((job.line for job in jobs if job.line is not None), None)
    if known is not None:
        # What the program says of its queries may name the round.
        added_up = input_added_up(known)
        key = (first.iteration, line, added_up or shape(known))
        return replace(plain, key=key, text=_text(known), gives_one_row=added_up is not None)
    if line is not None:
        return replace(plain, key=(first.iteration, line, said))
    if first.source is not None:
        return replace(plain, key=(first.iteration, first.source), is_weak=True)
    return plain


def loops(facts: Facts) -> list[Loop]:
    """Give the loops of the window's application.

    A loop is a stretch of queries in which the next of each kind is at most `MOST_BODY` away.
    """
    rounds = rounds_of(facts)
    links: list[tuple[int, int]] = []
    last: dict[Key, int] = {}
    for one in rounds:
        if one.key is None:
            continue
        before = last.get(one.key, -MOST_BODY)
        is_near = before >= 0 and one.number - before <= MOST_BODY
        if is_near and not one.is_weak and not _beside(rounds[before], one):
            links.append((before, one.number))
        last[one.key] = one.number
    stretches: list[list[int]] = []
    for since, until in sorted(links):
        if stretches and since <= stretches[-1][1]:
            stretches[-1][1] = max(stretches[-1][1], until)
        else:
            stretches.append([since, until])
    found = (_loop(rounds, since, until) for since, until in stretches)
    return [one for one in found if one is not None]


def _beside(before: Round, after: Round) -> bool:
    """Whether two queries ran beside each other, as from several threads: that is no loop."""
    return 2 * after.begin < before.begin + before.end


def _loop(rounds: Sequence[Round], since: int, until: int) -> Loop | None:
    within = [one for one in rounds[since : until + 1] if one.key is not None]
    counts = Counter(one.key for one in within)
    kinds: dict[Key, list[Round]] = defaultdict(list)
    for one in within:
        if one.key is not None and counts[one.key] >= FEWEST_ROUNDS:
            kinds[one.key].append(one)
    known = sorted(
        (kind for kind in kinds.values() if not _is_none(kind)),
        key=lambda kind: (kind[0].is_weak, -len(kind), kind[0].number),
    )
    return None if not known or known[0][0].is_weak else loop_of(rounds, known)


def loop_of(rounds: Sequence[Round], kinds: Sequence[Sequence[Round]]) -> Loop | None:
    """Make a loop of some of all rounds, unless it waits longer than they take."""
    within = sorted(one.number for kind in kinds for one in kind)
    ends = list(accumulate((one.end for one in rounds[: within[-1] + 1]), max))
    loop = Loop(kinds, {n: ends[n - 1] for n in range(max(1, within[0]), within[-1] + 1)})
    return None if _waits(loop) else loop


def _is_none(kind: Sequence[Round]) -> bool:
    """Whether rounds are repeated on purpose, or few that have only their input in common.

    The very same query again is a benchmark, or `recompute.subtree`.
    """
    texts = {one.text for one in kind}
    if kind[0].gives_one_row and len(kind) < FEWEST_CHECKS:
        return True
    return None not in texts and len(texts) <= (len(kind) / 2 if kind[0].gives_one_row else 1)


def _waits(loop: Loop) -> bool:
    """Whether the program waits for something between rounds, for longer than they take."""
    every = loop.rounds[1:]
    pauses = [one.begin - loop.before[one.number] for one in every]
    usual = median(one.end - one.begin for one in every)
    return median(pauses) > max(ORDINARY_BETWEEN_NS, usual)
