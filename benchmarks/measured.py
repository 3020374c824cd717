"""One measured run, and what Pyrometer's reading verbs show of it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Measured:
    """A run that has ended; its folder is removed.

    Attributes
    ----------
    said : str
        Standard output of the program.
    tier : str or None
        Tier of the OS probe.
    shown : tuple of dict
        What each verb printed with ``--json``.
    """

    said: str
    tier: str | None
    shown: tuple[dict[str, Any], ...]


def run_and_read(words: Sequence[str], verbs: Sequence[str] = ("show",)) -> Measured:
    """Run ``pyrometer run`` into a temporary folder, and read it.

    Parameters
    ----------
    words : sequence of str
        The workload or command, with options.
    verbs : sequence of str
        Verbs that read the run.

    Raises
    ------
    subprocess.CalledProcessError
        If the run fails.
    """

    def ours(*arguments: str) -> str:
        command = [sys.executable, "-m", "pyrometer", *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    with tempfile.TemporaryDirectory(prefix="pyrometer-bench-") as folder:
        run = Path(folder) / "run"
        said = ours("run", "--no-report", "-o", str(run), *words)
        shown = tuple(json.loads(ours(verb, str(run), "--json").splitlines()[-1]) for verb in verbs)
        probes = json.loads((run / "manifest.json").read_bytes())["probes"]
    tier = next((probe["tier"] for probe in probes if probe["name"] == "os"), None)
    return Measured(said, tier, shown)
