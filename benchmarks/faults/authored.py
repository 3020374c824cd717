"""Sets of causes whose authors, one for each shape of data, had not seen the rules."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from benchmarks.faults.cases import BOTH, SHAPES, Set, together


def authored(name: str) -> Set:
    """Put the cases of a set together from its folder: one file of cases for each shape of data.

    Examples
    --------
    >>> authored("fifth").shapes
    ('payments', 'tickets', 'genes')
    >>> len(authored("fifth").cases)
    18
    """
    cases = {
        shape: import_module(f"benchmarks.faults.{name}.{shape}_cases").CASES
        for shape in SHAPES[name]
    }
    return Set(name, Path(__file__).with_name("later_app.py"), together(cases), BOTH)
