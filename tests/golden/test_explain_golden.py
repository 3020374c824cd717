"""Findings of an invented run in every form, kept word for word."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from tests.support import golden
from tests.support.explain.findings import MUTED, RECORDS, RULES, invented

from pyrometer import __version__
from pyrometer.explain import markdown, rule_terminal, sarif, terminal
from pyrometer.explain.rule_list import rule_list
from pyrometer.explain.schema import Findings, Note, Place, Remedy

GOLDENS = {
    "text-80.txt", "text-120.txt", "text-ascii-80.txt", "all-80.txt", "muted-80.txt",
    "nothing-80.txt", "notes-80.txt", "notes.md", "findings.md", "findings.sarif",
    "findings.json", "rules-80.txt", "rule-80.txt",
}  # fmt: skip
LINES = 40
"""Of a screen."""


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return invented(tmp_path_factory.mktemp("three"))


@pytest.fixture(scope="module")
def muted(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return invented(tmp_path_factory.mktemp("muted"), muted=MUTED)


def console(width: int, encoding: str = "utf-8") -> Console:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    return Console(file=out, width=width, highlight=False, color_system=None)


def shown(drawn: Console, width: int) -> str:
    drawn.file.seek(0)
    lines = [line.rstrip() for line in drawn.file.read().splitlines()]
    assert all(len(line) <= width for line in lines)
    return "\n".join(lines) + "\n"


def text(found: Findings, width: int, *, everything: bool = False, encoding: str = "utf-8") -> str:
    drawn = console(width, encoding)
    terminal.show(drawn, found, everything)
    return shown(drawn, width)


def test_notes_are_folded(muted: Findings) -> None:
    note = Note(
        code="config.no-effect", title="Settings without effect", place=Place(layer="setting"),
        mechanism="No task wrote or read a shuffle, @all.",
        settings={"spark.shuffle.file.buffer": "1m", "spark.reducer.maxSizeInFlight": "96m"},
    )  # fmt: skip
    heap = note.model_copy(
        update={"code": "heap.oversized", "title": "Memory is not used", "settings": {},
                "remedies": [Remedy(kind="factor", text="", factor="spark.executor.memory",
                                    level="2g")]}
    )  # fmt: skip
    mute = note.model_copy(update={"title": "Muted", "muted": "known"})
    found = muted.model_copy(
        update={"conclusion": "Nothing.", "findings": [], "notes": [*[note] * 4, heap, mute]}
    )
    assert "Muted" not in text(found, 80)
    golden.check("explain/notes-80.txt", text(found, 80))
    golden.check("explain/notes.md", markdown.page(found))


def test_three_findings_fit_a_screen(three: Findings) -> None:
    narrow = text(three, 80)
    assert len([one for one in three.findings if one.shown]) == 3
    assert len(narrow.splitlines()) <= LINES
    golden.check("explain/text-80.txt", narrow)
    golden.check("explain/text-120.txt", text(three, 120))


def test_numbers_stand_below_one_another_at_the_right_edge(three: Findings) -> None:
    for width in (60, 80, 120):
        rows = [line for line in text(three, width).splitlines() if line.endswith(" %")]
        assert len(rows) == 4  # three findings, and together
        assert {len(row) for row in rows} == {width}


def test_without_unicode(three: Findings) -> None:
    plain = text(three, 80, encoding="ascii")
    assert plain.isascii()
    golden.check("explain/text-ascii-80.txt", plain)


def test_everything(three: Findings) -> None:
    golden.check("explain/all-80.txt", text(three, 80, everything=True))


def test_muted_findings_give_their_reason(muted: Findings) -> None:
    narrow = text(muted, 80)
    assert MUTED["gc.heap"] in narrow
    golden.check("explain/muted-80.txt", narrow)


def test_nothing_found(three: Findings) -> None:
    from pyrometer.explain.words import conclusion

    none = three.model_copy(update={"findings": [], "joint_saving": None, "joint_ratio": None})
    none.conclusion = conclusion(none)
    narrow = text(none, 80)
    assert narrow.startswith("Nothing worth more than")
    golden.check("explain/nothing-80.txt", narrow)


def test_the_window_is_as_long_as_what_was_judged(three: Findings) -> None:
    """Of a log without an end, that is less than the time of its last event."""
    longer = three.model_copy(deep=True)
    longer.window.length_ns = 99 * 10**9
    assert text(longer, 80) == text(three, 80)
    assert markdown.page(longer) == markdown.page(three)


def test_where_nothing_was_judged_no_noise_is_named(three: Findings) -> None:
    none = three.model_copy(deep=True)
    none.findings, none.joint_saving, none.joint_ratio = [], None, None
    none.conclusion = "Nothing can be said: no stage was completed."
    none.baseline.simulated_ns = None
    for written in (text(none, 80), text(none, 80, everything=True), markdown.page(none)):
        assert "Noise" not in written
        assert "above the noise" not in written


def test_together_names_the_findings_that_it_is_of(three: Findings) -> None:
    assert "together, simulated at once" in text(three, 80)
    assert "the first 3, simulated at once" in text(three, 80, everything=True)
    one = three.model_copy(deep=True)
    for finding in one.findings[1:]:
        finding.shown = False
    assert "simulated at once" not in text(one, 80, everything=True)


def test_markdown(muted: Findings) -> None:
    golden.check("explain/findings.md", markdown.page(muted))


def test_sarif(muted: Findings) -> None:
    note = Note(
        code="config.no-effect", title="Settings without effect", place=Place(layer="setting"),
        mechanism="No task wrote or read a shuffle.",
        settings={"spark.shuffle.file.buffer": "1m"},
    )  # fmt: skip
    mute = note.model_copy(update={"muted": "agreed"})
    found = muted.model_copy(update={"notes": [note, mute]})
    written = sarif.text(found, RULES, "/src")
    golden.check("explain/findings.sarif", written.replace(__version__, "VERSION"))


def test_json(three: Findings) -> None:
    data = three.model_dump(mode="json", by_alias=True)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    golden.check("explain/findings.json", json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def test_rules() -> None:
    drawn = console(80)
    rule_terminal.show_rules(drawn, rule_list(RULES[1:], RECORDS).rules)
    golden.check("explain/rules-80.txt", shown(drawn, 80))
    drawn = console(80)
    rule_terminal.show_manual(drawn, rule_list(RULES, RECORDS, "skew.planted").rules[0])
    golden.check("explain/rule-80.txt", shown(drawn, 80))


def test_every_golden_is_referenced() -> None:
    assert {path.name for path in (golden.FOLDER / "explain").iterdir()} == GOLDENS


def test_colour_is_left_out_when_asked(three: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    def coloured() -> str:
        out = io.StringIO()
        terminal.show(Console(file=out, width=80, force_terminal=True, highlight=False), three)
        return out.getvalue()

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[32m" in coloured()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in coloured()
