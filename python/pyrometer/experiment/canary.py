"""Canaries: what the machine attains just before a trial, as a covariate of its time."""

from __future__ import annotations

from pyrometer import _artifacts
from pyrometer.errors import PyrometerError
from pyrometer.store.experiment import Canaries
from pyrometer.workload import canary


def measure() -> Canaries:
    """Measure arithmetic, memory latency and copy bandwidth for a few tenths of a second."""
    try:
        return Canaries.model_validate(canary.measure(_artifacts.canary_command()))
    except PyrometerError as error:
        return Canaries(reason=error.message)
