"""What is removed of a store that agents ship to: old, whole, and certainly theirs."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from tests.support.cli import Done, inside, nobody_reads
from tests.support.hosts.agent import unpacked
from tests.support.hosts.shipping import APP, OTHER, Place, found, probe, times
from tests.support.stores.planned_store import Store, files_below, own_cache, use

from pyrometer.core.errors import UsageError
from pyrometer.store.remote import objects
from pyrometer.store.services.prune import agents_store

DAY_NS = 86_400 * 10**9
ADDRESS, ROOT = "planned://bucket/agents", "bucket/agents"


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("agent"))


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory, agent: Path) -> Place:
    """Two applications, and a service on each of two hosts."""
    place = Place(tmp_path_factory.mktemp("shipped"), agent)
    for app, name in ((APP, "h"), (OTHER, "i")):
        folder = place.raw(name)
        (folder / "gc-7.log").write_text("a line\n")
        place.ship(folder, app, "1", name)
        place.service(name, probe(times(0, 100), 62), [found(app, "1", 62)])
    return place


@pytest.fixture
def place(tmp_path: Path, shipped: Place) -> Place:
    """The same for one test alone, with the times of its files."""
    place = Place(tmp_path, shipped.agent)
    shutil.copytree(shipped.folder, tmp_path, symlinks=True, dirs_exist_ok=True)
    place.now_ns, place.raws = shipped.now_ns, shipped.raws
    return place


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prune in twenty days."""
    now_ns = time.time_ns() + 20 * DAY_NS
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)


def prune(
    capsys: pytest.CaptureFixture[str], store: Path | str, *more: str, days: str = "14d"
) -> Done:
    return inside(capsys, "agent", "prune", store, "--older-than", days, *more)


def chunks(folder: Path) -> set[Path]:
    return {one for one in files_below(folder) if one.is_file()}


def touch(file: Path) -> None:
    """Let a file be of now."""
    os.utime(file, ns=(time.time_ns(), time.time_ns()))


def test_nothing_goes_without_being_asked_for_and_nothing_young(
    capsys: pytest.CaptureFixture[str], place: Place
) -> None:
    before = chunks(place.store)
    done = prune(capsys, place.store, "--remove", days="1")
    assert done.code == 0, done.stderr
    assert chunks(place.store) == before
    assert "0 parts of 4" in done.stdout


@pytest.mark.usefixtures("later")
def test_old_parts_are_listed_then_removed_whole(
    capsys: pytest.CaptureFixture[str], place: Place
) -> None:
    before = chunks(place.store)
    # One chunk of an application that is young keeps all of it.
    touch(min(one for one in before if OTHER in one.parts))
    listed = prune(capsys, place.store, "--json")
    assert chunks(place.store) == before
    names = [one["name"] for one in listed.json["old"]]
    assert names[0] == APP
    assert [name.partition(",")[0] for name in names[1:]] == ["host h", "host i"]
    assert listed.json["removed"] is False
    assert "--remove removes them" in prune(capsys, place.store).stdout
    done = prune(capsys, place.store, "--remove")
    assert done.code == 0, done.stderr
    left = chunks(place.store)
    assert left == {one for one in before if OTHER in one.parts}
    assert [one.name for one in place.store.iterdir()] == [OTHER]


@pytest.mark.usefixtures("later")
def test_all_that_is_old_goes_also_where_nobody_reads_what_is_removed(
    capsys: pytest.CaptureFixture[str], place: Place
) -> None:
    with nobody_reads():
        assert prune(capsys, place.store, "--remove").code == 0
    assert list(place.store.iterdir()) == []


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize(
    "strange", ["notes.txt", "link", "other app", "no chunk", "no time", "only unfinished"]
)
def test_a_part_with_anything_else_stays(
    capsys: pytest.CaptureFixture[str], place: Place, tmp_path: Path, strange: str
) -> None:
    app = place.store / APP
    (stream,) = app.glob("1/*/h/gc-7.log")
    target = tmp_path / "precious"
    target.mkdir()
    (target / "000000000000.chunk").write_text("mine")
    match strange:
        case "notes.txt":
            (app / "notes.txt").write_text("mine")
        case "link":
            (app / "1" / "link").symlink_to(target)
        case "other app":
            app = app.rename(place.store / "renamed")
        case "only unfinished":
            other = app / "2" / stream.parents[1].name / "h" / "gc-7.log"
            other.mkdir(parents=True)
            (other / "000000000000.tmp").write_text("mine")
        case "no chunk":
            for one in app.glob("1/*/*/*/*.chunk"):
                one.write_text("mine")
        case _:
            stream.parents[1].rename(app / "1" / "7f")
    kept = chunks(app) | chunks(target)
    done = prune(capsys, place.store, "--remove", "--json")
    assert done.code == 0, done.stderr
    assert kept <= chunks(app) | chunks(target)
    (stays,) = done.json["stays"]
    assert stays["name"] == app.name
    assert {one["name"] for one in done.json["old"]} & {APP, "renamed"} == set()
    assert not (place.store / OTHER).exists()


