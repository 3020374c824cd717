"""A trial in a machine of its own, from the treatment to the run directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import guests

from pyrometer.collect.launch.observe import Silent
from pyrometer.core.errors import CapabilityError
from pyrometer.core.liveness import runs
from pyrometer.guests import emulator
from pyrometer.orchestrator.run import run, run_together
from pyrometer.store.manifest import read_manifest
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.trial import Trial

pytestmark = pytest.mark.slow

SCRIPT = """\
cat input.txt
echo said >&2
cat /sys/kernel/mm/lru_gen/enabled /proc/sys/vm/swappiness
grep -c . /proc/swaps
exit 3
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where disks are kept: the first trial makes them."""
    return tmp_path_factory.mktemp("cache")


def test_a_command_runs_in_a_machine_and_its_record_comes_out(
    kernel_level: str | None, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYROMETER_CACHE", str(cache))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input.txt").write_text("from the host\n")
    (tmp_path / "job.sh").write_text(SCRIPT)
    kernel = [f"machine.kernel={kernel_level}"] if kernel_level else []
    levels = ["machine.memory=512m", "machine.cpus=1", "machine.lru_gen=on", "machine.swap=64m",
              "os.swappiness=7", *kernel]  # fmt: skip
    trial = Trial(
        command=("sh", "job.sh", "input.txt"),
        treatment=parse_treatment(levels),
        profile="off",
        run_dir=tmp_path / "run",
        captured=True,
    )
    outcome = run(trial, report=False)
    assert outcome.ending.exit_code == 3
    paths, manifest = outcome.record.paths, read_manifest(tmp_path / "run")
    assert paths.stdout.read_text().split() == ["from", "the", "host", "0x0007", "7", "2"]
    assert paths.stderr.read_text() == "said\n"
    assert manifest.state == "failed"
    assert manifest.exit.code == 3
    assert manifest.treatment["machine.memory"] == 512 << 20
    assert manifest.treatment["os.swappiness"] == 7
    assert manifest.machine is not None
    assert manifest.machine["differs"] == []
    assert manifest.machine["found"]["lru_gen"] == 7
    assert manifest.machine["clock"]["bound_ns"] < 10**9
    assert manifest.phases[0].name == "boot"
    emulated = "emulated" in [one.code for one in manifest.doubts]
    assert emulated == (manifest.machine["accelerator"] == "tcg")
    boot = manifest.phases[0].end_mono_ns
    assert boot is not None
    assert manifest.started_mono_ns is not None
    assert boot < manifest.started_mono_ns
    left = [one.name for one in (cache / "guests").iterdir()]
    assert set(left) <= {"images", "kernels", emulator.FAILED}
    assert not any("qemu" in _command(pid) for pid in _children() if runs(pid))


def test_workloads_of_a_co_run_share_a_machine(
    kernel_level: str | None, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYROMETER_CACHE", str(cache))
    monkeypatch.chdir(tmp_path)
    path = guests.spinning(tmp_path)
    kernel = [f"machine.kernel={kernel_level}"] if kernel_level else []
    both = [
        Trial(
            name=str(path),
            treatment=parse_treatment(
                ["machine.memory=1g", "machine.cpus=2", f"host.cpus={at}-{at}", *kernel]
            ),
            profile="off",
            iterations=2,
            warmup=1,
            scale="test",
            run_dir=tmp_path / f"trials/{at}",
            overlap=(0.0, 0.0),
            co_running=("spin",),
            captured=True,
        )
        for at in range(2)
    ]
    outcomes = run_together(both, Silent())
    assert [one.ending.exit_code for one in outcomes] == [0, 0]
    machines = []
    for one in outcomes:
        manifest = read_manifest(one.record.paths.root)
        machines.append(manifest.machine or {})
        assert [one.rows for one in manifest.results] == [1, 1, 1]
        assert (one.record.paths.raw / "vcpus.ndjson").stat().st_size
    # They waited for each other in one kernel, whose clock both have.
    guests.check_at_once([one.record.paths for one in outcomes])
    assert machines[0]["found"]["cpus_count"] == 2
    assert machines[0]["clock"] == machines[1]["clock"]
    assert sorted(one.name for one in (tmp_path / "trials").iterdir()) == ["0", "1"]


def test_the_kernel_of_a_machine_takes_the_programs_of_the_probe(
    kernel_level: str | None, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verifiers differ from kernel to kernel, and the host has one: this is Debian's."""
    monkeypatch.setenv("PYROMETER_CACHE", str(cache))
    kernel = [f"machine.kernel={kernel_level}"] if kernel_level else []
    trial = Trial(
        command=("sleep", "2"),
        treatment=parse_treatment(["machine.memory=1g", *kernel]),
        profile="full",
        run_dir=tmp_path / "run",
        captured=True,
    )
    run(trial, report=False)
    manifest = read_manifest(tmp_path / "run")
    assert manifest.machine is not None
    major, minor = map(int, str(manifest.machine["found"]["release"]).split(".")[:2])
    (probe,) = [one for one in manifest.probes if one.name == "os"]
    if (major, minor) >= (6, 1):
        assert (probe.tier, probe.reason) == ("T0", None)
    else:
        assert "Linux 6.1" in (probe.reason or "")


def test_what_the_machine_refuses_is_refused_here_and_leaves_no_run(
    kernel_level: str | None, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYROMETER_CACHE", str(cache))
    kernel = [f"machine.kernel={kernel_level}"] if kernel_level else []
    trial = Trial(
        command=("true",),
        treatment=parse_treatment(["machine.memory=512m", "machine.cpus=1", "os.smt=off", *kernel]),
        profile="off",
        run_dir=tmp_path / "run",
        captured=True,
    )
    with pytest.raises(CapabilityError, match=r"in the virtual machine: os\.smt=off"):
        run(trial, report=False)
    assert not (tmp_path / "run").exists()


def _children() -> list[int]:
    import os

    from pyrometer.collect.host.facts import descendants

    return descendants(os.getpid())


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""
