"""Conditions of the JVM and of the machine, each planted where its rule is to see it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.faults.cases import BOTH as USUAL

APP = Path(__file__).with_name("job.py")
"""The application of the set."""
BOTH = {
    **USUAL,
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}
"""Settings of all its runs."""
