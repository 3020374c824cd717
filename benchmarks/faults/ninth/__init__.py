"""The ninth set of causes: jobs of a truck fleet, of the tills of shops, and of mailings."""

from __future__ import annotations

from benchmarks.faults.seventh import APP as APP
from benchmarks.faults.seventh import BOTH as BOTH
