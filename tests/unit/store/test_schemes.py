"""Addresses as Hadoop's clients write them are read by whatever reads that place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fsspec
import pytest

from pyrometer.core.errors import CapabilityError
from pyrometer.store.manifest import Host, Manifest, Shipped, Workload
from pyrometer.store.paths import RunPaths
from pyrometer.store.remote.objects import Objects
from pyrometer.store.remote.schemes import READ_AS, reader_of
from pyrometer.store.services.stores import service_stores


class Reader:
    """What fsspec has for a scheme; it says what it was given."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    @staticmethod
    def _get_kwargs_from_urls(url: str) -> dict[str, Any]:
        return {"url": url}

    @staticmethod
    def _strip_protocol(url: str) -> str:
        return url.partition("://")[2]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have fsspec know every scheme, and give those that it was asked for."""
    schemes: list[str] = []

    def known(scheme: str) -> type[Reader]:
        schemes.append(scheme)
        return Reader

    monkeypatch.setattr(fsspec, "get_filesystem_class", known)
    return schemes


@pytest.mark.parametrize(("scheme", "reader"), [*READ_AS.items(), ("hdfs", "hdfs"), ("s3", "s3")])
def test_each_scheme_of_hadoop_has_its_reader(asked: list[str], scheme: str, reader: str) -> None:
    found = Objects(f"{scheme}://bucket/runs/one")
    assert asked == [reader]
    assert (found.shown, found.root) == (f"{scheme}://bucket/runs/one", "bucket/runs/one")
    assert found._files.options["url"] == f"{reader}://bucket/runs/one"


def test_the_native_client_is_told_which_view_to_open(asked: list[str]) -> None:
    found = Objects("viewfs://cluster/user/ann/pyrometer")
    assert found._files.options["host"] == "viewfs://cluster"
    assert "host" not in Objects("hdfs://cluster/user/ann")._files.options
    assert asked == ["hdfs", "hdfs"]


@pytest.mark.parametrize(
    ("url", "package"), [("s3a://b/x", "s3fs"), ("abfss://c@a/x", "adlfs"), ("gcs://b/x", "gcsfs")]
)
def test_what_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, url: str, package: str
) -> None:
    def missing(scheme: str) -> Any:
        raise ImportError(scheme)

    monkeypatch.setattr(fsspec, "get_filesystem_class", missing)
    with pytest.raises(CapabilityError) as refused:
        reader_of(url)
    assert f"no package that reads {url.partition(':')[0]}://" in refused.value.message
    assert (refused.value.remedy or "").endswith(f"install {package}")


def test_a_store_under_two_schemes_is_read_once(tmp_path: Path) -> None:
    manifest = Manifest(
        run_id="r", created_wall_ns=1, pyrometer_version="0", workload=Workload(),
        profile="light", host=Host(hostname="h"), agents=["s3://bucket/pyrometer"],
        shipped=[
            Shipped(app_id="app-1", to="s3a://bucket/pyrometer/"),
            Shipped(app_id="app-2", to="s3a://bucket/other"),
        ],
    )  # fmt: skip
    found = service_stores(RunPaths(tmp_path), manifest)
    assert found == ["s3://bucket/pyrometer", "s3a://bucket/other"]
