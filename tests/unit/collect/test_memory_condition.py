"""Memory made short: the knob, what is refused, and what was reached."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import needs

from pyrometer.collect.host.ballast import READY
from pyrometer.collect.host.memory import (
    Condition,
    MemoryWatch,
    ballast_command,
    condition,
    missed,
    reached_ratio,
)
from pyrometer.collect.host.neighbours import ended_after
from pyrometer.core.errors import CapabilityError, PyrometerError
from pyrometer.trial.factors import parse_treatment

GIB = 1 << 30
HOST = {"MemTotal": 16 * GIB, "MemAvailable": 12 * GIB, "SwapTotal": 8 * GIB}


def test_a_level_carries_its_knob() -> None:
    found = condition(parse_treatment(["memory.condition=over@3g", "memory.share=0.2"]), HOST)
    assert found is not None
    assert (found.name, found.knob, found.by, found.share) == ("over", 3 * GIB, "cgroup", 0.2)
    assert condition({}, HOST) is None
    # Without swap nothing can be swapped out, and nothing needs to be.
    assert condition(parse_treatment(["memory.condition=under@3g"]), {"SwapTotal": 0})


@pytest.mark.parametrize(
    ("given", "message", "remedy"),
    [
        (["memory.condition=over"], "knob is not known", "experiment calibrate FILE"),
        (["memory.condition=over@3g", "cgroup.memory=2g"], "cgroup.memory", "one out"),
        (
            ["memory.condition=under@3g", "jvm.options=-XX:+AlwaysPreTouch"],
            "touched beforehand",
            "leave",
        ),
        (
            ["memory.condition=under@3g", "spark.executor.extraJavaOptions=-XX:+AlwaysPreTouch"],
            "spark.executor.extraJavaOptions",
            "leave",
        ),
        (["memory.condition=under@13g", "memory.by=ballast"], "leaves less than", "at most"),
        (["memory.by=ballast"], "memory.by needs memory.condition", "leave it out"),
        (["memory.share=0.2"], "memory.share needs memory.condition", "give both"),
        (["memory.condition=both@3g"], "no level 'both@3g'", "calibrate"),
        (["memory.condition=under@0"], "memory.condition=0: out of range", "from 4m"),
        (["memory.condition=over@"], "no level", "under@4g"),
    ],
)
def test_what_makes_no_sense_is_refused(given: list[str], message: str, remedy: str) -> None:
    with pytest.raises(PyrometerError) as caught:
        condition(parse_treatment(given), HOST)
    assert message in caught.value.message
    assert remedy in (caught.value.remedy or "")


def test_without_swap_the_command_is_said() -> None:
    with pytest.raises(CapabilityError, match="no swap") as caught:
        condition(parse_treatment(["memory.condition=over@3g"]), {**HOST, "SwapTotal": 0})
    assert "swapon /swapfile" in (caught.value.remedy or "")


@pytest.mark.parametrize("version", [1, 2])
def test_the_level_reached_is_that_of_the_group(version: int, tmp_path: Path) -> None:
    wanted = Condition("over", 1000, "cgroup", 0.1)
    watch = MemoryWatch([str(tmp_path / "gone"), str(tmp_path)], wanted)
    for inactive, swapped, own in ((300, 20, 500), (200, 120, 700)):
        if version == 1:
            text = f"rss 1\ntotal_inactive_file {inactive}\ntotal_swap {swapped}\ntotal_rss {own}\n"
            text += "total_shmem 7\n"
        else:
            text = f"anon {own}\nfile 9\nshmem 7\ninactive_file {inactive}\n"
            (tmp_path / "memory.swap.current").write_text(f"{swapped}\n")
        (tmp_path / "memory.stat").write_text(text)
        watch.look()
    memory = watch.reached()
    assert memory is not None
    assert (memory["inactive_file_ratio"], memory["swapped_ratio"]) == (0.3, 0.12)
    # Shared memory is in it.
    assert (memory["anonymous_bytes"], memory["samples_count"]) == (707, 2)
    assert reached_ratio(memory) == 0.12
    assert missed(memory) is None


def test_the_level_reached_beside_a_ballast_is_that_of_the_host(tmp_path: Path) -> None:
    given = ["memory.condition=under@3g", "memory.by=ballast"]
    meminfo = tmp_path / "meminfo"
    watch = MemoryWatch([], condition(parse_treatment(given), HOST), meminfo)
    rows = "MemTotal: {} kB\nSwapTotal: 100 kB\nSwapFree: {} kB\nInactive(file): {} kB\n"
    for free, inactive, shared in ((90, 1 << 20, 1), (70, 13 << 18, 4)):
        own = f"AnonPages: 5 kB\nShmem: {shared} kB\n"
        meminfo.write_text(rows.format(16 << 20, free, inactive) + own)
        watch.look()
    memory = watch.reached()
    assert memory is not None
    assert memory["inactive_file_ratio"] == 0.25
    assert memory["anonymous_bytes"] == 3 << 10
    assert memory["swapped_ratio"] == 20 / (13 << 20)
    assert "25.0 % of the memory on the list of inactive file pages" in (missed(memory) or "")


def test_nothing_seen_is_told_with_the_reason(tmp_path: Path) -> None:
    watch = MemoryWatch([], condition(parse_treatment(["memory.condition=under@1g"]), HOST))
    watch.look()
    memory = watch.reached()
    assert memory is not None
    assert reached_ratio(memory) is None
    assert "could not be read" in (missed(memory) or "")
    assert MemoryWatch([], None).reached() is None


def test_a_ballast_is_locked_until_it_is_ended(tmp_path: Path) -> None:
    with ended_after() as companions:
        try:
            companions.hold("ballast", ballast_command(3 << 20), tmp_path / "log", READY)
        except CapabilityError as error:
            needs.machine_lacks(f"the right to lock memory: {error.message}")
        (pid,) = companions.pids
        status = Path(f"/proc/{pid}/status").read_text()
        locked = next(line for line in status.splitlines() if line.startswith("VmLck"))
        assert int(locked.split()[1]) >= 3 << 10
    assert not Path(f"/proc/{pid}").exists()


def test_a_ballast_that_cannot_be_held_says_why(tmp_path: Path) -> None:
    with ended_after() as companions, pytest.raises(CapabilityError, match="at most"):
        companions.hold("ballast", ballast_command(1 << 60), tmp_path / "log", READY)
