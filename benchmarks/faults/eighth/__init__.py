"""The eighth set of causes: jobs of a container port, of auctions of ads, and of a hospital."""

from __future__ import annotations

from benchmarks.faults.seventh import APP as APP
from benchmarks.faults.seventh import BOTH as BOTH
