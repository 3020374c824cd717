"""What is printed holds no secret, whoever prints it, and who reads it may go."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from typing import NoReturn

import pytest

from pyrometer.core.redaction import REDACTED
from pyrometer.terminal import console
from pyrometer.terminal.console import Progress
from pyrometer.trial.trial import Trial


@pytest.fixture(autouse=True)
def fresh_consoles() -> Iterator[None]:
    _forget()
    yield
    _forget()


def _forget() -> None:
    console.err.cache_clear()
    console.out.cache_clear()


@pytest.mark.parametrize("name", ["out", "err"])
def test_no_secret_is_printed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    where = getattr(console, name)()
    where.print("--conf spark.x.password=plum4", 7, markup=False)
    where.print("jdbc:mysql://ann:plum5@host/x", soft_wrap=True)
    said = capsys.readouterr()
    text = said.out + said.err
    assert "plum" not in text
    assert text.count(REDACTED) == 2


def test_json_is_printed_whatever_a_file_is_called(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    value = {"run_dir": os.fsdecode(b"r\xff\xc3\xa9"), "n": float("inf")}
    console.emit_json(value)
    assert json.loads(capsys.readouterr().out) == {**value, "n": None}
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", ascii_only)
    console.emit_json(value)
    assert json.loads(ascii_only.buffer.getvalue()) == {**value, "n": None}  # type: ignore[attr-defined]


class _Gone(io.StringIO):
    """A terminal that has hung up."""

    def write(self, text: str) -> NoReturn:
        raise BrokenPipeError("gone")

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("trial", [Trial(name="parquet-scan"), Trial(command=("true",))])
def test_a_run_goes_on_where_nobody_reads_any_more(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", _Gone())
    monkeypatch.setenv("TERM", "xterm")
    with Progress(trial) as progress:
        for name in ("prepare", "run", "close"):
            progress.phase(name)
        progress.progress("web_sales", 3, 100)
        progress.running(0, 3, warmup=True)
        progress.note("a note")
