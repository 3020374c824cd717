"""Decimals of more than 18 digits are computed as objects of arbitrary precision.

What it is
    Spark keeps a decimal of up to 18 digits in a `long`. A wider one is a `java.math.BigDecimal`:
    each sum, product and comparison allocates objects and takes tens to hundreds of nanoseconds. A
    type need not be declared so wide: a product has the digits of both factors and one more, a sum
    ten more than what it adds.

Mechanism
    The simulator removes the CPU samples of tasks below `BigDecimal` and `BigInteger`, but for what
    plain arithmetic still costs.

Evidence
    CPU samples of tasks with one of these classes in the stack; texts that are parsed to numbers,
    the Python function's side, and casts to floating point, for which Spark makes an object of a
    decimal of any width (`expression.per-row` has these), are left out. The operator is the one
    whose text in the plan makes decimals, else the one that most of the samples are of.

Remedy
    Whole numbers of the smallest unit (cents, millionths) in a `BIGINT`; or types with as few
    digits as the values need, with a cast after each product; `DOUBLE` where rounding does not
    matter.

When it is wrong
    Where values or their sums do not fit 18 digits, or the rounding of decimals is required at each
    step.

Source
    `org.apache.spark.sql.types.Decimal` (`MAX_LONG_DIGITS`) and Spark's page on data types,
    "Decimal". How much of the CPU is left is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.plan_nodes import Plan, plans
from pyrometer.explain.evidence.saying import code, page, place, shown_by
from pyrometer.explain.evidence.stack_shares import through
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, Rule, Suspect

FRAMES = r"^(java\.math\.(Big|MutableBig|SignedMutableBig)|scala\.math\.Big)"
OTHERS = (
    r"^(org\.apache\.spark\.sql\.types\.Decimal\.to(Double|Float)$|com\.fasterxml\.jackson"
    r"|com\.univocity|org\.apache\.spark\.sql\.catalyst\.(csv|json|xml)\."
    r"|org\.apache\.spark\.api\.python\.)"
)
_MAKES = re.compile(r"\bas decimal\(|\bdecimal\(\d+,", re.IGNORECASE)
ACHIEVED = (0.6, 0.97)
"""Of the CPU below these classes. Arithmetic of `long` takes a few nanoseconds; a value that has to
be converted once takes as long as one operation of a decimal. Not measured; assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    found = through(facts, FRAMES, without=OTHERS)
    if not found.found:
        return
    parts = found.by_stage
    cost = {number: share * facts.cpu_ns.get(number, 0.0) for number, share in parts.items()}
    worst = max(cost, key=lambda number: cost[number])
    node, sql_id = _makes_decimals(facts, worst)
    where = place(facts, "sql", cost, sql_id=sql_id, node_id=node.node_id if node else None,
                  operator=node.name if node else found.operators.get(worst))  # fmt: skip
    yield Suspect(
        place=where,
        mechanism=(
            f"{units.percent(found.estimate.value)} of the CPU of tasks"
            f" ({units.duration(sum(cost.values()))}) computes decimals of more than 18 digits,"
            " which are objects of arbitrary precision."
        ),
        change=(facts.less_cpu("decimals", parts),),
        extent=found.extent(*ACHIEVED),
        evidence=[
            shown_by("task CPU in arbitrary precision", found.estimate, "ratio", "samples",
                     f"stacks through frames that match {FRAMES}", page(where)),
        ],
        remedies=[
            code("compute with whole numbers of the smallest unit, or with at most 18 digits",
                 "sum(CAST(price AS DECIMAL(18,6)) * CAST(rate AS DECIMAL(18,6)))",
                 "sum(price_millionths * rate_millionths)"),
        ],
    )  # fmt: skip


def _makes_decimals(facts: Facts, number: int) -> tuple[Node | None, int | None]:
    """Give the node of a stage that says it makes decimals, the nearest to the result."""
    for plan in plans(facts):
        for node in plan.sql.nodes:
            makes = _MAKES.search(node.simple_string or "") is not None
            if makes and number in _stages(facts, plan, node):
                return node, plan.sql.sql_id
    return None, None


def _stages(facts: Facts, plan: Plan, node: Node | None) -> list[int]:
    """Give the stages of a node; of one without metrics, those of the node above it."""
    while node is not None and not node.stage_ids:
        node = plan.by_id.get(-1 if node.parent_node_id is None else node.parent_node_id)
    return [] if node is None else facts.stages_of(node, plan.sql)


RULE = Rule(
    code="expression.decimal",
    title="Wide decimals are computed with arbitrary precision",
    cause="decimal arithmetic",
    suspects=_suspects,
    needs=(SAMPLES,),
    refute="Compute the same with whole numbers: if the stage still needs as much CPU, it was not"
    " the decimals.",
)
