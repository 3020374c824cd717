"""Experiments over machines: planned without one, refused where none can be made."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support import experiments

from pyrometer.cli.main import run_verb
from pyrometer.collect.host.card import this_host
from pyrometer.collect.launch.record import new_manifest
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.schema import doubt
from pyrometer.experiments.folder import Plan
from pyrometer.experiments.history.stored_runs import Wanted, stored_runs
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.run import attempt
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.experiments.run.environment import Actions
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.experiments.run.planned import plan_of
from pyrometer.experiments.run.trials import trials_of, whole_plot
from pyrometer.experiments.run.versions import check_versions
from pyrometer.guests.parts.nameless import MAKERS
from pyrometer.store.manifest import read_manifest, write_manifest
from pyrometer.trial.trial import Trial

ROOT = Path(__file__).parents[3]
MATRIX = "matrix: {machine.lru_gen: ['on', 'off'], os.swappiness: [0, 100]}\nblocks: 2\n"


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs that stand for those that make machines."""
    folder = tmp_path / "bin"
    experiments.makers_of_machines(folder)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def written(folder: Path, text: str) -> Path:
    return experiments.napping(folder, experiments.HEAD + experiments.CALM + text)


def test_what_applies_in_a_machine_is_not_asked_of_this_host(tools: Path, tmp_path: Path) -> None:
    matrix = MATRIX + "set: {cgroup.memory: 512m, numa.nodes: '7'}\n"
    plan = plan_of(written(tmp_path, matrix), tmp_path)
    assert len(plan.treatments) == 4
    assert plan.left_out == []
    assert plan.split == []
    (trial,) = trials_of(plan, plan.trials[:1], [tmp_path / "run"])
    assert {"machine.lru_gen", "os.swappiness", "cgroup.memory", "numa.nodes"} <= set(
        trial.treatment
    )


def test_whole_plots_hold_no_switch_of_this_host_for_a_machine(tools: Path, tmp_path: Path) -> None:
    text = MATRIX + "design: {split: [machine.lru_gen, os.swappiness]}\n"
    plan = plan_of(written(tmp_path, text), tmp_path)
    for one in plan.trials:
        _, levels = whole_plot(plan, one)
        assert list(levels) == ["machine.lru_gen"]


def test_without_qemu_no_treatment_is_left_and_the_reason_names_the_command(
    tools: Path, tmp_path: Path
) -> None:
    (tools / "qemu-system-x86_64").unlink()
    with pytest.raises(CapabilityError, match="apt-get install qemu-system-x86"):
        plan_of(written(tmp_path, MATRIX), tmp_path)


def test_experiments_of_the_page_on_machines_are_planned(tools: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/machines/guests.md").read_text(encoding="utf-8")
    found = {}
    blocks = re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    for number, text in enumerate(blocks):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text)
        plan = plan_of(file, tmp_path)
        assert plan.left_out == []
        found[plan.name] = len(plan.treatments)
    assert found == {"reclaim": 4, "write-back": 4}


def test_the_example_of_two_kernels_is_planned(tools: Path, tmp_path: Path) -> None:
    for name in ("kernels.yaml", "segments.yaml", "segments.sql"):
        shutil.copy(ROOT / "examples/apps" / name, tmp_path)
    (tmp_path / "orders").mkdir()
    plan = plan_of(tmp_path / "kernels.yaml", tmp_path)
    assert plan.left_out == []
    assert len(plan.treatments) == 8
    assert len(plan.trials) == 40


def test_a_file_system_that_cannot_be_made_is_left_out_with_the_package(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MAKERS, "xfs", replace(MAKERS["xfs"], command=("mkfs.none",)))
    text = "matrix: {machine.filesystem: [ext4, xfs]}\nblocks: 2\n"
    plan = plan_of(written(tmp_path, text), tmp_path)
    assert [one.name for one in plan.treatments] == ["machine.filesystem=ext4"]
    assert "sudo apt-get install xfsprogs" in plan.left_out[0].reason


