"""What the host card says of a disk, and of memory that is short."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.support import needs

from pyrometer import _artifacts
from pyrometer.cli.begin.doctor import show_card
from pyrometer.collect.host import card
from pyrometer.core.errors import CapabilityError

MEMORY = Path("/dev/shm")


def probe_that(does: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = tmp_path / "probe"
    probe.write_text(f"#!/bin/sh\n{does}\n")
    probe.chmod(0o755)
    monkeypatch.setattr(_artifacts, "probe_binary", lambda: probe)


def test_a_probe_without_the_memory_says_so_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe_that("echo memory takes 528 MiB to measure >&2; exit 1", tmp_path, monkeypatch)
    with pytest.raises(CapabilityError, match="memory takes 528 MiB") as refused:
        card.measure(str, tmp_path)
    assert refused.value.remedy == card.FREE_MEMORY


@pytest.mark.parametrize(("signal", "is_short"), [("KILL", True), ("ABRT", True), ("ILL", False)])
def test_a_probe_that_the_kernel_ends_had_too_little_memory_or_does_not_fit(
    signal: str, is_short: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe_that(f"kill -{signal} $$", tmp_path, monkeypatch)
    with pytest.raises(CapabilityError) as refused:
        card.measure(str, tmp_path)
    assert (refused.value.remedy == card.FREE_MEMORY) == is_short


def test_fewer_threads_than_cpus_are_said_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = [1.0, 2.0, 3.0]
    found: dict[str, Any] = dict.fromkeys(
        ["copy_bytes_per_s", "triad_bytes_per_s", "latency_ns", "alu_ns"], rates
    )
    found |= {"read_bytes_per_s": {"1": rates}, "latency_loaded_ns": None}
    found |= {"threads_count": 1, "cpus_count": 4}
    probe_that(f"echo '{json.dumps(found)}'", tmp_path, monkeypatch)
    monkeypatch.setattr(card, "measure_disk", lambda _: (None, None, "not here"))
    said: list[str] = []
    made = card.measure(said.append, tmp_path)
    assert (made.threads_count, made.cpus_allowed_count) == (1, 4)
    assert "memory is short: its bandwidth was measured by 1 of 4 CPUs" in said
    shown = Console(file=io.StringIO(), width=200)
    with shown.capture() as captured:
        show_card(made, shown)
        show_card(made.model_copy(update={"threads_count": 4}), shown)
    assert captured.get().count("measured by 1 of 4 CPUs") == 1
    assert captured.get().count("measured by") == 1


def test_memory_is_not_measured_as_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = Path("/proc/mounts").read_text()
    if not os.access(MEMORY, os.W_OK) or f" {MEMORY} tmpfs " not in mounts:
        needs.machine_lacks(f"a tmpfs at {MEMORY}")
    monkeypatch.setattr(card, "DISK_BYTES", 4 << 20)
    assert card.measure_disk(MEMORY) == (
        None, None, "/dev/shm: files there stay in memory, as on a tmpfs",
    )  # fmt: skip
