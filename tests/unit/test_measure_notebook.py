"""The notebook magic, around a shell that behaves as IPython's does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyrometer import notebook
from pyrometer.errors import CapabilityError, UsageError


class Result:
    def __init__(self, error: Exception | None) -> None:
        self._error = error

    def raise_error(self) -> None:
        if self._error:
            raise self._error


class Shell:
    """What the magic uses of ``InteractiveShell``."""

    def __init__(self, **variables: Any) -> None:
        self.user_ns = variables
        self.magics: dict[str, Callable[[str, str], None]] = {}

    def register_magic_function(
        self, function: Callable[[str, str], None], kind: str, name: str
    ) -> None:
        assert kind == "cell"
        self.magics[name] = function

    def run_cell(self, cell: str) -> Result:
        try:
            exec(cell, self.user_ns)
        except Exception as error:
            return Result(error)
        return Result(None)


class Measured:
    """Stands for a measurement, whose own tests need Spark."""

    def __init__(self, spark: Any, output: str | None) -> None:
        self.asked = (spark, output)
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

    monkeypatch.setattr(notebook, "measure", measure)
    return made


def magic(shell: Shell) -> Callable[[str, str], None]:
    notebook.load_ipython_extension(shell)
    return shell.magics["pyrometer"]


def test_a_cell_is_measured_and_shown(made: list[Measured]) -> None:
    shell = Shell(mine="session")
    magic(shell)("-s mine -o 'a folder'", "x = 6 * 7")
    assert shell.user_ns["x"] == 42
    assert made[0].asked == ("session", "a folder")
    assert made[0].events == ["enter", "exit", "show"]
    assert shell.user_ns["measured"] is made[0]


def test_an_error_in_the_cell_is_the_cells_own(made: list[Measured]) -> None:
    with pytest.raises(ZeroDivisionError):
        magic(Shell(spark="session"))("", "1 / 0")
    assert made[0].events == ["enter", "error"]


@pytest.mark.parametrize("line", ["-s nothing", "--wrong", "-o 'unclosed"])
def test_mistakes_are_told(line: str, made: list[Measured]) -> None:
    with pytest.raises(UsageError) as caught:
        magic(Shell(spark="session"))(line, "x = 1")
    assert "%%pyrometer" in str(caught.value.remedy)
    assert not made


def test_a_session_without_a_jvm_is_refused() -> None:
    with pytest.raises(CapabilityError, match="no JVM"):
        magic(Shell(spark=object()))("", "x = 1")