def test_levels_that_do_not_add_up_are_left_out_with_the_reason(
    tools: Path, tmp_path: Path
) -> None:
    text = "matrix: {machine.cpus: [2, 3]}\nset: {machine.numa: '2'}\nblocks: 2\n"
    plan = plan_of(written(tmp_path, text), tmp_path)
    assert [one.name for one in plan.treatments] == ["machine.cpus=2"]
    assert "cannot be shared alike" in plan.left_out[0].reason


def test_sides_that_run_in_parallel_share_a_machine(tools: Path, tmp_path: Path) -> None:
    text = "blocks: 2\ndesign: {kind: duet}\n"
    times = "matrix: {workload.time: [short, long]}\nset: {machine.cpus: 4}\n"
    plan = plan_of(written(tmp_path, text + times), tmp_path)
    assert {one.cpus for one in plan.trials} == {"0-1", "2-3"}
    with pytest.raises(UsageError, match="both need the same CPUs"):
        plan_of(written(tmp_path, text + "matrix: {machine.cpus: [1, 2]}\n"), tmp_path)


def test_a_machine_with_more_memory_than_there_is_is_left_out(tools: Path, tmp_path: Path) -> None:
    text = "matrix: {machine.memory: [512m, 1000g]}\nblocks: 2\n"
    plan = plan_of(written(tmp_path, text), tmp_path)
    assert [one.name for one in plan.treatments] == ["machine.memory=512m"]
    assert "available" in plan.left_out[0].reason


def test_all_trials_have_the_kernel_that_the_plan_found(tools: Path, tmp_path: Path) -> None:
    levels = "'linux-image-a=1', linux-image-cloud-amd64"
    text = f"matrix: {{machine.kernel: [{levels}]}}\nset: {{machine.memory: 256m}}\nblocks: 1\n"
    root = tmp_path / "out"
    plan = plan_of(written(tmp_path, text), root)
    begin(root, plan)
    experiments.knows_packages(tools, version="2")
    made = {
        one.treatment: trials_of(plan, [one], [tmp_path / "run"])[0].treatment["machine.kernel"]
        for one in plan.trials
    }
    assert made == {
        "machine.kernel=linux-image-a=1": "linux-image-a=1",
        "machine.kernel=linux-image-cloud-amd64": "linux-image-cloud-amd64=1",
    }
    # A newer one is no reason to stop; that none is there any more, is.
    check_versions(root, plan)
    experiments.knows_packages(tools, known="linux-image-a")
    with pytest.raises(UsageError, match=r"with kernel .*cloud-amd64=1, which is not known") as got:
        check_versions(root, plan)
    assert "install that kernel again" in (got.value.remedy or "")


def test_a_kernel_that_cannot_be_had_is_left_out_before_the_first_trial(
    tools: Path, tmp_path: Path
) -> None:
    experiments.knows_packages(tools, known="linux-image-6.1*")
    text = "matrix: {machine.kernel: [6.1.0-1-amd64, 6.9.9-none]}\nblocks: 1\n"
    (out,) = plan_of(written(tmp_path, text), tmp_path).left_out
    assert out.name == "machine.kernel=6.9.9-none"
    assert "machine.kernel=6.9.9-none: it is not in /boot" in out.reason


MIB = 1 << 20


