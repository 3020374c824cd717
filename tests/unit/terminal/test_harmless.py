"""What others say cannot steer the terminal, whichever way it is printed."""

from __future__ import annotations

import io
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from pyrometer.cli.main import run_verb
from pyrometer.terminal import console
from pyrometer.terminal.harmless import harmless

EVIL = "a\x1b[2J\x9b1mb\x07\u202ec\u2066"


@pytest.fixture(autouse=True)
def _new_consoles(monkeypatch: pytest.MonkeyPatch) -> None:
    console.err.cache_clear()
    console.out.cache_clear()


@pytest.mark.parametrize("way", ["plain", "text", "table", "error"])
def test_no_order_reaches_the_terminal(way: str, capsys: pytest.CaptureFixture[str]) -> None:
    if way == "plain":
        console.err().print(EVIL, markup=False)
    elif way == "text":
        console.err().print(Text(EVIL))
    elif way == "table":
        table = Table(EVIL)
        table.add_row(EVIL)
        console.err().print(table)
    else:
        console.say_error(EVIL, EVIL)
    shown = capsys.readouterr().err
    assert "\ufffd[2J" in shown
    assert not [one for one in shown if unicodedata.category(one) == "Cc" and one != "\n"]
    assert not set(shown) & set("\u202e\u2066")


def test_a_path_with_an_escape_is_named_without_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_verb(["show", str(tmp_path / "x\x1b]0;title\x07")]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_a_name_that_is_not_utf8_is_printed_without_those_bytes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console.out().print("caf\udce9", markup=False)
    assert capsys.readouterr().out == "caf\ufffd\n"


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("ascii", b"3 > 4 ~ 1 . + ?\n"), ("iso-8859-1", b"3 > 4 \xb1 1 . + ?\n")],
)
def test_a_terminal_without_unicode_gets_other_signs_for_what_it_lacks(
    encoding: str, shown: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", stdout)
    console.out().print("3 → 4 ± 1 … ✓ ☃")
    assert stdout.buffer.getvalue() == shown  # type: ignore[attr-defined]


@given(st.text())
def test_all_else_stays(text: str) -> None:
    made = harmless(text)
    assert len(made) == len(text)
    assert harmless(made) == made
    assert all(
        new == old or unicodedata.category(old) in ("Cc", "Cf", "Cs")
        for new, old in zip(made, text, strict=True)
    )
