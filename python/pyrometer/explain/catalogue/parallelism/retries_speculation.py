"""Speculative copies of tasks run in vain.

What it is
    With `spark.speculation` Spark runs copies of tasks that seem slow. The original ends first, and
    the copy is killed.

Mechanism
    A copy holds a slot that another task could have had, and loads what the original loads. The
    simulator removes the time of copies that did not win.

Evidence
    Attempts marked speculative that were killed, and their time in slots.

Remedy
    Speculate later (`spark.speculation.multiplier`, `quantile`), or not at all; fix the reason why
    tasks differ: skew makes long tasks, which no copy makes shorter.

When it is wrong
    Copies that won saved more than those in vain cost: what the former saved is not counted here.

Source
    `spark.speculation` in Spark's configuration.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import of_stage, of_tasks
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent


def _suspects(facts: Facts) -> Iterator[Suspect]:
    if facts.measured is None or not facts.measured.tasks.wasted.any():
        return
    copies = np.asarray(np.ma.getdata(facts.tasks["speculative"]), dtype=bool)
    wasted = np.asarray(np.ma.getdata(facts.tasks["wasted"]), dtype=bool)
    lost = np.where(copies & wasted, facts.tasks.duration_ns, 0.0)
    total = float(lost.sum())
    if total <= 0:
        return
    less = {
        one.number: lost[place]
        for one in facts.stages
        for place in (facts.place_of(one.number),)
        if lost[place].any()
    }
    worst = max(facts.stages, key=lambda one: float(np.sum(less.get(one.number, 0.0))))
    n, won = int((copies & wasted).sum()), int((copies & ~wasted).sum())
    # Without speculation what the copies that won saved is lost as well: in proportion.
    yield Suspect(
        place=of_stage(worst, "setting", len(less)).model_copy(
            update={"setting": "spark.speculation"}
        ),
        mechanism=(
            f"{n} speculative copies ran for {units.duration(total)} in vain; {won} won."
        ),
        change=(Less("speculation", less),),
        extent=Extent(n=n).times(n / (n + won), 1.0),
        evidence=[
            of_tasks("time of copies in vain", total, "ns", "sum(finish_wall_ns - launch_wall_ns)"
                     " FILTER (speculative AND status <> 'success')", facts, n),
        ],
        remedies=[
            Remedy(kind="factor", factor="spark.speculation.multiplier", level="5",
                   text="copy only what takes five times the median"),
            Remedy(kind="factor", factor="spark.speculation", level="false", text="no copies"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="retries.speculation",
    title="Speculative copies run in vain",
    cause="speculative execution",
    suspects=_suspects,
    refute="Run without speculation: if it takes just as long, the slots of the copies were free.",
)
