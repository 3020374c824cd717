"""A scan parses text where a columnar format would do.

What it is
    CSV or JSON is read: each value is found, parsed and converted for every query, even in columns
    and rows that the query does not need. Or the text is a column, or lines, of files, and
    expressions parse it: `from_csv`, `from_json`, `split` with the conversions of its parts.

Mechanism
    In a columnar format with types, values are decoded, and only the wanted columns are read. The
    simulator removes the CPU of the scan by samples, in its stages; without samples, the CPU that
    parsing its bytes takes at `RATE`, never more than its stages used. For expressions it is their
    CPU by samples. Scans of the same input, or similar expressions on it, each of which parses it
    again, are one cause.

Evidence
    CPU samples of the scan's operator; else "size of files read" of the scan and the CPU of its
    stages by Spark's counter. CPU samples with a frame of `CsvToStructs`, `JsonToStructs` or
    `XmlToStructs`, in stages that scan files and whose plan has such a call; and in lines of
    generated code of expressions that read nothing but lines of a text file.

Remedy
    Convert the data once, to Parquet or ORC, and read that.

When it is wrong
    Data that is read only once, such as messages of a queue, costs as much to convert. Compressed
    text has more bytes to parse than the log counts.

Source
    Measured: a million rows of six columns took 1.19 to 1.21 s of CPU from CSV, 1.09 s from JSON
    and 0.17 s from Parquet; two of these columns 0.78, 0.78 and 0.02 s. That is 75 to 161 MB of
    text a second (Spark 4.3, one slot, JVM warm, n = 2, one run on 2026-11-25).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator

from pyrometer.accounts.plan_schema import Node
from pyrometer.core import units
from pyrometer.explain.evidence.alike import alike
from pyrometer.explain.evidence.expressions.parsed_text import ParsedText, parsed_texts
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.plan_nodes import (
    Plan,
    metric,
    operator_of,
    plans,
    sampled,
    shares_of_stages,
    unnumbered,
)
from pyrometer.explain.evidence.saying import data, place, shown_by
from pyrometer.explain.evidence.shared_subtrees import input_of
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SQL_PLANS, Rule, Suspect
from pyrometer.explain.what_if import Extent

ACHIEVED = (0.6, 0.98)
"""Of the scan's CPU: 0.84 with all columns and 0.97 with two of six, see above; long strings, which
cost as much in any format, save less (0.6: not measured; assumed)."""
SLOWEST, RATE, FASTEST = 40e6, 100e6, 161e6
"""Bytes of text parsed in a second of CPU. Measured but for the slowest, which is assumed."""
_TEXT = re.compile(r"^(?:File|Batch)?Scan (csv|json)\b|\b(csv|json)scan\b", re.IGNORECASE)


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    yield from alike(_each(facts))


def _each(facts: Facts) -> Iterator[tuple[Hashable, float, Suspect]]:
    """Give each scan of text, with what it reads, and each expression that parses such."""
    for plan in plans(facts):
        for node in plan.sql.nodes:
            kind = _TEXT.search(node.name.strip()) or _TEXT.search(node.simple_string or "")
            if kind and (found := _suspect(facts, plan, node, kind[1] or kind[2])):
                yield input_of(node), *found
    for one in parsed_texts(facts):
        yield (input_of(one.scan), unnumbered(one.expression)), *_by_expression(facts, one)


def _by_expression(facts: Facts, found: ParsedText) -> tuple[float, Suspect]:
    sql_id, node = found.plan.sql.sql_id, found.node
    costs = {n: share * facts.cpu_ns.get(n, 0.0) for n, share in found.shares.items()}
    cpu = sum(costs.values())
    return cpu, Suspect(
        place=place(facts, "data", costs, sql_id=sql_id, node_id=node.node_id, operator=node.name,
                    expression=found.expression),
        mechanism=(
            f"{node.name} parses text that {found.scan.name.strip()} reads, by"
            f" {unnumbered(found.expression)[:80]}: {units.duration(cpu)} of CPU."
        ),
        change=(facts.less_cpu(f"parse {sql_id}", found.shares),),
        extent=found.extent.times(*ACHIEVED),
        evidence=[
            shown_by("CPU of the expressions that parse", cpu, "ns", "samples",
                     "show --json: operators[]", f"/sql/{sql_id}/{node.node_id}",
                     found.samples_count),
        ],
        remedies=[
            data("store the parsed columns once, in a columnar format",
                      'df.select(from_csv("line", schema).alias("r")).select("r.*")',
                      "spark.read.parquet(path)"),
        ],
    )  # fmt: skip


def _suspect(facts: Facts, plan: Plan, node: Node, kind: str) -> tuple[float, Suspect] | None:
    operator = operator_of(facts, plan.sql.sql_id, node.node_id)
    size = metric(node, "size of files read")
    link = f"/sql/{plan.sql.sql_id}/{node.node_id}"
    if operator is not None and operator.on_cpu_ns:
        shares, cpu = shares_of_stages(facts, operator), float(operator.on_cpu_ns)
        extent, text = sampled(operator.on_cpu, *ACHIEVED), "used"
        shown = shown_by("CPU of the scan", operator.on_cpu or cpu, "ns", "samples",
                         "show --json: operators[]", link, operator.samples_count)  # fmt: skip
    elif size and not facts.has("samples"):
        numbers = [n for n in map(facts.number, node.stage_ids) if n is not None]
        whole = sum(facts.cpu_ns.get(n, 0.0) for n in numbers)
        if whole <= 0:
            return None
        fast, cpu, slow = (min(whole, size / rate * 1e9) for rate in (FASTEST, RATE, SLOWEST))
        shares = dict.fromkeys(numbers, cpu / whole)
        extent, text = Extent(1.0, fast / cpu, slow / cpu, 1).times(*ACHIEVED), "needs about"
        shown = shown_by("size of files read", float(size), "bytes", "node_metrics",
                         "show --json: sql[].nodes[].metrics", link)  # fmt: skip
    else:
        return None
    if not shares:
        return None
    costs = {n: share * facts.cpu_ns.get(n, 0.0) for n, share in shares.items()}
    amount = f" of {units.size(size)}" if size else ""
    return cpu, Suspect(
        place=place(facts, "data", costs, sql_id=plan.sql.sql_id, node_id=node.node_id,
                    operator=node.name.strip()),
        mechanism=f"Parsing{amount} of {kind.upper()} {text} {units.duration(cpu)} of CPU.",
        change=(facts.less_cpu(f"scan {plan.sql.sql_id} {node.node_id}", shares),),
        extent=extent,
        evidence=[shown],
        remedies=[
            data("convert the data to a columnar format once",
                      f"spark.read.{kind.lower()}(path)",
                      "spark.read.parquet(path)"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="scan.text-format",
    title="Text is parsed where a columnar format would do",
    cause="text format",
    suspects=_suspects,
    needs=(SQL_PLANS,),
    refute="Read a Parquet copy: if the scan still uses as much CPU, it is not the format.",
)
