"""Verbs stand in rooms, as the help has headings; folders stay small."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pyrometer
from pyrometer.cli.main import module_of
from pyrometer.cli.shared.verbs import GROUPS, VERBS

PACKAGE = Path(pyrometer.__file__).parent
MOST_FILES = 25


def test_each_verb_is_in_the_room_of_its_heading() -> None:
    assert {module_of(verb).split(".")[2] for verb in VERBS} == {one.lower() for one in GROUPS}
    assert [verb for verb in VERBS if find_spec(module_of(verb)) is None] == []


def test_folders_stay_small() -> None:
    folders = [PACKAGE, *(one for one in PACKAGE.rglob("*") if one.is_dir())]
    counts = {one.relative_to(PACKAGE): len([*one.glob("*.py")]) for one in folders}
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}
