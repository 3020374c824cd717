"""Switches of the kernel on invented hosts: set, put back, refused, found again after a crash."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from pyrometer.cli.begin.doctor import leftover_settings
from pyrometer.collect.host import settings
from pyrometer.collect.host.disks import all_disks, disks_below
from pyrometer.collect.host.settings_restore import present
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.liveness import start_ticks
from pyrometer.trial.factors import parse_treatment

THP = "sys/kernel/mm/transparent_hugepage/enabled"
FILES = {
    THP: "always [madvise] never\n",
    "sys/kernel/mm/lru_gen/enabled": "0x0007\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/kernel/numa_balancing": "0\n",
    "sys/devices/system/cpu/smt/control": "on\n",
    "sys/devices/system/cpu/offline": "\n",
}
SCHEDULER = "sys/block/vda/queue/scheduler"
SLICE = "sys/kernel/debug/sched/base_slice_ns"
FURTHER = {
    SCHEDULER: "[mq-deadline] none bfq\n",
    "sys/module/damon_reclaim/parameters/enabled": "N\n",
    SLICE: "2800000\n",
    "proc/sys/kernel/sched_autogroup_enabled": "1\n",
    "proc/sys/kernel/io_uring_disabled": "0\n",
}


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = tmp_path / "host"
    for file, text in (FILES | FURTHER).items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    return root


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return tmp_path / "records"


def wanted(host: Path, *given: str) -> tuple[settings.Switch, ...]:
    return settings.switches(parse_treatment(given), host, ("vda",))


def now(host: Path, file: str) -> str:
    return present((host / file).read_text())


def test_a_switch_that_cannot_be_set_says_what_would_allow_it(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings.unsettable("os.thp", host) is None
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "run as root outside of a container" in (settings.unsettable("os.thp", host) or "")
    (host / THP).unlink()
    assert "CONFIG_TRANSPARENT_HUGEPAGE" in (settings.unsettable("os.thp", host) or "")


def test_all_switches_are_set_and_put_back(host: Path, records: Path) -> None:
    given = (
        "os.thp=never",
        "os.lru_gen=0",
        "os.swappiness=10",
        "os.numa_balancing=1",
        "os.smt=off",
    )
    found = {file: now(host, file) for file in FILES}
    with settings.applied(wanted(host, *given), records) as stay:
        assert [now(host, file) for file in list(FILES)[:5]] == ["never", "0", "10", "1", "off"]
        assert len(list(records.iterdir())) == 5
    assert stay == []
    assert {file: now(host, file) for file in FILES} == found
    assert list(records.iterdir()) == []


def test_files_hold_what_the_kernel_calls_a_level(host: Path, records: Path) -> None:
    given = (
        "os.io_scheduler=bfq",
        "os.damon=reclaim",
        "os.sched_base_slice=6000000",
        "os.sched_autogroup=off",
        "os.io_uring=privileged",
    )
    found = {file: now(host, file) for file in FURTHER}
    with settings.applied(wanted(host, *given), records) as stay:
        assert [now(host, file) for file in FURTHER] == ["bfq", "Y", "6000000", "0", "1"]
        assert settings.level_here("os.damon", host) == "reclaim"
        assert settings.level_here("os.io_uring", host) == "privileged"
    assert stay == []
    assert {file: now(host, file) for file in FURTHER} == found
    assert settings.level_here("os.damon", host) == "off"
    assert [one.level for one in wanted(host, "os.sched_autogroup=on")] == ["1"]


def test_a_switch_has_the_name_that_its_kernel_gives_it(host: Path, records: Path) -> None:
    older = (host / SLICE).rename((host / SLICE).with_name("min_granularity_ns"))
    with settings.applied(wanted(host, "os.sched_base_slice=6000000"), records):
        assert older.read_text() == "6000000"
    assert older.read_text() == "2800000"


def test_a_range_of_whole_numbers_is_said_in_digits() -> None:
    with pytest.raises(UsageError) as caught:
        parse_treatment(["os.sched_base_slice=5"])
    assert caught.value.remedy == "give from 100000 to 1000000000 ns"


def test_the_slice_is_set_after_cpus_went_offline_which_scales_it(host: Path) -> None:
    given = ("os.thp=never", "os.sched_base_slice=6000000", "os.smt=off")
    assert next(one.factor for one in wanted(host, *given)) == "os.smt"


def test_schedulers_are_those_of_the_disks_that_are_meant(host: Path, records: Path) -> None:
    other = "cciss!c0d0"
    for disk in ("vda", other):
        (host / f"sys/block/{disk}/queue").mkdir(parents=True, exist_ok=True)
        (host / f"sys/block/{disk}/queue/scheduler").write_text("[none] bfq\n")
        (host / f"sys/block/{disk}/device").mkdir()
    (host / "sys/block/loop0").mkdir()
    assert all_disks(host) == (other, "vda")
    assert settings.level_here("os.io_scheduler", host) == "none"
    treatment = parse_treatment(["os.io_scheduler=bfq"])
    with settings.applied(settings.switches(treatment, host, (other,)), records):
        assert settings.level_here("os.io_scheduler", host) is None
        assert now(host, SCHEDULER) == "none"
        (held,) = records.iterdir()
        (records / f"{held.name.rsplit('-', 2)[0]}-4194305-7").write_text("none\nbfq\n")
    assert now(host, f"sys/block/{other}/queue/scheduler") == "none"
    assert list(records.iterdir()) == []
    with pytest.raises(CapabilityError, match="the data is on no disk of this host") as caught:
        settings.switches(treatment, host)
    assert "PYROMETER_CACHE" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("mount", "disks"),
    [
        ("8:2 / / rw - ext4 /dev/root rw", ("sda",)),
        ("253:0 / / rw - xfs /dev/mapper/vg-root rw", ("nvme0n1", "sda")),
        ("0:31 /@home / rw - btrfs /dev/sda2 rw", ("sda",)),
        ("0:33 / / rw - btrfs /dev/sdb rw", ("nvme0n1", "sdb")),
        ("0:32 / / rw - overlay overlay rw", ()),
        ("8:2 / / rw - ext4 /dev/root rw\n9 1 0:5 / {folder} rw - tmpfs tmpfs rw", ()),
    ],
)
def test_disks_are_found_below_partitions_volumes_and_file_systems(
    mount: str, disks: tuple[str, ...], tmp_path: Path
) -> None:
    folder, root = tmp_path / "my data", tmp_path / "root"
    devices = root / "sys/devices"
    for place, number in (
        ("sda/sda2", "8:2"), ("sdb", "8:16"), ("nvme0n1", "259:0"), ("dm-0", "253:0")
    ):  # fmt: skip
        (devices / place).mkdir(parents=True)
        for link in (f"sys/dev/block/{number}", f"sys/class/block/{Path(place).name}"):
            (root / link).parent.mkdir(parents=True, exist_ok=True)
            (root / link).symlink_to(devices / place)
    (devices / "sda/sda2/partition").touch()
    (devices / "dm-0/slaves").mkdir()
    for several, places in (("1-a", ["sda/sda2"]), ("2-b", ["sdb", "nvme0n1"])):
        (root / f"sys/fs/btrfs/{several}/devices").mkdir(parents=True)
        for place in places:
            link = root / f"sys/fs/btrfs/{several}/devices" / Path(place).name
            link.symlink_to(devices / place)
    for below in ("sda/sda2", "nvme0n1"):
        (devices / "dm-0/slaves" / Path(below).name).symlink_to(devices / below)
    folder.mkdir()
    (root / "proc/self").mkdir(parents=True)
    escaped = str(folder).replace(" ", "\\040")
    (root / "proc/self/mountinfo").write_text(f"1 0 {mount.format(folder=escaped)}\n")
    assert disks_below(folder, root) == disks


def test_what_only_root_may_read_is_no_fault_of_the_kernel(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, encoding: str) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(CapabilityError) as caught:
        wanted(host, "os.damon=off")
    assert caught.value.remedy == "run as root outside of a container"
    assert "run as root outside of a container" in (settings.unsettable("os.damon", host) or "")


def _set_and_wait(host: Path, records: Path, ready: multiprocessing.synchronize.Event) -> None:
    with settings.applied(wanted(host, "os.swappiness=1", "os.thp=always"), records):
        ready.set()
        signal.pause()


def test_a_killed_run_is_put_back_by_the_next(host: Path, records: Path) -> None:
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    run = context.Process(target=_set_and_wait, args=(host, records, ready))
    run.start()
    assert ready.wait(30)
    with (
        pytest.raises(CapabilityError, match=f"held at 1 by process {run.pid}"),
        settings.applied(wanted(host, "os.swappiness=60"), records),
    ):
        pass
    assert leftover_settings(records, host) == []
    assert run.pid
    os.kill(run.pid, signal.SIGKILL)
    run.join()
    assert now(host, "proc/sys/vm/swappiness") == "1"
    remedies = sorted(finding.remedy or "" for finding in leftover_settings(records, host))
    assert remedies[0].startswith(
        f"as root: echo 60 > /proc/sys/vm/swappiness && rm {records}/vm.swapp"
    )
    assert remedies[1].startswith(f"as root: echo madvise > /{THP} && rm ")
    with settings.applied(wanted(host, "os.swappiness=10"), records):
        assert now(host, "proc/sys/vm/swappiness") == "10"
        assert now(host, THP) == "madvise"
    assert now(host, "proc/sys/vm/swappiness") == "60"
    assert leftover_settings(records, host) == []


def test_two_runs_at_the_same_level_hold_it_together(host: Path, records: Path) -> None:
    other = records / f"vm.swappiness-{os.getppid()}-{start_ticks(os.getppid())}"
    with settings.applied(wanted(host, "os.swappiness=1"), records):
        other.write_text("60")
    assert now(host, "proc/sys/vm/swappiness") == "1"
    other.unlink()


def test_the_last_that_lives_puts_it_back_for_the_dead(host: Path, records: Path) -> None:
    with settings.applied(wanted(host, "os.swappiness=1"), records) as doubts:
        dead = records / "vm.swappiness-4194305-7"
        dead.write_text("60\n1\n")
    assert doubts == []
    assert now(host, "proc/sys/vm/swappiness") == "60"
    assert list(records.iterdir()) == []


def test_what_somebody_else_set_meanwhile_stays_and_is_told(host: Path, records: Path) -> None:
    swappiness = host / "proc/sys/vm/swappiness"
    with settings.applied(wanted(host, "os.swappiness=1"), records) as doubts:
        swappiness.write_text("30\n")
        with (
            pytest.raises(CapabilityError, match="changed /proc/sys/vm/swappiness to 30 while we"),
            settings.applied(wanted(host, "os.swappiness=1"), records),
        ):
            pass
    assert [(one.code, one.message) for one in doubts] == [
        ("setting_changed", "/proc/sys/vm/swappiness was set to 1, and is 30 at the end.")
    ]
    assert swappiness.read_text() == "30\n"
    assert list(records.iterdir()) == []


@pytest.mark.parametrize(("left", "then"), [("1\n", "60"), ("30\n", "30")])
def test_of_the_dead_only_what_they_set_is_put_back(
    host: Path, records: Path, left: str, then: str
) -> None:
    records.mkdir()
    (records / "vm.swappiness-4194305-7").write_text("60\n1\n")
    (host / "proc/sys/vm/swappiness").write_text(left)
    with settings.applied(wanted(host, "os.thp=never"), records):
        assert now(host, "proc/sys/vm/swappiness") == then
    assert list(records.iterdir()) == []


def test_a_level_that_is_there_needs_no_record(
    host: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, text: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(settings, "keep", refuse)
    with settings.applied(wanted(host, "os.swappiness=60"), records) as doubts:
        pass
    assert doubts == []
    with (
        pytest.raises(CapabilityError, match="Permission denied"),
        settings.applied(wanted(host, "os.swappiness=1"), records),
    ):
        pass
    assert now(host, "proc/sys/vm/swappiness") == "60"


def test_what_is_held_for_several_runs_stays_between_them(host: Path, records: Path) -> None:
    with settings.applied(wanted(host, "os.swappiness=1"), records) as stay:
        for _ in range(2):
            with settings.applied(wanted(host, "os.swappiness=1", "os.thp=never"), records):
                assert now(host, THP) == "never"
            assert now(host, "proc/sys/vm/swappiness") == "1"
            assert now(host, THP) == "madvise"
    assert stay == []
    assert now(host, "proc/sys/vm/swappiness") == "60"
    assert list(records.iterdir()) == []


def test_a_level_that_the_kernel_does_not_keep_changes_nothing(
    host: Path, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = wanted(host, "os.thp=never", "os.lru_gen=3")
    write = Path.write_text

    def kernel(path: Path, text: str, **more: str) -> int:
        return write(path, "0x0001" if path.parent.name == "lru_gen" and text == "3" else text)

    monkeypatch.setattr(Path, "write_text", kernel)
    with (
        pytest.raises(CapabilityError, match="the kernel keeps 1"),
        settings.applied(planned, records),
    ):
        pass
    assert now(host, THP) == "madvise"
    assert now(host, "sys/kernel/mm/lru_gen/enabled") == "7"
    assert list(records.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "text", "level", "message", "remedy"),
    [
        ("sys/kernel/mm/lru_gen/enabled", None, "os.lru_gen=7", "No such file", "CONFIG_LRU_GEN=y"),
        (THP, "always [never]\n", "os.thp=madvise", "offers always, never", "CONFIG_TRANSPARENT"),
        ("sys/devices/system/cpu/smt/control", "notsupported\n", "os.smt=off", "notsupp", "cho"),
        ("sys/devices/system/cpu/offline", "3\n", "os.smt=off", "CPUs 3 are offline", "online"),
        ("sys/fs/cgroup/cpuset/docker/cpuset.cpus", "0-3", "os.smt=off", "for good", "unified"),
        (SCHEDULER, "[none] mq-deadline\n", "os.io_scheduler=kyber", "none, mq-d", "modprobe bfq"),
        (SCHEDULER, "none\n", "os.io_scheduler=bfq", "this kernel offers none", "modprobe bfq"),
        (SLICE, None, "os.sched_base_slice=3000000", "No such file", "mount -t debugfs"),
        (list(FURTHER)[1], None, "os.damon=off", "No such file", "CONFIG_DAMON_RECLAIM=y"),
        (list(FURTHER)[3], None, "os.sched_autogroup=on", "No such", "CONFIG_SCHED_AUTOGROUP=y"),
        (list(FURTHER)[4], None, "os.io_uring=off", "No such file", "Linux 6.6 or newer"),
    ],
)  # fmt: skip
def test_what_a_host_cannot_give_is_refused_with_what_would(
    host: Path, file: str, text: str | None, level: str, message: str, remedy: str
) -> None:
    (host / file).parent.mkdir(parents=True, exist_ok=True)
    (host / file).unlink(missing_ok=True)
    if text is not None:
        (host / file).write_text(text)
    with pytest.raises(CapabilityError) as caught:
        wanted(host, level)
    assert message in caught.value.message
    assert remedy in (caught.value.remedy or "")


def test_what_may_not_be_written_is_refused_before_the_run(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(CapabilityError) as caught:
        wanted(host, "os.swappiness=1")
    assert caught.value.remedy is not None
    assert "echo 1 | sudo tee /proc/sys/vm/swappiness" in caught.value.remedy
    assert wanted(host, "os.swappiness=60")[0].level == "60"
