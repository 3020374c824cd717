"""Whatever a log says, Markdown and SARIF stay what they are."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.support.examples import examples
from tests.support.explain.findings import a_finding, estimate, some_findings

from pyrometer.explain import markdown, sarif
from pyrometer.explain.schema import Evidence, Findings, Place, Remedy

PIECES = (
    "|", "`", "``", "```", "\n", "\r\n", "\n\n", "# ", "- ", "1. ", "> ", "***", "_", "~~", "\\",
    "\\|", "<b>", "<!--", "</details>", "&amp;", "&#x41;", "[a](http://x)", "![a](b)", "@all",
    "#12", "http://evil.example", "www.evil.example", "a!1", "$x$", "\x00", "\x1b[31m", "\u202e",
    "\ud800", "---", "===", "    x", "\t", "{0}", "{{", "}", "word", " ", "é", "漢",
)  # fmt: skip
hostile = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join)
ALLOWED = {
    "heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "fence",
    "table_open", "table_close", "thead_open", "thead_close", "tbody_open", "tbody_close",
    "tr_open", "tr_close", "th_open", "th_close", "td_open", "td_close", "bullet_list_open",
    "bullet_list_close", "list_item_open", "list_item_close",
}  # fmt: skip
INLINE = {"text", "code_inline", "strong_open", "strong_close", "em_open", "em_close", "softbreak"}
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def inline(text: str) -> list[Token]:
    blocks = READER.parse(text)
    assert [one.type for one in blocks] in (
        [], ["paragraph_open", "inline", "paragraph_close"],
    ), text  # fmt: skip
    return (blocks[1].children or []) if blocks else []


def bare(text: str) -> str:
    """What is left of a text without what may change: spaces, backticks, unprintable signs."""
    cleaned = markdown._clean(text)
    return re.sub(r"[\s`]", "", cleaned)


@given(hostile)
def test_prose_is_text_and_code_alone(text: str) -> None:
    tokens = inline(markdown.prose(text))
    assert {one.type for one in tokens} <= {"text", "code_inline"}
    assert bare("".join(one.content for one in tokens)) == bare(text)
    for one in tokens:
        if one.type == "text":
            assert not re.search(r"@|#\d|://|www\.", one.content, re.IGNORECASE)


@given(hostile)
def test_code_is_code(text: str) -> None:
    written = markdown.code(text)
    if written:
        (only,) = inline(written)
        assert only.type == "code_inline"
        assert " ".join(only.content.split()) == " ".join(markdown._clean(text).split())


@given(hostile)
def test_a_block_holds_its_lines(text: str) -> None:
    (only,) = READER.parse(markdown.block(text, "sh"))
    assert only.type == "fence"
    assert only.info == "sh"
    assert only.content.rstrip("\n") == markdown._clean(text).rstrip("\n")


@given(st.lists(st.tuples(hostile, hostile), min_size=1, max_size=3))
def test_a_table_keeps_its_cells(rows: list[tuple[str, str]]) -> None:
    cells = [[markdown.prose(a, True), markdown.code(b, in_table=True)] for a, b in rows]
    tokens = READER.parse(markdown.table(("a", ">b"), cells))
    kinds = [one.type for one in tokens]
    assert kinds.count("tr_open") == len(rows) + 1
    assert kinds.count("td_open") == 2 * len(rows)
    assert set(kinds) <= ALLOWED
    held = [one for one in tokens if one.type == "inline"][2:]
    for (a, b), first, second in zip(rows, held[::2], held[1::2], strict=True):
        assert bare("".join(one.content for one in first.children or [])) == bare(a)
        shown = "".join(one.content for one in second.children or [])
        assert bare(shown).replace("\\", "") == bare(b).replace("\\", "")


def findings(text: str) -> Findings:
    """Findings in which everything that may come from a log is this text."""
    place = Place(layer="sql", operator=text, expression=text, source=text, setting=text, host=text)
    evidence = Evidence(what=text, estimate=estimate(2.0), unit="count", table=text, query=text)
    remedies = [
        Remedy(kind="factor", text=text, factor="spark.x", level=text),
        Remedy(kind="code", text=text, before=text, after=text),
    ]
    said: dict[str, Any] = {
        "place": place, "mechanism": text, "evidence": [evidence], "remedies": remedies,
        "title": text, "refute": text,
    }  # fmt: skip
    return some_findings(
        a_finding("gc.heap", 2.0, **said), a_finding("gc.young", 1.0, muted=text or "x", **said),
        unjudged=("skew.bytes",), conclusion=text,
    )  # fmt: skip


@given(hostile)
def test_a_page_has_the_same_shape_whatever_it_says(text: str) -> None:
    tokens = READER.parse(markdown.page(findings(text)))
    kinds = [one.type for one in tokens]
    assert set(kinds) <= ALLOWED
    assert {one.tag for one in tokens if one.type == "heading_open"} == {"h1", "h2"}
    assert kinds.count("table_open") == 4
    for one in tokens:
        assert {child.type for child in one.children or []} <= INLINE


@given(hostile)
def test_sarif_is_json_without_controls_links_and_placeholders(text: str) -> None:
    written = sarif.text(findings(text), ())
    assert written.isascii()
    log = json.loads(written)
    for result in log["runs"][0]["results"]:
        for message in (result["message"], *(one["message"] for one in result["locations"])):
            said = message["text"]
            assert "](" not in said
            assert not re.search(r"(?<!\{)(\{\{)*\{\d+\}", said)
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", said)


@settings(max_examples=examples(8, 20), deadline=None)
@given(hostile.map(lambda text: text * 400))
def test_long_texts_are_cut(text: str) -> None:
    found = findings(text)
    assert len(markdown.page(found)) < 60 * (markdown.MOST_CHARACTERS + 500)
    assert all(
        len(one["message"]["text"]) < 4 * sarif.MOST_CHARACTERS
        for one in sarif.document(found, ())["runs"][0]["results"]
    )
