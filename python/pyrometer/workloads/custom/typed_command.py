"""Commands as somebody typed them, as the text of a workload's file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import yaml

FILLED = ("{folder}", "{run}")
"""What such a file fills in wherever it stands in a command."""


def filled_in(words: Iterable[str]) -> str | None:
    """Say what of a command would not reach the program as it was typed; ``None`` if all does."""
    place = next((place for word in words for place in FILLED if place in word), None)
    if place is None:
        return None
    return f"{place} stands in the command, and would be filled in by the file of its trials"


def command_file(
    name: str, summary: str, variant: str, levels: Mapping[str, tuple[str, Sequence[str]]]
) -> str:
    """Write a workload's file for commands that were typed.

    Parameters
    ----------
    name, summary : str
        Of the workload.
    variant : str
        What tells its commands apart, where that is needed.
    levels : mapping of str to (str, sequence of str)
        What each command is, in a line, and its words. The first is the default.
    """
    default, (_, words) = next(iter(levels.items()))
    made: dict[str, object] = {"name": name, "summary": summary, "command": list(words)}
    if len(levels) > 1 or any("{" in word for word in words):
        # All words stand in a level: names in braces are none of a workload's file there.
        made["command"] = [f"{{{variant}}}"]
        argv = {level: {"doc": doc, "argv": list(words)} for level, (doc, words) in levels.items()}
        made["variants"] = {variant: {"doc": "The command.", "default": default, "levels": argv}}
    text: str = yaml.safe_dump(made, sort_keys=False, allow_unicode=True)
    return text
