"""A kernel for machines, or the reason why there is none."""

from __future__ import annotations

import os

import pytest
from tests.support import needs

from pyrometer.core.errors import PyrometerError
from pyrometer.guests import emulator
from pyrometer.guests.parts import kernels
from pyrometer.guests.parts.kernels import Kernel

NAMED = "PYROMETER_TEST_KERNEL"
"""Variable that names a .deb or an image where ``/boot`` has none."""


@pytest.fixture(scope="session")
def kernel_level() -> str | None:
    """Level of ``machine.kernel`` for tests."""
    needs.tool(emulator.PROGRAM, "busybox", "mke2fs")
    named = os.environ.get(NAMED)
    if not named and not list(kernels.BOOT.glob("vmlinuz-*")):
        needs.machine_lacks(f"a kernel in /boot ({NAMED}=FILE.deb names another)")
    return named


@pytest.fixture(scope="session")
def kernel(kernel_level: str | None, tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """The kernel itself."""
    try:
        found = kernels.find(kernel_level, tmp_path_factory.mktemp("kernels"))
        found.loading_order()
    except PyrometerError as error:
        needs.machine_lacks(f"a kernel that fits: {error.message}")
    return found
