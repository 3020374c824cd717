"""Collapsed stacks and the text of perf script to tables, and back to text and pictures."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pyrometer import _core

COLLAPSED = """\
main;java/lang/Thread.run_[j];memcpy_[k] 12
main;java/lang/Thread.run_[j] 3
[worker tid=77];a.b.C$.<init>_[0];libz.so.1!inflate 5
main;java/lang/Thread.run_[j];memcpy_[k] 2
"""
PERF = """\
# ========
java 10/11 [001] 1.000001:   10101010 cpu-clock:ppp:
\t7f10 memcpy+0x1 (/lib/libc.so.6)
\t7f11 void a.B.run()+0x2 (/tmp/perf-10.map)

C2 CompilerThre 10/12 [000] 1.000002:   10101010 cpu-clock:ppp:
\tffffffff8104f45a do_it+0x1 ([kernel.kallsyms])

java 10/11 [001] 1.500001:          1 page-faults:
\t7f10 memcpy+0x1 (/lib/libc.so.6)

"""
SVG = "{http://www.w3.org/2000/svg}"


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def report(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def rows(out: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as db:
        for name in ("samples", "stacks", "frames"):
            db.execute(f"CREATE VIEW {name} AS FROM read_parquet('{out / name}.parquet')")
        return db.execute(query).fetchall()


def test_collapsed_stacks_become_tables(tmp_path: Path) -> None:
    path = written(tmp_path / "a.collapsed", COLLAPSED)
    said = report(_core.import_folded(path, str(tmp_path), "h", "cpu", "ns"))
    assert said["tables"] == {"frames": 6, "samples": 3, "stacks": 3}
    assert said["stats"]["events"] == [
        {"event": "cpu", "name": "cpu", "unit": "ns", "samples": 3, "weight": 22}
    ]
    assert rows(
        tmp_path,
        "SELECT host, source, event, unit, weight, tid, thread_name, t_ns FROM samples"
        " ORDER BY weight",
    ) == [
        ("h", "folded", "cpu", "ns", 3, None, None, None),
        ("h", "folded", "cpu", "ns", 5, 77, "worker", None),
        ("h", "folded", "cpu", "ns", 14, None, None, None),
    ]
    assert (
        rows(tmp_path, "SELECT class_name, method, kind, library FROM frames ORDER BY frame_id")
        == [
            (None, "main", "unknown", None),
            ("java.lang.Thread", "run", "c2", None),
            (None, "memcpy", "kernel", "kernel"),
            (None, "[worker tid=77]", "unknown", None),
            ("a.b.C$", "<init>", "interpreted", None),
            (None, "inflate", "native", "libz.so.1"),
        ][:6]
    )


def test_perf_script_becomes_a_row_for_each_sample(tmp_path: Path) -> None:
    path = written(tmp_path / "perf.txt", PERF)
    said = report(_core.import_perf_script(path, str(tmp_path)))
    assert said["tables"]["samples"] == 3
    assert [(e["event"], e["name"], e["unit"]) for e in said["stats"]["events"]] == [
        ("cpu", "cpu-clock:ppp", "ns"),
        ("page-faults", "page-faults", "count"),
    ]
    assert rows(
        tmp_path,
        "SELECT pid, tid, t_ns, clock, event, weight, role, category FROM samples ORDER BY t_ns",
    ) == [
        (10, 11, 1_000_001_000, "perf", "cpu", 10101010, "driver", "driver"),
        (10, 12, 1_000_002_000, "perf", "cpu", 10101010, "jit", "jit"),
        (10, 11, 1_500_001_000, "perf", "page-faults", 1, "driver", None),
    ]
    assert rows(tmp_path, "SELECT class_name, method, kind, library FROM frames") == [
        (None, "memcpy", "native", "libc.so.6"),
        ("a.B", "run", "c2", None),
        (None, "do_it", "kernel", "kernel"),
    ]


@pytest.mark.parametrize(
    ("call", "text", "where"),
    [
        (_core.import_folded, "a;b 1\na;b\n", "line 2 (byte 6): no integer"),
        (_core.import_perf_script, "java 1 1.0: e:\n\t1 f (x)\n\n{}\n", "line 4 (byte 25): "),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, call: Any, text: str, where: str) -> None:
    path = written(tmp_path / "bad", text)
    with pytest.raises(ValueError, match=r"line \d") as caught:
        call(path, str(tmp_path))
    assert str(caught.value).startswith(f"{path}: {where}")
    assert not list(tmp_path.glob("*.parquet*"))


def test_tables_are_folded_as_they_came(tmp_path: Path) -> None:
    path = written(tmp_path / "a", COLLAPSED)
    _core.import_folded(path, str(tmp_path))
    out = tmp_path / "out"
    _core.fold(str(tmp_path), str(out), json.dumps({"annotate": True}))
    assert out.read_text().splitlines() == [
        "[worker tid=77];a.b.C$.<init>_[0];inflate 5",
        "main;java.lang.Thread.run_[j] 3",
        "main;java.lang.Thread.run_[j];memcpy_[k] 14",
    ]
    _core.fold(str(tmp_path), str(out), json.dumps({"by": ["category", "stage_id"]}))
    assert out.read_text().splitlines() == [
        "decompression;no stage;[worker tid=77];a.b.C$.<init>;inflate 5",
        "other;no stage;main;java.lang.Thread.run 3",
        "other;no stage;main;java.lang.Thread.run;memcpy 14",
    ]


def test_options_and_sources_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown field `colour`"):
        _core.fold(str(tmp_path), str(tmp_path / "o"), '{"colour": 1}')
    with pytest.raises(ValueError, match="there is no such table"):
        _core.fold(str(tmp_path), str(tmp_path / "o"))
    path = written(tmp_path / "empty", "")
    with pytest.raises(ValueError, match="nothing to draw"):
        _core.render_svg(path, str(tmp_path / "o"), '{"source": {"format": "folded"}}')
    _core.import_folded(written(tmp_path / "a", COLLAPSED), str(tmp_path))
    with pytest.raises(ValueError, match="no column colour"):
        _core.fold(str(tmp_path), str(tmp_path / "o"), '{"by": ["colour"]}')


def test_a_picture_is_whole_xml_with_shares(tmp_path: Path) -> None:
    path = written(tmp_path / "a", COLLAPSED + "f<int>&;g 1\n")
    out = tmp_path / "a.svg"
    options = {"source": {"format": "folded"}, "svg": {"title": "A & B", "unit": "ns"}}
    said = report(_core.render_svg(path, str(out), json.dumps(options)))
    root = ET.parse(out).getroot()
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles[0] == "A & B"
    assert "f<int>&\n1 ns, 4.35 %" in titles
    assert "java/lang/Thread.run\ncompiled, 17 ns, 73.91 %" in titles
    boxes = [g for g in root.iter(f"{SVG}g") if g.get("class") == "f"]
    assert len(boxes) == said["stats"]["boxes"] == 9
    first = out.read_bytes()
    _core.render_svg(path, str(out), json.dumps(options))
    assert out.read_bytes() == first
