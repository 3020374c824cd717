"""The list of long tests names tests that there are, and is written from what a run measured."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import LONG, long_tests
from tools import list_long_tests

import pyrometer.testing

JUNIT = """<testsuites><testsuite name="pytest">
<testcase classname="tests.unit.docs.test_links" name="test_shared[a]" time="30.0"/>
<testcase classname="tests.unit.docs.test_links" name="test_shared[b]" time="0.1"/>
<testcase classname="tests.unit.docs.test_links" name="test_slow" time="1.2"/>
<testcase classname="tests.unit.docs.test_links.TestOfAClass" name="test_inner" time="3.0"/>
<testcase classname="python.pyrometer.core.units" name="pyrometer.core.units.digits" time="9.0"/>
</testsuite></testsuites>"""


def test_each_is_a_test() -> None:
    """Of its file, or of a contract that it keeps."""
    contracts = "".join(
        one.read_text() for one in Path(pyrometer.testing.__file__).parent.rglob("*.py")
    )
    for file, names in long_tests().items():
        text = (LONG.parent / file).read_text() + contracts
        missing = names - set(re.findall(r"\w+", text))
        assert not missing, (file, missing, "write the list again, or take it out")


def test_it_lists_what_takes_long_itself(tmp_path: Path) -> None:
    """A variant that waited for what all share does not count, nor do examples in docstrings."""
    junit = tmp_path / "junit.xml"
    junit.write_text(JUNIT)
    text = list_long_tests.listed(list_long_tests.took(junit))
    assert text == "unit/docs/test_links.py test_inner test_slow\n"
