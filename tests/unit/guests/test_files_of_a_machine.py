"""Files of a machine arrive as they are there, and nowhere but below the run directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from pyrometer.guests.frames import PIECE_BYTES, DamagedError, Piece
from pyrometer.guests.receive import Bounds, OfEach, Received
from pyrometer.guests.shipping import Follower, Gone


@pytest.fixture
def there(tmp_path: Path) -> Path:
    (tmp_path / "there/raw/eventlog").mkdir(parents=True)
    return tmp_path / "there"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


def take(received: Received, changes: Iterable[Piece | Gone]) -> None:
    for one in changes:
        if isinstance(one, Gone):
            received.remove(one.name)
        else:
            received.take(one)


def contents(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def test_files_arrive_as_they_grow_are_replaced_and_are_written_over(
    there: Path, here: Path
) -> None:
    follower, received = Follower(there), Received(here, here / "manifest.json")
    log, report, stacks = (there / "raw" / name for name in ("log", "report.json", "a.jfr"))
    log.write_bytes(b"one\n")
    stacks.write_bytes(b"\0" * 8 + b"x" * (2 * PIECE_BYTES))
    (there / "raw/empty").touch()
    take(received, follower.news())
    assert contents(here) == contents(there)

    with log.open("ab") as file:
        file.write(b"two\n")
    report.with_name("report.new").write_bytes(b"long text")
    report.with_name("report.new").replace(report)
    with stacks.open("r+b") as file:
        file.write(b"\x07" * 8)
    (there / "manifest.json").write_bytes(b"{}")
    take(received, follower.news())
    assert contents(here)["raw/log"] == b"one\ntwo\n"

    report.with_name("report.new").write_bytes(b"short")
    report.with_name("report.new").replace(report)
    log.write_bytes(b"")
    take(received, follower.rest())
    assert contents(here) == contents(there)
    assert [*follower.rest()] == []


def test_only_what_is_new_is_sent(there: Path) -> None:
    follower = Follower(there)
    log = there / "raw/eventlog/app-1"
    log.write_bytes(b"a" * 1000)
    assert [*follower.news()] == [Piece("raw/eventlog/app-1", 0, 0, b"a" * 1000)]
    assert [*follower.news()] == []
    with log.open("ab") as file:
        file.write(b"b")
    assert [*follower.news()] == [Piece("raw/eventlog/app-1", 0, 1000, b"b")]


@pytest.mark.parametrize("last", [Follower.news, Follower.rest])
def test_an_event_log_that_is_renamed_at_its_end_is_here_once(
    last: Callable[[Follower], Iterable[Piece | Gone]], there: Path, here: Path
) -> None:
    follower, received = Follower(there), Received(here, here / "manifest.json")
    log = there / "raw/eventlog/app-1.inprogress"
    log.write_bytes(b"start\n")
    take(received, follower.news())
    assert contents(here) == {"raw/eventlog/app-1.inprogress": b"start\n"}
    log.rename(log.with_suffix(""))
    take(received, last(follower))
    assert contents(here) == {"raw/eventlog/app-1": b"start\n"}
    log.write_bytes(b"again\n")
    take(received, follower.rest())
    assert contents(here) == contents(there)


def test_what_never_came_is_not_removed(here: Path) -> None:
    (here / "raw").mkdir()
    (here / "raw/console.txt").write_bytes(b"ours")
    (here / "report.html").write_bytes(b"ours")
    received = Received(here, here / "manifest.json")
    for name in ("raw/console.txt", "raw/../report.html", "report.html", ""):
        received.remove(name)
    assert set(contents(here)) == {"raw/console.txt", "report.html"}


def test_names_that_a_host_refuses_are_not_sent(there: Path, here: Path) -> None:
    (there / "raw/a b").write_bytes(b"x")
    (there / "raw/fine").write_bytes(b"x")
    take(Received(here, here / "manifest.json"), Follower(there).rest())
    assert set(contents(here)) == {"raw/fine"}


def test_files_that_the_host_writes_are_refused(here: Path) -> None:
    received = Received(here, here / "manifest.json", reserved=["vcpus.ndjson"])
    with pytest.raises(DamagedError, match="a file of the host"):
        received.take(Piece("raw/vcpus.ndjson", 0, 0, b"{}"))
    assert contents(here) == {}


def test_links_hidden_files_and_pipes_are_not_sent(there: Path, tmp_path: Path) -> None:
    import os

    (tmp_path / "secret").write_bytes(b"s")
    (there / "raw/link").symlink_to(tmp_path / "secret")
    (there / "raw/folder").symlink_to(tmp_path)
    (there / "raw/.hidden").write_bytes(b"h")
    (there / "raw/report.json.tmp").write_bytes(b"half")
    os.mkfifo(there / "raw/pipe")
    assert [*Follower(there).rest()] == []


@pytest.mark.parametrize(
    "name",
    [
        "raw/../../x", "/etc/passwd", "raw//x", "raw/.ssh", "raw", "tables/x.parquet",
        "report.html", "raw/a\nb",
        "raw/" + "a/" * 9 + "b",
        "raw/" + "a" * 201, "", "manifest.json/x", "raw/a/",
    ],
)  # fmt: skip
def test_names_that_lead_elsewhere_are_refused(name: str, here: Path) -> None:
    received = Received(here, here / "manifest.json")
    with pytest.raises(DamagedError, match="not the name of a file"):
        received.take(Piece(name, 0, 0, b"x"))
    assert contents(here) == {}


def test_a_link_that_stands_there_already_is_not_followed(here: Path, tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"kept")
    (here / "raw").mkdir()
    (here / "raw/a").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"):
        Received(here, here / "manifest.json").take(Piece("raw/a", 0, 0, b"x"))
    assert (tmp_path / "target").read_bytes() == b"kept"


def test_gaps_old_generations_and_too_much_are_refused(here: Path) -> None:
    received = Received(here, here / "manifest.json", Bounds(bytes_count=10, files_count=2))
    received.take(Piece("raw/a", 0, 0, b"abc"))
    for wrong in (
        Piece("raw/a", 0, 4, b"x"),
        Piece("raw/a", 0, 0, b"x"),
        Piece("raw/b", 0, 1, b"x"),
    ):
        with pytest.raises(DamagedError, match="gap"):
            received.take(wrong)
    received.take(Piece("raw/a", 1, 0, b"d"))
    with pytest.raises(DamagedError, match="replaced"):
        received.take(Piece("raw/a", 0, 3, b"x"))
    received.take(Piece("raw/b", 0, 0, b""))
    with pytest.raises(DamagedError, match="more than 2 files"):
        received.take(Piece("raw/c", 0, 0, b""))
    with pytest.raises(DamagedError, match="more than 10 bytes"):
        received.take(Piece("raw/b", 0, 0, b"0123456789"))
    assert contents(here) == {"raw/a": b"d", "raw/b": b""}


def test_a_folder_where_a_file_was_is_refused(here: Path) -> None:
    received = Received(here, here / "manifest.json")
    received.take(Piece("raw/a", 0, 0, b"abc"))
    with pytest.raises(DamagedError, match="or the reverse"):
        received.take(Piece("raw/a/b", 0, 0, b"x"))


def test_files_of_trials_that_share_a_machine_go_to_their_run_directories(tmp_path: Path) -> None:
    roots = [tmp_path / name for name in ("a", "b")]
    for one in roots:
        (one / "raw").mkdir(parents=True)
    received = OfEach([Received(one, one / "raw/theirs.json") for one in roots])
    for name in ("0/raw/log", "1/raw/log", "1/manifest.json"):
        received.take(Piece(name, 0, 0, name.encode()))
    assert contents(tmp_path) == {
        "a/raw/log": b"0/raw/log", "b/raw/log": b"1/raw/log",
        "b/raw/theirs.json": b"1/manifest.json",
    }  # fmt: skip
    received.remove("0/raw/log")
    assert not (tmp_path / "a/raw/log").exists()
    for name in ("2/raw/log", "raw/log", "00/raw/log", "0", "", "/raw/log", "-1/raw/log"):
        with pytest.raises(DamagedError):
            received.take(Piece(name, 0, 0, b"x"))
    with pytest.raises(DamagedError, match="of no trial"):
        received.remove("../raw/log")
