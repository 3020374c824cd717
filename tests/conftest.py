"""What holds for all tests: Ctrl-C reaches what they start, a slow machine fails none, verdicts,
tunings and caches (but for data sets) of the user who runs them are neither read nor written, and
where everything is required a tool that is missing fails those that need it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from pyrometer.verification.record import VARIABLE as VERDICTS
from pyrometer.workloads.data_cache import default_root
from tests.support import needs

# A stall of the machine is no defect of what is tested: only the whole test has a limit of time.
settings.register_profile("pyrometer", deadline=None, max_examples=6)
settings.register_profile("thorough", deadline=None, max_examples=100)
settings.load_profile("thorough" if os.environ.get("PYROMETER_THOROUGH") else "pyrometer")

# Verdicts of this machine widen and narrow intervals.
os.environ[VERDICTS] = tempfile.mkdtemp(prefix="pyrometer-verdicts-")
atexit.register(shutil.rmtree, os.environ[VERDICTS], ignore_errors=True)

# Tunings of this machine warm the start of others.
os.environ["PYROMETER_TUNINGS"] = "none"

OWN_CACHE = "pyrometer-cache-"


def use_own_cache() -> None:
    """Keep tables of event logs, fetched runs and the card of the host apart from the user's.

    Data sets stay where the user has them, as it takes minutes to make them. What other tools keep
    in the user's cache is linked.
    """
    users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    if users.name.startswith(OWN_CACHE):
        return  # that of the process that started this one
    os.environ["PYROMETER_CACHE"] = str(default_root())
    own = Path(tempfile.mkdtemp(prefix=OWN_CACHE))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    # There may be none, or one that we may not look into.
    with contextlib.suppress(OSError):
        for one in users.iterdir():
            if one.name != "pyrometer":
                (own / one.name).symlink_to(one.absolute())
    os.environ["XDG_CACHE_HOME"] = str(own)


use_own_cache()

# A shell that began them may ignore it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


MANY_VARIANTS = (
    *(f"unit/{room}" for room in ("accounts", "cli", "compare", "explain", "export", "layouts",
                                  "scaling", "store", "summary")),
    *(f"integration/{room}" for room in ("cli", "collect", "explain", "store")),
    "property/store", "browser",
)  # fmt: skip
"""Folders in which of a test's variants the first two run each time, the others with the slow ones:
they start programs or make runs, and differ in a value. Those that are marked slow are not counted,
and all of a test that is marked ``every_variant`` run: they read what was made once for all."""


LONG = Path(__file__).with_name("long_tests.txt")
"""Tests that take 0.4 s or more, by file: of each file the first runs each time, the others with
the slow ones. `tools/list_long_tests.py` writes it from what a run of all tests measured."""


def long_tests() -> dict[str, set[str]]:
    """Give the names of these tests, by their file below this folder."""
    found: dict[str, set[str]] = {}
    for line in LONG.read_text().splitlines():
        file, *names = line.split()
        found[file] = set(names)
    return found


JOURNALS = tuple(
    f"{Path(__file__).parent / kind / room}{os.sep}"
    for kind in ("unit", "property")
    for room in ("benchmarks", "corun", "experiments", "layouts", "scaling", "tune", "verification")
)
"""Folders of tests that write journals of thousands of records."""


@pytest.fixture(autouse=True)
def no_power_is_lost(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk where journals are written: that would be a tenth of all time."""
    if str(request.path).startswith(JOURNALS):
        monkeypatch.setattr(os, "fsync", os.fstat)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the further variants of tests in such folders, and further long ones, as slow.

    Where an author chose which variants of a long test run each time, that holds.
    """
    seen: dict[str, int] = {}
    folders = tuple(f"{Path(__file__).parent / folder}{os.sep}" for folder in MANY_VARIANTS)
    chosen = {_of(item) for item in items if item.get_closest_marker("slow")}
    for item in items:
        name, _, variant = item.nodeid.partition("[")
        told = item.get_closest_marker("slow") or item.get_closest_marker("every_variant")
        if variant and not told and str(item.path).startswith(folders):
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 2:
                item.add_marker(pytest.mark.slow)
    long, ran = long_tests(), set[str]()
    for item in items:
        if not item.path.is_relative_to(LONG.parent) or _of(item) in chosen:
            continue
        file = item.path.relative_to(LONG.parent).as_posix()
        if _of(item)[1] in long.get(file, ()):
            if file in ran:
                item.add_marker(pytest.mark.slow)
            ran.add(file)


def _of(item: pytest.Item) -> tuple[Path, str]:
    """Give the file of a test and its name without its variant."""
    return item.path, getattr(item, "originalname", None) or item.name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a skip that an installation would have avoided, where everything is required."""
    report = yield
    if report.skipped and call.excinfo is not None and needs.everything_required():
        reason = str(call.excinfo.value)
        if not reason.startswith(needs.LACKS):
            report.outcome = "failed"
            report.longrepr = f"skipped, and PYROMETER_REQUIRE_ALL is set: {reason}"
    return report
