"""The notebook magic, around a shell that behaves as IPython's does."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

from pyrometer import api
from pyrometer.core.errors import CapabilityError, UsageError


class Shell:
    """What the magic uses of ``InteractiveShell``."""

    def __init__(self, **variables: Any) -> None:
        self.user_ns = variables
        self.magics: dict[str, Callable[[str, str], object]] = {}

    def register_magic_function(
        self, function: Callable[[str, str], object], kind: str, name: str
    ) -> None:
        assert kind == "cell"
        self.magics[name] = function

    def transform_cell(self, cell: str) -> str:
        return cell.replace("!ls", "list('files')")


class Measured:
    """Stands for a measurement, whose own tests need Spark."""

    def __init__(self, spark: Any, output: str | None) -> None:
        self.asked: tuple[Any, ...] = (spark, output)
        self.events: list[str] = []

    def __enter__(self) -> Measured:
        self.events.append("enter")
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.events.append("error" if kind else "exit")

    def show(self) -> None:
        self.events.append("show")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Measured]:
    made: list[Measured] = []

    def measure(spark: Any, output: str | None) -> Measured:
        made.append(Measured(spark, output))
        return made[-1]

    def repeat(
        spark: Any, block: Callable[[], object], output: str | None, **asked: Any
    ) -> Measured:
        with measure(spark, output) as measured:
            for _ in range(asked["warmup"] + asked["iterations"]):
                measured.events.append(repr(block()))
        measured.asked = (spark, output, asked)
        return measured

    monkeypatch.setattr(api, "measure", measure)
    monkeypatch.setattr(api, "repeat", repeat)
    return made


def magic(shell: Shell) -> Callable[[str, str], object]:
    api.load_ipython_extension(shell)
    return shell.magics["pyrometer"]


def test_a_cell_is_measured_and_shown(made: list[Measured]) -> None:
    shell = Shell(mine="session")
    assert magic(shell)("-s mine -o 'a folder'", "x = 6 * 7") is None
    assert shell.user_ns["x"] == 42
    assert made[0].asked == ("session", "a folder")
    assert made[0].events == ["enter", "exit", "show"]
    assert shell.user_ns["measured"] is made[0]


def test_the_value_of_the_last_line_is_the_cells(made: list[Measured]) -> None:
    assert magic(Shell(spark="session"))("", "x = !ls\nlen(x)") == 5


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("-n nightly", {"name": "nightly", "iterations": 3, "warmup": 1}),
        ("-i 2 -w 0", {"name": "cell", "iterations": 2, "warmup": 0}),
    ],
)
def test_a_named_cell_is_repeated_in_the_same_variables(
    line: str, asked: dict[str, Any], made: list[Measured]
) -> None:
    shell = Shell(spark="session", n=0)
    count = asked["warmup"] + asked["iterations"]
    assert magic(shell)(line, "n += 1\nn") == count == shell.user_ns["n"]
    assert made[0].asked == ("session", None, asked)
    assert made[0].events == ["enter", *map(str, range(1, count + 1)), "exit", "show"]


def test_an_error_in_the_cell_is_the_cells_own(made: list[Measured]) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        magic(Shell(spark="session"))("", "x = 1\nx / 0")
    assert made[0].events == ["enter", "error"]
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.lineno, last.line) == (2, "x / 0")


@pytest.mark.parametrize("line", ["-s nothing", "--wrong", "-o 'unclosed", "-i some"])
def test_mistakes_are_told(line: str, made: list[Measured]) -> None:
    with pytest.raises(UsageError) as caught:
        magic(Shell(spark="session"))(line, "x = 1")
    assert "%%pyrometer" in str(caught.value.remedy)
    assert caught.value.__notes__ == [caught.value.remedy]
    assert not made


def test_a_cell_that_is_no_python_is_told_with_its_line(made: list[Measured]) -> None:
    with pytest.raises(UsageError, match="line 2 of the cell"):
        magic(Shell(spark="session"))("", "x = 1\ny = = 2")
    assert not made


def test_a_session_without_a_jvm_is_refused() -> None:
    with pytest.raises(CapabilityError, match="no JVM"):
        magic(Shell(spark=object()))("", "x = 1")
