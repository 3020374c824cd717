"""Values that an analysis hands over: the structure of ``show --json`` and ``ledger --json``.

Names and units: ARCHITECTURE.md and docs/reference/show-json.md. ``None`` where a number cannot
be had; a ``reason`` or a doubt then says why.
"""

from pyrometer.analyse.model.breakdown import Breakdown, BreakdownRow, Component
from pyrometer.analyse.model.ledger import Check, Ledger, Method, Row, View
from pyrometer.analyse.model.machine import Cpu, CpuRole, Gc, GcKind, Instrument, Io
from pyrometer.analyse.model.operators import (
    By,
    Category,
    Expression,
    Helper,
    HugeMethod,
    Operator,
    Told,
    Unmapped,
)
from pyrometer.analyse.model.python import Python, PythonFunction, PythonWork
from pyrometer.analyse.model.resources import Allocation, Code, CodeKind, Faults, Memory, Swap
from pyrometer.analyse.model.run import RunFacts, WindowFacts
from pyrometer.analyse.model.source import HotSource, SourceLine, SourceReport
from pyrometer.analyse.model.spark import (
    App,
    Failed,
    Iteration,
    Node,
    NodeMetric,
    PageCache,
    Sql,
    Stage,
    TaskTime,
    Totals,
)
from pyrometer.analyse.model.summary import LedgerReport, Summary

__all__ = [
    "Allocation",
    "App",
    "Breakdown",
    "BreakdownRow",
    "By",
    "Category",
    "Check",
    "Code",
    "CodeKind",
    "Component",
    "Cpu",
    "CpuRole",
    "Expression",
    "Failed",
    "Faults",
    "Gc",
    "GcKind",
    "Helper",
    "HotSource",
    "HugeMethod",
    "Instrument",
    "Io",
    "Iteration",
    "Ledger",
    "LedgerReport",
    "Memory",
    "Method",
    "Node",
    "NodeMetric",
    "Operator",
    "PageCache",
    "Python",
    "PythonFunction",
    "PythonWork",
    "Row",
    "RunFacts",
    "SourceLine",
    "SourceReport",
    "Sql",
    "Stage",
    "Summary",
    "Swap",
    "TaskTime",
    "Told",
    "Totals",
    "Unmapped",
    "View",
    "WindowFacts",
]
