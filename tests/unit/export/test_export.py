"""Exported profiles hold what the samples hold, in every format."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.support.cli import inside
from tests.support.exported import Sums, otlp_profile, read_exported
from tests.support.profile_proto import messages, packed, read_profile, whole
from tests.support.report_fixture import WALL0, S, manifest, run_rows, write_tables
from typer.testing import CliRunner

from pyrometer.cli.read.export import app
from pyrometer.core.errors import UsageError
from pyrometer.export import FORMATS, export_profile

ROWS = run_rows()


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("export") / "a run", ROWS)


def written(root: Path, rows: dict[str, list[dict[str, Any]]]) -> Path:
    write_tables(root / "tables", rows)
    (root / "manifest.json").write_text(json.dumps(manifest() | {"schema_version": 1}))
    return root


def truth(event: str, by: str | None = None, iteration: int | None = None) -> Sums:
    """Weights by names, from the rows of the run."""
    names = {
        row["frame_id"]: f"{row['class_name']}.{row['method']}"
        if row["class_name"]
        else row["method"]
        for row in ROWS["frames"]
    }
    stacks = {row["stack_id"]: [names[i] for i in row["frame_ids"]] for row in ROWS["stacks"]}
    sums: Sums = Counter()
    for row in ROWS["samples"]:
        if row["event"] != event or iteration not in (None, row["iteration"]):
            continue
        root = [] if by is None else [f"stage {row[by]}" if by in row else "no stage"]
        leaf = [row["top_class"]] if event == "alloc" else []
        sums[(*root, *stacks[row["java_stack"]], *leaf)] += row["weight"]
    return sums


@pytest.mark.parametrize("event", ["cpu", "alloc"])
@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind != "svg"])
def test_every_stack_keeps_its_weight(run_dir: Path, tmp_path: Path, kind: str, event: str) -> None:
    made = export_profile(run_dir, kind, tmp_path / "out", event)
    assert made["size_bytes"] == (tmp_path / "out").stat().st_size
    assert read_exported(tmp_path / "out", kind) == truth(event)


@pytest.mark.parametrize("kind", ["folded", "speedscope", "pprof", "otlp"])
def test_dimensions_are_root_frames(run_dir: Path, tmp_path: Path, kind: str) -> None:
    export_profile(run_dir, kind, tmp_path / "out", "cpu", ["stage"], iteration=2)
    assert read_exported(tmp_path / "out", kind) == truth("cpu", "stage_id", 2)


def test_a_drawing_has_every_frame_that_is_wide_enough(run_dir: Path, tmp_path: Path) -> None:
    export_profile(run_dir, "svg", tmp_path / "x.svg", "cpu", ["stage"])
    root = ElementTree.fromstring((tmp_path / "x.svg").read_bytes())
    text = "\n".join(root.itertext())
    sums = truth("cpu", "stage_id")
    heavy = {path[0] for path, weight in sums.items() if weight > sum(sums.values()) / 100}
    assert heavy
    for name in heavy | {"a run: cpu", "org.apache.spark.executor.Executor$TaskRunner.run"}:
        assert name in text


def test_labels_say_whose_a_sample_is(run_dir: Path, tmp_path: Path) -> None:
    export_profile(run_dir, "pprof", tmp_path / "pprof", "cpu")
    profile = read_profile((tmp_path / "pprof").read_bytes())
    assert profile.sample_types == [("samples", "count"), ("cpu", "nanoseconds")]
    assert profile.period_type == ("cpu", "nanoseconds")
    assert (profile.period, profile.time_ns) == (10_000_000, manifest()["started_wall_ns"])
    by_stage: Counter[str | None] = Counter()
    for _, (_, weight), labels in profile.samples:
        assert set(labels) <= {"stage", "operator", "task", "thread", "iteration"}
        by_stage[labels.get("stage")] += weight
    expected: Counter[str | None] = Counter()
    for row in ROWS["samples"]:
        if row["event"] == "cpu":
            stage = row.get("stage_id")
            expected[None if stage is None else str(stage)] += row["weight"]
    assert by_stage == expected
    assert by_stage["0"] > 0  # a stage 0 is not lost
    assert profile.total() == sum(1 for row in ROWS["samples"] if row["event"] == "cpu")

    export_profile(run_dir, "otlp", tmp_path / "otlp", "cpu")
    read = otlp_profile(tmp_path / "otlp")
    attributes = [
        (read["strings"][whole(entry, 1)], messages(entry, 2))
        for entry in messages(read["dictionary"], 6)
    ]
    by_stage = Counter()
    for sample in messages(read["profile"], 2):
        values = [attributes[at] for at in packed(sample, 2)]
        stages = [text[0][1][0].decode() for key, text in values if key == "pyrometer.stage"]
        by_stage[stages[0] if stages else None] += packed(sample, 4)[0]
    assert by_stage == expected


def test_firefox_has_tasks_and_pauses_as_markers(run_dir: Path, tmp_path: Path) -> None:
    export_profile(run_dir, "firefox", tmp_path / "out", "cpu")
    data = json.loads((tmp_path / "out").read_bytes())
    assert data["threads"][0]["isMainThread"]
    found: Counter[str] = Counter()
    for thread in data["threads"]:
        markers = thread["markers"]
        for name, entry, start, end in zip(
            *(markers[key] for key in ("name", "data", "startTime", "endTime")), strict=True
        ):
            assert data["shared"]["stringArray"][name] == entry["type"]
            assert start <= end
            found[entry["type"]] += 1
    assert found["Task"] == len(ROWS["spans"])
    assert found["GC pause"] == len(ROWS["gc_pauses"])


def test_firefox_has_the_pauses_of_its_iteration_alone(run_dir: Path, tmp_path: Path) -> None:
    export_profile(run_dir, "firefox", tmp_path / "out", "cpu", iteration=2)
    threads = json.loads((tmp_path / "out").read_bytes())["threads"]
    entries = [entry for thread in threads for entry in thread["markers"]["data"]]
    (own,) = (row for row in ROWS["iterations"] if row["iteration"] == 2)
    during = [
        row
        for row in ROWS["gc_pauses"]
        if own["start_mono_ns"] <= row["start_mono_ns"] < own["end_mono_ns"]
    ]
    found = [entry for entry in entries if entry["type"] == "GC pause"]
    assert 0 < len(found) == len(during) < len(ROWS["gc_pauses"])


def test_samples_on_another_clock_are_counted_where_they_cannot_be_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = run_rows()
    cpu = [row for row in rows["samples"] if row["event"] == "cpu"]
    cpu[0]["clock"] = "perf"
    cpu[1]["clock"] = cpu[1]["t_ns"] = None
    run, out = written(tmp_path / "run", rows), tmp_path / "out"
    words = ("export", run, "--event", "cpu", "-o", out, "--json", "--format")
    done = inside(capsys, *words, "firefox")
    assert (done.code, done.json["left_out_count"]) == (0, 2)
    assert "left out: 2 samples without a time on the clock most samples use" in done.stderr
    assert sum(read_exported(out, "firefox").values()) < sum(truth("cpu").values())
    whole = inside(capsys, *words, "folded")
    assert (whole.json["left_out_count"], "left out" in whole.stderr) == (0, False)


def test_firefox_has_the_samples_of_the_other_formats(tmp_path: Path) -> None:
    rows = run_rows()
    wall = next(row for row in rows["samples"] if row["event"] == "wall")
    idle = {"t_ns": wall["t_ns"] - S, "state": "sleeping", "wait_class": "idle"}
    rows["samples"] += [
        wall | idle | {"task_attempt_id": None},
        wall | {"whole_stack": rows["stacks"][-1]["stack_id"]},
        wall | {"event": "live", "unit": "bytes", "top_class": "byte[]"},
    ]
    run = written(tmp_path / "run", rows)
    for event in ("wall", "live"):
        for kind in ("folded", "firefox"):
            export_profile(run, kind, tmp_path / f"{event}.{kind}", event)
        expected = read_exported(tmp_path / f"{event}.folded", "folded")
        assert read_exported(tmp_path / f"{event}.firefox", "firefox") == expected
    threads = json.loads((tmp_path / "wall.firefox").read_bytes())["threads"]
    assert min(time for thread in threads for time in thread["samples"]["time"]) == 0


@pytest.mark.parametrize("heap", [None, 1_000_000_000])
def test_firefox_has_stages_at_their_times_whatever_a_pause_left(
    tmp_path: Path, heap: int | None
) -> None:
    rows = run_rows()
    for pause in rows["gc_pauses"]:
        pause["heap_after_bytes"] = heap
    rows["stages"] = [
        {"stage_id": 2, "submit_wall_ns": WALL0 + 20 * S, "complete_wall_ns": WALL0 + 23 * S}
    ]
    export_profile(written(tmp_path / "run", rows), "firefox", tmp_path / "out", "cpu")
    markers = json.loads((tmp_path / "out").read_bytes())["threads"][0]["markers"]
    (at,) = (at for at, entry in enumerate(markers["data"]) if entry["type"] == "Stage")
    # The run begins 9 s after its clocks, with the first sample.
    assert (markers["startTime"][at], markers["endTime"][at]) == (11_000, 14_000)
    assert {entry["after"] for entry in markers["data"] if "after" in entry} == {heap}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"kind": "svgz"}, "folded, "),
        ({"event": "lock"}, "cpu, wall, alloc"),
        ({"by": ["flavour"]}, "operator"),
        ({"iteration": 9}, "iteration 9"),
        ({"kind": "firefox", "by": ["stage"]}, "--by"),
    ],
)
def test_what_cannot_be_had_is_told(
    run_dir: Path, tmp_path: Path, arguments: dict[str, Any], told: str
) -> None:
    chosen = {"kind": "folded", **arguments}
    with pytest.raises(UsageError) as error:
        export_profile(run_dir, path=tmp_path / "out", **chosen)
    assert told in f"{error.value.message} {error.value.remedy}"
    assert not list(tmp_path.iterdir())


def test_the_verb(run_dir: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.speedscope.json"
    result = CliRunner().invoke(app, [str(run_dir), "-o", str(target), "--by", "stage", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout.splitlines()[-1])
    assert told == {
        "schema": "pyrometer/export/1",
        "file": str(target),
        "format": "speedscope",
        "event": "cpu",
        "unit": "ns",
        "size_bytes": target.stat().st_size,
        "left_out_count": 0,
    }
    assert read_exported(target, "speedscope") == truth("cpu", "stage_id")
    nameless = CliRunner().invoke(app, [str(run_dir), "-o", str(tmp_path / "x")])
    assert isinstance(nameless.exception, UsageError)
    assert "--format" in str(nameless.exception.remedy)
