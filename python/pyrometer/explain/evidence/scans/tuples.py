"""Conditions that compare several columns at once, as tuples: `(day, kind) IN ((3, 'a'), …)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyrometer.explain.evidence.scans.scan_text import parts

_COMPARED = (
    re.compile(r"^(?:named_)?struct\((?P<fields>.*)\) IN \((?P<values>\[.*\])\)$"),
    re.compile(r"^(?:named_)?struct\((?P<fields>.*)\) INSET (?P<values>\[.*\])$"),
    re.compile(r"^\((?:named_)?struct\((?P<fields>.*)\) = (?P<values>\[.*\])\)$"),
)


def values_in_tuples(condition: str, columns: Sequence[str]) -> set[tuple[str, ...]] | None:
    """Give the values that a condition of tuples allows some columns, taken together.

    None where it is another condition, has not all of the columns bare, or is not to be read: Spark
    cuts long lists, and writes texts without quotes.

    Examples
    --------
    >>> condition = "named_struct(d, d#1, k, k#2) IN ([3,a],[3,b],[4,a])"
    >>> sorted(values_in_tuples(condition, ["d#1"]))
    [('3',), ('4',)]
    >>> values_in_tuples("d#1 IN (3,4)", ["d#1"])
    """
    found = next((one for form in _COMPARED if (one := form.match(condition))), None)
    if found is None or not columns or "..." in found["values"]:
        return None
    fields = parts(found["fields"], ",")[1::2]
    if not set(columns) <= set(fields):
        return None
    places = [fields.index(column) for column in columns]
    allowed = set()
    for each in parts(found["values"], ","):
        values = each[1:-1].split(",")
        if not (each.startswith("[") and each.endswith("]")) or len(values) != len(fields):
            return None
        allowed.add(tuple(values[place] for place in places))
    return allowed
