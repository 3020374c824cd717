"""List the tests that take 0.4 s or more, of which `make test` runs the first of each file.

::

    PYTEST_ADDOPTS=--junitxml=tests.xml make test-all
    python tools/list_long_tests.py tests.xml

Several files are read as those of one run, for example of the slow tests and of the others.

Of a test with variants the longest does not count: it may have waited for what all share. Tests of
properties are left out, as `make test` tries few examples. Those marked slow may stand in the list:
they take no part in `make test` anyway.
"""

from __future__ import annotations

import argparse
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
LISTED = TESTS / "long_tests.txt"
LEAST_S = 0.4


def took(*junit: Path) -> dict[str, dict[str, list[float]]]:
    """Read how long each variant of each test took, by file below `tests` and name, in seconds."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for case in (one for path in junit for one in ET.parse(path).iter("testcase")):
        file = _file((case.get("classname") or "").split("."))
        name = (case.get("name") or "").partition("[")[0]
        if file is not None and name.startswith("test_"):
            found[file][name].append(float(case.get("time") or 0))
    return found


def _file(parts: Sequence[str]) -> str | None:
    """Give the file of a test by the name that JUnit has for its class; none of doctests."""
    if not parts or parts[0] != TESTS.name:
        return None
    for end in range(len(parts), 1, -1):
        file = Path(*parts[1:end]).with_suffix(".py")
        if (TESTS / file).is_file():
            return file.as_posix()
    return None


def is_long(times: Sequence[float], least_s: float = LEAST_S) -> bool:
    """Whether a test is one, by the times of its variants.

    Examples
    --------
    >>> is_long([2.5]), is_long([60.0, 0.1, 0.2]), is_long([1.5, 1.2])
    (True, False, True)
    """
    others = sorted(times)[:-1] or times
    return sum(others) / len(others) >= least_s


def listed(times: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Give the list: a file a line, then its tests."""
    lines = []
    for file, tests in sorted(times.items()):
        names = sorted(name for name, each in tests.items() if is_long(each))
        if names and not file.startswith("property/"):
            lines.append(" ".join([file, *names]))
    return "".join(f"{line}\n" for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the list."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("junit", type=Path, nargs="+", metavar="JUNIT.xml")
    text = listed(took(*parser.parse_args(arguments).junit))
    LISTED.write_text(text)
    print(f"{LISTED}: {len(text.split()) - text.count(chr(10))} tests")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
