"""Applications whose drivers are on different hosts: on one time where a host knows both."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.explained import Job
from tests.support.hosts.clocks import MS, S
from tests.support.hosts.two_drivers import BACK, CLOCKS, FRONT, TwoDrivers
from tests.support.tables import wall

from pyrometer.store import Run
from pyrometer.summary.summary import summary
from pyrometer.window.windows import clock_offset_ns

TOGETHER = {
    "executors of both on one host": {FRONT: ["east", "west"], BACK: ["west"]},
    "an executor beside the other driver": {FRONT: ["east", BACK], BACK: ["west"]},
    "the axis's executors know nobody": {FRONT: ["east", "west"], BACK: [FRONT]},
}
APART = {FRONT: ["east"], BACK: ["west"]}


@pytest.mark.parametrize("hosts", TOGETHER.values(), ids=TOGETHER)
def test_drivers_that_share_a_host_share_an_axis_within_its_bound(
    tmp_path: Path, hosts: dict[str, list[str]]
) -> None:
    two = TwoDrivers(hosts)
    with two.write(tmp_path) as run:
        known = {
            host: (clock, bound)
            for host, clock, bound in run.tables.query("SELECT host, clock, bound_ns FROM hosts")
        }
        spans = run.tables.query("SELECT host, min(start_mono_ns) FROM spans GROUP BY host")
        launched = run.tables.query(
            "SELECT app_index, min(launch_wall_ns) - min(s.submit_wall_ns) FROM tasks t"
            " JOIN stages s USING (app_index) GROUP BY app_index ORDER BY app_index"
        )
        begun = run.tables.query("SELECT start_wall_ns FROM apps ORDER BY app_index")
    assert two.doubts == []
    [axis] = [host for host, (clock, _) in known.items() if clock == "axis"]
    for host, (clock, bound) in known.items():
        assert clock in ("axis", "messages"), host
        assert bound is not None
        assert bound < 30 * MS
    # Where spans lie on the axis is where the planted clocks have them.
    recorded = {
        host: min(row["start_mono_ns"] for row in two.rows["spans"] if row["host"] == host)
        for host, _ in spans
    }
    for host, first in spans:
        clock = CLOCKS[host]
        true = recorded[host] + clock.offset_ns - CLOCKS[axis].offset_ns
        true += round((recorded[host] - clock.start_ns) * clock.rates[0])
        assert abs(first - true) <= known[host][1], host
    # Both applications began at once, though one driver's wall clock is 3 s behind.
    assert abs(begun[0][0] - begun[1][0]) <= known[BACK][1] + known[FRONT][1] + 2 * MS
    assert all(0 <= since < 3 * S for _, since in launched)


@pytest.mark.parametrize("launch_host", [FRONT, BACK])
def test_the_driver_of_the_launch_is_the_axis_and_joins_both_clocks(
    tmp_path: Path, launch_host: str
) -> None:
    two = TwoDrivers(TOGETHER["executors of both on one host"])
    with two.write(tmp_path, launch_host) as run:
        axis = run.tables.scalar("SELECT host FROM hosts WHERE clock = 'axis'")
        offset = clock_offset_ns(run)
    assert axis == launch_host
    pairs = [row for row in two.rows["clock_pairs"] if row["host"] == launch_host]
    assert offset == pairs[0]["wall_ns"] - pairs[0]["mono_ns"]


def test_drivers_without_a_common_host_are_said_to_be_apart(tmp_path: Path) -> None:
    two = TwoDrivers(APART)
    with two.write(tmp_path) as run:
        clocks = dict(run.tables.query("SELECT host, clock FROM hosts"))
        doubts = [one for one in summary(run).doubts if one.code == "drivers_apart"]
    assert sorted(clocks.values()) == ["axis", "messages", "wall", "wall"]
    assert {doubt.code for doubt in two.doubts} == {"clock_bound_unknown"}
    [said] = doubts
    assert "front on front, back on back" in said.message


@pytest.mark.parametrize(
    ("hosts", "later_s", "apart"),
    [
        (("lab-1", "lab-2"), 0, True),
        (("lab-1", "lab-1"), 0, False),
        (("lab-1", "lab-2"), 7_200, False),
    ],
)
def test_logs_of_drivers_on_two_hosts_cannot_be_aligned_and_it_is_said(
    tmp_path: Path, hosts: tuple[str, str], later_s: int, apart: bool
) -> None:
    job = Job(executors=2)
    job.stage([500] * 4)
    rows = job.log.rows
    rows["apps"][0]["end_wall_ns"] = wall(job.now_ms)
    for number, host in enumerate(hosts):
        rows["executors"].append({"app_index": number, "executor_id": "driver", "host": host})
    for table in ("apps", "stages", "tasks"):
        for row in [one for one in rows[table] if one["app_index"] == 0]:
            later = {name: value + later_s * S for name, value in row.items()
                     if name.endswith("_wall_ns") and value is not None}  # fmt: skip
            rows[table].append({**row, **later, "app_index": 1})
    rows["apps"][1]["app_id"] = "b"
    with Run.open(job.log.write(tmp_path)) as run:
        doubts = [one for one in summary(run).doubts if one.code == "drivers_apart"]
    assert bool(doubts) == apart
    if apart:
        assert "a on lab-1, b on lab-2" in doubts[0].message
