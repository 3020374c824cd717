"""Times without a recorder, as agents report them, are doubts of the runs that were in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.store.manifest import Host, Manifest, Workload, write_manifest
from pyrometer.store.paths import RunPaths
from pyrometer.store.services.recorder_gaps import gaps_in
from pyrometer.store.shipped import join_shipped

S = 10**9
BEGIN, END = 1_700_000_000 * S, 1_700_000_100 * S


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    paths = RunPaths(tmp_path / "run")
    paths.raw.mkdir(parents=True)
    manifest = Manifest(
        run_id="r", created_wall_ns=BEGIN, pyrometer_version="0", state="finished",
        started_wall_ns=BEGIN, ended_wall_ns=END, workload=Workload(), profile="light",
        host=Host(hostname="launch"), agents=[str(tmp_path / "store")],
    )  # fmt: skip
    write_manifest(paths.root, manifest)
    return paths


def gap(since_s: float, until_s: float | None, reason: str = "exit status: 3") -> dict[str, Any]:
    times = [None if one is None else BEGIN + int(one * S) for one in (since_s, until_s)]
    return {"since_wall_ns": times[0], "until_wall_ns": times[1], "reason": reason}


def report(paths: RunPaths, life: str, gaps: Any, wall_s: int = 100) -> Path:
    folder = paths.shipped / life
    folder.mkdir(parents=True)
    file = folder / f"agent-{folder.name}.report.json"
    text = json.dumps({"wall_ns": BEGIN + wall_s * S, "recorder": {"gaps": gaps}})
    file.write_text(text)
    return file


def told(paths: RunPaths) -> list[str]:
    doubts = join_shipped(paths, END)
    return [one.message for one in doubts if one.code == "recorder_gaps"]


def test_gaps_of_all_lives_of_an_agent_count_once_and_only_within_the_run(paths: RunPaths) -> None:
    first = [gap(-50, -20), gap(10, None)]
    later = [*first[:1], gap(10, 12.5), gap(98, 130)]
    report(paths, "host/host/18f0/node%20a", first, wall_s=11)
    report(paths, "host/host/18f1/node%20a", later)
    (said,) = told(paths)
    assert said == (
        "The recorder of the agent on node a did not run for 4.50 s of the run, in 2 gaps, the"
        " first 10.0 s after its begin: it ended (exit status: 3), and was started again."
    )


def test_one_that_was_not_started_again_is_open_until_the_last_report(paths: RunPaths) -> None:
    report(paths, "app-1/7/18f0/h", [gap(40, None, "signal: 9 (SIGKILL)")], wall_s=60)
    (said,) = told(paths)
    assert said.startswith("The recorder of executor 7 of app-1 on h did not run for 20.0 s")
    assert said.endswith(
        "it ended (signal: 9 (SIGKILL)), and was not started again by the time of its agent's last"
        " report."
    )


def test_other_times_and_agents_without_gaps_say_nothing(paths: RunPaths) -> None:
    report(paths, "host/host/18f0/a", [gap(-50, -20), gap(100, 120)])
    report(paths, "host/host/18f0/b", [])
    assert told(paths) == []


@pytest.mark.parametrize(
    "gaps",
    [
        None, 7, "x", [7], [{}], [{"since_wall_ns": "1", "until_wall_ns": 2}],
        [{"since_wall_ns": True, "until_wall_ns": BEGIN + S}],
        [{"since_wall_ns": BEGIN + 9 * S, "until_wall_ns": BEGIN + S}],
        [{"since_wall_ns": -1, "until_wall_ns": 1 << 70}],
    ],
)  # fmt: skip
def test_what_is_no_gap_is_none(paths: RunPaths, gaps: Any) -> None:
    report(paths, "host/host/18f0/a", gaps)
    assert told(paths) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["recorder", "gaps", "wall_ns", "since_wall_ns", "until_wall_ns"]),
            inner,
        )
    ),
)


@given(JSON)
def test_any_report_is_read(tmp_path_factory: pytest.TempPathFactory, said: Any) -> None:
    file = tmp_path_factory.mktemp("any") / "agent-h.report.json"
    file.write_text(json.dumps(said))
    assert all(0 <= one.since_ns <= one.until_ns for one in gaps_in(file))