@pytest.mark.usefixtures("later")
def test_what_agents_were_killed_over_goes_with_their_chunks(
    capsys: pytest.CaptureFixture[str], place: Place
) -> None:
    for stream in place.store.glob("*/*/*/*/*"):
        (stream / "000000000001.tmp").write_text("half")
    done = prune(capsys, place.store, "--remove")
    assert done.code == 0, done.stderr
    assert list(place.store.iterdir()) == []


@pytest.mark.usefixtures("later")
def test_an_application_called_host_takes_nothing_of_hosts_with_it(
    capsys: pytest.CaptureFixture[str], place: Place
) -> None:
    folder = place.raw("h")
    (folder / "gc-7.log").write_text("a line\n")
    place.ship(folder, "host", "1", "h")
    of_hosts = chunks(place.store / "host" / "host")
    for one in of_hosts:
        touch(one)
    assert prune(capsys, place.store, "--remove").code == 0
    assert chunks(place.store) == of_hosts


@pytest.mark.usefixtures("later")
def test_a_store_at_an_address_is_pruned_by_the_same_rules(
    capsys: pytest.CaptureFixture[str], place: Place, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    own_cache(tmp_path, monkeypatch)
    store = use(Store())
    store.copy(place.store, ROOT)
    before = set(store.objects)
    # Names that are patterns to what removes them.
    pattern = f"{ROOT}/app-*/1/18ebd01d5f85bf4b/h/f/000000000000.chunk"
    store.objects[pattern] = b"x"
    # And one that is none of a file.
    store.objects[f"{ROOT}/{OTHER}/my\nnotes.txt"] = b"mine"
    assert prune(capsys, ADDRESS).code == 0
    assert before < set(store.objects)
    done = prune(capsys, ADDRESS, "--remove", "--json")
    assert done.code == 0, done.stderr
    left = set(store.objects)
    assert pattern in left
    assert left & before == {key for key in before if f"/{OTHER}/" in key}
    assert {one["name"] for one in done.json["stays"]} == {"app-*", OTHER}


@pytest.mark.usefixtures("later")
def test_more_than_one_listing_holds_is_listed_in_parts(
    capsys: pytest.CaptureFixture[str], place: Place, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    own_cache(tmp_path, monkeypatch)
    store = use(Store())
    store.copy(place.store, ROOT)
    monkeypatch.setattr(objects, "MOST_OBJECTS", 12)
    # Four streams of an executor that have four chunks each, and one alone that has seventeen.
    for app, name in ((APP, "{0}.log/{1:012}"), (OTHER, "gc-7.log/{2:012}")):
        (first,) = (key for key in store.objects if app in key and "gc-7.log/000000000000." in key)
        for number in range(16):
            place_of = name.format(number // 4, number % 4, number + 1)
            key = first.replace("gc-7.log/000000000000", place_of)
            store.objects[key], store.arrived[key] = store.objects[first], store.arrived[first]
    large = {key for key in store.objects if OTHER in key}
    done = prune(capsys, ADDRESS, "--remove", "--json")
    assert done.code == 0, done.stderr
    (stays,) = done.json["stays"]
    assert stays["name"] == OTHER
    assert stays["why"].endswith(
        "has too many files to be listed: remove it with the store's tools"
    )
    assert set(store.objects) == large


def test_an_address_where_nothing_is_is_one_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own_cache(tmp_path, monkeypatch)
    use(Store(objects={f"{ROOT}/a": b"x"}))
    done = prune(capsys, "planned://bucket/agnets")
    assert (done.code, done.stdout) == (2, "")
    assert "planned://bucket/agnets: nothing is there" in done.stderr
    assert "give the address that agents ship to" in done.stderr
    assert done.stderr.count("error:") == 1


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("root", ["bucket/agents", "bucket/agents[1]"])
def test_names_of_a_store_at_an_address_are_no_patterns(
    capsys: pytest.CaptureFixture[str], place: Place, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path, root: str,
) -> None:  # fmt: skip
    own_cache(tmp_path, monkeypatch)
    store = use(Store())
    store.copy(place.store, root)
    # What a pattern would find in its place.
    others = {key.replace(root, "bucket/agents1") for key in store.objects}
    store.objects |= dict.fromkeys(others, b"another's")
    assert prune(capsys, f"planned://{root}", "--remove").code == 0
    assert set(store.objects) == others


@pytest.mark.usefixtures("later")
def test_what_a_store_refuses_to_remove_is_an_error(
    capsys: pytest.CaptureFixture[str], place: Place, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    own_cache(tmp_path, monkeypatch)
    store = use(Store())
    store.copy(place.store, ROOT)
    request = store.request

    def refuse(what: str) -> None:
        request(what)
        if what.startswith("remove "):
            raise PermissionError("AccessDenied")

    before = dict(store.objects)
    monkeypatch.setattr(store, "request", refuse)
    done = prune(capsys, ADDRESS, "--remove")
    assert done.code == 2
    assert "not permitted" in done.stderr
    assert "delete" in done.stderr
    assert "removed" not in done.stdout
    assert store.objects == before


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("kind", ["folder", "address"])
def test_what_comes_after_it_was_listed_stays(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    own_cache(tmp_path, monkeypatch)
    there = agents_store(str(place.store) if kind == "folder" else ADDRESS)
    store = use(Store())
    store.copy(place.store, ROOT)
    before_ns = time.time_ns() - 14 * DAY_NS
    (old,) = [one for one in there.batches() if one.name == APP]
    assert old.is_old(before_ns)
    (first,) = place.store.glob(f"{APP}/1/*/h/gc-7.log/000000000000.chunk")
    young = first.with_name("000000000001.chunk")
    young.write_bytes(first.read_bytes())
    touch(young)
    store.copy(place.store, ROOT)
    assert there.remove(old, before_ns) == old.chunks_count
    if kind == "folder":
        assert chunks(place.store / APP) == {young}
    else:
        assert [key for key in store.objects if APP in key] == [
            f"{ROOT}/{young.relative_to(place.store)}"
        ]


@pytest.mark.usefixtures("later")
def test_a_store_is_found_by_a_link_and_none_in_it_is_followed(
    capsys: pytest.CaptureFixture[str], place: Place, tmp_path: Path
) -> None:
    link = tmp_path / "by-link"
    link.symlink_to(place.store)
    there = agents_store(str(link))
    before_ns = time.time_ns() - 14 * DAY_NS
    of_host = next(one for one in there.batches() if one.name.startswith("host h"))
    # It is exchanged for a link when it was listed.
    kept = place.store.rename(tmp_path / "other") / "host"
    place.store.mkdir()
    (place.store / "host").symlink_to(kept)
    before = chunks(kept)
    with pytest.raises(UsageError):
        there.remove(of_host, before_ns)
    assert chunks(kept) == before
    (place.store / "host").unlink()
    kept.rename(place.store / "host")
    assert prune(capsys, link, "--remove").code == 0
    assert list(place.store.iterdir()) == []


@pytest.mark.parametrize(
    ("store", "days", "words"),
    [
        ("/nowhere/at/all", "14d", "No such file or directory"),
        ("relative", "14d", "neither an absolute path nor a URL"),
        ("planned://ann:secret@bucket/agents", "14d", "credentials do not belong"),
        ("/tmp", "0", "not a number of days"),
        ("/tmp", "2h", "not a number of days"),
        ("/tmp", "-3", "not a number of days"),
    ],
)
def test_mistakes_are_one_message(
    capsys: pytest.CaptureFixture[str], store: str, days: str, words: str
) -> None:
    use(Store())
    done = prune(capsys, store, "--remove", days=days)
    assert done.code == 2
    assert words in done.stderr
    assert done.stderr.count("error:") == 1
