"""What a test needs of the machine: optional tools, and rights or parts that some machines lack.

A tool can be installed: the reason of such a skip is the command, and it is a failure where
everything is to be tested (``PYROMETER_REQUIRE_ALL=1``, as in continuous integration). What a
machine lacks for good (a second CPU, a counter, a right) never is.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

LACKS = "this machine lacks "
SPARK35 = Path(__file__).parents[2] / ".venv-spark35"
REMOTE = Path(os.environ.get("PYROMETER_REMOTE_VENV") or Path(__file__).parents[2] / ".venv-remote")
"""Environment with what reads object stores, and a server of S3."""
PACKAGES = {
    "busybox": "busybox-static",
    "cc": "build-essential",
    "chromedriver": "chromium-driver",
    "chromium": "chromium",
    "clang": "clang",
    "debugfs": "e2fsprogs",
    "dpkg-deb": "dpkg",
    "fincore": "util-linux",
    "fio": "fio",
    "go": "golang-go",
    "llvm-strip": "llvm",
    "node": "nodejs",
    "mke2fs": "e2fsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "mkfs.xfs": "xfsprogs",
    "nbdkit": "nbdkit",
    "openssl": "openssl",
    "postgres": "postgresql",
    "qemu-system-x86_64": "qemu-system-x86",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}
"""Debian's package of each optional tool of the tests."""


def everything_required() -> bool:
    """Whether a tool that is missing is a failure."""
    return os.environ.get("PYROMETER_REQUIRE_ALL", "") not in ("", "0")


def machine_lacks(what: str) -> NoReturn:
    """Skip a test that cannot be had on this machine, whatever is installed."""
    pytest.skip(f"{LACKS}{what}")


def missing(what: str, install: str) -> NoReturn:
    """Skip a test for something that the command `install` brings."""
    pytest.skip(f"not installed: {what}. Install: {install}")


def tool(*programs: str) -> str:
    """Find the first of some programs that the test needs; skip where one is missing."""
    for program in programs:
        if shutil.which(program) is None:
            missing(program, f"apt-get install {PACKAGES[program]}")
    return str(shutil.which(programs[0]))


def remote_python() -> Path:
    """Give the Python that reads object stores; skip where it is missing."""
    if not (REMOTE / "bin" / "python").exists():
        missing("s3fs and moto", "make setup-test")
    return REMOTE / "bin" / "python"


def cpus(count: int) -> None:
    """Skip where fewer CPUs may be used."""
    if len(os.sched_getaffinity(0)) < count:
        machine_lacks(f"{count} CPUs")


def spark35() -> Path:
    """Find the environment with Spark 3.5."""
    if not SPARK35.is_dir():
        missing("the environment with Spark 3.5", "make setup-test")
    return SPARK35


def corpus() -> Path:
    """Find the folder of logs and measurements of others that the project may not ship."""
    folder = os.environ.get("PYROMETER_CORPUS")
    if not folder:
        machine_lacks("the corpus of recordings of others (PYROMETER_CORPUS is not set)")
    return Path(folder)


def tier(name: str, reason: str) -> NoReturn:
    """Skip for a tier of the probe that the kernel refuses."""
    machine_lacks(f"tier {name} of the probe: {reason}")


def root() -> None:
    """Skip for another user than root."""
    if os.geteuid() != 0:
        machine_lacks("root's rights")
