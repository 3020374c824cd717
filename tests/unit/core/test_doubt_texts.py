"""What the record of a run doubts is told in sentences, wherever it is seen."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "python/pyrometer"
RAISING = ("record.doubt", "self._record.doubt", "self.doubt")


def raised() -> Iterator[tuple[str, str]]:
    """Texts written where a record is given a doubt, with ``…`` for values."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) not in RAISING:
                continue
            text = node.args[1]
            parts = text.values if isinstance(text, ast.JoinedStr) else [text]
            if isinstance(text, ast.JoinedStr | ast.Constant):
                words = (one.value if isinstance(one, ast.Constant) else "…" for one in parts)
                yield f"{path.name}:{node.lineno}", "".join(map(str, words))


def is_sentence(text: str) -> bool:
    """Whether a text begins with a capital or a value, and ends with a full stop."""
    return (text[0].isupper() or text[0] == "…") and text.endswith(".")


def test_doubts_of_a_record_are_sentences() -> None:
    found = dict(raised())
    assert len(found) > 30
    assert [place for place, text in found.items() if not is_sentence(text)] == []
