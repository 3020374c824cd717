"""A hospital: stays of patients on its wards, what monitors measured, and what diagnoses mean."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import SIZE, Work, columns, whole

STAYS = 100_000 * SIZE
VITALS = 700_000 * SIZE
PATIENTS = 50_000 * SIZE
WARDS = 40

STAY = (
    "id AS stay_id", f"pmod(h, {PATIENTS}) AS patient_id",
    f"CAST(pmod(g, {WARDS}) AS INT) AS ward",
    "date_add(DATE'2026-01-01', CAST(pmod(shiftright(g, 5), 180) AS INT)) AS came",
    "CAST(1 + pmod(shiftright(h, 11), 24) AS INT) AS days",
    "concat(char(CAST(65 + pmod(h, 20) AS INT)), lpad(pmod(shiftright(h, 8), 20), 2, '0'), '.',"
    " pmod(g, 10)) AS diagnosis",
    "concat('insurer ', pmod(shiftright(g, 17), 70)) AS insurer",
    "concat('Dr ', hex(pmod(h, 900))) AS doctor",
    "concat('Rested well. Pulse ', 50 + pmod(g, 70), ', ', repeat(concat(hex(h), ' mg '), 4),"
    " 'then ', hex(g), '; to be seen again in ', pmod(h, 9), ' days') AS note",
    "concat('bed ', pmod(g, 600), ' by the window') AS bed",
    "concat('next of kin ', hex(g)) AS kin",
    "concat('diet ', pmod(shiftright(h, 3), 90)) AS diet",
)  # fmt: skip
"""Columns of the stays."""

TABLES = {
    "stays": columns(STAYS, *STAY),
    "vitals": columns(
        VITALS, "id AS vital_id", f"pmod(g, {STAYS}) AS stay_id",
        f"pmod(h, {PATIENTS}) AS patient_id",
        f"timestamp_millis(1767225600000 + id * {15_552_000_000 // VITALS}) AS at",
        "CAST(40 + pmod(h, 120) AS INT) AS pulse",
        "CAST(80 + pmod(shiftright(g, 7), 110) AS INT) AS systolic",
        "CAST(34000 + pmod(shiftright(h, 9), 8000) AS INT) AS warmth",
        "concat('monitor ', hex(pmod(g, 100000))) AS device",
    ),
    "chapters": columns(
        400, "concat(char(CAST(65 + id DIV 20 AS INT)), lpad(id % 20, 2, '0')) AS prefix",
        "concat('chapter ', id DIV 20) AS chapter", "CAST(pmod(h, 50) AS INT) AS weight",
    ),
}  # fmt: skip


def strained(rounds: int) -> Column:
    """Give how strained a heart is, in millionths, approached in rounds."""
    strain = F.col("pulse") * F.col("systolic") / 40_000.0
    for _ in range(rounds):
        strain = F.log1p(F.cbrt(F.exp(-strain)))
    return whole(strain * 1e6)


def report(work: Work) -> DataFrame:
    """Summarise what was measured on each day, by how fast hearts beat."""
    return (
        work.table("vitals")
        .groupBy(F.to_date("at").alias("day"), F.expr("pulse DIV 20").alias("pulse"))
        .agg(
            F.sum("systolic").alias("systolic"), F.max("warmth").alias("warmth"),
            F.count("*").alias("n"),
        )
    )  # fmt: skip
