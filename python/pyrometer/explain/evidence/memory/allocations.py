"""Where tasks and the driver allocate: sites by the profiler's allocation samples."""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.core.estimate import Estimate
from pyrometer.explain.evidence.places import of_application
from pyrometer.explain.evidence.saying import flame, java_name
from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Evidence
from pyrometer.statistics.shares import LEVEL, wilson

# What allocates for others: the frame that asked it is the site.
_SERVES = (
    r"^(java|javax|jdk|sun|scala)\.|^org\.apache\.spark\.(unsafe\.memory|memory)\."
    r"|^org\.apache\.spark\.util\.collection\.CompactBuffer"
)
_PLATFORM = (
    r"^(java|javax|jdk|sun|scala|kotlin|py4j|one\.profiler)\.|^org\.(apache|xerial|codehaus|slf4j"
    r"|json4s|sparkproject|spark_project|roaringbitmap|glassfish|objenesis|pyrometer)\.|^io\.(netty"
    r"|airlift)\.|^com\.(sun|google|fasterxml|esotericsoftware|univocity|twitter|codahale|ning"
    r"|clearspring|github\.luben|github\.ben)\.|^net\.(jpountz|razorvine)\.|^shaded\."
    r"|GeneratedClass|GeneratedIterator"
)
_SITES = """
WITH a AS (
  SELECT x.java_stack, x.weight, x.top_class, x.operator FROM samples x
  JOIN w ON x.t_ns >= CASE x.clock WHEN 'wall' THEN w.start_wall_ns ELSE w.start_mono_ns END
    AND x.t_ns < CASE x.clock WHEN 'wall' THEN w.end_wall_ns ELSE w.end_mono_ns END
  WHERE x.event = 'alloc' AND x.weight > 0 AND {own}
), k AS (
  SELECT s.stack_id, unnest(s.frame_ids) AS frame_id, generate_subscripts(s.frame_ids, 1) AS place
  FROM stacks s WHERE s.stack_id IN (SELECT java_stack FROM a)
), named AS (
  SELECT stack_id, arg_max(f.class_name || '.' || f.method, place) AS site
  FROM k JOIN frames f USING (frame_id)
  WHERE f.class_name IS NOT NULL AND NOT regexp_matches(f.class_name, '{without}') GROUP BY 1
)
SELECT site, mode(top_class), mode(operator), sum(weight)::DOUBLE, count(*),
  (SELECT sum(weight)::DOUBLE FROM a), (SELECT sum(weight::DOUBLE ** 2) FROM a)
FROM a JOIN named ON named.stack_id = a.java_stack
GROUP BY 1 ORDER BY 4 DESC, 1 LIMIT {most}
"""
QUERY = (
    "SELECT java_stack, top_class, sum(weight) FROM samples WHERE event = 'alloc' GROUP BY ALL"
    " ORDER BY 3 DESC"
)


@dataclass(frozen=True)
class Site:
    """Code that allocates.

    Attributes
    ----------
    share : Estimate
        Of all sampled bytes. Samples fall at random among the bytes, large objects alone: the
        interval is Wilson's for as many samples of equal weight as are as uncertain.
    """

    name: str
    class_name: str | None
    operator: str | None
    bytes: float
    share: Estimate


def has_allocations(facts: Facts) -> bool:
    """Whether allocations were sampled."""
    if not all(facts.has(name) for name in ("samples", "stacks", "frames")):
        return False
    found = facts.tables.query("SELECT 1 FROM samples WHERE event = 'alloc' LIMIT 1")
    return bool(found)


def sites(facts: Facts, own: bool = False, most: int = 1) -> list[Site]:
    """Give the sites that allocate most.

    Parameters
    ----------
    own : bool
        Those of the user's code: not of the JDK, Scala, Spark and the libraries that it brings.
    """
    known: dict[tuple[bool, int], list[Site]] = facts.kept.setdefault("allocation sites", {})
    if (own, most) not in known:
        known[own, most] = _sites(facts, own, most)
    return known[own, most]


def _sites(facts: Facts, own: bool, most: int) -> list[Site]:
    if not has_allocations(facts) or not facts.scope.has_mono:
        return []
    without = _PLATFORM if own else _SERVES
    found = []
    for name, class_name, operator, size, n, whole, squares in facts.tables.query(
        _SITES.format(
            without=without.replace("'", "''"), most=most, own=of_application(facts, "x.pid")
        )
    ):
        value = size / whole
        alike = max(1, round(whole**2 / squares))
        low, high = wilson(round(value * alike), alike)
        share = Estimate(
            value=value, low=min(low, value), high=max(high, value), level=LEVEL, n=n,
            method="wilson",
        )  # fmt: skip
        kind = None if class_name is None else java_name(class_name)
        found.append(Site(name, kind, operator, size, share))
    return found


def evidence_of(facts: Facts) -> list[Evidence]:
    """Name the site that allocates most, where allocations were sampled."""
    return [
        Evidence(
            what=f"allocated by {one.name} ({one.class_name or 'any class'}), share of bytes",
            estimate=one.share,
            unit="ratio",
            table="samples",
            query=QUERY,
            link=flame(event="alloc", find=one.name),
        )
        for one in sites(facts)
    ]
