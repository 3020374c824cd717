"""A job on several executors: how they come, what they hold, and how they go."""

from __future__ import annotations

from benchmarks.faults.surroundings.desk import report as report
