"""Treatments that share a launch: in turn in one JVM, or in parallel on halves of the CPUs."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import experiments, needs
from tests.support.experiments import CALM, HEAD, Machine, napping

from pyrometer.cli.main import run_verb
from pyrometer.collect.host import facts as topology
from pyrometer.collect.host.card import this_host
from pyrometer.collect.host.facts import Cpu
from pyrometer.collect.host.facts import Machine as Host
from pyrometer.collect.launch import together
from pyrometer.collect.launch.observe import Silent
from pyrometer.collect.launch.record import new_manifest
from pyrometer.core.errors import UsageError, WorkloadError
from pyrometer.experiments.folder import ExperimentPaths, read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.judge.forecast import Past, forecast
from pyrometer.experiments.plan.design import in_parallel, in_turn
from pyrometer.experiments.run import attempt
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.experiments.run.planned import plan_of
from pyrometer.experiments.run.trials import cpus_for, launches, shares, trials_of
from pyrometer.statistics.blocks import paired
from pyrometer.store.manifest import Result, write_manifest
from pyrometer.trial.trial import Trial
from pyrometer.workloads.barrier import Barrier

SCAN = "name: e\nworkload: parquet-scan\nscale: test\nseed: 5\n"
TOGGLE = SCAN + "design: {kind: toggle}\nblocks: 3\niterations: 4\nwarmup: 1\n"
CODECS = "matrix: {codec: [snappy, none, zstd]}\n"
DUET = HEAD + CALM + "design: {kind: duet}\nblocks: 2\nseed: 3\n"


@pytest.fixture(autouse=True)
def _two_cpus(monkeypatch):
    host = Host((Cpu(0, 0, 0), Cpu(0, 1, 1)), (0,))
    monkeypatch.setattr(topology, "read", lambda: host)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 2**63), st.integers(1, 6))
def test_every_round_has_every_treatment_once_and_the_seed_decides(names, blocks, seed, rounds):
    names = [f"t{at}" for at in range(names)]
    made = in_turn(names, blocks, seed, rounds)
    assert made == in_turn(names, blocks, seed, rounds)
    assert [one.number for one in made] == list(range(1, len(names) * blocks + 1))
    for block in range(1, blocks + 1):
        whose = {at: one.treatment for one in made if one.block == block for at in one.iterations}
        assert sorted(whose) == list(range(rounds * len(names)))
        for start in range(0, rounds * len(names), len(names)):
            assert sorted(whose[start + at] for at in range(len(names))) == names


@given(st.integers(1, 20), st.integers(0, 2**63))
def test_sides_are_swapped_and_the_seed_decides(pairs, seed):
    made = in_parallel(("a", "b"), 2 * pairs, seed)
    assert made == in_parallel(("a", "b"), 2 * pairs, seed)
    for name in "ab":
        sides = [one.side for one in made if one.treatment == name]
        assert len(sides) == 2 * pairs
        assert all(
            first + second == 1 for first, second in zip(sides[::2], sides[1::2], strict=True)
        )
    assert all(len({o.side for o in made if o.block == b}) == 2 for b in range(1, 2 * pairs + 1))


@pytest.mark.parametrize(
    ("cpus", "allowed", "level", "sides"),
    [
        ([(0, 0, 0), (0, 1, 1)], {0, 1}, None, ("0-0", "1-1")),
        # Hardware threads of a core stay together, nodes too; an odd core stays idle.
        (
            [(0, 0, 0), (0, 0, 4), (0, 1, 1), (0, 1, 5), (1, 2, 2), (1, 2, 6)],
            {0, 1, 2, 4, 5, 6}, None, ("0,4", "1,5"),
        ),
        ([(0, 0, 0), (0, 1, 1), (1, 2, 2), (1, 3, 3)], {0, 1, 2, 3}, None, ("0-1", "2-3")),
        ([(0, 0, 0), (0, 1, 1), (1, 2, 2), (1, 3, 3)], {0, 1, 2, 3}, "2", ("0-0", "1-1")),
        ([(0, 0, 0), (0, 1, 1), (1, 2, 2), (1, 3, 3)], {0, 1, 2, 3}, "1,3", ("1-1", "3-3")),
        ([(0, 0, 0), (0, 0, 1)], {0, 1}, None, ("0-0", "1-1")),
    ],
)  # fmt: skip
def test_halves_are_whole_cores(monkeypatch, cpus, allowed, level, sides):
    monkeypatch.setattr(topology, "read", lambda: Host(tuple(Cpu(*one) for one in cpus), (0,)))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: allowed)
    assert tuple(shares(cpus_for({}), level)) == sides
    with pytest.raises(UsageError, match="2 CPUs are needed"):
        shares(cpus_for({})[:1])


@pytest.mark.parametrize(
    ("levels", "sides"),
    [
        ({"machine.cpus": "4"}, ("0-1", "2-3")),
        ({"machine.cpus": "4", "machine.smt": "2", "machine.memory": "1g"}, ("0-1", "2-3")),
        # Threads of a core stay together; the third core is idle.
        ({"machine.cpus": "6", "machine.smt": "2"}, ("0-1", "2-3")),
        ({"machine.numa": "0,2:512m+1,3:512m"}, ("0,2", "1,3")),
    ],
)
def test_halves_of_a_machine_are_those_of_its_own_cpus(levels, sides):
    assert tuple(shares(cpus_for(levels))) == sides


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TOGGLE + "matrix: {jvm.heap: [1g, 2g]}\n", ":9:10: jvm.heap: needs a fresh JVM"),
        (TOGGLE + "matrix: {spark.io.compression.codec: [lz4, zstd]}\n", ":9:10: spark.io"),
        (TOGGLE + "matrix: {workload.scale: ['1000', '2000']}\n", ":9:10: workload.scale: needs"),
        (
            TOGGLE.replace("toggle}", "toggle, split: [codec]}") + CODECS,
            ":5:24: no split plots with kind: toggle",
        ),
        (
            SCAN + "design: {kind: fixed-order, split: [codec]}\n" + CODECS,
            ":5:29: no split plots with kind: fixed-order",
        ),
        (
            SCAN.replace("parquet-scan", "random-read")
            + "design: {kind: toggle}\nmatrix: {cache.state: [cold, warm]}\n",
            ":5:10: random-read has no iterations in a JVM",
        ),
        (SCAN + "design: {kind: duet}\n" + CODECS, ":5:10: a duet has two treatments, the"),
        (
            SCAN + "design: {kind: duet}\nblocks: 2\nmatrix: {layout.tasks: [1, 2]}\n",
            ":7:10: layout.tasks: in parallel, both need the same CPUs",
        ),
        (
            SCAN + "design: {kind: duet}\nblocks: 2\nmatrix: {spark.local.dir: [/a, /b]}\n",
            ":7:10: spark.local.dir: in parallel",
        ),
        (
            SCAN + "design: {kind: duet}\nblocks: 2\nmatrix: {cache.state: [cold, warm]}\n",
            ":7:10: cache.state: in parallel",
        ),
        (
            SCAN + "design: {kind: duet}\nblocks: 2\nmatrix: {codec: [none, zstd]}\n"
            "set: {co.run: cpu}\n",
            ":8:7: co.run: each side would start its own",
        ),
        (
            SCAN + "design: {kind: duet}\nblocks: 3\nmatrix: {codec: [none, zstd]}\n",
            ":6:1: a duet needs an even number of blocks, not 3",
        ),
    ],
)
def test_what_cannot_share_a_launch_is_refused_with_its_place(tmp_path, text, message):
    path = tmp_path / "e.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        plan_of(path, tmp_path)
    assert caught.value.message.startswith(f"{path}{message}")


def test_one_launch_has_the_levels_of_all_in_turn(tmp_path, capsys):
    path = tmp_path / "e.yaml"
    path.write_text(TOGGLE + CODECS + "set: {layout.tasks: 2, spark.sql.ansi.enabled: 'false'}\n")
    plan = plan_of(path, tmp_path)
    assert (plan.kind, plan.canaries, len(plan.trials)) == ("toggle", "iteration", 9)
    first = launches(plan.trials)[0]
    assert {one.folder for one in first} == {"0001-in-turn"}
    (trial,) = trials_of(plan, first, [tmp_path / "0001-in-turn"] * 3)
    assert trial.treatment == {"layout.tasks": 2, "spark.sql.ansi.enabled": "false"}
    assert (trial.warmup, trial.iterations) == (3, 12)
    assert sorted(at for _, positions in trial.turns for at in positions) == list(range(15))
    assert {levels["data.codec"] for levels, _ in trial.turns} == {"snappy", "none", "zstd"}
    assert run_verb(["experiment", "plan", str(path)]) == 0
    told = capsys.readouterr().out
    assert "taking turns in one JVM a block" in told
    assert "estimand: treatments took turns in one JVM" in told


def in_one_jvm(carried=0.0, seed=1):
    """Hands whose trials take turns; `carried` is what snappy adds to the iteration after it."""
    draw = np.random.default_rng(seed)

    def turns(trial, watch):
        jvm = draw.normal(0, 0.1)
        whose = {at: levels["data.codec"] for levels, positions in trial.turns for at in positions}
        times = {}
        for at in sorted(whose):
            after = carried if whose.get(at - 1) == "snappy" else 0.0
            times[at] = 10 * math.exp(jvm + after + draw.normal(0, 0.01))
        made = []
        for _, positions in trial.turns:
            series = tuple(times[at] for at in positions)
            seconds = float(np.mean(series[1:]))
            facts = TrialFacts(series[1:], seconds, 1, "00", "p", series, 1, "flat")
            made.append(Attempt("finished", seconds=seconds, facts=facts))
        return made

    return dataclasses.replace(Machine(1, 40).actions(), run_turns=turns)


def toggled(tmp_path, **how):
    path, root = tmp_path / "e.yaml", tmp_path / "out"
    path.write_text(
        TOGGLE.replace("blocks: 3\niterations: 4", "blocks: 6\niterations: 8")
        + "canaries: none\nmatrix: {codec: [snappy, none]}\n"
    )
    begin(root, plan_of(path, tmp_path))
    carry_out(root, actions=in_one_jvm(**how))
    return root


def test_what_came_before_is_tested_where_treatments_take_turns(tmp_path, capsys):
    root = toggled(tmp_path)
    found = experiment_report(read_plan(root), read_journal(root))
    assert found.carry_over_p > 0.01
    assert "carry_over" not in {one.code for one in found.doubts}
    # Noise of whole JVMs, ten times that of an iteration, is not in the difference.
    (pair,) = found.comparison.pairs
    assert pair.change.n == 6
    assert pair.change.high - pair.change.low < 0.03
    (tmp_path / "more").mkdir()
    root = toggled(tmp_path / "more", carried=0.1)
    found = experiment_report(read_plan(root), read_journal(root))
    assert found.carry_over_p < 1e-6
    assert "carry_over" in {one.code for one in found.doubts}
    assert run_verb(["experiment", "show", str(root)]) == 0
    told = capsys.readouterr().out
    assert "estimand: treatments took turns" in told
    assert "carry-over from the treatment before: p =" in told


def test_a_kill_within_a_launch_of_several_leads_to_the_same_end(tmp_path):
    """Every prefix of the journal is what a kill may leave: nothing of a launch is made twice."""
    root = toggled(tmp_path)
    text = ExperimentPaths(root).journal.read_bytes()
    plan = read_plan(root)
    whole = [(one.number, one.treatment, one.block) for one in plan.trials]
    ends = [at + 1 for at, byte in enumerate(text) if byte == 10]
    assert len(ends) >= 4
    for length in {*ends[:4], *(at - 7 for at in ends[:4])}:
        part = tmp_path / f"cut-{length}"
        begin(part, plan)
        ExperimentPaths(part).journal.write_bytes(text[:length])
        again = carry_out(part, actions=in_one_jvm())
        found = sorted(again.ended.values(), key=lambda one: one.trial)
        assert [(one.trial, one.treatment, one.block) for one in found] == whole
        by_block = {}
        for one in found:
            by_block.setdefault(one.block, set()).add((one.folder, one.attempt))
        # Those of a block are always of one launch.
        assert by_block
        assert all(len(of) == 1 for of in by_block.values())


def test_what_a_kill_left_of_a_launch_is_read_with_what_it_had_kept(tmp_path, monkeypatch):
    """As many iterations count in each treatment: all of a launch are read to tell how many."""
    root = toggled(tmp_path)
    journal = ExperimentPaths(root).journal
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    (last,) = read_journal(root).open.values()
    (ExperimentPaths(root).trials / last.folder).mkdir(parents=True)
    (ExperimentPaths(root).trials / last.folder / "manifest.json").touch()
    read, made = [], Attempt("finished", 2.0, facts=TrialFacts((2.0,), 2.0, 1, "00", "p"))
    monkeypatch.setattr(
        attempt, "read_together", lambda places, detected: read.append(places) or [made] * 2
    )
    ended = carry_out(root, actions=in_one_jvm()).ended
    (places,) = read
    assert sorted(at for _, positions in places for at in positions) == list(range(18))
    assert [one.trial for one in ended.values() if one.adopted] == [last.trial]


@pytest.mark.parametrize(
    ("statuses", "ends"),
    [
        (["ok", "ok", "failed"], ["failed", "timeout"]),
        (["ok", "interrupted"], ["timeout", "failed"]),
        # It ended between two iterations: nobody's turn.
        (["ok", "ok"], ["timeout", "timeout"]),
    ],
)
def test_a_jvm_that_ends_ends_it_for_all_and_is_blamed_on_one(
    tmp_path, monkeypatch, statuses, ends
):
    manifest = new_manifest(Trial(name="parquet-scan"), this_host(), [], [])
    manifest.state = "failed"
    manifest.results = [Result(iteration=at, status=one) for at, one in enumerate(statuses)]
    write_manifest(tmp_path, manifest)
    whole = Attempt("timeout", censored_s=5.0, reason="5 s were up")
    monkeypatch.setattr(attempt, "run_trial", lambda trial, watch: whole)
    turns = (({"data.codec": "snappy"}, (0, 1)), ({"data.codec": "none"}, (2, 3)))
    found = attempt.run_turns(Trial(name="parquet-scan", run_dir=tmp_path, turns=turns), Silent())
    assert [one.status for one in found] == ends
    assert {one.reason for one in found if one.status == "failed"} <= {
        "the JVM ended in another treatment's turn"
    }


def test_a_duet_is_forecast_from_duets_alone(tmp_path, capsys):
    path = napping(tmp_path, DUET + "matrix: {workload.time: [short, long]}\n")
    past = [Past("a", 1.0, 2.0, "1"), Past("b", 1.1, 2.0, "1")]
    found = forecast(past, trials=4, blocks=2, comparisons=1, margin=0.02, kind="duet")
    assert found.total_s is None
    assert "nothing like it has run here as duet" in found.reason
    past = [dataclasses.replace(one, kind="duet") for one in past]
    found = forecast(past, trials=4, blocks=2, comparisons=1, margin=0.02, kind="duet")
    assert found.total_s == 8.0
    assert run_verb(["experiment", "plan", str(path)]) == 0
    assert "what it can see is not known" in capsys.readouterr().out


def test_what_the_sides_differ_by_is_taken_out():
    draw, sides = np.random.default_rng(4), [1.0, -1.0] * 6
    a = [math.exp(draw.normal(0, 0.01) + 0.1 * side) for side in sides]
    b = [math.exp(draw.normal(0, 0.01) - 0.1 * side + 0.02) for side in sides]
    plain, right = paired(a, b), paired(a, b, sides=sides)
    assert right.change.value == pytest.approx(plain.change.value)
    assert right.change.high - right.change.low < 0.15 * (plain.change.high - plain.change.low)
    assert right.change.low < math.expm1(0.02) < right.change.high
    assert right.change.n == 12


def test_a_duet_is_planned_by_side(tmp_path, capsys):
    path = napping(tmp_path, DUET + "matrix: {workload.time: [short, long]}\n")
    plan = plan_of(path, tmp_path)
    assert {(one.block, one.cpus) for one in plan.trials} == {
        (1, "0-0"), (1, "1-1"), (2, "0-0"), (2, "1-1"),
    }  # fmt: skip
    assert run_verb(["experiment", "plan", str(path)]) == 0
    told = capsys.readouterr().out
    assert "estimand: two ran in parallel" in told
    assert "sides: CPUs 0-0 and 1-1, swapped from block to block" in told


def test_who_meets_waits_for_the_other_or_hears_that_it_has_ended(tmp_path):
    order, left, right = [], Barrier(tmp_path, 0), Barrier(tmp_path, 1)

    def other():
        for number in range(3):
            right.wait(number)
            order.append(number)
        right.leave()

    beside = threading.Thread(target=other)
    beside.start()
    for number in range(3):
        left.wait(number)
        assert len(order) <= number + 1
    beside.join(10)
    assert order == [0, 1, 2]
    with pytest.raises(WorkloadError, match="the other side has ended"):
        left.wait(3)


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason=f"{needs.LACKS}two CPUs")
def test_a_duet_naps_side_by_side_and_is_resumed(tmp_path, monkeypatch, capsys):
    monkeypatch.undo()
    path, root = (
        napping(tmp_path, DUET + "matrix: {workload.time: [short, long]}\n"),
        tmp_path / "o",
    )
    work = tmp_path / "workload.yaml"
    # Commands do not meet: they lie long enough for one that is late on a busy machine.
    work.write_text(work.read_text().replace('"0.02"', '"5"').replace('"0.04"', '"6"'))
    assert run_verb(["experiment", "run", str(path), "-o", str(root), "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["estimand"].startswith("two ran in parallel")
    assert [one["ends"] for one in found["treatments"]] == [{"finished": 2}] * 2
    ended = read_journal(root).ended
    for block in (1, 2):
        spans = []
        for one in (one for one in ended.values() if one.block == block):
            manifest = json.loads((root / "trials" / one.folder / "manifest.json").read_text())
            spans.append((manifest["started_mono_ns"], manifest["ended_mono_ns"]))
        assert max(start for start, _ in spans) < min(end for _, end in spans)
    journal = ExperimentPaths(root).journal
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    assert run_verb(["experiment", "resume", str(root)]) == 0
    assert [one.adopted for one in read_journal(root).ended.values()].count(True) == 1


def test_a_plan_of_simulated_trials_has_launches_of_their_own():
    plan = experiments.plan(["a", "b"], 3, 1)
    assert [len(one) for one in launches(plan.trials)] == [1] * 6


def test_the_screen_shows_what_runs_and_goes_again(tmp_path, monkeypatch):
    import io
    import sys

    from rich.console import Console

    from pyrometer.experiments.journal import Entries
    from pyrometer.experiments.judge.screen import ExperimentScreen
    from pyrometer.terminal import console as common

    out = io.StringIO()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    console = Console(file=out, force_terminal=True, width=120)
    monkeypatch.setattr(common, "err", lambda: console)
    path = tmp_path / "e.yaml"
    path.write_text(TOGGLE + CODECS)
    plan = plan_of(path, tmp_path)
    with ExperimentScreen() as screen:
        screen.planned(plan, Entries())
        screen.trial(plan.trials[0], 1)
        screen.running(3, 5, False)
        screen.note("waiting for calm")
        screen.progress("web_sales", 1, 4)
    told = out.getvalue()
    assert "0 of 9 trials" in told
    assert "block 1: all treatments: iteration 3" in told
    assert "web_sales: 25 %" in told
    assert "waiting for calm" in told


def test_a_trial_on_its_way_to_its_process_has_no_name(tmp_path, monkeypatch):
    """Its levels may be secrets."""
    seen = {}

    def start(command, *, stdin, **_):
        seen["trial"] = stdin.read()
        seen["names"] = sorted(path.name for path in tmp_path.iterdir())

    monkeypatch.setattr(together.subprocess, "Popen", start)
    trial = Trial(name="parquet-scan", treatment={"spark.my.password": "plum"})
    together._start(trial, "module", tmp_path, 0)
    assert b"plum" in seen["trial"]
    assert seen["names"] == ["answer-0.json", "error-0"]
    assert not any(b"plum" in path.read_bytes() for path in tmp_path.iterdir())
