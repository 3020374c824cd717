"""Files of a run that somebody damaged or made up: one message, never a traceback."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cli import inside

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import UsageError
from pyrometer.core.json_text import parse_json
from pyrometer.core.toml_text import parse_toml
from pyrometer.experiments.plan.source import read_source
from pyrometer.explain.project import muted_in
from pyrometer.simulation.analysis import read_prices
from pyrometer.store.manifest import read_manifest
from pyrometer.trial.yaml_file import parse
from pyrometer.workloads.custom import workload_file

RUN = Path(__file__).parents[3] / "examples" / "nightly" / "01"
VALUES = (
    2**63 - 1, -(2**63), 2**63, 2**64, 10**30, -1, 0, 1e308, -1e308, True, None, "", "abc",
    "\x1b[2J", [], {}, [[[]]], {"a": {"b": []}}, "9" * 400, "../../../../etc/passwd",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged") / "run"
    shutil.copytree(RUN, folder)
    assert run_verb(["show", str(folder), "--json"]) == 0
    return folder


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths of all values in plain data."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from places(inner, (*path, at))


def put(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    """The data with another value at a path."""
    if not path:
        return new
    made = json.loads(json.dumps(value))
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = new
    return made


@pytest.mark.parametrize("seed", range(40))
def test_any_value_anywhere_in_a_manifest(
    run: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(seed)
    manifest = run / "manifest.json"
    whole = manifest.read_bytes()
    data = json.loads(whole)
    try:
        place = rng.choice(list(places(data)))
        manifest.write_text(json.dumps(put(data, place, rng.choice(VALUES))))
        for verb in (["show", "--json"], ["show"], ["ledger"]):
            done = inside(capsys, verb[0], str(run), *verb[1:])
            assert done.code in (0, 2, 3), (place, verb, done.stderr)
            assert "\x1b" not in done.stdout + done.stderr
    finally:
        manifest.write_bytes(whole)


@pytest.mark.parametrize("seed", range(20))
def test_any_value_anywhere_in_the_iterations(
    run: Path, tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(seed)
    copy = tmp_path / "run"
    shutil.copytree(RUN, copy)
    path = copy / "raw" / "iterations.ndjson"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    at = rng.randrange(len(lines))
    place = rng.choice(list(places(lines[at])))
    lines[at] = put(lines[at], place, rng.choice(VALUES))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = inside(capsys, "show", str(copy), "--json")
    assert done.code in (0, 2, 3), (place, done.stderr)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "[" * 900 + "]" * 900, '{"a":' * 20_000, "NaN", '{"a": NaN}', "\xff", ""],
)
def test_a_manifest_that_is_none(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "manifest.json").write_bytes(text.encode("latin-1"))
    done = inside(capsys, "show", "--all", str(tmp_path))
    assert done.code in (0, 2), done.stderr
    # Where only its raw streams can be read, it is a doubt.
    assert done.code == 2 or "manifest_unreadable" in done.stdout, done


@given(st.binary(max_size=200))
def test_json_is_a_value_or_a_value_error(data: bytes) -> None:
    try:
        parse_json(data)
    except ValueError:
        return


@given(st.text(st.sampled_from("[]{}:,-&*!|>'\"# \n\tab0.%@`"), max_size=80))
def test_yaml_is_a_value_or_one_of_our_errors(text: str) -> None:
    try:
        parse(text, "x.yaml")
    except UsageError:
        return


@pytest.mark.parametrize("value", ["", "x", "0x", "''", "{a}", "[a]", "2001-13-41", "2001-01-01"])
@pytest.mark.parametrize(
    "tag", ["int", "float", "bool", "timestamp", "binary", "set", "omap", "pairs", "python"]
)
def test_yaml_with_tags_is_refused(tag: str, value: str) -> None:
    for text in (f"a: !!{tag} {value}", f"!!{tag} {value}: a", f"a: {{!!{tag} {value}: [b]}}"):
        with pytest.raises(UsageError, match=r"x\.yaml:1:\d+"):
            parse(text, "x.yaml")


@pytest.mark.parametrize("name", ["x" * 5000, "x" * 300 + ".yaml", "a\x00b", "é" * 200, "", "/"])
@pytest.mark.parametrize("key", ["extends", "workload"])
def test_no_name_of_a_file_is_too_long(tmp_path: Path, key: str, name: str) -> None:
    path = tmp_path / "x.yaml"
    keys = {"name": "x", "workload": "parquet-scan", "matrix": {}, key: name}
    path.write_text(json.dumps(keys).replace("\\u0000", ""), encoding="utf-8")
    try:
        read_source(path)
    except UsageError:
        assert key == "extends"


def test_data_whose_name_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "workload.yaml"
    data = {"orders": {"path": "x" * 5000}}
    made = {"name": "x", "summary": "x", "sql": "x.sql", "data": data}
    path.write_text(json.dumps(made))
    with pytest.raises(UsageError, match="there is no"):
        workload_file.prepared(str(path), workload_file.read(str(path)))


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("key", ["code", "signal", "end_mono_ns", "end_wall_ns", None])
def test_any_value_anywhere_in_how_a_run_ended(tmp_path: Path, key: str | None, value: Any) -> None:
    ending = {"code": 1, "signal": "SIGTERM", "end_mono_ns": 5, "end_wall_ns": 6}
    data = json.loads((RUN / "manifest.json").read_bytes()) | {"state": "running"}
    # Nobody keeps the run any more.
    data["launcher"] = {"pid": 1, "start_ticks": 1}
    (tmp_path / "raw").mkdir()
    (tmp_path / "manifest.json").write_text(json.dumps(data))
    (tmp_path / "raw" / "exit.json").write_text(
        json.dumps({**ending, key: value} if key else value)
    )
    manifest = read_manifest(tmp_path)
    assert manifest.state == "interrupted"
    manifest.model_validate(manifest.model_dump(by_alias=True))


@pytest.mark.parametrize(
    "text", ["[" * 50_000, "{a: " * 5_000, "- " * 5_000, "a: " * 3000, "? " * 9_000]
)
def test_yaml_that_is_nested_deeply(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text, "x.yaml")


@given(st.text(st.sampled_from("[]{}=,-'\"# \n\tab01.:_é"), max_size=80))
def test_toml_is_a_value_or_one_of_our_errors(text: str) -> None:
    try:
        parse_toml(text, "x.toml")
    except UsageError:
        return


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 3000, "a = " + "{b = " * 3000, "a" + ".a" * 3000 + " = 1",
        "a = " + "9" * 5000, "a = 2020-99-99", "[a" + ".a" * 3000 + "]", "a = \x00",
    ],
    ids=lambda text: text[:9],
)  # fmt: skip
def test_toml_that_is_none_or_nested_deeply(tmp_path: Path, text: str) -> None:
    path = tmp_path / ".pyrometer.toml"
    path.write_text(text)
    for read in (lambda: muted_in(tmp_path, []), lambda: read_prices(path)):
        with pytest.raises(UsageError, match=r"\.pyrometer\.toml: n.*") as refused:
            read()
        assert refused.value.remedy


@pytest.mark.parametrize("key", ["created_wall_ns", "started_wall_ns", "started_mono_ns"])
def test_times_beyond_all_times_in_a_manifest_hide_no_other_run(
    tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("good", "bad"):
        shutil.copytree(RUN, tmp_path / name)
    path = tmp_path / "bad" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {key: 2**70}))
    done = inside(capsys, "ls", str(tmp_path))
    assert done.code == 0, done.stderr
    assert f"next: pyrometer show {tmp_path / 'good'}" in done.stdout
    assert f"{key}: Input should be less than" in " ".join(done.stdout.split())
    done = inside(capsys, "experiment", "history", str(tmp_path), "-o", str(tmp_path / "x.html"))
    assert done.code in (0, 2), done.stderr


def test_times_beyond_all_times_in_a_journal_end_no_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(RUN.parents[1] / "join", tmp_path / "join")
    journal = tmp_path / "join" / "journal.ndjson"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    journal.write_text("".join(json.dumps(one | {"wall_ns": 2**70}) + "\n" for one in lines))
    done = inside(capsys, "ls", str(tmp_path))
    assert done.code in (0, 2), done.stderr


@pytest.mark.parametrize(
    ("name", "mib", "verb"),
    [
        ("manifest.json", 64, ["show"]), ("experiment.json", 64, ["experiment", "show"]),
        ("x.yaml", 8, ["experiment", "plan"]), ("workload.yaml", 8, ["workloads", "show"]),
    ],
)  # fmt: skip
def test_a_document_that_is_too_large_is_not_read(
    tmp_path: Path, name: str, mib: int, verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.touch()
    os.truncate(path, (mib << 20) + 1)
    done = inside(capsys, *verb, str(path if name == "x.yaml" else tmp_path))
    assert done.code == 2
    assert f"{name}" in done.stderr
    assert f"larger than {mib} MiB" in done.stderr
    assert "try: " in done.stderr


def test_a_manifest_that_is_none_and_nothing_beside_it_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "manifest.json").write_text("{")
    done = inside(capsys, "show", str(tmp_path))
    assert (done.code, done.stdout) == (2, "")
    assert "manifest.json: not JSON" in done.stderr
    assert "restore it from a copy" in done.stderr


@pytest.mark.parametrize(
    "verb",
    [
        ["show"], ["ledger"], ["flame"], ["report"], ["explain"], ["export"], ["simulate"], ["ls"],
        ["experiment", "show"], ["experiment", "calibrate"], ["tune", "show"], ["corun"],
        ["layout"], ["scale"], ["ingest"], ["fit"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_name_is_too_long_or_too_short_for_a_verb(
    verb: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name in ("x" * 300, "x" * 5000, "", "\x1b[31m", "a\nb"):
        done = inside(capsys, *verb, name)
        assert done.code in (0, 2, 3), (name, done.stderr)
        assert "\x1b" not in done.stdout + done.stderr
        assert done.code == 0 or len(done.stderr.splitlines()) <= 3


@pytest.mark.parametrize(
    "name",
    [
        "raw/plugin-driver-x-1.ndjson", "raw/gc-1.log", "raw/profile-driver-1.jfr",
        "raw/probe-h-threads.arrows", "raw/probe-h.report.json", "raw/exit.json",
        "raw/iterations.ndjson", "raw/python-worker-1.ndjson", "raw/jit-1.log",
    ],
)  # fmt: skip
def test_a_folder_where_a_file_is_expected(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raw" / "eventlog").mkdir(parents=True)
    log = next((Path(__file__).parents[2] / "fixtures" / "eventlog").glob("whole.*"))
    shutil.copy(log, tmp_path / "raw" / "eventlog")
    (tmp_path / name).mkdir()
    done = inside(capsys, "show", str(tmp_path))
    assert done.code in (0, 2), done.stderr


@pytest.mark.parametrize("value", [1e308, -1e308, 0])
def test_times_beyond_all_times_in_a_journal(
    tmp_path: Path, value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "join"
    shutil.copytree(RUN.parents[1] / "join", copy)
    journal = copy / "journal.ndjson"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    for line in lines:
        if line["k"] == "end":
            line["seconds"] = value
            line["iterations_s"] = [value] * len(line["iterations_s"])
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for words in (["experiment", "show"], ["report", "-o", str(tmp_path / "x.html")]):
        done = inside(capsys, *words, str(copy))
        assert done.code in (0, 2, 3), (words, done.stderr)


def test_an_imported_file_must_lie_in_its_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "outside.folded"
    outside.write_text("a;b 3\n")
    run_dir = tmp_path / "run"
    assert run_verb(["import", str(outside), "-o", str(run_dir)]) == 0
    manifest = run_dir / "manifest.json"
    data = json.loads(manifest.read_text())
    for name in (str(outside), "../../outside.folded"):
        data["imported"][0]["file"] = name
        manifest.write_text(json.dumps(data))
        shutil.rmtree(run_dir / "tables", ignore_errors=True)  # absent once one was refused
        done = inside(capsys, "show", str(run_dir))
        assert done.code == 2
        assert "outside" in done.stderr
        assert not (run_dir / "tables").exists()
