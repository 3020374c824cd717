"""Whatever is missing from a run's tables, the accounts and their text are made."""

from __future__ import annotations

import io
import json
import random
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests.support.examples import examples
from tests.support.tables import MS, PID, Rows, StageSpec, World, mono, write_tables

from pyrometer.accounts.ledger import terminal as ledger_terminal
from pyrometer.accounts.ledger.report import ledger_report
from pyrometer.core import schema
from pyrometer.store import Run
from pyrometer.summary import screen, terminal
from pyrometer.summary.summary import summary


def whole() -> Rows:
    world = World([StageSpec([40, 30, 50], iteration=0), StageSpec([40, 70], iteration=1)])
    world.add(
        "gc_pauses", pid=PID, start_mono_ns=mono(130), duration_ns=9 * MS, collector="G1", kind="x"
    )
    world.add("safepoints", pid=PID, end_mono_ns=mono(140), operation="G1", total_ns=9 * MS)
    world.rows["tasks"][1]["status"] = "failed"
    return world.rows


ROWS = whole()


@settings(max_examples=examples(10, 30), deadline=None)
@given(
    dropped=st.sets(st.sampled_from(sorted(ROWS)), max_size=4),
    seed=st.integers(0, 1 << 30),
    holes=st.sampled_from([0.0, 0.02, 0.3, 1.0]),
    lost=st.sampled_from([0.0, 0.3]),
)
def test_any_missing_table_row_or_value_is_survived(
    dropped: set[str], seed: int, holes: float, lost: float
) -> None:
    chance = random.Random(seed)
    rows: Rows = {}
    for name, content in ROWS.items():
        if name in dropped:
            continue
        nullable = {c.name for c in schema.tables()[name].columns if c.nullable}
        rows[name] = [
            {k: v for k, v in row.items() if k not in nullable or chance.random() >= holes}
            for row in content
            if chance.random() >= lost
        ]
    with tempfile.TemporaryDirectory() as folder:
        with Run.open(write_tables(Path(folder), rows)) as run:
            made = summary(run)
            account = ledger_report(run, made.window.name)
        json.dumps(made.model_dump(mode="json", by_alias=True), allow_nan=False)
        console = Console(file=io.StringIO(), width=80)
        screen.show(console, made)
        terminal.show_sections(console, made, list(terminal.SECTIONS))
        ledger_terminal.ledger(console, account)
        assert made.verdict
        assert account.slot_view.closure_ratio == made.ledger.slot_view.closure_ratio
