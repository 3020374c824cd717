"""Runs elsewhere: the same answers as here, little fetched, nothing written there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Done, inside
from tests.support.eventlog.recorded import recorded
from tests.support.report_fixture import write_run
from tests.support.stores.planned_store import ROOT, URL, Store, files_below, own_cache, use

from pyrometer.cli.main import FETCHED
from pyrometer.flame.page import write_flame
from pyrometer.report.page import write_run_report
from pyrometer.store import Run, ingest_run
from pyrometer.store.remote import mirror as mirrors
from pyrometer.store.remote import objects, opened, tables
from pyrometer.store.table_files import files_of

FIXTURE_LOG = next(one for one in recorded() if one.is_file())
OTHER = "planned://bucket/runs/two"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_cache(tmp_path, monkeypatch)


@pytest.fixture
def run(cache: Path) -> Path:
    """A recorded run, whose raw files are most of it; its path is as long as its address."""
    root = Path("here".ljust(len(URL) - len("/one"), "-"), "one")
    write_run(root)
    (root / "raw").mkdir()
    (root / "raw" / "profile-driver-7.jfr").write_bytes(b"\0" * 3_000_000)
    return root


@pytest.fixture
def store(run: Path) -> Store:
    store = use(Store())
    store.copy(run)
    store.copy(run, "bucket/runs/two")
    return store


def fetched(done: Done) -> tuple[int, int, int]:
    """Bytes fetched, bytes of the run, requests: of the last run that was opened."""
    words = next(one for one in done.stderr.splitlines()[::-1] if one.startswith("fetched")).split()
    return int(words[1]), int(words[3]), int(words[6])


@pytest.mark.parametrize("whole_bytes", [256 << 10, 0], ids=["small tables whole", "all in parts"])
@pytest.mark.parametrize(
    "verb",
    [
        ["show"], ["show", "--all"], ["show", "--json"], ["explain", "--all"], ["ledger"],
        ["ledger", "--json"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_verb_says_the_same_of_a_run_elsewhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, run: Path, store: Store,
    verb: list[str], whole_bytes: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(tables, "LOADED_BYTES", whole_bytes)
    here = inside(capsys, verb[0], run, *verb[1:])
    monkeypatch.setenv(FETCHED, "1")
    there = inside(capsys, verb[0], URL, *verb[1:])
    assert (here.code, there.code) == (0, 0), there.stderr
    assert there.stdout.replace(URL, str(run)) == here.stdout
    read, of, _ = fetched(there)
    assert of == sum(len(content) for key, content in store.objects.items() if ROOT in key)
    assert 0 < read < of / 2
    assert not any(".jfr" in what for what in store.asked)


def test_reports_that_were_shipped_are_read_of_a_run_elsewhere(run: Path, store: Store) -> None:
    beside = run / "raw" / "shipped" / "app-1" / "7" / "1" / "west"
    beside.mkdir(parents=True)
    report = {"tier": "T2", "own_cpu_ns": 5, "passes_count": 3, "state": "finished"}
    (beside / "probe-west.report.json").write_text(json.dumps(report))
    (beside / "agent-west.report.json").write_text("{}")
    (beside / "gc-7.log").write_text("")
    store.copy(run)
    with Run.open(URL) as there:
        assert there.manifest is not None
        probes = [(one.host, one.executor_id, one.tier) for one in there.manifest.probes]
        assert [one.name for one in there.paths.agent_reports()] == ["agent-west.report.json"]
    assert ("west", "7", "T2") in probes
    assert not any("gc-7" in what for what in store.asked)


def test_pages_are_the_same_and_lie_here(
    capsys: pytest.CaptureFixture[str], run: Path, store: Store, tmp_path: Path
) -> None:
    before = dict(store.objects)
    for verb, name in (("report", "report.html"), ("flame", "flame.html")):
        done = inside(capsys, verb, URL)
        assert done.code == 0, done.stderr
        assert f"one.{name} is written here" in done.stderr
        assert inside(capsys, verb, run).code == 0
        page = (tmp_path / f"one.{name}").read_text(encoding="utf-8")
        assert page.replace(URL, str(run)) == (run / name).read_text(encoding="utf-8")
        assert str(tmp_path / "cache") not in page
    assert store.objects == before


def test_pages_that_no_verb_writes_lie_here_too(store: Store, tmp_path: Path, cache: Path) -> None:
    write_flame(URL)
    write_run_report(URL)
    assert {page.name for page in tmp_path.glob("*.html")} == {"one.flame.html", "one.report.html"}
    assert not list(cache.rglob("*.html"))


@pytest.mark.slow
def test_two_runs_elsewhere_are_compared_as_here(
    capsys: pytest.CaptureFixture[str], run: Path, store: Store, tmp_path: Path
) -> None:
    other = tmp_path / "two"
    shutil.copytree(run, other)
    here = inside(capsys, "compare", run, other, "--json")
    there = inside(capsys, "compare", URL, "--against", OTHER, "--json")
    assert (here.code, there.code) == (0, 0), there.stderr
    assert there.stdout.replace(URL, str(run)).replace(OTHER, str(other)) == here.stdout
    for word, name in ((OTHER, OTHER), (f"{OTHER}/", OTHER), (f"{other}/", str(other))):
        mixed = inside(capsys, "compare", URL, "--against", URL, "--json", word)
        assert mixed.code == 2
        assert f"{name}: put all side-B runs directly after" in mixed.stderr


@pytest.mark.parametrize("whole_bytes", [256 << 10, 0], ids=["whole", "in parts"])
def test_files_of_a_table_are_read_in_the_same_order(
    monkeypatch: pytest.MonkeyPatch, run: Path, whole_bytes: int
) -> None:
    """Which of several values is any value depends on it."""
    monkeypatch.setattr(tables, "LOADED_BYTES", whole_bytes)
    for part in ("probe", "a", "python"):
        shutil.copy(run / "tables" / "samples.parquet", run / "tables" / f"samples-{part}.parquet")
    use(Store()).copy(run)
    with Run.open(URL) as there, Run.open(run) as here:
        orders = [
            [Path(place).name for place, _ in files_of(one.paths.tables).of("samples")]
            for one in (there, here)
        ]
        count = "SELECT count(*) FROM samples"
        assert there.tables.scalar(count) == here.tables.scalar(count) > 0
    assert orders[0] == orders[1]
    assert orders[0][0] == "samples.parquet"


def test_what_was_fetched_once_is_not_fetched_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    monkeypatch.setenv(FETCHED, "1")
    monkeypatch.setattr(tables, "LOADED_BYTES", 0)
    first = inside(capsys, "ledger", URL)
    monkeypatch.setattr(opened, "_OPEN", {})
    second = inside(capsys, "ledger", URL)
    assert first.stdout == second.stdout
    assert fetched(first)[0] > 0
    assert fetched(second)[0] == 0
    changed = json.loads(store.objects[f"{ROOT}/manifest.json"]) | {"profile": "light"}
    store.objects[f"{ROOT}/manifest.json"] = json.dumps(changed).encode()
    with Run.open(URL) as again:
        assert again.manifest is not None
        assert again.manifest.profile == "light"


def test_what_was_fetched_is_said_however_a_verb_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    def interrupted(run_dir: Path, agents: str | None = None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv(FETCHED, "1")
    refused = inside(capsys, "flame", URL, "--event", "none")
    monkeypatch.setattr("pyrometer.store.ingest_run", interrupted)
    stopped = inside(capsys, "ingest", URL)
    assert (refused.code, stopped.code) == (2, 1)
    assert min(fetched(refused)[0], fetched(stopped)[0]) > 0


def test_who_waits_for_raw_files_is_told_how_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    clock = [0.0]
    asked = store.request

    def slow(what: str) -> None:
        asked(what)
        clock[0] += 7.0 if what.endswith(".jfr") else 0.01

    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    monkeypatch.setattr(store, "request", slow)
    monkeypatch.setattr(mirrors, "PART_BYTES", 500_000)
    monkeypatch.setattr(objects, "PART_BYTES", 500_000)
    quick = inside(capsys, "ledger", OTHER)
    done = inside(capsys, "ingest", URL)
    assert "fetching" not in quick.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("fetching")]
    assert lines[0] == f"fetching {URL}: 488 KiB of 2.86 MiB, about 35.0 s left"
    assert len(lines) == 3


def test_many_small_files_come_in_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "BATCH", 10)
    names = {f"raw/{at}": str(at).encode() for at in range(25)}
    store.objects |= {f"{ROOT}/{name}": content for name, content in names.items()}
    there = objects.Objects(URL)
    asked: list[int] = []
    ask = there._files.cat_ranges

    def counted(keys: list[str], *more: Any, **options: Any) -> Any:
        asked.append(len(keys))
        return ask(keys, *more, **options)

    monkeypatch.setattr(there._files, "cat_ranges", counted)
    wanted = {name: one for name, one in there.below("raw").items() if name in names}
    assert dict(there.whole(wanted)) == names
    assert asked == [10, 10, 5]
    assert there.fetched_bytes == sum(map(len, names.values()))


@pytest.mark.parametrize("name", ["derived", "parts", ".derived"])
def test_the_name_of_a_run_says_nothing_of_its_tables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, run: Path, name: str
) -> None:
    monkeypatch.setattr(tables, "LOADED_BYTES", 0)
    url = f"planned://bucket/runs/{name}"
    use(Store()).copy(run, f"bucket/runs/{name}")
    there = inside(capsys, "ledger", url, "--json")
    here = inside(capsys, "ledger", run, "--json")
    assert there.code == 0, there.stderr
    assert there.stdout.replace(url, str(run)) == here.stdout


def test_tables_that_are_missing_are_made_here(
    capsys: pytest.CaptureFixture[str], cache: Path, tmp_path: Path
) -> None:
    here = tmp_path / "logged"
    (here / "raw" / "eventlog").mkdir(parents=True)
    shutil.copy(FIXTURE_LOG, here / "raw" / "eventlog" / "local-1")
    store = use(Store())
    store.copy(here)
    before = dict(store.objects)
    ingest_run(here)
    first = inside(capsys, "show", URL, "--json")
    assert first.code == 0, first.stderr
    assert first.stdout.replace(URL, str(here)) == inside(capsys, "show", here, "--json").stdout
    assert store.objects == before
    asked = len(store.asked)
    assert inside(capsys, "show", URL, "--json").stdout == first.stdout
    assert not any(what.startswith("get") for what in store.asked[asked:])
    assert {file.stat().st_mode & 0o077 for file in (cache, *files_below(cache))} == {0}


def test_tables_of_less_than_the_raw_files_there_are_made_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    here = tmp_path / "growing"
    log = here / "raw" / "eventlog" / "local-1"
    log.parent.mkdir(parents=True)
    whole = FIXTURE_LOG.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(whole[: len(whole) // 2]))
    ingest_run(here)
    store = use(Store())
    store.copy(here)
    log.write_bytes(b"".join(whole))
    store.objects[f"{ROOT}/raw/eventlog/local-1"] = log.read_bytes()
    ingest_run(here)
    there = inside(capsys, "show", URL, "--json")
    assert there.stdout.replace(URL, str(here)) == inside(capsys, "show", here, "--json").stdout


def test_tables_that_were_not_made_to_the_end_are_made_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, run: Path, store: Store
) -> None:
    def interrupted(run_dir: Path, agents: str | None = None) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("pyrometer.store.ingest_run", interrupted)
        assert inside(capsys, "ingest", URL).code == 1
    monkeypatch.setattr(opened, "_OPEN", {})
    ingest_run(run)
    there = inside(capsys, "ledger", URL, "--json")
    here = inside(capsys, "ledger", run, "--json")
    assert there.code == here.code, there.stderr
    assert there.stdout.replace(URL, str(run)) == here.stdout


@pytest.mark.parametrize("name", ["app-1", "eventlog_v2_app-1/events_1_app-1"])
def test_event_logs_elsewhere(capsys: pytest.CaptureFixture[str], name: str) -> None:
    store = use(Store())
    store.objects[f"bucket/logs/{name}"] = FIXTURE_LOG.read_bytes()
    url = f"planned://bucket/logs/{name.partition('/')[0]}"
    done = inside(capsys, "show", url, "--json")
    assert done.code == 0, done.stderr
    assert done.json["totals"]["tasks_count"] > 0


def test_verbs_for_folders_here_refuse_an_address(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in (["ls", URL], ["push", URL, "--to", "http://localhost:1"]):
        done = inside(capsys, *verb)
        assert done.code == 2
        assert "this verb takes a folder on this machine" in done.stderr
