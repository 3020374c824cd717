"""Control groups of this machine, where they can be made."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support import needs

from pyrometer.cli.begin.doctor import leftover_groups
from pyrometer.collect.host import cgroup
from pyrometer.collect.host import cgroup as cgroup_left
from pyrometer.collect.host.card import this_host
from pyrometer.collect.host.cgroup_plan import Hierarchy, Plan, plan
from pyrometer.collect.launch.launch import Launch
from pyrometer.collect.launch.observe import Silent, observe
from pyrometer.collect.launch.record import Record, new_manifest
from pyrometer.collect.launch.treatment import HostPlan
from pyrometer.core.errors import CapabilityError
from pyrometer.store.manifest import read_manifest
from pyrometer.store.paths import RunPaths
from pyrometer.trial.trial import Trial
from pyrometer.workloads import page_cache

MIB = 1 << 20


def here(levels: dict[str, float], tmp_path: Path) -> Plan:
    try:
        planned = cgroup.planned_here(levels, tmp_path)
        with cgroup.applied(planned):
            return planned
    except CapabilityError as error:
        needs.machine_lacks(f"control groups: {error.message}")


def test_a_memory_limit_kills_and_leaves_nothing(tmp_path: Path) -> None:
    planned = here({"cgroup.memory": 32 * MIB, "cgroup.swap": 0}, tmp_path)
    with cgroup.applied(planned):
        with cgroup.joined(planned.folders):
            hog = subprocess.Popen(
                ["python3", "-c", "input(); x = bytearray(200 << 20)"], stdin=subprocess.PIPE
            )
        # We have left the group: it alone can be killed.
        hog.communicate(b"\n")
        assert hog.returncode == -9
        found = cgroup.facts(planned)
        assert found["oom_kills_count"] == 1
        assert found["memory_peak_bytes"] == 32 * MIB
    assert not any(Path(folder).exists() for folder in planned.folders)


def test_a_quota_of_a_tenth_gives_a_tenth(tmp_path: Path) -> None:
    planned = here({"cpu.quota": 0.1}, tmp_path)
    with cgroup.applied(planned):
        began = time.monotonic()
        with cgroup.joined(planned.folders):
            burner = subprocess.Popen(["python3", "-c", "while True: pass"])
        # On a busy machine it gets less than the quota at first, and is not throttled.
        while time.monotonic() < began + 60:
            time.sleep(1.0)
            found = cgroup.facts(planned)
            if found["cpu_throttled_count"] > 5:
                break
        burner.kill()
        _, _, used = os.wait4(burner.pid, 0)
        elapsed_s = time.monotonic() - began
        burner.returncode = -9
    assert used.ru_utime + used.ru_stime < 0.1 * elapsed_s + 0.2
    assert found["cpu_throttled_count"] > 5
    assert found["cpu_throttled_ns"] > 0.3e9


def test_a_read_limit_holds_for_buffered_reads(tmp_path: Path) -> None:
    planned = here({"cgroup.read_bps": 8 * MIB}, tmp_path)
    file = tmp_path / "16m"
    file.write_bytes(os.urandom(16 * MIB))
    assert "reason" not in page_cache.bring("cold", [str(file)])
    with cgroup.applied(planned), cgroup.joined(planned.folders):
        began = time.monotonic()
        subprocess.run(["cat", str(file)], stdout=subprocess.DEVNULL, check=True)
        took = time.monotonic() - began
    # 2 s at the limit; the kernel lets a little through before it counts.
    assert took > 1.2


def test_a_folder_of_version_2_is_made_and_left_as_found(tmp_path: Path) -> None:
    control = tmp_path / "cgroup.subtree_control"
    control.write_text("memory")
    places = [Hierarchy(2, frozenset({"memory", "cpu"}), str(tmp_path), "", frozenset({"memory"}))]
    planned = plan({"cpu.quota": 0.5}, places, None, "pyrometer-1-1")
    # No kernel stands behind this tree: files of the group have to be there, and to go again.
    folder = Path(planned.folders[0])
    with contextlib.ExitStack() as stack:
        stack.enter_context(cgroup.applied(planned))
        assert control.read_text() == "+cpu"
        assert (folder / "cpu.max").read_text() == "50000 100000"
        (folder / "cpu.stat").write_text("nr_periods 9\nnr_throttled 4\nthrottled_usec 250\n")
        assert cgroup.facts(planned) == {"cpu_throttled_count": 4, "cpu_throttled_ns": 250_000}
        for file in folder.iterdir():
            file.unlink()
    assert not folder.exists()
    assert control.read_text() == "-cpu"


def test_a_group_of_a_dead_run_is_found_and_one_of_a_living_run_is_not(tmp_path: Path) -> None:
    planned = here({"cpu.quota": 1.0}, tmp_path)
    parent = Path(planned.folders[0]).parent
    dead = parent / f"{cgroup_left.PREFIX}4194304-1"
    dead.mkdir()
    (finding,) = leftover_groups([str(parent)])
    assert finding.remedy == f"rmdir {dead}"
    with cgroup.applied(planned):
        assert not dead.exists()
        assert planned.folders[0] not in cgroup_left.leftovers([str(parent)])
    assert leftover_groups([str(parent)]) == []


@pytest.mark.parametrize(
    ("version", "names"), [(1, {"cpu", "blkio"}), (2, {"cpu", "memory", "io"})]
)
def test_a_group_that_cannot_be_removed_is_given_back_and_named(
    version: int, names: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    places = [Hierarchy(version, frozenset(names), str(below), "", frozenset(names))]
    # No kernel removes the files of this tree: the group stays, as one with processes does.
    planned = plan({"cpu.quota": 0.5}, places, None, f"{cgroup_left.PREFIX}4194304-1")
    monkeypatch.setattr(cgroup_left.remove, "__defaults__", (0.0,))
    with cgroup.applied(planned) as stay:
        assert stay == []
        Path(planned.folders[0], "cgroup.procs").write_text("4194301\n4194302\n")
    assert stay == list(planned.folders)
    (below / "pyrometer-agent.service").mkdir()
    (below / cgroup_left.group_name(os.getpid())).mkdir()
    (finding,) = leftover_groups([str(tmp_path)])
    assert not finding.available
    assert f"{stay[0]} (processes 4194301 4194302)" in finding.reason
    assert finding.remedy == f"kill -9 4194301 4194302; sleep 1; rmdir {stay[0]}"


def test_a_group_of_a_run_in_another_container_is_left_alone(tmp_path: Path) -> None:
    space = os.stat("/proc/self/ns/pid").st_ino
    # The second has a name of older versions; neither launcher has its pid here.
    for name in (f"4194304-1-{space + 1}", "4194304-2"):
        group = tmp_path / f"{cgroup_left.PREFIX}{name}"
        group.mkdir()
        (group / "cgroup.procs").write_text("0\n")
    assert leftover_groups([str(tmp_path)]) == []
    dead = tmp_path / f"{cgroup_left.PREFIX}4194304-1-{space}"
    dead.mkdir()
    (dead / "cgroup.procs").write_text("0\n4194301\n")
    (finding,) = leftover_groups([str(tmp_path)])
    assert finding.remedy == f"kill -9 4194301; sleep 1; rmdir {dead}"


def test_a_group_of_a_container_that_has_ended_is_found_where_all_processes_are_seen(
    tmp_path: Path,
) -> None:
    first, living, ended = cgroup_left.FIRST_PID_NAMESPACE, 1, 2
    proc, groups = tmp_path / "proc", tmp_path / "groups"
    for process, space in (("self", first), ("1", first), ("70", living)):
        (proc / process / "ns").mkdir(parents=True)
        (proc / process / "ns" / "pid").symlink_to(f"pid:[{space}]")
    for space in (living, ended):
        (groups / f"{cgroup_left.PREFIX}4194304-1-{space}").mkdir(parents=True)
    left = groups / f"{cgroup_left.PREFIX}4194304-1-{ended}"

    def found() -> list[str]:
        return cgroup_left.leftovers([str(groups)], proc=proc)

    assert found() == [str(left)]
    assert cgroup_left.removal(found()) == f"rmdir {left}"
    members = left / "cgroup.procs"
    members.write_text("0\n")
    assert found() == [], "a process is in it"
    members.write_text("")
    assert found() == [str(left)]
    (proc / "71" / "ns").mkdir(parents=True)
    (proc / "71" / "ns" / "pid").write_text("")
    assert found() == [], "a process that may not be looked at"
    shutil.rmtree(proc / "71")
    (proc / "self" / "ns" / "pid").unlink()
    (proc / "self" / "ns" / "pid").symlink_to(f"pid:[{living}]")
    assert found() == [], "from inside a container"


def test_a_run_tells_groups_that_stay_and_the_disk_that_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = RunPaths(tmp_path / "run")
    paths.eventlog.mkdir(parents=True)
    trial = Trial(command=("true",), treatment={"cgroup.read_bps": MIB, "cpu.quota": 1.0})
    record = Record(paths, new_manifest(trial, this_host(), [], []))
    every = frozenset({"cpu", "io"})
    place = Hierarchy(2, every, str(tmp_path / "cg"), str(tmp_path / "cg"), every)
    Path(place.folder).mkdir()
    planned = plan(trial.treatment, [place], "8:0", cgroup_left.group_name(os.getpid()))
    monkeypatch.setattr(cgroup, "here", lambda: [place])
    monkeypatch.setattr(cgroup_left.remove, "__defaults__", (0.0,))
    true = shutil.which("true")
    assert true
    launch = Launch(argv=(true,), env={}, agent={}, kind="other", host=HostPlan(planned))
    launch = replace(launch, limits={"cgroup.write_bps": 2 * MIB})
    assert observe(launch, [], record, Silent()).code == 0
    told = {doubt.code: doubt.message for doubt in record.manifest.doubts}
    assert told["groups_left"] == f"{planned.folders[0]} (processes {os.getpid()})."
    assert told["limit_of_one_disk"].startswith("cgroup.read_bps, cgroup.write_bps: of the disk ")
    assert str(paths.root) in told["limit_of_one_disk"]
    kept = read_manifest(paths.root)
    assert kept.treatment == {**trial.treatment, "cgroup.write_bps": 2 * MIB}
    assert kept.treatment_origin == {
        "cgroup.read_bps": "user",
        "cpu.quota": "user",
        "cgroup.write_bps": "workload",
    }
