"""The control plane: what it is made of, and where it is looked for."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from tests.cluster.kube import build, credentials, programs
from tests.cluster.kube.kubelet import node
from tests.cluster.kube.manager import ranges

from pyrometer.core.errors import CapabilityError, UsageError

REPLACED = re.compile(r"^\t(?P<module>\S+) => (?P<by>\S+) (?P<version>v\S+)$", re.MULTILINE)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def go(folder: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> None:
    """Have a program `go` that does something with ``$out``, which it is to write."""
    (folder / "bin").mkdir(exist_ok=True)
    script = f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nout=$2\n{does}\n'
    (folder / "bin" / "go").write_text(script)
    (folder / "bin" / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")


def test_all_parts_of_kubernetes_are_of_one_version() -> None:
    text = (build.SOURCES / "go.mod").read_text()
    found = list(REPLACED.finditer(text))
    assert len(found) > 30
    assert all(one["module"] == one["by"] for one in found)
    minor = re.search(r"k8s\.io/kubernetes v1\.(\S+)", text)
    assert minor is not None
    assert {one["version"] for one in found} == {f"v0.{minor[1]}"}
    assert f"1.{minor[1]}" == build.VERSION
    # The kubelet is alone on its host, and cannot ask.
    assert f"v{build.VERSION}" == node.VERSION


def test_every_module_has_a_hash() -> None:
    text = (build.SOURCES / "go.mod").read_text()
    required = re.findall(r"^\t(\S+) (v\S+)(?: //.*)?$", text, re.M)
    hashed = {
        tuple(line.split()[:2]) for line in (build.SOURCES / "go.sum").read_text().splitlines()
    }
    replaced = {one["module"]: one["version"] for one in REPLACED.finditer(text)}
    taken = [(module, replaced.get(module, version)) for module, version in required]
    lacking = [one for one in taken if (one[0], f"{one[1]}/go.mod") not in hashed]
    assert required
    assert lacking == []


def test_what_is_not_built_is_named_with_what_builds_it() -> None:
    with pytest.raises(CapabilityError, match="not built") as error:
        build.control_plane()
    assert error.value.remedy == "make control-plane"


def test_it_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    go(tmp_path, monkeypatch, 'echo one >> "$out"')
    assert build.build() == build.control_plane()
    assert build.control_plane().is_relative_to(cache)
    assert build.build() == build.control_plane()
    assert build.control_plane().read_text() == "one\n"
    assert len(list(build.control_plane().parent.iterdir())) == 1


def test_a_piece_ends_in_time_and_leaves_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(tmp_path, monkeypatch, "exec sleep 60")
    assert build.build(piece_s=0.1) is None
    with pytest.raises(CapabilityError):
        build.control_plane()


def test_a_build_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go(tmp_path, monkeypatch, "echo checksum mismatch >&2; exit 1")
    with pytest.raises(CapabilityError, match="checksum mismatch"):
        build.build()
    (tmp_path / "bin" / "go").unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(CapabilityError, match="needs Go"):
        build.build()


def test_nothing_of_ours_loosens_what_is_locked() -> None:
    env = build.environment({"GOFLAGS": "-mod=mod", "GOWORK": "/x/go.work"})
    assert "-mod=readonly" in env["GOFLAGS"]
    assert "-mod=mod" not in env["GOFLAGS"]
    assert env["GOWORK"] == "off"


def test_addresses_of_pods_are_those_of_no_other_node_and_no_host() -> None:
    for count in range(1, 41):
        bounds = [
            tuple(int(one.rpartition(".")[2]) for one in pair)
            for pair in ranges("192.0.2.0/24", count)
        ]
        assert bounds[0][0] > 10 + count + 1
        assert bounds[-1][1] < 255
        assert all(first <= last for first, last in bounds)
        assert all(one[1] < other[0] for one, other in itertools.pairwise(bounds))
    for count in (0, 41):
        with pytest.raises(UsageError, match="nodes"):
            ranges("192.0.2.0/24", count)


def test_no_token_is_on_a_command_line(tmp_path: Path) -> None:
    known = credentials.Credentials(tmp_path, {"admin": "secret-token"})
    config = known.kubeconfig("admin", "https://192.0.2.1")
    assert "secret-token" in config.read_text()
    lines = [
        programs.etcd("/x"),
        programs.api_server(known, "192.0.2.1"),
        programs.controllers(known, config),
        programs.scheduler(config),
    ]
    assert not any("secret-token" in word for words in lines for word in words)
