"""The fourth set of causes: by which settings, where, and which findings name them.

Written by three authors without a look at the rules, one for each shape of data.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.faults.cases import BOTH, Set, together
from benchmarks.faults.fourth import clicks_cases, grid_cases, invoices_cases

CASES = together(
    {
        "clicks": clicks_cases.CASES,
        "invoices": invoices_cases.CASES,
        "grid": grid_cases.CASES,
    }
)
FOURTH = Set(
    "fourth", Path(__file__).with_name("later_app.py"), CASES, BOTH, ("clicks", "invoices", "grid")
)
