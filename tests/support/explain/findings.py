"""Invented findings: a run with planted causes and rules that see them, and single findings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.simulation.simulated import Log

from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.explain.change import Even, Less
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.findings import explain
from pyrometer.explain.rule import Need, Rule, Suspect
from pyrometer.explain.schema import (
    Baseline,
    Evidence,
    Finding,
    Findings,
    Noise,
    Place,
    Record,
    Remedy,
    Saving,
    Unjudged,
)
from pyrometer.explain.what_if import Extent
from pyrometer.store import Run
from pyrometer.window.windows import RunFacts, WindowFacts

S = 1_000_000_000
LIGHT = "pyrometer run --profile light"
HOSTILE = "price|qty <b>*x*</b> `a``b` @all #12 [y](http://evil.example) \x1b[31m\u202e{0}"
MANUAL = """A manual.

What it is
    What `this` is, with a | in it
    and a second line.

Mechanism
    How it works.

Evidence
    What speaks for it.

Remedy
    - one
    - two

When it is wrong
    Never, says <b>nobody</b>.

Source
    https://example.org/book_of_rules.
"""


def invented_log(folder: Path) -> Path:
    """Write a run of 20.2 s on eight slots: scan, a skewed join, a last stage."""
    log = Log(20_200, **{"spark.app.name": "invented"})
    log.executor("1", 8)
    log.job(0, 100, 20_100, [0, 1, 2])
    log.stage(0, 100, 4_100, [])
    log.stage(1, 4_100, 16_100, [0])
    log.stage(2, 16_100, 20_100, [1])
    for number, (at, lengths) in enumerate(
        ((100, [4_000] * 8), (4_100, [12_000, *[4_000] * 7]), (16_100, [4_000] * 8))
    ):
        for length in lengths:
            log.task(number, at, length)
    return log.write(folder)


def _less(
    facts: Facts, stage: int, ratio: float, place: Place, extent: Extent, **more: Any
) -> Iterator[Suspect]:
    lost = facts.tasks_of(stage).duration_ns * ratio
    yield Suspect(
        place=place,
        change=(Less(place.words, {stage: lost}),),
        extent=extent,
        **{"evidence": [], "remedies": [], **more},
    )


def _skew(facts: Facts) -> Iterator[Suspect]:
    yield Suspect(
        place=Place(layer="data", stage_id=1, stage_attempt=0, stages_count=1,
                    source="count at Main.scala:42"),
        mechanism="The largest of 8 tasks read 12.0 GiB, 3 times the median (4.00 GiB).",
        change=(Even([1]),),
        extent=Extent(0.9, 0.7, 1.0, 8),
        evidence=[
            Evidence(what="most that a task read", estimate=exactly(12 << 30, 8), unit="bytes",
                     table="tasks", link="/stage/1/0",
                     query="SELECT max(input_bytes) FROM tasks WHERE stage_id = 1"),
            Evidence(what="share of their time that bytes explain", unit="ratio", table="tasks",
                     estimate=Estimate(value=0.9, low=0.7, high=1.0, level=0.95, n=8, method="t")),
        ],
        remedies=[
            Remedy(kind="factor", factor="spark.sql.adaptive.skewJoin.skewedPartitionFactor",
                   level="2", levels={"layout.executors": "4"},
                   text="let adaptive execution split what is twice the median"),
            Remedy(kind="code", text="group by key and salt, then by key", example=True,
                   before='df.groupBy("k").agg(sum("v"))',
                   after='df.withColumn("salt", expr)\n  .groupBy("k", "salt")\n  .agg(sum("v"))'),
        ],
        doubts=[Doubt(code="skew_guessed", severity="info", message="one task alone is larger",
                      remedy="look at its rows")],
    )  # fmt: skip


def _spill(facts: Facts) -> Iterator[Suspect]:
    """Only the longest task spills."""
    time = facts.tasks_of(1).duration_ns
    lost = np.where(time == time.max(), time * 0.4, 0.0)
    yield Suspect(
        place=Place(layer="stage", stage_id=1, stage_attempt=0, stages_count=1),
        mechanism="The sort of stage 1 spilled 3.00 GiB.",
        change=(Less("spill", {1: lost}),),
        evidence=[],
        remedies=[
            Remedy(kind="factor", factor="spark.executor.memory", level="8g",
                   text="give each executor twice the heap"),
            Remedy(kind="code", text="sort less", before="df.sort()", after="df"),
        ],
    )  # fmt: skip


def _rules() -> tuple[Rule, ...]:
    hostile = Place(layer="sql", sql_id=0, node_id=3, operator="Project", stage_id=2,
                    stage_attempt=0, stages_count=1, expression=HOSTILE)  # fmt: skip
    heap = Place(layer="setting", setting="spark.executor.memory", stage_id=0, stages_count=3)
    first = Place(layer="stage", stage_id=0, stages_count=1)
    text = "Tasks of the stage spent 1.50 s of 4.00 s on"
    return (
        Rule("expression.hostile", f"An expression named {HOSTILE}", "per-row work",
             partial(_less, stage=2, ratio=0.375, place=hostile, extent=Extent(1.0, 0.8, 1.0, 50),
                     mechanism=f"{text} {HOSTILE}.",
                     remedies=[Remedy(kind="code", text=f"take {HOSTILE} out", before=HOSTILE,
                                      after="```\nx\n```")]),
             f"Take {HOSTILE} out.", manual=MANUAL),
        Rule("gc.heap", "The heap is too small", "garbage collection pressure",
             partial(_less, stage=0, ratio=0.4, place=heap, extent=Extent(0.9, 0.8, 1.0, 24),
                     mechanism="The collector stopped tasks for 12.8 s.",
                     remedies=[Remedy(kind="factor", factor="spark.executor.memory", level="8g",
                                      text="give the JVM 8g of heap instead of 4g")]),
             "Run with twice the heap.", manual=MANUAL),
        Rule("skew.planted", "A few tasks read most of the data", "data skew", _skew,
             "Split the large partitions.", explains=("spill.",), manual=MANUAL),
        Rule("spill.sort", "Sorting spills", "spill", _spill, "Give it memory.", manual=MANUAL),
        Rule("codec.small", "The codec is slow", "compression",
             partial(_less, stage=0, ratio=0.03, place=first, extent=Extent(),
                     mechanism="Tasks compressed for 1.00 s."), "Use none.", manual=MANUAL),
        Rule("jit.absent", "The compiler competes with tasks", "warm-up", lambda facts: [], "",
             needs=[Need(lambda facts: "no log of the JIT compiler", LIGHT)],
             manual=MANUAL),
    )  # fmt: skip


RULES = _rules()
MUTED = {"gc.heap": "agreed on 3 March | @ops"}
RECORDS = {"skew.planted": Record(tried_count=5, proven_count=4, error_ratio=0.12)}


def invented(folder: Path, **asked: Any) -> Findings:
    """Explain the invented run: three findings, a symptom, one below the noise, one not judged."""
    with Run.open(invented_log(folder)) as run:
        found = explain(run, rules=RULES, records=RECORDS, **asked)
    found.run.run_dir = "RUN"
    return found


def estimate(value: float, half: float = 0.1) -> Estimate:
    """An estimate with its interval."""
    return Estimate(
        value=value, low=value * (1 - half), high=value * (1 + half), level=0.9, n=9, method="test"
    )


def a_finding(code: str = "gc.heap", saved_s: float = 2.0, **columns: Any) -> Finding:
    """One finding of a run of ten seconds."""
    return Finding(
        **{
            "key": code, "code": code, "title": "Title", "cause": "cause",
            "place": Place(layer="stage", stage_id=1), "mechanism": "It takes long.",
            "saving": Saving(elapsed_ns=estimate(saved_s * S), core_ns=estimate(saved_s * S)),
            "saving_ratio": estimate(saved_s / 10), "refute": "Try it.", **columns,
        }
    )  # fmt: skip


def some_findings(*found: Finding, unjudged: tuple[str, ...] = (), **columns: Any) -> Findings:
    """Findings of a run of ten seconds."""
    joint = sum(one.saving.elapsed_ns.value or 0 for one in found if one.shown and not one.muted)
    saving = Saving(elapsed_ns=estimate(joint), core_ns=estimate(joint))
    return Findings(
        **{
            "run": RunFacts(run_dir="RUN", name="test"),
            "window": WindowFacts(name="application", length_ns=10 * S),
            "conclusion": "Conclusion.",
            "baseline": Baseline(elapsed_ns=10 * S, simulated_ns=10 * S, core_ns=80 * S),
            "noise": Noise(ratio=0.02, method="invented"),
            "noise_ratio": 0.02, "findings": list(found), "rules_count": 5,
            "joint_saving": saving if joint else None,
            "joint_ratio": estimate(joint / (10 * S)) if joint else None,
            "unjudged": [
                Unjudged(code=code, title=code, missing=f"no data for {code}", remedy="measure it")
                for code in unjudged
            ],
            **columns,
        }
    )  # fmt: skip
