"""Tasks wait for the network.

What it is
    Input comes from remote storage or a database, or results go there: each request costs a round
    trip, and bytes come no faster than the link and the other side let them.

Mechanism
    The simulator removes the tasks' wait for sockets, as far as a nearer or quicker source would
    avoid it: the same bytes read at once instead of one after another, or from the same host. On
    several hosts, tasks lose what those on their host waited.

Evidence
    Waits of tasks by what they waited for: sockets (shuffle blocks are distinguished, and have
    rules of their own).

Remedy
    Compute where the data is; larger reads and more of them at once (`fs.s3a.*`,
    `fetchsize` of JDBC); a copy in local storage or in the cache for what is read again.

When it is wrong
    Where the other side is slow to answer (a database that computes), the network is not at fault.

Source
    Wait classes of the probe's states and of wall-clock samples: docs/reference/wait-classes.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.hosts.lost import (
    by_stage,
    few_carriers,
    less_on_hosts,
    lost_by_host,
    most_was_on,
    place_on_few,
)
from pyrometer.explain.evidence.python.work import work
from pyrometer.explain.evidence.saying import code, machine, page, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, Rule, Suspect
from pyrometer.explain.what_if import Extent

WAITS = "task/waiting/network"
ACHIEVED = (0.3, 1.0)
"""Between larger requests over the same link, and data on the same host. Not measured; assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    # A Python worker is reached through a socket, too: that is not the network.
    python = work(facts)
    waits = {
        host: {number: ns for number, ns in own.items() if number not in python}
        for host, own in lost_by_host(facts, WAITS).items()
    }
    lost = by_stage(waits)
    total = sum(lost.values())
    if total <= 0:
        return
    tasks = sum(facts.stages[number].tasks_count for number in lost)
    operators: dict[str, float] = {}
    for number in lost:
        for path, ns in facts.ledger[number].items():
            if path.startswith(f"{WAITS}/"):
                name = path.removeprefix(f"{WAITS}/")
                operators[name] = operators.get(name, 0.0) + ns
    operator = max(operators, key=lambda name: operators[name]) if operators else None
    where = place_on_few(facts, "cluster", waits, operator=operator)
    yield Suspect(
        place=where,
        mechanism=(
            f"{units.counted(tasks, 'task')} waited {units.duration(total)} for sockets"
            f"{f', most of it in {operator}' if operator else ''}."
            f"{most_was_on(few_carriers(facts, waits), waits)}"
        ),
        change=(less_on_hosts(facts, "network", waits),),
        extent=Extent(n=tasks).times(*ACHIEVED),
        evidence=[
            shown_by("waits of tasks for sockets", total, "ns", "samples",
                 "show --json: ledger, task/waiting/network", page(where)),
        ],
        remedies=[
            code("fetch more at once", '.option("fetchsize", 10)', '.option("fetchsize", 10000)'),
            machine("compute near the data, or keep a copy of what is read again"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="network.slow",
    title="Tasks wait for the network",
    cause="remote reads and writes",
    suspects=_suspects,
    needs=(SAMPLES,),
    refute="Read the same data from a local copy: if tasks still wait as long, it is not the"
    " network.",
)
