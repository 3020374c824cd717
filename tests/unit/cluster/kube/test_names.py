"""Files with the names that pods know."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from tests.cluster.kube.kubelet.api import Api, Change
from tests.cluster.kube.kubelet.names import Names


def slice_of(service: str, *addresses: str) -> dict[str, Any]:
    labels = {"kubernetes.io/service-name": service}
    metadata = {"uid": service, "namespace": "n", "labels": labels}
    return {"metadata": metadata, "endpoints": [{"addresses": list(addresses)}]}


def test_a_file_that_is_mounted_stays_the_same_file_with_other_content(tmp_path: Path) -> None:
    file, names, seen = tmp_path / "hosts", Names("base\n"), []
    names.keep(file, "192.0.2.9", "p", "n")
    begun = file.stat().st_ino
    one = slice_of("driver", "192.0.2.2", "192.0.2.3")

    class Followed:
        def changes(self, path: str, stop: threading.Event) -> Iterator[Change]:
            for kind in ("all", "gone"):
                yield Change(kind, [one])
                seen.append(file.read_text())

    assert file.read_text() == "base\n192.0.2.9 p\n"
    names.follow(cast(Api, Followed()), threading.Event())
    assert [line.split()[0] for line in seen[0].splitlines()[2:]] == ["192.0.2.2", "192.0.2.3"]
    assert seen[1] == "base\n192.0.2.9 p\n"
    assert file.stat().st_ino == begun
