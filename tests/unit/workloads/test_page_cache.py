"""The page cache, for real: a file of 64 MiB on the disk that holds the temporary folder."""

from __future__ import annotations

import os

import pytest

from pyrometer.workloads import page_cache

MIB = 1 << 20


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("cache") / "data"
    path.write_bytes(os.urandom(MIB) * 64)
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    return str(path)


def test_cold_evicts_and_warm_reads(file):
    # The kernel may drop pages on its own (memory pressure, DAMON), a few at a time.
    page_cache.read([file])
    assert page_cache.residency([file]).ratio > 0.9
    cold = page_cache.bring("cold", [file])
    assert cold["resident_ratio"] <= page_cache.COLD_AT_MOST
    assert "reason" not in cold
    warm = page_cache.bring("warm", [file])
    assert warm["resident_ratio"] > 0.9
    assert ("reason" in warm) == (warm["resident_ratio"] < page_cache.WARM_AT_LEAST)
    assert warm["state"] == "warm"


def test_looking_changes_nothing(file):
    page_cache.evict([file])
    with open(file, "rb", buffering=0) as source:
        os.posix_fadvise(source.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(source.fileno(), MIB, 16 * MIB)
        before = page_cache.residency([file])
        assert 128 <= before.resident < before.pages / 2
        looked = page_cache.bring(None, [file])["resident_ratio"]
        assert looked == pytest.approx(before.ratio, abs=0.01)
        mapped = page_cache.mincore(source.fileno(), 64 * MIB)
        assert mapped == pytest.approx(before.resident, abs=160)


def test_a_state_that_cannot_be_reached_says_why(file, tmp_path):
    missing = page_cache.bring("cold", [str(tmp_path / "none")])
    assert missing["resident_ratio"] is None
    assert "none: No such file" in missing["reason"]
    assert page_cache.bring("warm", [])["reason"] == "the workload names no files"


def test_a_file_of_another_user_of_which_nothing_is_told_is_read_to_be_warm(file, monkeypatch):
    page_cache.evict([file])
    with monkeypatch.context() as other:
        # A kernel without cachestat, and a user who may only read the file.
        other.setattr(page_cache, "_SYS_CACHESTAT", -1)
        other.setattr(os, "geteuid", lambda: os.stat(file).st_uid + 1)
        other.setattr(os, "access", lambda *_: False)
        found = {state: page_cache.bring(state, [file]) for state in (None, "cold", "warm")}
    assert {one["resident_ratio"] for one in found.values()} == {None}
    assert {one["method"] for one in found.values()} == {None}
    assert all("only who owns a file" in one["reason"] for one in found.values())
    assert page_cache.residency([file]).ratio > 0.9


def test_root_is_told_of_a_file_of_another_user_that_it_may_not_write(tmp_path, monkeypatch):
    path = tmp_path / "data"
    path.write_bytes(bytes(MIB))
    if os.geteuid() == 0:
        os.chown(path, 65534, -1)
    with monkeypatch.context() as other:
        # A kernel without cachestat, and a file system that is mounted read-only.
        other.setattr(page_cache, "_SYS_CACHESTAT", -1)
        other.setattr(os, "geteuid", lambda: 0)
        other.setattr(os, "access", lambda *_: False)
        found = page_cache.residency([str(path)])
    assert (found.method, found.pages) == ("mincore", MIB // 4096)
    assert found.resident is not None


def test_pages_that_somebody_has_mapped_stay_and_it_is_said(file):
    import mmap

    with open(file, "rb") as source, mmap.mmap(source.fileno(), 0, prot=mmap.PROT_READ) as held:
        page_cache.read([file])
        assert sum(held[at] for at in range(0, 64 * MIB, 4096)) > 0  # maps each page
        cold = page_cache.bring("cold", [file])
    assert cold["resident_ratio"] > page_cache.COLD_AT_MOST
    assert "mapped" in cold["reason"]
