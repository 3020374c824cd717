"""What the host card says of a disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support import needs

from pyrometer.collect.host import card

MEMORY = Path("/dev/shm")


def test_memory_is_not_measured_as_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = Path("/proc/mounts").read_text()
    if not os.access(MEMORY, os.W_OK) or f" {MEMORY} tmpfs " not in mounts:
        needs.machine_lacks(f"a tmpfs at {MEMORY}")
    monkeypatch.setattr(card, "DISK_BYTES", 4 << 20)
    assert card.measure_disk(MEMORY) == (
        None, None, "/dev/shm: files there stay in memory, as on a tmpfs",
    )  # fmt: skip
