"""What tasks have to do with Python workers, by stage: CPU on both sides, and the wait between."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from pyrometer.accounts.explosions import output_rows
from pyrometer.attribution.python_workers import define_python_stacks
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.plan_nodes import plans_by_id, rows_out, unnumbered
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Need
from pyrometer.explain.what_if import Extent
from pyrometer.statistics.shares import Z, wilson
from pyrometer.store.python_samples import OUTSIDE_SQL

SCALAR = (
    "BatchEvalPython", "ArrowEvalPython", "BatchEvalPythonUDTF", "ArrowEvalPythonUDTF",
)  # fmt: skip
"""Operators that evaluate a function of columns: for a value, or (UDTF) for rows."""
BATCHES = ("MapInPandas", "PythonMapInArrow", "MapInArrow")
"""Operators that call a function for batches of rows, which gives any number of rows."""
_NO_NODE = "Python"
"""What workers' code is called that runs in a query without a node for it."""
_NAMED_IN_JVM = {OUTSIDE_SQL: (OUTSIDE_SQL, _NO_NODE)}
"""What the JVM's side is called of functions that no plan has: as code outside SQL, or, where a
query is known that has no node for it, as the frames say."""
MOST_OTHERS = 0.1
"""Of a function's CPU, in what no expression replaces: beyond that, it is what the function is for.
"""
_OTHERS = """
SELECT coalesce(sum(x.weight) FILTER (s.others), 0)::DOUBLE, coalesce(sum(x.weight), 0)::DOUBLE
FROM w_python x JOIN (
  SELECT stack_id, bool_or(work = 'function') AS called, bool_or(work = 'import') AS imports,
    coalesce(bool_or(
      (work = 'function' AND contains(library, '-packages/')
        AND NOT regexp_matches(class_name, '^(pandas|numpy|pyarrow|dateutil|pytz|six)(\\.|$)'))
      OR regexp_matches(class_name, '^numpy\\.(linalg|fft)(\\.|$)')
      OR regexp_matches(class_name,
        '^(socket|ssl|http|urllib|subprocess|sqlite3|asyncio|multiprocessing|ctypes)(\\.|$)')
    ), false) AS others
  FROM python_stacks GROUP BY stack_id) s ON s.stack_id = x.java_stack
WHERE x.event = 'cpu' AND x.role = 'python' AND x.thread_name = 'Python worker'
  AND coalesce(x.app_index, {app}) = {app}
  AND s.called AND NOT coalesce(s.imports, false) AND {of}
"""
_WORK = """
SELECT x.stage_id, coalesce(a.stage_attempt, 0), x.operator, any_value(x.sql_id), x.node_id,
  coalesce(s.work, 'unknown'), sum(x.weight)::DOUBLE, count(*)
FROM w_python x LEFT JOIN ({attempts}) a USING (task_attempt_id) LEFT JOIN
  (SELECT stack_id, CASE WHEN bool_or(work = 'import') THEN 'import'
    ELSE arg_max(work, i) FILTER (work IS NOT NULL) END AS work
   FROM python_stacks GROUP BY stack_id) s ON s.stack_id = x.java_stack
WHERE x.event = 'cpu' AND x.role = 'python' AND x.thread_name = 'Python worker'
  AND x.stage_id IS NOT NULL AND coalesce(x.app_index, {app}) = {app} GROUP BY ALL
"""
_FRAMES = """
SELECT stage_id, coalesce(stage_attempt, 0), rdd_names FROM stages WHERE app_index = $1
  AND contains(rdd_names, '"name":"PythonRDD"') AND contains(rdd_names, '"name":"SQLExecutionRDD"')
"""
_RAN = """
SELECT count(*) FROM stages WHERE app_index = $1
  AND regexp_matches(rdd_names, 'Python|Pandas|InArrow')
"""
_OF_NODE = """
SELECT s.method, s.module || '.' || s.method, s.file, min(s.line) FROM w_python x JOIN (
  SELECT stack_id, arg_min(p.method, i) AS method, arg_min(p.class_name, i) AS module,
    arg_min(p.library, i) AS file,
    arg_min(f.line, i) AS line
  FROM python_stacks p JOIN frames f USING (frame_id)
  WHERE work = 'function' AND p.method <> '<module>' AND NOT p.class_name LIKE 'pyrometer%'
  GROUP BY stack_id) s ON s.stack_id = x.java_stack
WHERE x.event = 'cpu' AND x.role = 'python' AND x.thread_name = 'Python worker'
  AND coalesce(x.app_index, $1) = $1 AND x.sql_id IS NOT DISTINCT FROM $2
  AND x.node_id IS NOT DISTINCT FROM $3 AND coalesce(x.operator, $4) = $4
  AND list_contains($5, x.stage_id)
GROUP BY ALL ORDER BY sum(x.weight) DESC, 1 LIMIT 1
"""
_LISTED = re.compile(r"\[([^\]]*)\]")
_CALLED = re.compile(r"([\w.<>]+)\(")


