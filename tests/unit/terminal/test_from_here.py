"""Paths as a shell takes them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from pyrometer.terminal.console import from_here


@pytest.mark.parametrize("name", ["slow", "a b", "it's", "runs/1"])
def test_a_path_below_the_working_directory_is_short_and_one_word(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shlex.split(from_here(tmp_path / name)) == [name]


def test_a_path_elsewhere_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert from_here(tmp_path / "run") == str(tmp_path / "run")
