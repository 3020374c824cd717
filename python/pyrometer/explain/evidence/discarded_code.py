"""Compiled code that a JVM threw away: methods that are interpreted after they were compiled.

Methods are known by name. Spark gives the classes that it generates for each query the same names:
they are left out. Methods of one name with other parameters look like one that is compiled again.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.explain.evidence.places import of_application
from pyrometer.explain.evidence.stack_shares import Shares, interpreted
from pyrometer.explain.facts import Facts

_GENERATED = "%.GeneratedClass$%"
_COMPILED = f"""
SELECT i.stack_id, j.pid, j.since FROM (
  SELECT s.stack_id, arg_max(f.class_name || '.' || f.method, s.i) AS method
  FROM (SELECT stack_id, unnest(frame_ids) AS frame_id, generate_subscripts(frame_ids, 1) AS i
    FROM stacks WHERE stack_id IN (SELECT stack_id FROM stack_code WHERE kind = 'interpreted')) s
  JOIN frames f USING (frame_id) WHERE f.kind IN ('interpreted', 'c1', 'c2') GROUP BY 1) i
JOIN (SELECT pid, method, min(start_mono_ns + duration_ns) AS since FROM jit
  WHERE succeeded AND NOT osr AND method NOT LIKE '{_GENERATED}' GROUP BY ALL) j USING (method)
"""
_COMPILED_AT_1 = (
    "SELECT coalesce(sum({what}), 0)::BIGINT FROM (SELECT count(*) AS n FROM jit WHERE level = 1"
    f" AND succeeded AND NOT osr AND method NOT LIKE '{_GENERATED}' AND {{own}}"
    " GROUP BY pid, method)"
)
_TWICE = f"""
SELECT coalesce(sum(duration_ns) FILTER (n > 1 AND method NOT LIKE '{_GENERATED}')
  / sum(duration_ns), 0)::DOUBLE FROM (
  SELECT method, duration_ns, row_number() OVER (PARTITION BY pid, method, level, osr
    ORDER BY start_mono_ns) AS n FROM jit WHERE succeeded AND {{own}})
"""


@dataclass(frozen=True)
class Discarded:
    """Samples of tasks in methods that are interpreted again, and what was compiled again.

    Attributes
    ----------
    samples : Shares
        Interpreted after they had been compiled.
    compiled_count, again_count : int
        Compilations at level 1, and those of a method that had been compiled there before: its code
        makes no assumption that could turn out wrong, so that only a lack of room throws it away.
    again_query : str
        SQL of `again_count`.
    again_ratio : float
        Part of the compilers' time in methods that they had compiled before at the same level.
    """

    samples: Shares
    compiled_count: int
    again_count: int
    again_query: str
    again_ratio: float


def discarded(facts: Facts) -> Discarded | None:
    """Look for code that was thrown away; None without a log of the compiler."""
    if not facts.has("jit"):
        return None
    interpreted(facts, "interpreted")  # defines stack_code
    facts.tables.define("compiled_before", _COMPILED)
    found = interpreted(
        facts,
        "interpreted",
        where="EXISTS (SELECT 1 FROM compiled_before c WHERE c.stack_id = java_stack"
        " AND c.pid = w_samples.pid AND t_ns > c.since)",
    )
    own = of_application(facts, "pid")
    every, again = (_COMPILED_AT_1.format(what=what, own=own) for what in ("n", "n - 1"))
    compiled_count, again_count = (int(facts.tables.scalar(sql) or 0) for sql in (every, again))
    ratio = float(facts.tables.scalar(_TWICE.format(own=own)) or 0.0)
    return Discarded(found, compiled_count, again_count, again, ratio)