@dataclass
class Work:
    """CPU of Python workers for one operator in one stage.

    Attributes
    ----------
    ns : dict of str to float
        By kind of work: ``import``, ``serialisation``, ``spark``, ``function``.
    samples : dict of str to int
        Samples of the workers, by kind of work.
    bridge_ns, operator_ns : float
        CPU of the stage's JVM threads that exchanges rows, and all of this operator.
    """

    operator: str
    sql_id: int | None
    node_id: int | None
    ns: dict[str, float] = field(default_factory=dict)
    samples: dict[str, int] = field(default_factory=dict)
    bridge_ns: float = 0.0
    operator_ns: float = 0.0

    @property
    def workers_ns(self) -> float:
        """CPU of the workers in all."""
        return sum(self.ns.values())

    @property
    def samples_count(self) -> int:
        """Samples of the workers in all."""
        return sum(self.samples.values())


def _app(facts: Facts) -> int:
    return 0 if facts.measured is None else facts.measured.app_index


def _sampled(facts: Facts) -> bool:
    return bool(
        facts.tables.scalar(
            "SELECT count(*) FROM w_python WHERE event = 'cpu' AND thread_name = 'Python worker'"
            " AND coalesce(app_index, $1) = $1",
            [_app(facts)],
        )
    )


def _missing(facts: Facts) -> str | None:
    """Say that workers were not sampled; where no stage has any, nothing is missing."""
    if _sampled(facts) or not facts.tables.scalar(_RAN, [_app(facts)]):
        return None
    return "no samples of Python workers"


WORKERS = Need(_missing, PROFILE)
"""Needs samples of Python workers."""


def functions_of(facts: Facts, sql_id: int | None, node_id: int | None) -> Hashable:
    """Name the functions that a node of a plan calls; where it has no names, the node.

    Functions without a name are told apart by the columns that they take.
    """
    sql = facts.sql_of(sql_id)
    node = next((one for one in sql.nodes if one.node_id == node_id), None) if sql else None
    text = unnumbered(node.simple_string) if node else ""
    listed = _LISTED.search(text)
    called = tuple(_CALLED.findall(listed[1])) if listed else ()
    if not called:
        return sql_id, node_id
    return text if "<lambda>" in called else called


def caller_of(facts: Facts, number: int, one: Work) -> Hashable:
    """Give what calls the functions: a node; outside plans, the line that the stage is run from."""
    return one.sql_id, facts.stages[number].name if is_of_rdd(one) else one.node_id


def called_at(facts: Facts, found: Mapping[int, Work]) -> tuple[str | None, str | None]:
    """Name the costliest function of an operator in some stages, and its line, by samples."""
    define_python_stacks(facts.scope)
    one = next(iter(found.values()))
    stages = [facts.stages[number].stage_id for number in found]
    values = [_app(facts), one.sql_id, one.node_id, one.operator, stages]
    for name, whole, file, line in facts.tables.query(_OF_NODE, values):
        return name, f"{name} at {file}:{line}" if file and line else whole
    return None, None


def work(facts: Facts) -> dict[int, Work]:
    """Give the work of Python workers by number of the stage; of several operators, the dearest."""
    if not _sampled(facts):
        return {}
    define_python_stacks(facts.scope)
    found: dict[int, dict[tuple[str, int | None], Work]] = {}
    for stage_id, attempt, operator, sql_id, node_id, kind, ns, n in facts.tables.query(
        _WORK.format(attempts=facts.attempts, app=_app(facts))
    ):
        number = facts.number(stage_id, attempt)
        if number is None:
            continue
        name = operator or _NO_NODE
        one = found.setdefault(number, {}).setdefault((name, node_id), Work(name, sql_id, node_id))
        one.ns[kind] = one.ns.get(kind, 0.0) + ns
        one.samples[kind] = one.samples.get(kind, 0) + n
    dearest = {n: max(of.values(), key=lambda one: one.workers_ns) for n, of in found.items()}
    _add_bridge(facts, dearest)
    return dearest


def maps_rows(facts: Facts, one: Work) -> bool:
    """Whether a function of batches gives a row for each row, by code that expressions may replace.

    That is code of the application, of the standard library, and of packages for columns.
    """
    if one.sql_id is None or one.node_id is None:
        return False
    plan = plans_by_id(facts).get(one.sql_id)
    node = plan.by_id.get(one.node_id) if plan else None
    if plan is None or node is None:
        return False
    below = plan.below(node)
    given, taken = output_rows(node), rows_out(plan, below[0]) if len(below) == 1 else None
    if not given or given != taken:
        return False
    return _is_plain(facts, "x.sql_id = $1 AND x.node_id = $2", one.sql_id, one.node_id)


def maps_frame(facts: Facts, number: int, one: Work) -> bool:
    """Whether a function of an RDD takes the rows of a DataFrame, by code as in `maps_rows`."""
    if not is_of_rdd(one) or number not in _of_frames(facts):
        return False
    of = "coalesce(x.operator, $3) = $1 AND x.stage_id = $2"
    return _is_plain(facts, of, one.operator, facts.stages[number].stage_id, _NO_NODE)


