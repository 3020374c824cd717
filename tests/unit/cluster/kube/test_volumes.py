"""Volumes of pods, written into folders."""

from __future__ import annotations

import base64
import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.kube.kubelet.environment import MissingError
from tests.cluster.kube.kubelet.volumes import Files, Sources, content, prepare, renew, source

KNOWN: dict[tuple[str, str], Files] = {
    ("configmaps", "conf"): {"spark.properties": b"a=1", "log4j2.properties": b"b"},
    ("secrets", "key"): {"password": b"\x00\xff"},
}


def pod(*volumes: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "p", "namespace": "n"}, "spec": {"volumes": list(volumes)}}


def sources(tokens: list[str] | None = None) -> Sources:
    left = iter(tokens or [])
    return Sources(lambda kind, name: KNOWN.get((kind, name)), lambda audience, seconds: next(left))


def test_configuration_and_secrets_are_files_to_the_byte(tmp_path: Path) -> None:
    volumes = [
        {"name": "c", "configMap": {"name": "conf"}},
        {"name": "s", "secret": {"secretName": "key"}},
    ]
    prepare(pod(*volumes), tmp_path, sources())
    assert (tmp_path / "volumes/c/spark.properties").read_bytes() == b"a=1"
    assert (tmp_path / "volumes/s/password").read_bytes() == b"\x00\xff"


def test_chosen_keys_have_the_names_that_were_chosen(tmp_path: Path) -> None:
    items = [{"key": "spark.properties", "path": "sub/one"}]
    prepare(pod({"name": "c", "configMap": {"name": "conf", "items": items}}), tmp_path, sources())
    found = [one for one in (tmp_path / "volumes/c").rglob("*") if one.is_file()]
    assert found == [tmp_path / "volumes/c/sub/one"]


def test_what_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    for volume in (
        {"name": "c", "configMap": {"name": "none"}},
        {"name": "c", "configMap": {"name": "conf", "items": [{"key": "none", "path": "x"}]}},
        {"name": "h", "hostPath": {"path": str(tmp_path / "none")}},
    ):
        with pytest.raises(MissingError, match="none"):
            prepare(pod(volume), tmp_path, sources())
    prepare(
        pod({"name": "c", "configMap": {"name": "none", "optional": True}}), tmp_path, sources()
    )
    assert list((tmp_path / "volumes/c").iterdir()) == []


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", ""])
def test_no_key_is_written_outside_its_volume(tmp_path: Path, path: str) -> None:
    items = [{"key": "spark.properties", "path": path}]
    volume = {"name": "c", "configMap": {"name": "conf", "items": items}}
    with pytest.raises(ValueError, match="no path within a volume"):
        prepare(pod(volume), tmp_path, sources())


def test_a_volume_of_another_kind_is_refused(tmp_path: Path) -> None:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    with pytest.raises(ValueError, match="persistentVolumeClaim"):
        prepare(pod(volume), tmp_path, sources())


def test_what_a_pod_knows_of_its_account_is_put_together(tmp_path: Path) -> None:
    parts = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}},
        {"configMap": {"name": "conf", "items": [{"key": "spark.properties", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]
            }
        },
    ]
    volume = {"name": "t", "projected": {"sources": parts}}
    prepare(pod(volume), tmp_path, sources(["first"]))
    place = source(volume, tmp_path)
    assert {one.name: one.read_text() for one in place.iterdir()} == {
        "token": "first",
        "ca.crt": "a=1",
        "namespace": "n",
    }


def test_a_token_is_renewed_before_its_time_is_over(tmp_path: Path) -> None:
    part = {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}}
    volume = {"name": "t", "projected": {"sources": [part]}}
    known = sources(["first", "second"])
    prepare(pod(volume), tmp_path, known)
    file = source(volume, tmp_path) / "token"
    renew(pod(volume), tmp_path, known)
    assert file.read_text() == "first"
    old = time.time() - 500
    os.utime(file, (old, old))
    renew(pod(volume), tmp_path, known)
    assert file.read_text() == "second"


def test_an_object_without_data_is_no_files() -> None:
    assert content({"kind": "ConfigMap", "data": None}) == {}
    coded = base64.b64encode(b"\x01").decode()
    assert content({"kind": "Secret", "data": {"k": coded}}) == {"k": b"\x01"}
