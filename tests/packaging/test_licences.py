"""Nothing of others is compiled in or packed unless its licence is allowed and its text known."""

from __future__ import annotations

import doctest
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from tools.supply import audit, licences, parts, third_party
from tools.supply.parts import Part

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "python" / "pyrometer" / "_bundled"
MIT = "Permission is hereby granted, free of charge, to any\nperson obtaining a copy of this\n"
# Classes that the jar holds under another name (relocations of its POM).
RELOCATED = {"org/pyrometer/shaded/asm/": "org/objectweb/asm/"}
# What each packed artifact is known by inside our jar.
PACKED = {
    "tools.profiler:async-profiler": ("one/profiler/", "linux-x64/", "linux-arm64/"),
    "org.ow2.asm:asm": ("org/objectweb/asm/",),
}


@pytest.fixture
def crate(tmp_path: Path) -> Part:
    """A crate under MIT, with its text."""
    (tmp_path / "LICENSE").write_text(MIT)
    return Part("cargo", "some", "1.0", "MIT", ("00",), licences.CRATES_IO, tmp_path)


def test_a_crate_goes_with_its_text(crate: Part) -> None:
    assert licences.texts(crate) == [MIT]


def test_a_crate_without_its_text_is_refused(crate: Part) -> None:
    assert crate.folder is not None
    (crate.folder / "LICENSE").write_text("As you like.")
    with pytest.raises(SystemExit, match=r"some 1\.0: no text of MIT"):
        licences.texts(crate)


def test_a_licence_inside_a_crate_that_nobody_looked_at_is_refused(crate: Part) -> None:
    assert crate.folder is not None
    (crate.folder / "vendored").mkdir()
    (crate.folder / "vendored" / "COPYING").write_text("GNU GENERAL PUBLIC LICENSE")
    with pytest.raises(SystemExit, match=r"some 1\.0: vendored/COPYING\?"):
        licences.texts(crate)


def test_a_text_that_went_away_is_missed(crate: Part, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(parts.declared()["crates"], "some", {"texts": ["vendored/LICENSE"]})
    with pytest.raises(SystemExit, match="has no vendored/LICENSE any more"):
        licences.texts(crate)


@pytest.mark.parametrize("licence", ["GPL-3.0-only", "", "MIT AND GPL-3.0-only"])
def test_a_licence_that_is_not_allowed_is_refused(crate: Part, licence: str) -> None:
    with pytest.raises(SystemExit, match="is not allowed"):
        licences.texts(replace(crate, licence=licence))


def test_a_notice_is_passed_on_whatever_the_licence(crate: Part) -> None:
    assert crate.folder is not None
    (crate.folder / "NOTICE.txt").write_text("Some authors.")
    assert "Some authors.\n" in licences.texts(replace(crate, licence="Apache-2.0"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"source": "git+https://example.org/x"}, "not from crates.io"),
        ({"name": "openssl-sys"}, "OpenSSL"),
        ({"license": "AGPL-3.0-only"}, "AGPL-3.0-only is not in deny.toml"),
        ({"license": None}, "unknown is not in deny.toml"),
        ({}, None),
    ],
)
def test_crates_are_held_to_the_policy(change: dict[str, Any], said: str | None) -> None:
    package = {"name": "some", "version": "1", "license": "MIT", "source": licences.CRATES_IO}
    lines = list(licences.refused({"packages": [{**package, **change}]}))
    assert [said in line for line in lines] == ([True] if said else [])


def test_the_plugins_jar_holds_the_licence_of_everything_in_it() -> None:
    with ZipFile(BUNDLED / "pyrometer-plugin.jar") as jar:
        names = [name for name in jar.namelist() if not name.endswith("/")]
        listed = jar.read("META-INF/THIRD-PARTY.txt").decode()
        assert jar.read("META-INF/LICENSE").decode() == (ROOT / "LICENSE").read_text()
    packed = parts.jars(ROOT / "jvm" / "plugin" / "pom.xml")
    of_others = set()
    for name in names:
        for ours, theirs in RELOCATED.items():
            name = name.replace(ours, theirs)
        if name.startswith(("org/pyrometer/", "META-INF/")):
            continue
        owners = [each for each, folders in PACKED.items() if name.startswith(folders)]
        assert owners, f"{name}: of whom?"
        of_others.update(owners)
    assert of_others == {part.name for part in packed if part.kind == "maven"}
    for part in packed:
        assert f"  {part.label}: {' and '.join(licences.taken(part))}" in listed
        for text in licences.texts(part):
            assert text in listed
    assert "Apache License" in listed
    assert "Version 2.0, January 2004" in listed


@pytest.mark.parametrize("jar", ["pyrometer-workloads.jar"])
def test_a_jar_without_anything_of_others_holds_our_licence(jar: str) -> None:
    with ZipFile(BUNDLED / jar) as archive:
        folders = {name.split("/")[0] for name in archive.namelist()}
        assert archive.read("META-INF/LICENSE").decode() == (ROOT / "LICENSE").read_text()
    assert folders == {"META-INF", "org"}


def test_the_list_names_every_part_of_the_wheel_once_in_each_file() -> None:
    listed = (ROOT / "THIRD-PARTY.txt").read_text()
    for file, held in parts.wheel_parts().items():
        section = listed.partition(f"\n{file}\n")[2].partition("\npyrometer/")[0]
        for part in held:
            assert section.count(f"\n  {part.label}: ") == 1, part.label
    for name, content in third_party.documents().items():
        assert (ROOT / name).read_text() == content, "make third-party"


@pytest.mark.parametrize("module", [parts, licences, audit])
def test_examples_in_docstrings_hold(module: Any) -> None:
    assert doctest.testmod(module).attempted
    assert not doctest.testmod(module).failed