def is_of_rdd(one: Work) -> bool:
    """Whether no node of a plan calls the function: an RDD does, which a query may read."""
    return one.operator == OUTSIDE_SQL or (one.operator == _NO_NODE and one.node_id is None)


def _is_plain(facts: Facts, of: str, *values: object) -> bool:
    """Whether samples of workers show a function, and hardly any of what no expression does."""
    others, whole = facts.tables.query(_OTHERS.format(of=of, app=_app(facts)), list(values))[0]
    return bool(whole > 0 and others <= MOST_OTHERS * whole)


def _of_frames(facts: Facts) -> set[int]:
    """Give the stages in which an RDD of Python is made from rows of a DataFrame, by number."""
    found = set()
    for stage_id, attempt, text in facts.tables.query(_FRAMES, [_app(facts)]):
        ids: dict[str, list[int]] = {}
        for rdd in json.loads(text):
            if rdd["id"] is not None:
                ids.setdefault(rdd["name"], []).append(rdd["id"])
        made, frames = ids.get("PythonRDD"), ids.get("SQLExecutionRDD")
        number = facts.number(stage_id, attempt)
        if number is not None and made and frames and max(made) > min(frames):
            found.add(number)
    return found


def _add_bridge(facts: Facts, found: Mapping[int, Work]) -> None:
    """Add the JVM's side: kinds of work by stage; of an operator, by the workers' CPU in stages."""
    for number, one in found.items():
        kinds = facts.samples_by_stage.get(number, {})
        if kinds:
            part = kinds.get("python_bridge", 0) / sum(kinds.values())
            one.bridge_ns = part * facts.cpu_ns.get(number, 0.0)
    for operator in facts.summary.operators:
        key = operator.sql_id, operator.node_id
        mine = [
            one for one in found.values()
            if (one.sql_id, one.node_id) == key
            and operator.operator in _NAMED_IN_JVM.get(one.operator, (one.operator,))
        ]  # fmt: skip
        whole = sum(one.workers_ns for one in mine)
        for one in mine if whole else ():
            one.operator_ns += (operator.on_cpu_ns or 0) * one.workers_ns / whole


def without(
    facts: Facts, what: str, workers: Mapping[int, float], jvm: Mapping[int, float]
) -> tuple[Less, Extent]:
    """Take CPU away from workers and from the JVM's side of the exchange, by number of the stage.

    A task waits for its worker, or both run side by side. At least, the JVM's part goes, the wait
    in proportion to the workers' CPU, and waits for a CPU in proportion to all CPU. At most, all
    of these go in proportion to the CPU of both together.

    Returns
    -------
    (Less, Extent)
        The change in the middle of both, and its bounds.
    """
    low_ns: dict[int, float] = {}
    high_ns: dict[int, float] = {}
    all_work = work(facts)
    for number, less in workers.items():
        rows = facts.ledger.get(number, {})
        on_cpu = rows.get("task/on_cpu") or facts.cpu_ns.get(number, 0.0)
        queue = rows.get("task/run_queue", 0.0)
        wait = sum(
            ns
            for path, ns in rows.items()
            if path in ("task/waiting/python_workers", "task/waiting/helper/python")
        )
        own = all_work[number].workers_ns if number in all_work else less
        both = on_cpu + own
        gone = less + jvm.get(number, 0.0)
        part = min(1.0, gone / both) if both else 0.0
        ends = (
            jvm.get(number, 0.0) + queue * part + wait * (min(1.0, less / own) if own else 0.0),
            (on_cpu + queue + wait) * part,
        )
        low_ns[number], high_ns[number] = min(ends), max(ends)
    middle = {number: (low_ns[number] + high_ns[number]) / 2 for number in low_ns}
    total = sum(middle.values())
    if total <= 0:
        return Less(what, {}), Extent(0.0, 0.0, 0.0)
    return facts.share_of_tasks(what, middle), Extent(
        1.0, sum(low_ns.values()) / total, sum(high_ns.values()) / total, len(middle)
    )


def sampled(extent: Extent, part_ns: float, whole_ns: float, samples_count: int) -> Extent:
    """Widen an extent by the sampling error of a part of the workers' CPU."""
    if not samples_count or whole_ns <= 0 or part_ns <= 0:
        return extent
    share = min(1.0, part_ns / whole_ns)
    least, most = wilson(share * samples_count, samples_count)
    relative = math.hypot(extent.value - extent.low, 1 - least / share)
    above = math.hypot(extent.high - extent.value, most / share - 1)
    return Extent(extent.value, max(0.0, 1 - relative), 1 + above, samples_count)


def poisson(n: int) -> tuple[float, float]:
    """Give relative bounds of a sum of so many observations."""
    off = Z / math.sqrt(n) if n else 1.0
    return max(0.0, 1 - off), 1 + off
