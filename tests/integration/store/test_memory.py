"""Analysis stays below 256 MiB, however large its input is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.eventlog.widen import widen
from benchmarks.stacks_input import repeat
from tests.support.eventlogs import RECORDED

LIMIT_BYTES = 256 << 20
TASKS = 100_000
LOG = RECORDED / "scan-4.3.0.zstd"
RECORDING = Path(__file__).parents[2] / "fixtures" / "jfr" / "profile-burn-20632.jfr"

# A process knows the most that it ever held; what its parent held is not counted.
_VERB = """
import json, re, sys
from pathlib import Path
from pyrometer.cli.main import run_verb
code = run_verb(sys.argv[1:])
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(json.dumps({"code": code, "peak_bytes": int(peak[1]) * 1024}), file=sys.stderr)
"""


def peak_bytes(*arguments: str | Path) -> int:
    done = subprocess.run(
        [sys.executable, "-c", _VERB, *map(str, arguments)], capture_output=True, text=True
    )
    told = json.loads(done.stderr.splitlines()[-1])
    assert told["code"] == 0, done.stderr
    return int(told["peak_bytes"])


@pytest.fixture(scope="module")
def many_tasks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A run of an event log of 500 MB, and the peak of its making."""
    folder = tmp_path_factory.mktemp("memory")
    log = folder / "log"
    with log.open("wb") as out:
        assert widen(LOG, TASKS, out) >= TASKS
    peak = peak_bytes("ingest", log, "-o", folder / "run")
    log.unlink()
    stamp = json.loads((folder / "run" / "tables" / "tables.json").read_text())
    assert stamp["tables"]["tasks"] >= TASKS
    return folder / "run", peak


def test_an_event_log_of_a_hundred_thousand_tasks_is_read(many_tasks: tuple[Path, int]) -> None:
    assert many_tasks[1] < LIMIT_BYTES


@pytest.mark.parametrize(
    "verb",
    [("show",), ("show", "--json"), ("ledger",), ("report", "-o", "page.html")],
    ids=" ".join,
)
def test_a_run_of_a_hundred_thousand_tasks_is_shown(
    many_tasks: tuple[Path, int], verb: tuple[str, ...], tmp_path: Path
) -> None:
    run, _ = many_tasks
    given = [str(tmp_path / part) if part == "page.html" else part for part in verb[1:]]
    assert peak_bytes(verb[0], run, *given) < LIMIT_BYTES


def test_a_large_recording_is_read(tmp_path: Path) -> None:
    raw = tmp_path / "run" / "raw"
    raw.mkdir(parents=True)
    repeat([RECORDING], raw / "profile-driver-20632.jfr", 128 << 20)
    assert peak_bytes("ingest", tmp_path / "run") < LIMIT_BYTES
    stamp = json.loads((tmp_path / "run" / "tables" / "tables.json").read_text())
    assert stamp["tables"]["samples"] > 100_000
