"""Stacks and weights survive every format, out and in."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.exported import Sums
from tests.support.imported import folded_bytes, pprof_bytes, speedscope_bytes, sums_of

from pyrometer.core.errors import UsageError
from pyrometer.export import export_profile
from pyrometer.store import Run
from pyrometer.store.imported import import_profiles

WORDS = st.from_regex(r"[a-z][A-Za-z0-9_$]{0,5}", fullmatch=True)
JAVA = st.builds(lambda p, c, m: f"{p}.{c.capitalize()}.{m}", WORDS, WORDS, WORDS)
GO = st.builds(lambda o, f: f"github.com/{o}/x.{f}", WORDS, WORDS)
CPP = st.builds(lambda n, f: f"{n}::{f}(int, char*)", WORDS, WORDS)
ODD = st.sampled_from(["[unknown]", "λ.größe", "a b", "0x7f00"])
STACKS = st.dictionaries(
    st.lists(st.one_of(WORDS, JAVA, GO, CPP, ODD), min_size=1, max_size=6).map(tuple),
    st.integers(1, 1 << 40),
    min_size=1,
    max_size=8,
).map(Counter)
QUICK = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))


def imported(content: bytes, folder: Path, kind: str | None = None) -> Path:
    (folder / "profile").write_bytes(content)
    unit = "ns" if kind == "folded" else None
    import_profiles([folder / "profile"], folder / "run", kind, unit=unit)
    return folder / "run"


@pytest.mark.parametrize("kind", ["folded", "pprof", "speedscope", "evented"])
@given(STACKS)
@QUICK
def test_import_keeps_stacks_and_weights(kind: str, stacks: Sums) -> None:
    content = {
        "folded": folded_bytes,
        "pprof": pprof_bytes,
        "speedscope": speedscope_bytes,
        "evented": lambda s: speedscope_bytes(s, evented=True),
    }[kind](stacks)
    with tempfile.TemporaryDirectory() as folder:
        run = imported(content, Path(folder), "speedscope" if kind == "evented" else kind)
        with Run.open(run) as opened:
            assert sums_of(opened, "cpu") == stacks


@pytest.mark.parametrize("kind", ["folded", "pprof", "speedscope"])
@given(STACKS)
@QUICK
def test_export_and_import_are_inverse(kind: str, stacks: Sums) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "first").mkdir()
        run = imported(pprof_bytes(stacks), folder / "first")
        export_profile(run, kind, folder / "out")
        (folder / "second").mkdir()
        again = imported((folder / "out").read_bytes(), folder / "second", kind)
        with Run.open(again) as opened:
            assert sums_of(opened, "cpu") == stacks


@given(st.binary(max_size=80), st.sampled_from(["pprof", "speedscope", "folded", "jfr"]))
@settings(max_examples=15, deadline=None)
def test_no_bytes_break_an_import(content: bytes, kind: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        refused = None
        try:
            imported(content, folder, kind)
        except UsageError as error:
            refused = error.message
        if refused is None:
            with Run.open(folder / "run") as opened:
                assert opened.tables.has("samples")
        else:
            assert str(folder / "profile") in refused
            assert not (folder / "run").exists()
