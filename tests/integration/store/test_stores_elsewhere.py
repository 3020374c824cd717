"""Stores of agents at an address: what a run gets of them, how little is asked, what goes wrong."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import inside
from tests.support.hosts.agent import unpacked
from tests.support.hosts.shipping import APP, OTHER, Place, S, found, probe, times
from tests.support.stores.planned_store import Store, files_below, own_cache, use

from pyrometer.cli.main import FETCHED
from pyrometer.store import Run, ingest_run
from pyrometer.store.manifest import read_manifest, write_manifest
from pyrometer.store.services import stores
from pyrometer.store.services.chunk_files import header_of
from pyrometer.store.services.take import MARGIN_NS

ADDRESS = "planned://bucket/agents"
ROOT = "bucket/agents"


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("agent"))


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory, agent: Path) -> Place:
    """Two executors of the run and one of another application, a service on each of two hosts."""
    place = Place(tmp_path_factory.mktemp("shipped"), agent)
    place.executor("h", "1", 62, probe(times(300, 1500), 62))
    place.executor("i", "2", 71, None)
    place.service("h", probe(times(0, 2000), 62, 99), [found(APP, "1", 62), found(OTHER, "1", 99)])
    place.service("i", probe(times(0, 2000), 71), [found(APP, "2", 71)])
    place.service("far", probe(times(0, 2000), 5), [found(OTHER, "3", 5)])
    other = place.raw("h")
    (other / "gc-99.log").write_text("not the run's\n")
    place.ship(other, OTHER, "1", "h")
    return place


@pytest.fixture
def store(tmp_path: Path, shipped: Place, monkeypatch: pytest.MonkeyPatch) -> Store:
    own_cache(tmp_path, monkeypatch)
    planned = use(Store())
    planned.copy(shipped.store, ROOT)
    return planned


@pytest.fixture
def run(tmp_path: Path, shipped: Place) -> Place:
    """The run, with nothing of the store yet, which its manifest names by its address."""
    return described(tmp_path / "there", shipped, ADDRESS)


def described(folder: Path, shipped: Place, to: str) -> Place:
    place = Place(folder, shipped.agent)
    place.now_ns = shipped.now_ns
    place.describe()
    manifest = read_manifest(place.paths.root)
    manifest.shipped[0].to = to
    write_manifest(place.paths.root, manifest)
    return place


def rows(place: Place) -> dict[str, list[tuple[Any, ...]]]:
    tables = ("os_series", "processes", "hosts", "clock_pairs", "ingest_doubts")
    with Run.open(place.paths.root) as opened:
        return {
            one: opened.tables.query(f"SELECT * FROM {one} ORDER BY ALL")
            for one in tables
            if opened.tables.has(one)
        }


def told(place: Place, code: str) -> list[str]:
    return [one.message for one in ingest_run(place.paths.root).doubts if one.code == code]


def test_a_run_has_the_same_of_a_store_elsewhere_as_of_a_folder(
    tmp_path: Path, shipped: Place, run: Place, store: Store
) -> None:
    before = dict(store.objects)
    here = described(tmp_path / "here", shipped, str(shipped.store))
    for place in (here, run):
        ingest_run(place.paths.root)
    assert rows(run) == rows(here)
    assert {row[0] for row in rows(run)["hosts"]} == {"h", "i"}
    made = [
        {str(file.relative_to(place.paths.shipped)): file.read_bytes() for file in files}
        for place in (here, run)
        if (files := [one for one in files_below(place.paths.shipped) if one.is_file()])
    ]
    assert made[0] == made[1]
    assert store.objects == before
    # Of other applications: which processes they are, and nothing else.
    assert not any(OTHER in what for what in store.asked)
    of_far = {key.split("/")[6] for key in store.gets() if "/far/" in key}
    assert {name.partition("-")[0] for name in of_far} == {"executor"}


def test_what_has_come_is_not_fetched_again(run: Place, store: Store) -> None:
    ingest_run(run.paths.root)
    chunks = [key for key in store.gets() if not key.split("/")[6].endswith(".json")]
    assert len(chunks) == len(set(chunks)) > 0
    store.asked.clear()
    ingest_run(run.paths.root)
    assert all(key.split("/")[6].endswith(".json") for key in store.gets())


def test_runs_of_one_time_share_what_was_fetched_and_a_spoilt_copy_is_fetched_again(
    tmp_path: Path, shipped: Place, run: Place, store: Store
) -> None:
    def fetched(name: str) -> set[str]:
        store.asked.clear()
        place = described(tmp_path / name, shipped, ADDRESS)
        assert told(place, "chunks_damaged") == []
        assert rows(place) == rows(run)
        return {key for key in store.gets() if key.endswith("-series.arrows/000000000000.chunk")}

    ingest_run(run.paths.root)
    assert fetched("again") == set()
    kept = [one for one in files_below(tmp_path / "cache") if one.is_file()]
    assert all(one.stat().st_mode & 0o077 == 0 for one in kept)
    for one in kept:
        one.write_bytes(one.read_bytes()[:-1] + b"?")
    assert len(fetched("spoilt")) == 3


def test_what_the_bound_does_not_hold_is_fetched_and_not_kept(
    tmp_path: Path, run: Place, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYROMETER_REMOTE_CACHE_BYTES", "2000")
    ingest_run(run.paths.root)
    assert {row[0] for row in rows(run)["hosts"]} == {"h", "i"}
    kept = [one for one in files_below(tmp_path / "cache") if one.is_file()]
    assert sum(one.stat().st_size for one in kept) <= 2000


def test_agents_of_another_time_are_not_looked_into(run: Place, store: Store) -> None:
    manifest = read_manifest(run.paths.root)
    for hours in (-72, 72):
        manifest.started_wall_ns = run.now_ns + hours * 3600 * S
        manifest.ended_wall_ns = manifest.started_wall_ns + S
        write_manifest(run.paths.root, manifest)
        store.asked.clear()
        ingest_run(run.paths.root)
        assert f"list {ROOT}/host/host" in store.asked
        assert not any(f"{ROOT}/host/host/" in what for what in store.asked)
    # Begun within a day, and over by then, as the newest of its report says.
    manifest.started_wall_ns = run.now_ns + 20 * 3600 * S
    manifest.ended_wall_ns = manifest.started_wall_ns + S
    write_manifest(run.paths.root, manifest)
    store.asked.clear()
    ingest_run(run.paths.root)
    of_services = [what for what in store.asked if f"find {ROOT}/host/host/" in what]
    assert len(of_services) == 3
    assert all(what.endswith(".report.json") for what in of_services)


def test_chunks_from_after_a_run_stay_where_they_are(
    tmp_path: Path, agent: Path, store: Store
) -> None:
    place = Place(tmp_path / "long", agent)
    record = {"found": found(APP, "1", 62)}
    folder = place.raw(
        "h", **{"executor-1-62.json": str(record).replace("'", '"').replace("None", "null")}
    )
    log = folder / "probe-h.log"
    log.write_text("0\n")
    words = ["--to", place.store, "--raw-dir", folder, "--app", "host", "--executor", "host"]
    shipper = subprocess.Popen([agent, "ship", *map(str, words), "--host", "h", "--every", "0.1"])

    def arrived() -> list[Path]:
        return sorted(place.store.glob("host/host/*/h/probe-h.log/*.chunk"))

    for number in range(1, 8):
        while len(arrived()) < number:
            time.sleep(0.02)
        with log.open("a") as file:
            file.write(f"{number}\n")
    while len(arrived()) < 8:
        time.sleep(0.02)
    shipper.send_signal(signal.SIGTERM)
    assert shipper.wait(30) == 0
    store.objects.clear()
    store.copy(place.store, ROOT)
    cut_ns = [header_of(chunk)["cut_wall_ns"] for chunk in arrived()]
    assert len(cut_ns) >= 8
    run = described(tmp_path / "short", place, ADDRESS)
    manifest = read_manifest(run.paths.root)
    manifest.ended_wall_ns = cut_ns[3] - MARGIN_NS
    manifest.started_wall_ns = cut_ns[0] - MARGIN_NS
    write_manifest(run.paths.root, manifest)
    store.asked.clear()
    ingest_run(run.paths.root)
    # The first that was cut afterwards may have begun before.
    (made,) = run.paths.shipped.glob("host/host/*/h/probe-h.log")
    assert made.read_text() == "0\n1\n2\n3\n4\n"


@pytest.mark.parametrize("kind", ["cut short", "other bytes", "no chunk", "empty"])
def test_a_chunk_that_is_not_sound_is_left_out_and_said(
    run: Place, store: Store, kind: str
) -> None:
    (key,) = (one for one in store.objects if f"{APP}/1/" in one and "series.arrows" in one)
    whole = store.objects[key]
    store.objects[key] = {
        "cut short": whole[:-9], "other bytes": whole[:-1] + bytes([whole[-1] ^ 1]),
        "no chunk": b"x" * 5_000, "empty": b"",
    }[kind]  # fmt: skip
    (said,) = told(run, "chunks_damaged")
    assert "series.arrows" in said
    assert {row[0] for row in rows(run)["hosts"]} == {"h", "i"}


def test_names_that_lead_elsewhere_lead_nowhere(tmp_path: Path, run: Place, store: Store) -> None:
    base = f"{ROOT}/{APP}/1"
    names = [
        f"{base}/../../../../evil/000000000000.chunk", f"{base}//x/000000000000.chunk",
        "/etc/000000000000.chunk", f"{base}/a\nb/000000000000.chunk", f"{base}/\udcff/0.chunk",
        f"{base}/{'x' * 300}/000000000000.chunk", f"{base}/{'d/' * 40}000000000000.chunk",
        f"{base}/000000000000.chunk/000000000001.chunk", f"{base}/1/h/f/notes.chunk", "",
    ]  # fmt: skip
    entries = [{"name": name, "size": 9, "type": "file", "ETag": "e"} for name in names]
    sizes: list[Any] = [None, -1, "9", 1 << 60, True]
    entries += [
        {"name": f"{base}/1/h/g/{number:012}.chunk", "size": size, "type": "file"}
        for number, size in enumerate(sizes)
    ]
    store.listed = entries
    before = {one for one in files_below(tmp_path) if "there" not in one.parts}
    report = ingest_run(run.paths.root)
    assert {one.code for one in report.doubts} <= {"clock_unknown", "clock_bound_unknown"}
    assert {row[0] for row in rows(run)["hosts"]} == {"h", "i"}
    asked = set(store.gets())
    assert asked <= set(store.objects)
    after = {one for one in files_below(tmp_path) if "there" not in one.parts}
    assert {one for one in after - before if "cache" not in one.parts} == set()
    allowed = {f"{APP}", "host"}
    assert {one.name for one in run.paths.shipped.iterdir()} == allowed


def test_what_is_too_large_for_a_chunk_is_not_fetched(run: Place, store: Store) -> None:
    name = f"{ROOT}/{APP}/1/1/h/gc-1.log/000000000000.chunk"
    store.listed = [{"name": name, "size": 1 << 40, "type": "file", "ETag": "e"}]
    (said,) = told(run, "chunks_unjoined")
    assert said == f"{name}: too large for a chunk"
    assert name not in store.gets()
    assert {row[0] for row in rows(run)["hosts"]} == {"h", "i"}


def test_thousands_of_objects_of_others_are_neither_listed_nor_fetched(
    run: Place, store: Store
) -> None:
    for number in range(5_000):
        store.objects[f"{ROOT}/app-{number % 50}/1/18f0/h/gc-1.log/{number:012}.chunk"] = b"x"
    ingest_run(run.paths.root)
    assert len(store.asked) < 120
    assert not any("/app-4" in what for what in store.asked)


def test_a_store_that_is_away_is_asked_once_and_the_rest_is_read(run: Place, store: Store) -> None:
    store.failures = [OSError("no route to host")] * 50
    said = [
        (one.code, one.message)
        for one in ingest_run(run.paths.root).doubts
        if one.code.startswith(("chunks", "agents"))
    ]
    assert said == [(
        "chunks_elsewhere",
        f"{ADDRESS}: cannot be reached, tried 3 times (OSError: no route to host); check network,"
        " address and endpoint, then run the command again",
    )]  # fmt: skip
    assert len(store.asked) == 3, "two pauses, and no more for the services there"
    assert not list(run.paths.shipped.glob("*"))


@pytest.mark.slow
@pytest.mark.parametrize("served_count", [2, 7, 12, 17])
def test_a_store_that_goes_away_leaves_a_beginning_which_the_next_ingest_completes(
    tmp_path: Path, shipped: Place, run: Place, store: Store, monkeypatch: pytest.MonkeyPatch,
    served_count: int,
) -> None:  # fmt: skip
    request = store.request
    served = iter(range(served_count))

    def goes_away(what: str) -> None:
        if next(served, None) is None:
            raise OSError("connection reset")
        request(what)

    monkeypatch.setattr(store, "request", goes_away)
    codes = {one.code for one in ingest_run(run.paths.root).doubts}
    assert "chunks_elsewhere" in codes
    assert not codes & {"chunks_missing", "chunks_damaged", "chunks_left_out"}
    monkeypatch.setattr(store, "request", request)
    monkeypatch.setattr(stores, "_AWAY", {})
    ingest_run(run.paths.root)
    here = described(tmp_path / "here", shipped, str(shipped.store))
    ingest_run(here.paths.root)
    assert rows(run) == rows(here)


def test_an_object_that_shrinks_while_it_is_read_is_not_taken(run: Place, store: Store) -> None:
    (key,) = (one for one in store.objects if f"{APP}/1/" in one and "series.arrows" in one)
    store.after_read = {key: store.objects[key][:100]}
    (said,) = told(run, "chunks_elsewhere")
    assert f"{ADDRESS} changed while it was read" in said


@pytest.fixture
def named(tmp_path: Path, shipped: Place) -> Place:
    """The run, whose manifest names no store; an event log says which application it is of."""
    return shipped.unshipped(tmp_path / "named")


def test_ingest_takes_an_address_keeps_it_and_says_what_was_fetched(
    capsys: pytest.CaptureFixture[str], named: Place, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FETCHED, "1")
    done = inside(capsys, "ingest", named.paths.root, "--agents", f"{ADDRESS}/")
    assert done.code == 0, done.stderr
    assert read_manifest(named.paths.root).agents == [ADDRESS]
    assert "agents_silent" not in done.stdout
    line = next(one for one in done.stderr.splitlines() if one.startswith("fetched"))
    words = line.split()
    sizes = [len(store.objects[key]) for key in store.gets()]
    assert 0 < int(words[1]) <= sum(sizes)
    assert 0 < int(words[3]) <= len(sizes)
    assert int(words[8]) == len(store.asked)
    assert line.endswith(f"requests: {ADDRESS}")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("planned://ann:secret@bucket/agents", "credentials do not belong"),
        (f"{ADDRESS}?X-Amz-Signature=secret", "credentials do not belong"),
        ("nothing://bucket/agents", "nothing reads nothing://"),
        ("agents", "neither an absolute path nor a URL"),
    ],
)
def test_an_address_that_is_none_changes_nothing(
    capsys: pytest.CaptureFixture[str], named: Place, store: Store, address: str, words: str
) -> None:
    before = named.paths.manifest.read_bytes()
    done = inside(capsys, "ingest", named.paths.root, "--agents", address)
    assert done.code == 2
    assert words in done.stderr
    assert "secret" not in done.stderr
    assert done.stderr.count("error:") == 1
    assert (named.paths.manifest.read_bytes(), store.asked) == (before, [])


def test_a_store_that_is_named_and_away_changes_nothing(
    capsys: pytest.CaptureFixture[str], named: Place, store: Store
) -> None:
    before = {one: one.stat().st_mtime_ns for one in files_below(named.paths.root)}
    for failure, words in (
        (OSError("no route"), "cannot be reached"),
        (PermissionError("AccessDenied"), "not permitted"),
    ):
        store.failures = [failure] * 3
        done = inside(capsys, "ingest", named.paths.root, "--agents", ADDRESS)
        assert done.code == 2
        assert words in done.stderr
        assert done.stderr.count("error:") == 1
        assert {one: one.stat().st_mtime_ns for one in files_below(named.paths.root)} == before
    store.failures.clear()
    assert inside(capsys, "ingest", named.paths.root, "--agents", ADDRESS).code == 0


def test_a_store_with_nothing_is_silent_and_not_an_error(named: Place, store: Store) -> None:
    store.objects.clear()
    report = ingest_run(named.paths.root, agents=ADDRESS)
    (said,) = [one.message for one in report.doubts if one.code == "agents_silent"]
    assert said == f"{ADDRESS}: no agent that runs as a service ships there."
