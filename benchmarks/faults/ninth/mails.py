"""Mailings of newsletters: what was sent to whom, what was clicked, recipients, mailings, lists."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import SIZE, Work, columns, curve

DAYS = 180
RECIPIENTS = 300_000 * SIZE
MAILINGS = 3_000
LISTS = 16
DOMAINS = 600
STATES = ("delivered", "delivered", "delivered", "deferred", "bounced", "filtered")

TABLES = {
    "sends": columns(
        800_000 * SIZE, "id AS send_id", f"pmod(h, {RECIPIENTS}) AS recipient_id",
        f"CAST(pmod(g, {MAILINGS}) AS INT) AS mailing_id",
        f"CAST(pmod(shiftright(h, 15), {DOMAINS}) AS INT) AS domain_id",
        f"element_at(array{STATES}, CAST(1 + pmod(shiftright(g, 11), 6) AS INT)) AS state",
        f"date_add(DATE'2026-01-01', CAST(pmod(shiftright(g, 5), {DAYS}) AS INT)) AS day",
        "CAST(pmod(shiftright(h, 7), 1440) AS INT) AS minute",
        "CAST(4000 + pmod(shiftright(g, 17), 60000) AS INT) AS bytes",
        "CAST(pmod(shiftright(h, 23), 12) AS INT) AS opens",
        "concat('<', hex(g), '@out>') AS message",
    ),
    "clicks": columns(
        500_000 * SIZE, "id AS click_id", f"pmod(h, {RECIPIENTS}) AS recipient_id",
        "CAST(pmod(g, 900) AS INT) AS link_id",
        "CAST(pmod(shiftright(g, 9), 86400) AS INT) AS second",
        f"hex(xxhash64(pmod(h, {RECIPIENTS}))) AS reader", "concat('r=', hex(h)) AS query",
    ),
    "recipients": columns(
        500_000 * SIZE, "id AS recipient_id", "hex(h) AS reader",
        "concat(hex(h), '@mail-', pmod(g, 600), '.example') AS address",
        "CAST(2004 + pmod(shiftright(h, 9), 22) AS INT) AS since",
        "element_at(array('de', 'en', 'fr', 'it', 'pl'), CAST(1 + pmod(g, 5) AS INT)) AS language",
        "concat('signed up at ', hex(g), ' with ', hex(shiftright(h, 3)), ', form ', pmod(g, 90))"
        " AS consent",
    ),
    "mailings": columns(
        MAILINGS, "CAST(id AS INT) AS mailing_id", f"CAST(pmod(id, {LISTS}) AS INT) AS list_id",
        "CAST(pmod(h, 60) AS INT) AS template_id", "concat('News of ', hex(g)) AS subject",
    ),
}  # fmt: skip

interest = curve(9_000.0)
"""How interest fades."""


def report(work: Work) -> DataFrame:
    """Sum what was sent by list, state and month."""
    return (
        work.table("sends")
        .join(F.broadcast(work.table("mailings")), "mailing_id")
        .groupBy("list_id", "state", F.month("day").alias("month"))
        .agg(F.sum("bytes").alias("bytes"), F.sum("opens").alias("opens"), F.count("*").alias("n"))
    )
