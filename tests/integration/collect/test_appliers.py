"""Factors that change the host, applied to real runs, and undone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support import needs

from pyrometer.cli.begin.doctor import leftover_settings
from pyrometer.collect.host.disks import disks_below
from pyrometer.collect.host.settings_restore import present
from pyrometer.collect.probes.plugin import records

PYROMETER = (sys.executable, "-m", "pyrometer")
SWAPPINESS = Path("/proc/sys/vm/swappiness")
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")

pytestmark = pytest.mark.slow


def _writable(path: Path) -> None:
    if not os.access(path, os.W_OK):
        needs.machine_lacks(f"the right to write {path}")


def _run(folder: Path, *words: str) -> dict[str, Any]:
    done = subprocess.run([*PYROMETER, "run", "--json", "-o", str(folder), *words],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return manifest


def _codes(manifest: dict[str, Any]) -> set[str]:
    return {doubt["code"] for doubt in manifest["doubts"]}


@pytest.mark.spark
def test_a_standalone_cluster_with_bound_executors_and_a_neighbour(tmp_path: Path) -> None:
    before = present(THP.read_text())
    other = "never" if before != "never" else "madvise"
    huge_pages = ["--set", f"os.thp={other}"] if os.access(THP, os.W_OK) else []
    needs.cpus(2)
    cpus = sorted(os.sched_getaffinity(0))
    run = tmp_path / "run"
    manifest = _run(
        run, "parquet-scan", "--scale", "test", "--iterations", "1", "--warmup", "0",
        "--profile", "light", "--no-report", "--set", "layout.cluster=standalone",
        "--set", "layout.executors=2", "--set", "layout.cores_per_executor=1",
        "--set", "jvm.heap=512m", "--set", "cpu.bind=own", "--set", f"co.run=cpu@{cpus[0]}",
        *huge_pages,
    )  # fmt: skip
    assert present(THP.read_text()) == before
    assert {"jvm_pinned", "accompanied"} <= _codes(manifest)
    assert not {"processes_left", "companion_ended", "setting_left", "setting_changed"} & _codes(
        manifest
    )
    assert [one["per_s"] > 0 for one in manifest["neighbours"]] == [True]
    seen = []
    for file in sorted((run / "raw").glob("plugin-executor-*")):
        said = next(iter(records(file, "process")))
        seen.append((said["executor_id"], said["cpus_count"], said["gc_names"][0]))
    share = len(cpus) // 2
    assert [one for one, _, _ in seen] == ["0", "1"]
    assert {count for _, count, _ in seen} <= {share, share + 1}
    assert all("G1" in name for _, _, name in seen)
    left = subprocess.run(["pgrep", "-f", str(run)], capture_output=True, text=True, check=False)
    assert left.stdout == ""


def test_the_disk_whose_scheduler_is_set_is_named_where_the_data_are_not_known(
    tmp_path: Path,
) -> None:
    files = [Path("/sys/block", one, "queue/scheduler") for one in disks_below(tmp_path)]
    levels = {present(one.read_text()) for one in files if os.access(one, os.W_OK)}
    if len(levels) != 1:
        needs.machine_lacks("a disk below the test whose I/O scheduler may be set")
    manifest = _run(
        tmp_path / "run", "--profile", "off", "--no-report",
        "--set", f"os.io_scheduler={levels.pop()}", "--", "true",
    )  # fmt: skip
    assert "limit_of_one_disk" in _codes(manifest)


def test_a_killed_run_leaves_a_record_and_the_next_run_puts_back(tmp_path: Path) -> None:
    _writable(SWAPPINESS)
    before = SWAPPINESS.read_text().strip()
    level = "11" if before != "11" else "12"
    run = subprocess.Popen(
        [*PYROMETER, "run", "--profile", "off", "-o", str(tmp_path / "a"),
         "--set", f"os.swappiness={level}", "--", "sleep", "300"],
        start_new_session=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while SWAPPINESS.read_text().strip() != level:
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    assert SWAPPINESS.read_text().strip() == level
    found = [one for one in leftover_settings() if "vm.swappiness" in one.reason]
    assert len(found) == 1
    assert (found[0].remedy or "").startswith(f"as root: echo {before} > {SWAPPINESS} && rm ")
    _run(tmp_path / "b", "--profile", "off", "--no-report", "--", "true")
    assert SWAPPINESS.read_text().strip() == before
    assert not [one for one in leftover_settings() if "vm.swappiness" in one.reason]
