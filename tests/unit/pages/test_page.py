"""Rendering: what stands in the file, and how it gets there."""

from __future__ import annotations

import html
import json
import os
import re
import resource
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.pages import page
from pyrometer.pages.page import ReportData, render, script_json, write_page

EVIL = "<script>alert(1)</script>\u2028</script><!-- \u202egnp.exe & 'x' \"y\""


def content_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', text, re.S)
    assert found
    return json.loads(found[1])


def test_strings_come_back_and_close_nothing() -> None:
    text = render(ReportData(EVIL, {"schema": "x", "title": EVIL}, {"timeline": "", "flame": "AA"}))
    assert content_of(text)["title"] == EVIL
    assert "alert(1)</script>" not in text
    assert text.count("<script") == text.count("</script>") == 5
    assert f"<title>{html.escape(EVIL)} · Pyrometer</title>" in text


@given(
    st.recursive(st.text() | st.floats(allow_nan=False, allow_infinity=False) | st.none(), st.lists)
)
def test_script_json_is_inert(value: Any) -> None:
    text = script_json(value)
    assert not set(text) & set("<>&\u2028\u2029")
    assert text.isascii()
    assert json.loads(text) == value


def test_lone_surrogates_do_not_stop_the_report(tmp_path: Path) -> None:
    bad = "half \ud800 pair"
    size = write_page(ReportData(bad, {"title": bad}), tmp_path / "r.html")
    assert size == (tmp_path / "r.html").stat().st_size > 10_000


def test_an_unwritable_place_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write the report") as caught:
        write_page(ReportData("x", {}), tmp_path / "no" / "such" / "folder.html")
    assert caught.value.remedy


def test_a_failed_write_leaves_the_old_report(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(UsageError, match="File too large"):
            write_page(ReportData("x", {}), target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_an_installation_without_web_uses_the_bundled_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = page.template()
    bundled = tmp_path / "report-page.html"
    monkeypatch.setattr(page, "_WEB", tmp_path / "absent")
    monkeypatch.setattr(page, "_BUNDLED", bundled)
    page.template.cache_clear()
    try:
        with pytest.raises(CapabilityError, match=r"report-page\.html"):
            page.template()
        bundled.write_text(whole, encoding="utf-8")
        assert page.template() == whole
    finally:
        page.template.cache_clear()
