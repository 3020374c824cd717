"""``pyrometer flame`` from a run directory to a page and the frames that lead it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.report_fixture import CPU_PATHS, manifest, run_rows, write_tables
from typer.testing import CliRunner

from pyrometer.cli.flame import app
from pyrometer.core.errors import UsageError
from pyrometer.flame import pack as report_flame
from pyrometer.flame.page import write_flame
from pyrometer.flame.selection import Selection

ROWS = run_rows()


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run")
    write_tables(root / "tables", ROWS)
    (root / "manifest.json").write_text(json.dumps(manifest() | {"schema_version": 1}))
    return root


def samples(event: str, **wanted: Any) -> list[dict[str, Any]]:
    found = [s for s in ROWS["samples"] if s["event"] == event and s["iteration"] in (1, 2, 3)]
    return [s for s in found if all(s.get(k) == v for k, v in wanted.items())]


def weight(found: list[dict[str, Any]]) -> int:
    return sum(s["weight"] for s in found)


def test_page_and_frames_of_the_measured_iterations(run_dir: Path) -> None:
    result = CliRunner().invoke(app, [str(run_dir), "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout.splitlines()[-1])
    assert told["schema"] == "pyrometer/flame/1"
    page = run_dir / "flame.html"
    assert told["page"] == str(page)
    assert page.stat().st_size == told["size_bytes"]
    assert (told["event"], told["iterations"]) == ("cpu", [1, 2, 3])
    assert told["weight"] == weight(samples("cpu"))

    stacks = {s["stack_id"]: s["frame_ids"] for s in ROWS["stacks"]}
    name = "snappy::InternalUncompressAllTags<>"
    frames = {f["frame_id"]: f["method"] for f in ROWS["frames"]}
    leaves = [s for s in samples("cpu") if frames[stacks[s["java_stack"]][-1]] == name]
    row = next(f for f in told["frames"] if f["frame"] == name)
    assert row["self_weight"] == row["total_weight"] == weight(leaves)
    share = row["self_share"]
    assert share["low"] < share["value"] < share["high"]
    assert share["n"] == len(samples("cpu"))
    root = next(f for f in told["frames"] if f["frame"] == "java.lang.Thread.run")
    assert root["self_weight"] == 0
    assert root["total_share"]["value"] > 0.9


def test_the_cpu_and_waiting_add_up_without_time_counted_twice(
    run_dir: Path, tmp_path: Path
) -> None:
    made = write_flame(run_dir, tmp_path / "f.html", Selection("both", ("state", "operator"), "2"))
    cpu = [s for s in samples("cpu") if s["iteration"] == 2]
    waits = samples("wall", iteration=2, state="sleeping")
    assert made.weight == weight(cpu) + weight(waits)
    groups = {tuple(g.values): g.weight for g in made.groups}
    assert groups["sleeping", None] == weight(waits)
    operator = CPU_PATHS[0][2]
    assert groups["on CPU", operator] == weight([s for s in cpu if s.get("operator") == operator])
    assert sum(groups.values()) == made.weight
    # Ticks of 10 ms and of 50 ms: fewer than the samples, as equal weights would tell.
    n = made.groups[0].share.n
    assert n == round(made.weight**2 / (weight(cpu) * 1e7 + weight(waits) * 5e7))
    assert 'opening":"#flame?event=both\\u0026by=state%2Coperator' in (
        tmp_path / "f.html"
    ).read_text(encoding="utf-8")


def test_allocations_end_in_their_class(run_dir: Path, tmp_path: Path) -> None:
    made = write_flame(run_dir, tmp_path / "f.html", Selection("alloc", (), "all"))
    row = next(f for f in made.frames if f.frame == "byte[]")
    found = [s for s in ROWS["samples"] if s.get("top_class") == "byte[]"]
    assert (made.unit, row.self_weight) == ("bytes", weight(found))


def test_frames_of_light_runs_come_apart(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def frames(name: str) -> tuple[int, int]:
        write_flame(run_dir, tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8")
        content = re.search(r'id="content">(.*?)</script>', text)
        assert content
        flame = json.loads(content[1])["flame"]
        deep = flame["deep"].get("deep.frame", {"length": 0})
        return flame["columns"]["flame.frame"]["length"], deep["length"]

    whole, none = frames("whole.html")
    assert none == 0
    monkeypatch.setattr(report_flame, "MANY_FRAMES", 0)
    monkeypatch.setattr(report_flame, "LIGHT", 0.05)
    first, later = frames("apart.html")
    assert first + later == whole
    assert 0 < first < whole


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [
        (Selection(event="cycles"), "--event cpu|wall|alloc|both"),
        (Selection(by=("stage", "colour")), "executor"),
        (Selection(iteration="9"), "--iteration measured | all | 0 | 1 | 2 | 3"),
    ],
)
def test_what_the_run_lacks_is_told(
    run_dir: Path, tmp_path: Path, asked: Selection, remedy: str
) -> None:
    with pytest.raises(UsageError) as error:
        write_flame(run_dir, tmp_path / "f.html", asked)
    assert remedy in (error.value.remedy or "")
    assert not (tmp_path / "f.html").exists()


def test_a_run_without_samples_has_no_flame_graph(tmp_path: Path) -> None:
    write_tables(tmp_path / "tables", {k: ROWS[k] for k in ("apps", "tasks")})
    with pytest.raises(UsageError, match="no profiler samples"):
        write_flame(tmp_path)


def test_text_names_groups_and_frames(run_dir: Path, tmp_path: Path) -> None:
    arguments = [str(run_dir), "-o", str(tmp_path / "f.html"), "--by", "role, what"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "task › decode" in result.stdout
    assert "Hottest by self" in result.stdout
