"""Commands that bring parts of an installation back, wherever it came from."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from pyrometer.core import installation

PIP = f"{sys.executable} -m pip install --force-reinstall --no-deps"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Metadata of an installation, the only one that Python finds."""
    folder = tmp_path / "site" / "pyrometer-0.1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pyrometer\nVersion: 0.1.0\n")
    found = PathDistribution(folder)
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: found)
    return folder


def test_a_checkout_builds_its_parts_again(tmp_path: Path) -> None:
    package = tmp_path / "my checkout" / "python" / "pyrometer"
    package.mkdir(parents=True)
    (package.parents[1] / "crates").mkdir()
    (package.parents[1] / "Makefile").touch()
    assert installation.reinstall(package) == f"make -C '{package.parents[1]}' rebuild"


def test_a_wheel_is_installed_again_from_where_it_was(installed: Path, tmp_path: Path) -> None:
    url = "file:///home/u/dist/pyrometer-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl"
    (installed / "direct_url.json").write_text(json.dumps({"url": url, "archive_info": {}}))
    assert installation.reinstall(tmp_path / "a" / "b") == f"{PIP} {url}"


def test_a_package_of_an_index_is_installed_again_by_version(
    installed: Path, tmp_path: Path
) -> None:
    assert installation.reinstall(tmp_path / "a" / "b") == f"{PIP} pyrometer==0.1.0"


def test_what_came_from_a_repository_is_installed_again_at_its_commit(
    installed: Path, tmp_path: Path
) -> None:
    origin = {"url": "https://host/p.git", "vcs_info": {"vcs": "git", "commit_id": "0f3a"}}
    (installed / "direct_url.json").write_text(json.dumps(origin))
    assert installation.reinstall(tmp_path / "a" / "b") == f"{PIP} git+https://host/p.git@0f3a"


def test_a_newer_one_is_looked_for_where_there_is_one(tmp_path: Path) -> None:
    package = tmp_path / "python" / "pyrometer"
    package.mkdir(parents=True)
    said = installation.upgrade(package)
    assert said.startswith(f"{sys.executable} -m pip install --upgrade WHEEL, ")
    (tmp_path / "crates").mkdir()
    (tmp_path / "Makefile").touch()
    assert installation.upgrade(package) == f"update the checkout, then make -C {tmp_path} rebuild"
