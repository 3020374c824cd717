"""Kills of experiments that run: nothing is lost, nothing is repeated, nothing stays."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support import cli, needs
from tests.support.experiments import CALM, HEAD, lines, napping

from pyrometer.experiments.folder import ExperimentPaths, read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.run import guard
from pyrometer.experiments.run.planned import plan_of


@pytest.fixture(autouse=True)
def _a_short_look(monkeypatch):
    monkeypatch.setattr(guard, "LOOK_S", 0.02)


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished(tmp_path):
    path, root = napping(tmp_path), tmp_path / "out"
    work = tmp_path / "workload.yaml"
    work.write_text(work.read_text().replace('"0.04"', '"600"'))
    process = cli.start(
        "experiment", "run", path, "-o", root, "--seed", "2",
        cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    order = [one.treatment.endswith("long") for one in experiments_plan(root).trials]
    wait_for(lambda: len(begun(root)) > order.index(True))
    wait_for(lambda: sleeping(root))
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 1
    assert f"pyrometer experiment resume {root}" in told
    assert len(read_journal(root).ended) == order.index(True)
    assert list(read_journal(root).open) == [order.index(True) + 1]


def experiments_plan(root):
    wait_for(lambda: ExperimentPaths(root).plan.is_file())
    return read_plan(root)


def begun(root):
    return (
        [one for one in lines(root) if one["k"] == "begin"]
        if ExperimentPaths(root).journal.is_file()
        else []
    )


def sleeping(root):
    from pyrometer.experiments.run.leftovers import of_run

    return of_run(ExperimentPaths(root).trials)


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def whole_of(path, root):
    """The sequence of an experiment that nobody kills."""
    plan = plan_of(path, root)
    return [(one.number, one.treatment, one.block) for one in plan.trials]


def nothing_is_lost(root, sequence):
    found = sorted(read_journal(root).ended.values(), key=lambda one: one.trial)
    assert [(one.trial, one.treatment, one.block) for one in found] == sequence
    ends = [one["trial"] for one in lines(root) if one["k"] == "end"]
    assert ends == [number for number, _, _ in sequence]
    folders = [one.folder for one in found]
    assert len(set(folders)) == len(folders)
    for folder in folders:
        manifest = json.loads((root / "trials" / folder / "manifest.json").read_text())
        assert manifest["state"] == "finished"
    assert not sleeping(root)


KILLED = HEAD + CALM + "matrix: {workload.time: [short, long]}\nblocks: 4\nseed: 11\n"


@pytest.mark.slow
def test_kills_of_the_command_line_lose_nothing_and_repeat_nothing(tmp_path):
    import random

    draw, killed = random.Random(1), 0
    path, root = napping(tmp_path, KILLED), tmp_path / "out"
    for _ in range(10):
        there = ExperimentPaths(root).plan.is_file()
        process = cli.start(
            "experiment", *(["resume", root] if there else ["run", path, "-o", root]),
            cwd=tmp_path, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(draw.uniform(0.5, 3.0))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.wait()
    verb = ["resume", root] if ExperimentPaths(root).plan.is_file() else ["run", path, "-o", root]
    done = cli.pyrometer("experiment", *verb, cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert killed >= 3
    nothing_is_lost(root, whole_of(path, root))


def forked(folder, text, seed, longest):
    """Kill a forked experiment until it ends; how often it took a kill."""
    path, root = napping(folder, text), folder / "out"
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.killed", *map(str, (path, root, seed, longest))],
        cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    killed, code = map(int, done.stdout.split())
    assert code == 0, (folder / "out.error").read_text()
    nothing_is_lost(root, whole_of(path, root))
    return killed


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason=f"{needs.LACKS}two CPUs")
def test_a_kill_of_two_side_by_side_ends_both_and_loses_nothing(tmp_path):
    path = napping(tmp_path, KILLED.replace("blocks: 4", "blocks: 2\ndesign: {kind: duet}"))
    work, root = tmp_path / "workload.yaml", tmp_path / "out"
    work.write_text(work.read_text().replace('"0.02"', '"1"').replace('"0.04"', '"2"'))
    process = cli.start(
        "experiment", "run", path, "-o", root, cwd=tmp_path, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    experiments_plan(root)
    wait_for(lambda: len(sleeping(root)) >= 2, 60)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # The sides have sessions of their own: they end because the process that made them has.
    wait_for(lambda: not sleeping(root), 60)
    assert list(read_journal(root).open) == [1, 2]
    done = cli.pyrometer("experiment", "resume", root, cwd=tmp_path)
    assert done.code == 0, done.stderr
    nothing_is_lost(root, whole_of(path, root))
    assert {one.attempt for one in read_journal(root).ended.values() if one.block == 1} == {2}


KILLED_BY_DESIGN = {
    "blocks": (KILLED, 100, 1.2),
    "split plots": (
        HEAD + CALM + "matrix: {workload.time: [short, long], jvm.heap: [256m, 512m]}\n"
        "blocks: 2\nseed: 12\ndesign: {split: [jvm.heap]}\n",
        50,
        1.2,
    ),
    # Two at once take longer than one.
    "duet": (KILLED.replace("blocks: 4", "blocks: 2\ndesign: {kind: duet}"), 20, 8.0),
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("design", KILLED_BY_DESIGN)
def test_kills_of_a_process_group_lose_nothing_and_repeat_nothing(tmp_path, design):
    if design == "duet":
        needs.cpus(2)
    text, kills, longest = KILLED_BY_DESIGN[design]
    killed = experiments_made = 0
    while killed < kills:
        folder = tmp_path / str(experiments_made)
        folder.mkdir()
        killed += forked(folder, text, experiments_made, longest)
        experiments_made += 1
    print(f"{design}: {killed} kills of process groups in {experiments_made} experiments")
    assert killed >= kills
