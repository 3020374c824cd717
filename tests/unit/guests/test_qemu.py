"""Command lines of QEMU, word by word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.golden import check

from pyrometer.guests.disk import Limits
from pyrometer.guests.here import is_amd
from pyrometer.guests.machine import Machine, machine_of
from pyrometer.guests.qemu import Accelerator, Boot, Disk, command_line
from pyrometer.trial.factors import parse_treatment

BOOT = Boot(
    kernel="/boot/vmlinuz-6.1.0-51-cloud-amd64",
    initrd="/proc/self/fd/9",
    disks=(
        Disk("base", "/cache/a,b.ext4"),
        Disk("data", "/cache/data.ext4", measured=True),
        Disk("scratch", "/proc/self/fd/10", writable=True, measured=True),
    ),
    ports=(("boot", 5), ("stream", 6)),
    console=4,
)


def described(*settings: str) -> Machine:
    found = machine_of(parse_treatment([f"machine.{one}" for one in settings]), 1)
    assert found is not None
    return found


def words(machine: Machine, accelerator: Accelerator = "tcg", boot: Boot = BOOT) -> str:
    lines, line = [], ""
    for word in command_line(machine, boot, accelerator):
        if word.startswith("-") and line:
            lines.append(line)
            line = ""
        line += f" {word}" if line else word
    return "\n".join([*lines, line]) + "\n"


@pytest.mark.parametrize(
    ("name", "settings", "accelerator"),
    [
        ("plain-tcg", ["memory=2g"], "tcg"),
        ("plain-kvm", ["memory=2g", "cpus=4", "smt=2"], "kvm"),
        (
            "numa-tcg",
            [
                "numa=0,2:1g+1,3:512m+:256m@10,21,31/21,10,21/31,21,10",
                "cmdline=numa_balancing=disable",
            ],
            "tcg",
        ),
        ("two-nodes-kvm", ["numa=2", "cpus=8", "smt=2", "memory=4g"], "kvm"),
        ("limits-kvm", ["memory=1g", "disk=read=100m,write=50m,iops=2000"], "kvm"),
    ],
)
def test_command_lines(name: str, settings: list[str], accelerator: Accelerator) -> None:
    check(f"guests/{name}.txt", words(described(*settings), accelerator))


@pytest.mark.parametrize(
    ("vendor", "threads", "accelerator", "told"),
    [
        ("AuthenticAMD", 2, "kvm", True),
        ("HygonGenuine", 2, "kvm", True),
        ("AuthenticAMD", 1, "kvm", False),
        ("GenuineIntel", 2, "kvm", False),
        ("AuthenticAMD", 2, "tcg", False),
    ],
)
def test_a_processor_of_amd_shows_the_threads_of_its_cores_where_it_is_told_to(
    vendor: str, threads: int, accelerator: Accelerator, told: bool, tmp_path: Path
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: 25\n")
    boot = replace(BOOT, amd=is_amd(cpuinfo))
    line = words(described("cpus=4", f"smt={threads}"), accelerator, boot)
    assert ("topoext=on" in line) == told


def test_goldens_are_all_referred_to() -> None:
    from tests.support.golden import FOLDER

    names = sorted(path.name for path in (FOLDER / "guests").iterdir())
    assert names == [
        "limits-kvm.txt", "numa-tcg.txt", "plain-kvm.txt", "plain-tcg.txt", "two-nodes-kvm.txt"
    ]  # fmt: skip


def test_a_comma_in_a_path_ends_no_option() -> None:
    assert "file=/cache/a,,b.ext4," in words(Machine(1))


def test_the_kernel_of_an_emulated_machine_is_told_how_fast_its_counter_counts() -> None:
    told = replace(BOOT, tsc_khz=2596134)
    assert " tsc_early_khz=2596134 " in words(Machine(2), "tcg", told)
    assert "tsc_early_khz" not in words(Machine(2), "tcg", BOOT)
    assert "tsc_early_khz" not in words(Machine(2), "kvm", told)


def test_what_a_user_says_of_the_kernel_comes_last() -> None:
    line = words(described("cmdline=mitigations=auto"))
    assert line.index("mitigations=off") < line.index("mitigations=auto")


def test_cpus_that_are_emulated_take_turns() -> None:
    assert "tcg,thread=single" in words(Machine(2))
    assert "tcg,thread=multi" in words(Machine(1))


def test_only_measured_disks_have_limits_and_pass_the_hosts_cache() -> None:
    drives = [
        line for line in words(Machine(1, limits=Limits(iops=5))).splitlines() if "-drive" in line
    ]
    assert ["throttling" in line for line in drives] == [False, True, True]
    assert ["cache=none" in line for line in drives] == [False, True, True]
    assert ["readonly=on" in line for line in drives] == [True, True, False]


@pytest.mark.parametrize("limits", [Limits(latency_ms=5), Limits(iops=9, latency_ms=5)])
def test_a_disk_behind_a_server_is_reached_by_a_socket_and_throttled_as_others(
    limits: Limits,
) -> None:
    served = Disk("data", "11", measured=True, server=12)
    line = words(Machine(1, limits=limits), boot=replace(BOOT, disks=(served,)))
    (drive,) = [one for one in line.splitlines() if "-drive" in one]
    assert drive.startswith(
        "-drive if=none,id=data,format=raw,file.driver=nbd,file.server.type=fd,"
        "file.server.str=12,file.export=11,readonly=on,cache=none"
    )
    assert ("throttling.iops-total=9,throttling.group=measured" in drive) == (limits.iops == 9)
    assert ("throttling" in drive) == (limits.iops == 9)


def test_a_machine_reaches_no_network() -> None:
    line = words(described("memory=2g"), "kvm")
    assert "-nodefaults" in line
    assert "net" not in line.replace("-no-user-config", "")
