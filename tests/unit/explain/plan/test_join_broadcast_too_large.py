"""A broadcast that holds the driver longer than a shuffle would take the slots."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.explain.planned import node, plan
from tests.support.explain.planted import holds, judged_with
from tests.support.tables import StageSpec, World

from pyrometer.explain.catalogue.plan.join_broadcast_too_large import RULE, SETTING
from pyrometer.explain.schema import Finding

MIB = 1 << 20


def found(
    folder: Path, build_ms: int = 3000, gap_ms: int = 4000, other: int = 1_000_000,
    rows: int = 1_000_000, kind: str = "Inner", shuffled: int | None = None,
    conf: Mapping[str, str] | None = None,
) -> list[Finding]:  # fmt: skip
    join = node(0, "BroadcastHashJoin", None, [1], number_of_output_rows=other)
    change: Any = plan(
        replace(join, simple_string=f"BroadcastHashJoin [k#1], [k#2], {kind}, BuildRight"),
        node(1, "Scan a", 0, [1], number_of_output_rows=other),
        node(2, "BroadcastExchange", 0, [], number_of_output_rows=rows, data_size=500 * MIB,
             time_to_collect=500, time_to_build=build_ms, time_to_broadcast=1000 * bool(build_ms)),
        node(3, "Scan b" if shuffled is None else "Exchange", 2, [0],
             number_of_output_rows=rows, **({} if shuffled is None else {"data_size": shuffled})),
    )  # fmt: skip
    world = World([StageSpec([500] * 4), StageSpec([500] * 8, gap_ms=gap_ms)])
    world.rows["stages"][1]["parent_ids"] = [0]
    app = world.rows["apps"][0]
    app["spark_conf"] = json.dumps({**json.loads(app["spark_conf"]), **(conf or {})})
    return [one for one in judged_with(folder, world, RULE, change).findings if one.shown]


def test_the_driver_builds_while_the_slots_wait(tmp_path: Path) -> None:
    # 4 s after the stage, and 2 million rows cost two slots half a second.
    (one,) = found(tmp_path)
    assert holds(one, 4.0 - 0.49)
    saving = one.saving.elapsed_ns
    assert saving.high is not None
    assert saving.high < 4.1e9
    assert (one.place.node_id, one.place.layer) == (2, "driver")
    assert one.remedies[0].after == 'large.join(small.hint("merge"), "k")'


def test_a_level_that_was_raised_goes_back(tmp_path: Path) -> None:
    (one,) = found(tmp_path, conf={SETTING: "600m"})
    assert (one.remedies[0].factor, one.remedies[0].level) == (SETTING, "10m")


def test_what_was_shuffled_first_is_larger_than_a_level_of_half_of_it(tmp_path: Path) -> None:
    (one,) = found(tmp_path, shuffled=40 * MIB, conf={SETTING: "600m"})
    assert one.remedies[0].level == str(20 * MIB)


def test_near_miss_the_other_side_is_so_large_that_its_shuffle_costs_more(tmp_path: Path) -> None:
    assert not found(tmp_path, other=100_000_000)


def test_the_smaller_side_is_the_one_to_broadcast(tmp_path: Path) -> None:
    # A shuffle of a million rows would leave 0.24 s; a broadcast of a thousand leaves 4 ms.
    (one,) = found(tmp_path, other=1000)
    assert holds(one, 4.0 - 0.004)
    assert "a broadcast of the other side, of 1 000 rows" in one.mechanism
    assert one.remedies[0].after == 'large.join(broadcast(small), "k")'


def test_near_miss_an_outer_join_can_send_one_side_only(tmp_path: Path) -> None:
    (one,) = found(tmp_path, other=1000, kind="LeftOuter")
    assert "a shuffle of both sides" in one.mechanism
    assert [each.after for each in one.remedies] == ['large.join(small.hint("merge"), "k")']


def test_near_miss_tasks_run_meanwhile(tmp_path: Path) -> None:
    assert not found(tmp_path, gap_ms=20)


def test_near_miss_few_rows_take_the_driver_as_long_and_are_not_why(tmp_path: Path) -> None:
    assert not found(tmp_path, rows=4, other=1000)


def test_healthy_a_small_table(tmp_path: Path) -> None:
    assert not found(tmp_path, build_ms=5, rows=1000)


def test_no_times_are_known(tmp_path: Path) -> None:
    assert not found(tmp_path, build_ms=0)
