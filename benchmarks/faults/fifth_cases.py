"""The fifth set of causes: by which settings, where, and which findings name them.

Written by three authors without a look at the rules, one for each shape of data.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.faults.cases import BOTH, Set, together
from benchmarks.faults.fifth import genes_cases, payments_cases, tickets_cases

CASES = together(
    {
        "payments": payments_cases.CASES,
        "tickets": tickets_cases.CASES,
        "genes": genes_cases.CASES,
    }
)
FIFTH = Set(
    "fifth", Path(__file__).with_name("later_app.py"), CASES, BOTH, ("payments", "tickets", "genes")
)
