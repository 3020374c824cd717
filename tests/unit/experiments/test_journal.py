"""The journal of an experiment: torn, edited, of another machine, resumed after a kill."""

from __future__ import annotations

import contextlib
import os
import time

import pytest
from tests.support import experiments
from tests.support.experiments import Machine, lines, napping, simulated

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.experiments import journal
from pyrometer.experiments.folder import Began, Ended, ExperimentPaths
from pyrometer.experiments.journal import opened_journal, read_journal
from pyrometer.experiments.run import guard
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.experiments.run.planned import plan_of


@pytest.fixture(autouse=True)
def _a_short_look(monkeypatch):
    monkeypatch.setattr(guard, "LOOK_S", 0.02)


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_last_line_is_cut_off_and_its_trial_made_again(tmp_path, cut):
    root = tmp_path / "out"
    simulated(root)
    journal = ExperimentPaths(root).journal
    whole = journal.read_bytes()
    kept = len(whole.splitlines()[-1]) + 1
    journal.write_bytes(whole[: -min(cut, kept - 1)])
    entries = read_journal(root)
    assert len(entries.ended) == 11
    assert list(entries.open) == [12]
    again = carry_out(root, actions=Machine(1, 12).actions())
    assert sorted(again.ended) == list(range(1, 13))
    assert again.ended[12].attempt == 2
    assert again.ended[12].folder.endswith(".2")
    assert not read_journal(root).torn_bytes


def test_a_journal_that_was_edited_is_refused(tmp_path):
    root = tmp_path / "out"
    simulated(root, blocks=1)
    journal = ExperimentPaths(root).journal
    journal.write_bytes(b"{}\n" + journal.read_bytes())
    with pytest.raises(UsageError, match=r"journal.ndjson:1: not a record"):
        read_journal(root)


def test_a_journal_larger_than_memory_should_hold_is_refused(tmp_path):
    path = ExperimentPaths(tmp_path).journal
    path.touch()
    os.truncate(path, (64 << 20) + 1)
    with pytest.raises(UsageError, match=r"journal\.ndjson cannot be read: larger than 64 MiB"):
        read_journal(tmp_path)
    assert path.stat().st_size == (64 << 20) + 1


@pytest.mark.parametrize("last", [b"{}\n", b'{"k":"later","trial":1}\n'])
def test_a_whole_last_line_that_is_no_record_is_neither_passed_over_nor_removed(tmp_path, last):
    root = tmp_path / "out"
    simulated(root, blocks=1)
    journal = ExperimentPaths(root).journal
    text = journal.read_bytes() + last
    journal.write_bytes(text)
    with pytest.raises(UsageError, match=r"journal.ndjson:7: not a record"):
        carry_out(root, actions=Machine(1, 3).actions())
    assert journal.read_bytes() == text


def test_a_last_line_of_which_a_power_failure_left_zeros_is_cut_off(tmp_path):
    root = tmp_path / "out"
    simulated(root, blocks=1)
    journal = ExperimentPaths(root).journal
    *whole, last = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(whole) + bytes(len(last) - 9) + last[-9:])
    assert list(read_journal(root).open) == [3]
    assert len(carry_out(root, actions=Machine(1, 3).actions()).ended) == 3


def test_an_experiment_of_another_machine_is_not_resumed(tmp_path):
    root = tmp_path / "out"
    plan = experiments.plan(["a", "b"], 1, 1)
    plan.machine = {"cpu_model": "Z80", "cpus_count": 1}
    begin(root, plan)
    with pytest.raises(UsageError, match=r"another machine .Z80, 1 CPUs"):
        carry_out(root, actions=Machine(1, 2).actions())


def test_a_workload_that_changed_is_not_resumed(tmp_path):
    path, root = napping(tmp_path), tmp_path / "out"
    begin(root, plan_of(path, root))
    workload = tmp_path / "workload.yaml"
    workload.write_text(workload.read_text() + "# changed\n")
    with pytest.raises(UsageError, match=r"workload.yaml has changed"):
        carry_out(root, actions=Machine(1, 6).actions())


def test_a_full_disk_leaves_whole_lines(tmp_path, monkeypatch):
    root = tmp_path / "out"
    begin(root, experiments.plan(["a", "b"], 2, 1))
    write, count = os.write, iter(range(100))

    def full(descriptor, data):
        # The fifth record is cut in the middle, then there is no room.
        at = next(count)
        if at == 5:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:10] if at == 4 else data)

    monkeypatch.setattr("pyrometer.experiments.journal.os.write", full)
    with pytest.raises(CapabilityError, match="No space left"):
        carry_out(root, actions=Machine(1, 4).actions())
    monkeypatch.undo()
    assert not read_journal(root).torn_bytes
    assert list(read_journal(root).ended) == [1, 2]
    assert len(carry_out(root, actions=Machine(1, 4).actions()).ended) == 4


def test_only_one_process_runs_an_experiment(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "STRAGGLE_S", 0.0)
    root = tmp_path / "out"
    simulated(root, blocks=1)
    with opened_journal(root), pytest.raises(UsageError, match="another process"):
        carry_out(root, actions=Machine(1, 3).actions())


def test_a_child_that_outlives_a_kill_by_a_moment_is_waited_for(tmp_path):
    root = tmp_path / "out"
    simulated(root, blocks=1)
    with contextlib.ExitStack() as parent:
        parent.enter_context(opened_journal(root))
        child = os.fork()
        if not child:
            time.sleep(0.2)
            os._exit(0)
    try:
        assert len(carry_out(root, actions=Machine(1, 4).actions()).ended) == 3
    finally:
        os.waitpid(child, 0)


def test_a_kill_anywhere_in_the_journal_leads_to_the_same_end(tmp_path):
    """Every prefix of the journal is what a kill may leave: each resumes to the same sequence."""
    root = tmp_path / "whole"
    plan, whole = simulated(root, blocks=2)
    text = ExperimentPaths(root).journal.read_bytes()
    sequence = [(one.trial, one.treatment, one.block) for one in whole.ended.values()]
    assert len(sequence) == 6
    assert len(text) > 5 * 97
    for length in range(0, len(text), 97):
        part = tmp_path / f"cut-{length}"
        begin(part, plan)
        ExperimentPaths(part).journal.write_bytes(text[:length])
        before = dict(read_journal(part).ended)
        again = carry_out(part, actions=Machine(1, 6).actions())
        found = sorted(again.ended.values(), key=lambda one: one.trial)
        assert [(one.trial, one.treatment, one.block) for one in found] == sequence
        assert all(again.ended[number] == one for number, one in before.items())
        ends = [one["trial"] for one in lines(part) if one["k"] == "end"]
        assert ends == sorted(set(ends)) == list(range(1, 7))


def test_an_open_trial_whose_run_had_finished_is_taken_in(tmp_path):
    path, root = napping(tmp_path), tmp_path / "out"
    assert run_verb(["experiment", "run", str(path), "-o", str(root)]) == 0
    journal = ExperimentPaths(root).journal
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    assert run_verb(["experiment", "resume", str(root)]) == 0
    last = Ended.model_validate(lines(root)[-1])
    assert last.adopted
    assert last.status == "finished"
    assert last.seconds > 0.01
    assert len(list((root / "trials").iterdir())) == 6
    assert Began.model_validate(lines(root)[0]).attempt == 1
