"""What a project mutes: found upward, with reasons, and never by mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrometer.core.errors import UsageError
from pyrometer.explain.project import NAME, muted_by, muted_in, project_file

CODES = ("gc.heap", "gc.young", "config.a", "config.b")


def test_the_nearest_file_above_is_taken(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / NAME).write_text('[explain.mute]\n"gc.heap" = "outer"\n')
    assert muted_in(inner, CODES) == {"gc.heap": "outer"}
    (tmp_path / "a" / NAME).write_text('[explain.mute]\n"gc.young" = "inner"\n')
    assert project_file(inner) == tmp_path / "a" / NAME
    assert muted_in(inner, CODES) == {"gc.young": "inner"}


def test_a_code_is_more_exact_than_its_family() -> None:
    text = '[explain.mute]\n"config.b" = "mine"\n"config.*" = "theirs"\n'
    assert muted_by(text, CODES) == {"config.a": "theirs", "config.b": "mine"}


@pytest.mark.parametrize("text", ["", "[explain]\n", "[explain.mute]\n"])
def test_a_file_may_mute_nothing(text: str) -> None:
    assert muted_by(text, CODES) == {}


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ('[explain.mute]\n"gc.heap" = ""', "'gc.heap' needs a reason", '"gc.heap" = "why"'),
        ('[explain.mute]\n"gc.heap" = "  "', "'gc.heap' needs a reason", "why"),
        ('[explain.mute]\n"gc.heap" = true', "'gc.heap' needs a reason", "why"),
        ('[explain.mute]\n"gc.heep" = "x"', "no rule or family 'gc.heep'", "did you mean"),
        ('[explain.mute]\n"gc" = "x"', "no rule or family 'gc'", "did you mean 'gc.*'?"),
        ('[explain.mute]\n"*" = "x"', "no rule or family '*'", "pyrometer rules"),
        ('[explain.mute]\ngc.heap = "x"', "a code has a dot in it", '"gc.heap" = "why"'),
        ('[explain.mutes]\n"gc.heap" = "x"', "unknown: explain.mutes", "[explain.mute]"),
        ('[explains.mute]\n"gc.heap" = "x"', "unknown: explains", "[explain]"),
        ('explain = "x"', "explain is not a table", "[explain.mute]"),
        ("[explain.mute]\n= 1", "line 2", "--no-mute"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_message_with_the_file(
    tmp_path: Path, text: str, said: str, remedy: str
) -> None:
    path = tmp_path / NAME
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        muted_in(tmp_path, CODES)
    assert str(path) in raised.value.message
    assert said in raised.value.message
    assert remedy in (raised.value.remedy or "")


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot be read"):
        muted_in(tmp_path, CODES)
