"""Pure accounts of a run: tables in, values out. Nothing here launches, prints or writes."""

from __future__ import annotations

from pyrometer.analyse.ledger.report import ledger_report
from pyrometer.analyse.ledger.tables import ledger_tables
from pyrometer.analyse.model import LedgerReport, Summary
from pyrometer.analyse.summary import summary
from pyrometer.analyse.windows import Window, windows

__all__ = [
    "LedgerReport",
    "Summary",
    "Window",
    "ledger_report",
    "ledger_tables",
    "summary",
    "windows",
]
