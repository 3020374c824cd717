"""Switches of the kernel on invented hosts: set, put back, refused, found again after a crash."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from pyrometer.cli.begin.doctor import leftover_settings
from pyrometer.collect.host import settings
from pyrometer.collect.host.settings_restore import present
from pyrometer.core.errors import CapabilityError
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


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = tmp_path / "host"
    for file, text in FILES.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    return root


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return tmp_path / "records"


def wanted(host: Path, *given: str) -> tuple[settings.Switch, ...]:
    return settings.switches(parse_treatment(given), host)


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
