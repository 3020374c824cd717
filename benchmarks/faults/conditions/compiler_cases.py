"""Conditions of the compiler inside the JVM."""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.seventh.places import JVM

OPTIONS = "spark.driver.extraJavaOptions"
USUAL = {"spark.driver.memory": "2g"}
QUICK = {**USUAL, OPTIONS: "-XX:TieredStopAtLevel=1"}
TRACES = {**USUAL, OPTIONS: "-XX:-OmitStackTraceInFastThrow"}
"""Each exception has its stack trace: the compiler may not throw one that it made before."""

CASES = (
    Case("compiled-beside", ("jit.competes",), USUAL, QUICK, JVM),
    Case("compiled-aside", on=USUAL, off=QUICK, master="local[1]"),
    Case("thrown", ("jit.deoptimisation-storm",), TRACES, TRACES, JVM),
    Case("thrown-ready-made", on=USUAL, off=USUAL),
)
