"""Sets of causes whose authors, one for each shape of data, had not seen the rules."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from benchmarks.faults.cases import BOTH, SHAPES, Set, together


def authored(name: str) -> Set:
    """Put the cases of a set together from its folder: one file of cases for each shape of data.

    The folder says ``APP`` and ``BOTH`` where its application or settings are its own.

    Examples
    --------
    >>> authored("fifth").shapes
    ('payments', 'tickets', 'genes')
    >>> len(authored("fifth").cases)
    18
    >>> authored("seventh").app.name
    'job.py'
    """
    folder = import_module(f"benchmarks.faults.{name}")
    cases = {
        shape: import_module(f"benchmarks.faults.{name}.{shape}_cases").CASES
        for shape in SHAPES[name]
    }
    app = getattr(folder, "APP", Path(__file__).with_name("later_app.py"))
    return Set(name, app, together(cases), getattr(folder, "BOTH", BOTH))
