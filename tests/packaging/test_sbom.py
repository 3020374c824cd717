"""The wheel's bill of materials is valid CycloneDX and says what the lock files say."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from tools.supply import parts, sbom

ROOT = Path(__file__).resolve().parents[2]
WHEEL = "pyrometer/_bundled/"


@pytest.fixture(scope="module")
def text() -> str:
    return sbom.text()


@pytest.fixture(scope="module")
def bill(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def test_it_is_valid(text: str) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    broken = text.replace('"type": "library"', '"type": "liberry"', 1)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(broken) is not None


def test_the_same_sources_give_the_same_file(text: str) -> None:
    assert sbom.text() == text


def test_crates_and_jars_have_the_hashes_of_the_lock_files(bill: dict[str, Any]) -> None:
    crates = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    locked = {f"pkg:cargo/{p['name']}@{p['version']}": p.get("checksum") for p in crates}
    lines = (line.split("  ") for line in (ROOT / "jvm" / "maven.lock").read_text().splitlines())
    jars = {path: digest for digest, path in lines}
    seen = {"cargo": 0, "maven": 0, "pypi": 0}
    for each in bill["components"]:
        if "purl" not in each:
            continue
        kind = re.match(r"pkg:(\w+)/", each["purl"])
        assert kind is not None
        seen[kind[1]] += 1
        hashes = [one["content"] for one in each["hashes"]]
        if kind[1] == "cargo":
            assert hashes == [locked[each["purl"].replace("%2B", "+")]]
        if kind[1] == "maven":
            name, version = each["name"], each["version"]
            folder = f"{each['group'].replace('.', '/')}/{name}/{version}"
            assert hashes == [jars[f"{folder}/{name}-{version}.jar"]]
    assert seen["maven"] == 2
    assert seen["cargo"] > 50
    assert seen["pypi"] == len(parts.python_packages())


def test_it_tells_which_file_contains_what(bill: dict[str, Any]) -> None:
    graph = {each["ref"]: each.get("dependsOn", []) for each in bill["dependencies"]}
    plugin = graph[f"file:{WHEEL}pyrometer-plugin.jar"]
    assert [ref.rpartition(" ")[0] for ref in plugin if ref.startswith("maven:")] == [
        "maven:org.ow2.asm:asm",
        "maven:tools.profiler:async-profiler",
    ]
    assert any(ref.startswith("cargo:aya ") for ref in graph[f"file:{WHEEL}pyro-probe"])
    assert any("GNU C Library 2." in ref for ref in graph[f"file:{WHEEL}pyro-probe"])
    assert not graph[f"file:{WHEEL}report-page.html"]
    wheel = graph[bill["metadata"]["component"]["bom-ref"]]
    assert {ref for ref in graph if ref.startswith("file:")} <= set(wheel)
    reached, todo = set(), list(wheel)
    while todo:
        ref = todo.pop()
        if ref not in reached:
            reached.add(ref)
            todo += graph[ref]
    assert reached == {each["bom-ref"] for each in bill["components"]}


def test_every_package_that_pip_adds_is_there_and_not_in_the_wheel(bill: dict[str, Any]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[<>=\[]", each)[0] for each in project["dependencies"]}
    found = {
        each["name"]: each["properties"][0]["value"]
        for each in bill["components"]
        if each.get("purl", "").startswith("pkg:pypi/")
    }
    assert names <= set(found)
    assert set(found.values()) == {"false"}


def test_it_names_no_place_of_this_machine(text: str) -> None:
    assert str(ROOT) not in text
    assert str(Path.home()) + "/" not in text
