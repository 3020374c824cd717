"""The eighth set of causes: jobs of a container port, of auctions of ads, and of a hospital."""

from __future__ import annotations

from pathlib import Path

from benchmarks.faults.cases import BOTH as USUAL

APP = Path(__file__).with_name("job.py")
"""The application of the set."""
BOTH = {
    **USUAL,
    "spark.driver.memory": "3g",
    "spark.sql.files.minPartitionNum": "8",
    "spark.sql.adaptive.coalescePartitions.minPartitionNum": "8",
}
"""Settings of all its runs: inputs have eight files, and are read by eight tasks."""
