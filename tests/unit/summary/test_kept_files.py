"""Files kept beside the tables are whole, or not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrometer.summary.kept import put_beside


def test_what_cannot_be_put_into_words_leaves_nothing_behind(tmp_path: Path) -> None:
    def content() -> Iterator[str]:
        yield "{"
        raise ValueError("no JSON for that")

    target = tmp_path / "kept.json"
    target.write_text("before")
    with pytest.raises(ValueError, match="no JSON"):
        put_beside(target, content())
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_parts_are_one_file_without_secrets(tmp_path: Path) -> None:
    target = tmp_path / "kept.json"
    put_beside(target, ['{"a": "', "--conf spark.my.password=hunter2", '"}'])
    assert "hunter2" not in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600
