"""A library: what stands on its shelves, with cards that describe it, and who borrows it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import SIZE, Work, columns

ITEMS = 200_000 * SIZE
BRANCHES = 60
SUBJECTS = 300

ITEM = (
    "id AS item_id", f"CAST(pmod(h, {BRANCHES}) AS INT) AS branch",
    "date_add(DATE'1990-01-01', CAST(pmod(shiftright(g, 5), 13000) AS INT)) AS acquired",
    "lpad(pmod(h, 1000000000000), 12, '9') AS isbn",
    f"concat('S', lpad(pmod(shiftright(g, 9), {SUBJECTS}), 3, '0')) AS subject",
    "concat('On ', hex(h), ' and ', hex(g), ' considered') AS title",
    "concat('An account, vol ', pmod(g, 90), ' of the whole, ', repeat(concat(hex(h), ' of '), 8),"
    " hex(g), ' and what follows from it.') AS abstract",
    "to_json(named_struct('title', hex(h), 'author', concat('Author ', pmod(g, 9000)), 'year',"
    " 1900 + pmod(h, 120), 'lang', element_at(array('en', 'de', 'fr', 'cs'),"
    " CAST(1 + pmod(g, 4) AS INT)), 'pages', 20 + pmod(g, 900), 'shelf', pmod(h, 400), 'press',"
    " concat('Press of ', pmod(shiftright(h, 8), 700)), 'copies', 1 + pmod(shiftright(g, 3), 5),"
    " 'note', concat('bound ', hex(g)))) AS card",
)  # fmt: skip
"""Columns of the items."""

TABLES = {
    "items": columns(ITEMS, *ITEM),
    "loans": columns(
        600_000 * SIZE, "id AS loan_id", f"pmod(h, {ITEMS}) AS item_id",
        "CAST(pmod(g, 90000) AS INT) AS patron_id",
        f"CAST(pmod(shiftright(g, 21), {BRANCHES}) AS INT) AS branch",
        "date_add(DATE'2025-01-01', CAST(pmod(shiftright(h, 5), 364) AS INT)) AS taken",
        "CAST(1 + pmod(shiftright(g, 9), 60) AS INT) AS days",
    ),
    "subjects": columns(
        SUBJECTS, "concat('S', lpad(id, 3, '0')) AS subject", "CAST(pmod(h, 23) AS INT) AS hall"
    ),
}  # fmt: skip


def report(work: Work) -> DataFrame:
    """Count loans by hall and month."""
    items = work.table("items").select("item_id", "subject")
    return (
        work.table("loans")
        .join(items, "item_id")
        .join(F.broadcast(work.table("subjects")), "subject")
        .groupBy("hall", F.month("taken").alias("month"))
        .agg(F.count("*").alias("n"), F.sum("days").alias("days"))
    )
