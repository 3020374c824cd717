"""CPU of user-defined functions in the JVM: the functions, and the conversions around them."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.facts import Facts

HIVE = r"org\.apache\.spark\.sql\.hive\.Hive(Simple|Generic)UDF(\$|\.|\w*Evaluator)"
CALLED = (
    r"^org\.apache\.spark\.sql\.(catalyst\.expressions\.ScalaUDF\b|internal\.ToScalaUDF\b"
    rf"|UDFRegistration\b|api\.java\.UDF\d)|^{HIVE}"
)
"""Frames that only user-defined functions have: their expressions, and what wraps them."""
CONVERTS = (
    r"^org\.apache\.spark\.sql\.catalyst\.expressions\.ScalaUDF.*\$(scala|catalyst)Converter\$"
    r"|^org\.apache\.spark\.sql\.catalyst\.CatalystTypeConverters\b"
    r"|^org\.apache\.spark\.sql\.hive\.HiveInspectors\b"
)
"""Frames of conversions between Spark's own form of values and the JVM's."""
TEXT = (
    r"^org\.apache\.spark\.unsafe\.types\.UTF8String\.(toString|fromString)"
    r"|CatalystTypeConverters\$StringConverter|^org\.apache\.hadoop\.io\.Text\."
)
VALUES = (
    r"CatalystTypeConverters\$(Date|LocalDate|Timestamp|Instant|LocalDateTime|Decimal|Array|Map"
    r"|Struct|Duration|Period|UDT)\w*Converter|\.catalyst\.util\.(DateTimeUtils|ArrayData"
    r"|GenericArrayData|ArrayBasedMapData)\b|^org\.apache\.spark\.sql\.types\.Decimal\b"
    r"|^java\.math\.Big|^java\.sql\.(Date|Timestamp)\b|^scala\.collection\..*ArraySeq"
    r"|\.expressions\.GenericRow\b"
)
_IN_PLAN = re.compile(r"\bUDF\(|\bHive(?:Simple|Generic)UDF#")
_TYPED = re.compile(r"^(Map|FlatMap|Append|Deserialize|Serialize|CoGroup|Typed)\w*")
# What stacks hold, once for each; samples of user code are of a kind of work, see CATEGORY.
_WORK = f"""
WITH f AS (FROM (SELECT frame_id, regexp_matches(name, '{CALLED}') AS called,
      regexp_matches(name, '{CONVERTS}') AS converts, regexp_matches(name, '{TEXT}') AS text,
      regexp_matches(name, '{VALUES}') AS of_values
    FROM (SELECT frame_id, coalesce(class_name || '.', '') || method AS name FROM frames))
  WHERE called OR converts OR text OR of_values),
k AS (SELECT s.stack_id, bool_or(called) AS called, bool_or(converts) AS converts,
    bool_or(text) AS text, bool_or(of_values) AS of_values
  FROM (SELECT stack_id, unnest(frame_ids) AS frame_id FROM stacks WHERE stack_id IN (
      SELECT java_stack FROM w_samples WHERE event = 'cpu' AND role = 'task')) s
    JOIN f USING (frame_id)
  GROUP BY s.stack_id)
SELECT x.stage_id, coalesce(a.stage_attempt, 0), coalesce(k.called, false),
  CASE WHEN k.converts AND k.text THEN 'text' WHEN k.converts AND k.of_values THEN 'values'
    WHEN k.converts THEN 'around' WHEN k.called THEN 'function'
    WHEN x.category = 'udf' THEN 'user' ELSE 'other' END,
  x.operator, sum(x.hits)::BIGINT
FROM w_samples x LEFT JOIN k ON k.stack_id = x.java_stack
LEFT JOIN ({{attempts}}) a USING (task_attempt_id)
WHERE x.event = 'cpu' AND x.role = 'task' AND x.stage_id IS NOT NULL
  AND coalesce(x.app_index, {{app}}) = {{app}}
GROUP BY ALL HAVING sum(x.hits) > 0
"""


@dataclass
class Work:
    """CPU samples of one stage.

    Attributes
    ----------
    text, values, around : int
        In conversions: of text, of values of all other types, and what both need around them.
    function : int
        In functions, as far as frames name what calls them.
    user : int
        In other code that is not Spark's: functions whose caller was inlined, among others.
    total : int
        Of the stage.
    called : int
        With a frame that only user-defined functions have.
    operators : dict of str to int
        All but `user` and others, by operator.
    """

    text: int = 0
    values: int = 0
    around: int = 0
    function: int = 0
    user: int = 0
    total: int = 0
    called: int = 0
    operators: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def converting(self) -> int:
        """All conversions."""
        return self.text + self.values + self.around


def udf_work(facts: Facts) -> dict[int, Work]:
    """Give the work of user-defined functions by number of the stage."""
    app = 0 if facts.measured is None else facts.measured.app_index
    found: dict[int, Work] = defaultdict(Work)
    for stage_id, attempt, called, kind, operator, hits in facts.tables.query(
        _WORK.format(attempts=facts.attempts, app=app)
    ):
        number = facts.number(stage_id, attempt)
        if number is None:
            continue
        one = found[number]
        one.total += hits
        one.called += hits * called
        if kind != "other":
            setattr(one, kind, getattr(one, kind) + hits)
        if kind in ("text", "values", "around", "function"):
            one.operators[operator or ""] += hits
    return dict(found)


def names_udf(node: Node) -> bool:
    """Whether a plan shows that a node calls one: what has a name there looks like a built-in.

    A scan lists the filters that it could not take.

    Examples
    --------
    >>> names_udf(Node(node_id=0, depth=0, name="Filter", simple_string="Filter UDF(t#8)"))
    True
    >>> names_udf(Node(node_id=0, depth=0, name="Filter", simple_string="Filter trimmed(t#8)"))
    False
    """
    return "Scan" not in node.name and _IN_PLAN.search(node.simple_string or "") is not None


def is_typed(node: Node) -> bool:
    """Whether a node calls a function of objects, whose code is the user's as well."""
    return _TYPED.match(node.name) is not None
