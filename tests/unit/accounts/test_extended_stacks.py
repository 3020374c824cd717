"""What a run says of its extended stacks, and what the ledger makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.simulation.contexts import two_contexts
from tests.support.sleeps import JAVA, KERNEL, TICK_NS, Part, Seen, observe
from tests.support.tables import HOST, MS, OFFSET, PID, write_tables

from pyrometer.accounts.ledger.slot_view import only_view
from pyrometer.accounts.ledger.sums import Only, Sums, group_by, prepare, sums
from pyrometer.accounts.ledger.unseen import why_unknown
from pyrometer.accounts.waits.extended_stacks import doubts, extended_stacks
from pyrometer.accounts.waits.schema import SleepLength
from pyrometer.accounts.waits.waits import waits
from pyrometer.accounts.window import open_scope
from pyrometer.core.estimate import Estimate
from pyrometer.flame.page import write_flame
from pyrometer.flame.selection import Selection
from pyrometer.store import Run
from pyrometer.store.ingest import native
from pyrometer.store.states.extended_stacks import join_states
from pyrometer.window.scope import Scope

ASLEEP = {"lock": 12_000, "timed_sleep": 6_000, "block_io": 3_000}
"""Milliseconds that each class takes in all."""
RAN_MS = 9_000


def life() -> list[Part]:
    """Sleeps of known classes, a run of 90 ms between any two."""
    parts = [Part(90 * MS, None)]
    for _ in range(33):
        parts += [Part(ASLEEP["lock"] * MS // 33, 0), Part(90 * MS, None)]
        parts += [Part(ASLEEP["timed_sleep"] * MS // 33, 1), Part(90 * MS, None)]
        parts += [Part(ASLEEP["block_io"] * MS // 33, 2, 1, "disk"), Part(90 * MS, None)]
    return parts


@pytest.fixture(scope="module")
def seen() -> Seen:
    return of_an_application(observe(life(), 8))


def of_an_application(made: Seen) -> Seen:
    """Add what joins the clocks of a run."""
    first, last = (f(s["begin_mono_ns"] for s in made.rows["thread_states"]) for f in (min, max))
    made.add(
        "apps", app_index=0, app_id="local-1", app_name="x",
        start_wall_ns=first + OFFSET - 200 * MS,
        end_wall_ns=last + OFFSET + 200 * MS, first_event_wall_ns=first + OFFSET,
        last_event_wall_ns=last + OFFSET, spark_conf="{}", source_files="[]", events_count=1,
        uncompressed_bytes=1,
    )  # fmt: skip
    for at in (first, last):
        made.add("clock_pairs", host="lab", source="plugin", mono_ns=at, wall_ns=at + OFFSET)
    return made


@pytest.fixture(scope="module")
def scope(seen: Seen, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scope]:
    folder: Path = tmp_path_factory.mktemp("run")
    write_tables(folder, seen.rows)
    join_states(folder / "tables", native())
    with Run.open(folder) as run:
        yield open_scope(run, None)


def test_shares_of_wait_classes_are_those_of_the_program(scope: Scope) -> None:
    found = {wait.wait_class: wait for wait in waits(scope)}
    assert set(found) == set(ASLEEP)
    for name, ms in ASLEEP.items():
        share = found[name].share
        assert share.value == pytest.approx(ms / sum(ASLEEP.values()), abs=0.02)
        # Sleeps of one class are observations, not the many passes over them.
        assert share.n == 33
        assert share.high - share.low > 0.1


def test_short_sleeps_are_split_as_wall_samples_of_short_sleeps_are(tmp_path: Path) -> None:
    """Sleeps of 2 ms seldom meet a sample; long ones of another class must not speak for them."""
    parts: list[Part] = []
    for i in range(4000):
        parts += [Part(2 * MS, 0 if i % 4 else 1), Part(2 * MS, None)]
        if i % 200 == 0:
            parts += [Part(400 * MS, 1), Part(90 * MS, None)]
    short, long = 8_000 * MS, 8_000 * MS
    write_tables(tmp_path, of_an_application(observe(parts, 3)).rows)
    join_states(tmp_path / "tables", native())
    with Run.open(tmp_path) as run:
        found = {wait.wait_class: wait for wait in waits(open_scope(run, None))}
    assert set(found) == {"lock", "timed_sleep"}
    lock = found["lock"].share
    truth = 0.75 * short / (short + long)
    assert lock.low < truth < lock.high
    assert lock.value == pytest.approx(truth, abs=0.08)
    assert found["lock"].split_ns > 0.8 * found["lock"].asleep_ns
    assert found["timed_sleep"].joined_ns > 0.95 * long


def test_short_sleeps_are_split_by_the_wall_samples_of_their_own_application(
    tmp_path: Path,
) -> None:
    """Two applications have a stage of one number, which waited for different things."""
    made = two_contexts()
    made.rows["samples"].clear()
    spans = made.rows["spans"][0], made.rows["spans"][-1]
    for number, (span, name) in enumerate(zip(spans, ("lock", "timed_sleep"), strict=True)):
        at = span["start_mono_ns"] + 10 * MS
        common = {
            "host": HOST, "pid": PID, "tid": span["tid"], "clock": "mono", "t_ns": at,
            "unit": "ns", "state": "sleeping", "role": "task", "stage_id": 0,
            "task_attempt_id": span["task_attempt_id"],
        }  # fmt: skip
        wall = {"source": "async-profiler", "event": "wall", "weight": MS, "wait_class": name}
        state = {"source": "probe", "event": "state", "weight": 50 * MS, "episode_id": number}
        made.add("samples", **common, **wall)
        made.add("samples", **common, **state)
        made.add(
            "thread_states", host=HOST, pid=PID, tid=span["tid"], begin_mono_ns=at,
            end_mono_ns=at, passes_count=1, weight_ns=50 * MS, state="sleeping",
        )  # fmt: skip
    with Run.open(made.write(tmp_path)) as run:
        scope = open_scope(run, "application")
        prepare(scope)
        groups, _ = group_by(scope, "stage", Only(), 10)
        found = sums(scope, groups)
    asleep = {g.keys["app_index"]: waits_in(found[g.number]) for g in groups}
    assert asleep == {0: {"lock": 50 * MS}, 1: {"timed_sleep": 50 * MS}}


def waits_in(found: Sums) -> dict[str, float]:
    assert found.states is not None
    return {name: part.ns for (name, _), part in found.states.asleep.items()}


def test_the_ledger_splits_task_time_by_states(scope: Scope) -> None:
    view = only_view(scope, Only())
    rows = {row.path: row for row in view.rows}
    whole = rows["task"].value_ns
    for name, ms in ASLEEP.items():
        row = rows[f"task/waiting/{name}"]
        assert row.low_ns < row.value_ns < row.high_ns
        assert row.value_ns == pytest.approx(ms * MS, abs=0.02 * whole)
        assert "sleeps that the probe saw" in row.source
    # The probe would have seen it.
    assert why_unknown(view.rows, "task/waiting/reclaim") is None
    asleep = sum(ASLEEP.values()) * MS
    assert rows["task/waiting"].value_ns == pytest.approx(asleep, abs=0.02 * whole)


def test_what_was_joined_is_published(scope: Scope) -> None:
    told = extended_stacks(scope)
    assert told.joined_ratio is not None
    assert told.joined_ratio.value > 0.98
    assert {None, 50 * MS, 200 * MS} <= {row.low_ns for row in told.by_length}
    assert sum(row.asleep_ns for row in told.by_length) == pytest.approx(told.asleep_ns, abs=9)
    assert told.wake_ups.caused_count == pytest.approx(21_000 * MS / TICK_NS, rel=0.1)
    assert 0 < told.wake_ups.ratio < 1
    assert told.skew.max_ns < 60 * MS
    assert told.same_place_agreement.value == 1
    assert told.unclassified == []
    assert doubts(told) == []


def test_long_sleeps_without_stacks_and_lost_rows_are_doubted(scope: Scope) -> None:
    told = extended_stacks(scope)
    none = Estimate(value=0, low=0, high=0, level=0.95, n=9, method="x")
    lost = SleepLength(
        low_ns=50 * MS, high_ns=200 * MS, asleep_ns=900 * MS, joined_ratio=none, episodes_count=9
    )
    bad = told.model_copy(update={"by_length": [lost], "dropped_ratio": 0.002})
    assert [d.code for d in doubts(bad)] == ["stacks_unjoined", "states_dropped"]


def test_flame_graphs_hang_the_kernel_below_java(scope: Scope, tmp_path: Path) -> None:
    folder = scope.run.paths.root
    made = write_flame(folder, tmp_path / "f.html", Selection("state", ("wait", "state")))
    groups = {tuple(group.values): group.weight for group in made.groups}
    assert set(groups) == {
        ("lock", "sleeping"), ("timed_sleep", "sleeping"), ("block_io", "disk")
    }  # fmt: skip
    total = {f.frame: f.total_weight for f in made.frames}
    leaf = KERNEL[1].split(";")[-1]
    assert total[leaf] == groups["block_io", "disk"]
    assert total[".".join(JAVA[2])] == pytest.approx(total[leaf], rel=0.05)
