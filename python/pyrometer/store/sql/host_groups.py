"""Hosts divided into groups of few rows: what is of one host alone is reckoned group by group.

Rows of one host have nothing to do with those of another. Of very many hosts so many are read at
once as a bounded memory holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def host_groups(counts: Iterable[tuple[str, int]], most_rows: int) -> Iterator[list[str]]:
    """Divide hosts, in their order, by their rows; one host is never divided.

    Parameters
    ----------
    counts : iterable of tuple of str and int
        Hosts, and rows of each.
    most_rows : int
        What a group of several hosts may have.

    Examples
    --------
    >>> list(host_groups([("a", 30), ("b", 20), ("c", 1), ("d", 90)], 50))
    [['a', 'b'], ['c'], ['d']]
    >>> list(host_groups([], 50))
    []
    """
    group: list[str] = []
    rows = 0
    for host, count in counts:
        if group and rows + count > most_rows:
            yield group
            group, rows = [], 0
        group.append(host)
        rows += count
    if group:
        yield group
