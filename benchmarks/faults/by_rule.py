"""What frozen rules named in all blind sets together, rule by rule, and by what a cause cost.

``python -m benchmarks.faults.by_rule`` reads `blind.csv`: a row for each cause of the sets
``third`` to ``ninth``, as judged with the rules that were frozen before the set was read. Several
mended rules would name more now; that is no measurement, so it is not in the table.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median

from benchmarks.faults.judge import WORTH, is_held
from pyrometer.core import units
from pyrometer.statistics.shares import wilson

BLIND = Path(__file__).with_name("blind.csv")
SIZES = (WORTH, 0.1, 0.2, 0.3, 1.0)
"""Bounds of the measured savings that are counted together."""
Row = Mapping[str, str]

_HEAD = """| planted | named | 95 % | n | right place | interval holds it | median error |
|---|--:|--:|--:|--:|--:|--:|
"""


def rows(path: Path = BLIND) -> list[Row]:
    """Read the causes that cost more than 5 %."""
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if float(row["saved"]) > WORTH]


def by_rule(planted: Iterable[Row]) -> dict[str, list[Row]]:
    """Group causes by the first finding, or family of findings, that names them; most causes first.

    Examples
    --------
    >>> sorted(by_rule([{"planted": "gc.a gc.b"}, {"planted": "jit."}]))
    ['gc.a', 'jit.']
    """
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in planted:
        groups[row["planted"].split()[0]].append(row)
    return dict(sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def by_size(planted: Iterable[Row]) -> dict[str, list[Row]]:
    """Group causes by what they cost, as a share of the elapsed time."""
    those = list(planted)
    return {
        f"{low:.0%} to {high:.0%}".replace("%", " %"): [
            row for row in those if low < float(row["saved"]) <= high
        ]
        for low, high in pairwise(SIZES)
    }


def table(groups: Mapping[str, Sequence[Row]]) -> str:
    """Write a Markdown table, a row for each group of causes.

    Examples
    --------
    >>> row = {"saved": "0.30", "saved_low": "0.2", "saved_high": "0.4", "named": "gc.a",
    ...        "predicted": "0.24", "predicted_low": "0.2", "predicted_high": "0.3",
    ...        "place": "right"}
    >>> print(table({"`gc.a`": [row, {**row, "named": ""}]}).splitlines()[2])
    | `gc.a` | 50.0 % | 9.45 to 90.5 | 2 | 1 of 1 | 1 of 1 | 20.0 % |
    """
    return _HEAD + "".join(_line(name, those) for name, those in groups.items() if those)


def _line(name: str, those: Sequence[Row]) -> str:
    named = [row for row in those if row["named"]]
    low, high = (units.percent(end).removesuffix(" %") for end in wilson(len(named), len(those)))
    cells = [name, units.percent(len(named) / len(those)), f"{low} to {high}", str(len(those))]
    if named:
        placed = sum(row["place"] == "right" for row in named)
        held = sum(map(_is_held, named))
        error = median(abs(float(row["predicted"]) / float(row["saved"]) - 1) for row in named)
        cells += [f"{k} of {len(named)}" for k in (placed, held)] + [units.percent(error)]
    else:
        cells += ["", "", ""]
    return f"| {' | '.join(cells)} |\n"


def _is_held(row: Row) -> bool:
    bounds = ("predicted_low", "predicted_high", "saved_low", "saved_high")
    return is_held(*(float(row[one]) for one in bounds))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("table", type=Path, nargs="?", default=BLIND, metavar="CSV")
    planted = rows(parser.parse_args(arguments).table)
    rules = {f"`{code}`": those for code, those in by_rule(planted).items()}
    print(table({**rules, "all": planted}))
    print(table(by_size(planted)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
