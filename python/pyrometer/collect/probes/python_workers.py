"""Probe ``python``: stacks of Python workers and of the driver's Python, sampled from inside.

A folder on ``PYTHONPATH`` makes every Python of the application import our ``sitecustomize``; it
starts a sampling thread where pyspark is used (docs/adr/0008-python-stacks.md).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from pyrometer.collect.probes.base import Needs, Probe, Problem
from pyrometer.collect.probes.plain_path import plain
from pyrometer.collect.probes.plugin import records
from pyrometer.collect.probes.profile import PYTHON, PYTHON_PERIOD
from pyrometer.core.installation import reinstall
from pyrometer.store.manifest import ProbeEntry
from pyrometer.store.paths import RunPaths

HOOK = Path(__file__).parent.parent / "injected"
_FILES = (
    "sitecustomize.py",
    "pyrometer_start.py",
    "pyrometer_sampler.py",
    "pyrometer_context.py",
)
NONE_SEEN = "no Python that uses pyspark"
_UNIT_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
# A sample costs about 0.1 ms, the waking of its thread included: shorter periods would show.
SHORTEST_NS = 1_000_000
_OWN = re.compile(rb'"own":(\d+)')
_TIMES = re.compile(rb'"t":\[([^\]]*)\]')
_DROPPED = re.compile(rb'"dropped":(\d+)')


class PythonProbe(Probe):
    """Stacks of PySpark's workers, each with its CPU time and the task that it works for.

    Parameters
    ----------
    period : str
        Time between samples, a number with a unit.
    """

    name = PYTHON

    def __init__(self, period: str = PYTHON_PERIOD) -> None:
        self.period = period

    def asked(self) -> str:
        """Say how often stacks are taken."""
        return f"stacks of Python workers and driver every {self.period}"

    def needs(self, paths: RunPaths) -> Needs:
        """Lead Pythons to our hook, and say where it writes."""
        return Needs(
            environment={
                "PYROMETER_PYTHON_DIR": str(plain(paths.raw)),
                "PYROMETER_PYTHON_PERIOD_NS": str(max(nanoseconds(self.period), SHORTEST_NS)),
            },
            # A colon would cut the path in two.
            python_path=(str(plain(HOOK)),),
        )

    def check(self) -> list[Problem]:
        """See that the hook is there and that threads have CPU clocks as on Linux."""
        missing = [name for name in _FILES if not (HOOK / name).is_file()]
        if missing:
            reason = f"{HOOK}: {', '.join(missing)} missing"
            return [Problem(self.name, reason, reinstall(), fatal=False)]
        if not sys.platform.startswith("linux"):
            return [
                Problem(
                    self.name,
                    f"CPU clocks of threads are not known on {sys.platform}",
                    "run on Linux",
                    fatal=False,
                )
            ]
        return []

    def report(self, paths: RunPaths) -> ProbeEntry:
        """Count processes and samples; what the sampler gave up for is the reason."""
        files = paths.python_files()
        own = samples = dropped = 0
        for file in files:
            with file.open("rb") as lines:
                for line in lines:
                    found = _OWN.search(line)
                    if found is None:
                        continue
                    own += int(found[1])
                    times = _TIMES.search(line)
                    samples += times[1].count(b",") + 1 if times else 0
                    lost = _DROPPED.search(line)
                    dropped += int(lost[1]) if lost else 0
        errors = sorted({str(r.get("message")) for f in files for r in records(f, "error")})
        return ProbeEntry(
            name=self.name,
            tier="in-process" if files else None,
            asked=self.asked(),
            # Most applications have no Python: that nothing came is then all there was.
            got=f"{samples} samples in {len(files)} file(s)" if files else NONE_SEEN,
            dropped=dropped if files else None,
            own_cpu_ns=own if files else None,
            reason="; ".join(errors) or None,
        )


def nanoseconds(period: str) -> int:
    """Read a period as ``--profile`` takes it; a bare number is in nanoseconds.

    Examples
    --------
    >>> nanoseconds("20ms"), nanoseconds("500")
    (20000000, 500)
    """
    digits = period.rstrip("nmus")
    return int(digits) * _UNIT_NS[period[len(digits) :] or "ns"]