@pytest.mark.parametrize(
    ("accelerator", "free_bytes", "fits"),
    [("kvm", 700 * MIB, True), ("kvm", 600 * MIB, False), ("tcg", 1100 * MIB, False)],
)
def test_what_an_emulator_takes_for_itself_is_counted(
    accelerator: str, free_bytes: int, fits: bool, tools: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("pyrometer.guests.emulator.accelerator", lambda cache: (accelerator, None))
    experiments.free_here(monkeypatch, free_bytes)
    file = written(tmp_path, "matrix: {machine.memory: [512m, 256m]}\nblocks: 2\n")
    if fits:
        assert plan_of(file, tmp_path).left_out == []
    elif accelerator == "tcg":
        assert [one.name for one in plan_of(file, tmp_path).left_out] == ["machine.memory=512m"]
    else:
        (out,) = plan_of(file, tmp_path).left_out
        assert "a virtual machine with 512 MiB of memory, which takes 128 MiB more" in out.reason


def test_swap_that_the_disk_has_no_room_for_is_left_out(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyrometer.guests.here.free_bytes_of", lambda folder: 1 << 30)
    text = "matrix: {machine.swap: [512m, 2g]}\nset: {machine.memory: 256m}\nblocks: 2\n"
    (out,) = plan_of(written(tmp_path, text), tmp_path).left_out
    assert out.name == "machine.swap=2g"
    assert "1.00 GiB are free there" in out.reason


def test_times_of_emulated_machines_are_doubted_in_the_verdict(tmp_path: Path) -> None:
    plan = experiments.plan(["a", "b"], 3, 1)
    begin(tmp_path, plan)
    entries = carry_out(tmp_path, actions=experiments.Machine(1, 24).actions())
    assert not {"emulated", "machine_differs"} & {
        one.code for one in experiment_report(plan, entries).doubts
    }
    ended = [one for one in entries.ended.values() if one.treatment == "b"]
    for one in ended:
        one.doubted = ["emulated"]
    ended[1].doubted.append("machine_differs")
    found = {one.code: one.message for one in experiment_report(plan, entries).doubts}
    assert found["emulated"].startswith("3 of 6 trials ran in an emulated machine")
    assert found["machine_differs"].startswith("1 of 6 trials had another machine")


def ran(folder: Path, name: str, message: str, code: str | None = None) -> Path:
    """A run that finished, with a doubt, by which it is called."""
    code = code or name
    run = folder / "runs" / name
    manifest = new_manifest(Trial(command=("sort",)), this_host(with_card=False), [], [])
    manifest.state, manifest.exit.code = "finished", 0
    manifest.started_mono_ns, manifest.ended_mono_ns = 10**9, 3 * 10**9
    manifest.doubts = [doubt(code, message)]
    (run / "raw").mkdir(parents=True)
    write_manifest(run, manifest)
    return run


@pytest.mark.parametrize(
    ("code", "message", "why"),
    [
        ("machine_differs", "machine.cpus=2, but it has 1.", "another virtual machine"),
        ("machine_clock", "In a second of the host it gained 35 s.", "did not keep time"),
    ],
)
def test_a_trial_in_another_machine_is_no_measurement(
    code: str, message: str, why: str, tmp_path: Path
) -> None:
    made = attempt.read(ran(tmp_path, code, message))
    assert (made.status, made.seconds) == ("failed", None)
    assert why in (made.reason or "")
    # That a host was too busy is no property of the treatment.
    assert (made.outside is None) is (code == "machine_differs")
    assert stored_runs([tmp_path / "runs"], Wanted()).runs == []


def test_histories_of_machines_on_different_hosts_are_apart(tmp_path: Path) -> None:
    host = {"hostname": "here", "cpu_model": "EPYC", "cpus_count": 2, "qemu_version": "7.2.0"}
    hosts = {"a": host, "b": {**host, "cpu_model": "Xeon"}, "c": {**host, "qemu_version": "8.0"}}
    for name, one in hosts.items():
        run = ran(tmp_path, name, "It was so.", code="emulated")
        manifest = read_manifest(run)
        manifest.machine = {"kernel": "6.1", "accelerator": "kvm", "host": one}
        write_manifest(run, manifest)
    runs = {Path(one.folder).name: one for one in stored_runs([tmp_path / "runs"], Wanted()).runs}
    assert runs["a"].subject.host.endswith("KVM on EPYC, 2 CPUs")
    assert runs["a"].subject != runs["b"].subject
    assert runs["a"].subject == runs["c"].subject
    assert (runs["a"].facts["QEMU"], runs["c"].facts["QEMU"]) == ("7.2.0", "8.0")


@pytest.mark.parametrize("code", ["emulated", "memory_condition_missed"])
def test_a_doubt_that_leaves_a_time_goes_with_the_trial(code: str, tmp_path: Path) -> None:
    made = attempt.read(ran(tmp_path, code, "It was so."))
    assert (made.status, made.seconds) == ("finished", 2.0)
    assert made.facts is not None
    assert made.facts.doubted == (code,)


def test_a_condition_that_trials_missed_is_doubted_in_the_verdict(tmp_path: Path) -> None:
    plan = experiments.plan(["a", "b"], 3, 1)
    begin(tmp_path, plan)
    entries = carry_out(tmp_path, actions=experiments.Machine(1, 24).actions())
    next(iter(entries.ended.values())).doubted = ["memory_condition_missed"]
    found = {one.code: one.message for one in experiment_report(plan, entries).doubts}
    assert found["memory_condition_missed"].startswith("1 of 6 trials missed the condition")


def in_machines(treatments: dict[str, dict[str, str]], blocks: int = 2) -> Plan:
    """A plan of treatments that vary these levels, all in machines of two CPUs."""
    made = experiments.plan(treatments, blocks, 1)
    for one in made.treatments:
        one.varied = dict(treatments[one.name])
        one.levels = {"machine.cpus": "2", **one.varied}
    return made


class Falling:
    """Simulates machines that run by KVM, or emulated, by the number of the trial."""

    def __init__(self, *emulated: int) -> None:
        self.emulated, self.at = emulated, 0

    def actions(self) -> Actions:
        return replace(experiments.Machine(1, 24).actions(), run_trial=self.run)

    def run(self, trial: Trial, watch: object) -> Attempt:
        self.at += 1
        doubted = ("emulated",) if self.at in self.emulated else ()
        return Attempt(
            "finished", 1.0, facts=TrialFacts((1.0,), 1.0, 1, "0", None, doubted=doubted)
        )


@pytest.mark.parametrize(
    ("emulated", "failed", "how"),
    [((), [], ""), ((1, 2, 3, 4), [], ""), ((3, 4), [3, 4], "emulated, that of trial 1 by KVM"),
     ((1,), [2, 3, 4], "by KVM, that of trial 1 emulated")],
)  # fmt: skip
def test_a_trial_whose_machine_runs_otherwise_than_the_first_has_failed(
    emulated: tuple[int, ...], failed: list[int], how: str, tmp_path: Path
) -> None:
    begin(tmp_path, in_machines({"a": {"jvm.heap": "1g"}, "b": {"jvm.heap": "2g"}}))
    ended = carry_out(tmp_path, actions=Falling(*emulated).actions()).ended
    assert [number for number, one in ended.items() if one.status == "failed"] == failed
    assert all(how in (ended[number].reason or "") for number in failed)
    assert all(ended[number].seconds is None for number in failed)
    if failed:
        # Trials that failed for it are tried again.
        as_first = Falling(*range(1, 5)) if 1 in emulated else Falling()
        again = carry_out(tmp_path, actions=as_first.actions(), retry=True).ended
        assert {one.status for one in again.values()} == {"finished"}


@pytest.mark.parametrize(
    ("varied", "machine", "doubted"),
    [
        ({"numa.nodes": "0"}, True, True),
        ({"machine.numa": "2"}, True, True),
        ({"os.numa_balancing": "1"}, True, True),
        ({"numa.nodes": "0"}, False, False),
        ({"jvm.heap": "1g"}, True, False),
    ],
)
def test_times_say_nothing_of_nodes_that_are_a_machine_s(
    varied: dict[str, str], machine: bool, doubted: bool
) -> None:
    plan = in_machines({"a": varied, "b": {**varied, "jvm.gc": "z"}})
    if not machine:
        for one in plan.treatments:
            del one.levels["machine.cpus"]
    found = {one.code: one.message for one in experiment_report(plan, Entries()).doubts}
    assert ("machine_nodes" in found) is doubted
    if doubted:
        assert next(iter(varied)) in found["machine_nodes"]


@pytest.mark.parametrize(
    ("accelerator", "said"),
    [("kvm", "8 CPUs of the machine take turns on"), ("tcg", "emulated here (no /dev/kvm)")],
)
def test_a_plan_says_what_its_machines_will_do_to_times(
    accelerator: str, said: str, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(
        "pyrometer.guests.emulator.accelerator", lambda cache: (accelerator, "no /dev/kvm")
    )
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    text = "matrix: {machine.lru_gen: ['on', 'off']}\nblocks: 2\nset: {machine.cpus: 8}\n"
    assert run_verb(["experiment", "plan", str(written(tmp_path, text))]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"note: machines are {said}" in told or f"note: {said}" in told
