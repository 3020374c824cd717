"""Stores that fail, lie or change: one clear message, exit code 2, and no secret in it."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import fsspec
import pytest
from tests.support.cli import inside
from tests.support.report_fixture import write_run
from tests.support.stores.planned_store import ROOT, URL, Store, files_below, own_cache, use

from pyrometer.store.private import make_private
from pyrometer.store.remote import cache as caches
from pyrometer.store.remote import mirror as mirrors
from pyrometer.store.remote import opened, tables

PASSWORD = "correct-horse-battery"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_cache(tmp_path, monkeypatch)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    root = tmp_path / "made"
    write_run(root)
    store = use(Store())
    store.copy(root)
    return store


class EndpointConnectionError(Exception):
    """As botocore's, which is no OSError."""


class NoCredentialsError(Exception):
    """As botocore's."""


class ParamValidationError(Exception):
    """As botocore's."""


@pytest.mark.parametrize(
    ("failure", "tries", "said"),
    [
        (FileNotFoundError("bucket"), 1, "no such file, folder or bucket"),
        (PermissionError("Access Denied"), 1, "not permitted (PermissionError: Access Denied)"),
        (ParamValidationError("Failed:\nInvalid name of a bucket"), 1, "Failed: Invalid name"),
        (NoCredentialsError("Unable to locate credentials"), 1, "no credentials"),
        (EndpointConnectionError("could not connect"), 3, "cannot be reached, tried 3 times"),
        (TimeoutError(), 3, "cannot be reached, tried 3 times (TimeoutError)"),
        (OSError(5, f"reset by planned://ann:{PASSWORD}@bucket/x"), 3, "cannot be reached"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_a_store_that_fails_is_one_message(
    capsys: pytest.CaptureFixture[str], store: Store, failure: Exception, tries: int, said: str
) -> None:
    store.failures = [failure] * 9
    done = inside(capsys, "show", f"planned://ann:{PASSWORD}@bucket/runs/one")
    assert done.code == 2
    assert len(store.asked) == tries
    assert said in done.stderr
    assert done.stderr.count("error:") == 1
    assert PASSWORD not in done.stderr + done.stdout


@pytest.mark.parametrize("at", range(6))
def test_what_passes_is_tried_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, store: Store, at: int
) -> None:
    monkeypatch.setattr(tables, "LOADED_BYTES", 0)
    quiet = inside(capsys, "ledger", URL)
    monkeypatch.setattr(opened, "_OPEN", {})
    monkeypatch.setenv("XDG_CACHE_HOME", os.environ["XDG_CACHE_HOME"] + "-again")
    asked = store.request

    def sometimes(what: str) -> None:
        if len(store.asked) % 7 == at:
            store.failures = [ConnectionResetError("reset")]
        asked(what)

    monkeypatch.setattr(store, "request", sometimes)
    again = inside(capsys, "ledger", URL)
    assert (again.code, again.stdout) == (0, quiet.stdout), again.stderr


def test_a_part_that_cannot_be_fetched_is_one_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    monkeypatch.setattr(tables, "LOADED_BYTES", 0)
    asked = store.request

    def away(what: str) -> None:
        if what.startswith("get") and what.endswith("tasks.parquet"):
            store.failures = [ConnectionResetError("reset")]
        asked(what)

    monkeypatch.setattr(store, "request", away)
    done = inside(capsys, "ledger", URL)
    assert done.code == 2, done.stderr
    assert f"{URL}: cannot be reached, tried 3 times (ConnectionResetError: reset)" in done.stderr


@pytest.mark.parametrize("whole_bytes", [256 << 10, 0], ids=["whole", "in parts"])
def test_a_run_that_changes_while_it_is_read_gives_no_numbers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, store: Store,
    whole_bytes: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(tables, "LOADED_BYTES", whole_bytes)
    key = f"{ROOT}/tables/tasks.parquet"
    other = bytearray(store.objects[key])
    other[len(other) // 3] ^= 1
    asked = store.request

    def replaced(what: str) -> None:
        asked(what)
        if what == f"get {key}":
            store.after_read = {key: bytes(other)}

    monkeypatch.setattr(store, "request", replaced)
    done = inside(capsys, "ledger", URL)
    assert done.code == 2
    assert f"{URL} changed while it was read" in done.stderr
    assert done.stdout == ""
    monkeypatch.setattr(opened, "_OPEN", {})
    store.after_read = {}
    store.objects[key] += b"x"
    assert f"{URL} changed" not in inside(capsys, "ledger", URL).stderr


@pytest.mark.parametrize(
    "entry",
    [
        {"name": f"{ROOT}/raw/../../../../outside", "size": 3},
        {"name": f"{ROOT}/raw/a\0b", "size": 3},
        {"name": f"{ROOT}/raw/a\x1b[2Jb", "size": 3},
        {"name": f"{ROOT}/raw/\udcff", "size": 3},
        {"name": f"{ROOT}/raw//etc/passwd", "size": 3},
        {"name": f"{ROOT}/raw/{'x' * 300}", "size": 3},
        {"name": "/etc/passwd", "size": 3},
        {"name": f"{ROOT}/raw/x", "size": -1},
        {"name": f"{ROOT}/raw/x", "size": None},
        {"name": f"{ROOT}/raw/x", "size": 1 << 60},
    ],
    ids=repr,
)
def test_listings_lead_nowhere(
    capsys: pytest.CaptureFixture[str], store: Store, tmp_path: Path, entry: dict[str, Any]
) -> None:
    store.objects[f"{ROOT}/raw/exit.json"] = b"{}"
    store.listed = [entry | {"type": "file"}]
    outside = set(tmp_path.rglob("*"))
    done = inside(capsys, "show", URL)
    assert done.code == 2, done.stderr
    assert done.stderr.count("error:") == 1
    assert "\x1b[2J" not in done.stderr
    assert {one for one in tmp_path.rglob("*") if "cache" not in one.parts} <= {
        *outside, tmp_path / "cache",
    } | {one for one in tmp_path.rglob("*") if "cache" in str(one)}  # fmt: skip


def test_objects_that_stand_for_folders_are_none(
    capsys: pytest.CaptureFixture[str], store: Store
) -> None:
    plain = inside(capsys, "ledger", URL)
    for name in ("", "raw/", "tables/", "raw/eventlog/"):
        store.listed.append({"name": f"{ROOT}/{name}", "size": 0, "type": "file"})
    marked = inside(capsys, "ledger", URL)
    assert (marked.code, marked.stdout) == (0, plain.stdout), marked.stderr


def test_a_package_that_is_missing_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(scheme: str) -> None:
        raise ImportError(f"Install {scheme}fs")

    monkeypatch.setattr(fsspec, "get_filesystem_class", absent)
    for scheme, package in (("s3", "s3fs"), ("gs", "gcsfs"), ("abfs", "adlfs")):
        done = inside(capsys, "show", f"{scheme}://bucket/run")
        assert done.code == 3
        assert f"{sys.executable} -m pip install {package}" in done.stderr


def test_a_native_client_that_is_missing_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hadoop:
        @staticmethod
        def _get_kwargs_from_urls(url: str) -> dict[str, Any]:
            return {}

        def __init__(self) -> None:
            raise OSError("Unable to load libjvm\ndlopen(libjvm.so) failed")

    monkeypatch.setattr(fsspec, "get_filesystem_class", lambda scheme: Hadoop)
    done = inside(capsys, "show", "hdfs://name-node/runs/one")
    assert done.code == 3
    assert "Hadoop's native client is missing (Unable to load libjvm)" in done.stderr
    assert "ARROW_LIBHDFS_DIR" in done.stderr


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nobody://bucket/run", "nothing reads nobody://"),
        ("planned://bucket/a::file:///etc", "not the address of a run"),
        ("planned://bucket/a\x1b[2J", "not the address of a run"),
        ("planned://bucket/runs", "here are one"),
        ("planned://bucket/none", "no such file, folder or bucket"),
        ("planned:///", "it names no bucket"),
        ("planned://bucket//runs/one", "two slashes follow each other"),
        ("s3:/bucket/run", "give an address a scheme, a colon and two slashes"),
        ("s3//bucket/run", "give an address a scheme, a colon and two slashes"),
        ("gs:bucket/run", "give an address a scheme, a colon and two slashes"),
    ],
)
def test_addresses_of_no_run(
    capsys: pytest.CaptureFixture[str], store: Store, url: str, said: str
) -> None:
    done = inside(capsys, "show", url)
    assert done.code == 2
    assert said in done.stderr
    assert "\x1b[2J" not in done.stderr


@pytest.mark.parametrize("scheme", ["abfs", "abfss"])
def test_a_scheme_that_only_its_package_makes_known_names_the_package(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    def without(scheme: str) -> Any:
        raise ImportError("no adlfs") if scheme == "abfs" else ValueError("Protocol not known")

    monkeypatch.setattr(fsspec, "get_filesystem_class", without)
    done = inside(capsys, "show", f"{scheme}://runs@account.dfs.core.windows.net/one")
    assert done.code == 3
    assert f"no package that reads {scheme}:// is installed" in done.stderr
    assert "install adlfs" in done.stderr


@pytest.mark.parametrize("url", [f"{URL}///", URL.replace("planned", "Planned")])
def test_slashes_at_the_end_and_capital_letters_of_the_scheme_say_nothing(
    capsys: pytest.CaptureFixture[str], store: Store, url: str
) -> None:
    assert inside(capsys, "show", url).stdout == inside(capsys, "show", URL).stdout != ""


def test_no_password_is_kept_or_shown(
    capsys: pytest.CaptureFixture[str], store: Store, cache: Path, tmp_path: Path
) -> None:
    url = f"planned://ann:{PASSWORD}@bucket/runs/one?sig={PASSWORD}"
    store.objects |= {
        key.replace(ROOT, f"{ROOT}?sig={PASSWORD}"): content
        for key, content in store.objects.items()
    }
    for verb in (["show"], ["show", "--json"], ["explain"], ["report", "-o", "page.html"]):
        done = inside(capsys, *verb[:1], url, *verb[1:])
        assert done.code == 0, done.stderr
        assert PASSWORD not in done.stdout + done.stderr
    assert PASSWORD not in (tmp_path / "page.html").read_text(encoding="utf-8")
    for file in files_below(cache):
        assert PASSWORD not in str(file)
        assert file.is_dir() or PASSWORD.encode() not in file.read_bytes()


def test_the_cache_is_bounded_and_the_oldest_goes_first(
    store: Store, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("old", "new", "held"):
        caches.Held(name).close()
        (cache / name / "file").write_bytes(b"x" * 100_000)
    held = caches.Held("held")
    for at, name in enumerate(("held", "old", "new")):
        os.utime(cache / name, ns=(at, at))
    monkeypatch.setenv(caches.BOUND, "320000")
    wanted = caches.Held("wanted")
    wanted.make_room(100_000)
    assert {one.name for one in cache.iterdir()} == {"new", "held", "wanted"}
    wanted.make_room(300_000)
    assert {one.name for one in cache.iterdir()} == {"held", "wanted"}
    held.close()
    wanted.close()


def test_more_than_is_ever_kept_is_refused(
    capsys: pytest.CaptureFixture[str], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(caches.BOUND, "1000")
    done = inside(capsys, "show", URL)
    assert done.code == 2
    assert f"set {caches.BOUND} to more bytes" in done.stderr
    monkeypatch.setenv(caches.BOUND, "1 GB")
    assert "not a number of bytes" in inside(capsys, "show", URL).stderr


def test_parts_that_a_full_disk_does_not_keep_are_read_nevertheless(
    capsys: pytest.CaptureFixture[str], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tables, "LOADED_BYTES", 0)
    kept = inside(capsys, "ledger", URL)
    monkeypatch.setattr(opened, "_OPEN", {})
    monkeypatch.setenv("XDG_CACHE_HOME", os.environ["XDG_CACHE_HOME"] + "-again")
    monkeypatch.setattr(os, "pwrite", full)
    assert inside(capsys, "ledger", URL) == kept


@pytest.mark.parametrize("folder", ["caches", "mirrors", "parts"])
def test_a_disk_that_is_full_is_one_message(
    capsys: pytest.CaptureFixture[str], store: Store, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    def full(path: Path) -> None:
        if path.name not in ("remote", "tables") and (folder != "parts" or path.name == ".parts"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        make_private(path)

    monkeypatch.setattr(tables, "LOADED_BYTES", 0)
    monkeypatch.setattr(caches if folder == "caches" else mirrors, "make_private", full)
    done = inside(capsys, "ledger", URL)
    assert done.code == 2
    assert "No space left on device" in done.stderr
    assert "set XDG_CACHE_HOME" in done.stderr


def test_a_cache_of_somebody_else_is_not_used(
    capsys: pytest.CaptureFixture[str], store: Store, cache: Path, tmp_path: Path
) -> None:
    cache.parent.mkdir(parents=True)
    (tmp_path / "theirs").mkdir()
    cache.symlink_to(tmp_path / "theirs")
    done = inside(capsys, "show", URL)
    assert done.code == 2
    assert "cannot be trusted" in done.stderr
    assert list((tmp_path / "theirs").iterdir()) == []
