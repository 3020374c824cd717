"""Causes in what surrounds a job: slots, disks, stores, the driver, executors and their hosts."""

from __future__ import annotations

from pathlib import Path

from benchmarks.faults.seventh import BOTH as BOTH

APP = Path(__file__).with_name("job.py")
"""The application of the set."""
