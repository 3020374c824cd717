"""A probe that is killed leaves no setting of the kernel changed, whoever else is still there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support import needs
from tests.support.cli import environment

from pyrometer.collect.host.settings_restore import RECORDS
from pyrometer.collect.probes.os import capabilities

SWITCH = "/proc/sys/kernel/task_delayacct"
# What follows sees a file in place of the switch, and an empty folder in place of the records.
OWN = (
    f'mount --bind "$1" {SWITCH} && mkdir -p {RECORDS} && mount -t tmpfs none {RECORDS}'
    ' && shift && exec "$@"'
)


def test_the_switch_of_delay_accounting_is_put_back(tmp_path: Path) -> None:
    needs.root()
    [found] = [row for row in capabilities() if row.name == "delay_accounting"]
    if not found.available:
        needs.machine_lacks(f"delays of the kernel: {found.reason}")
    switch = tmp_path / "switch"
    switch.write_text("0\n")
    done = subprocess.run(
        [
            needs.tool("unshare"), "--mount", "sh", "-c", OWN, "sh", switch,
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
            Path(__file__).with_name("killed_probe.py"),
        ],
        env=environment(), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("... "), done.stdout
    assert switch.read_text().strip() == "0"
