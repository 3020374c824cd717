"""What is in each part of the wheel, as the lock files say: crates, jars, libraries.

Readers only: nothing is judged here (`licences`), nothing written (`third_party`, `sbom`).
"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
DECLARED = "third-party/parts.toml"
POM = {"m": "http://maven.apache.org/POM/4.0.0"}


@dataclass(frozen=True)
class Part:
    """Something that others wrote.

    Parameters
    ----------
    kind : str
        `cargo`, `maven`, `pypi`; `linked` is what a compiler puts in.
    name, version : str
        As the registry has them; of a jar `group:artifact`.
    licence : str
        SPDX expression; empty if it is not known here.
    sha256 : tuple of str
        Of the files that the lock file accepts.
    source : str
        Where cargo got it from; empty for other kinds.
    folder : Path or None
        A crate's sources.
    needs : tuple of str
        Names and versions (`name version`) of what it links.
    """

    kind: str
    name: str
    version: str
    licence: str
    sha256: tuple[str, ...] = ()
    source: str = ""
    folder: Path | None = None
    needs: tuple[str, ...] = ()
    copyright: str = ""
    note: str = ""

    @property
    def label(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}".strip()


@lru_cache
def declared() -> dict[str, Any]:
    """Read what no lock file knows."""
    return tomllib.loads((ROOT / DECLARED).read_text())


@lru_cache
def metadata(target: str) -> dict[str, Any]:
    """Cargo's own account of all crates on a target."""
    command = ["cargo", "metadata", "--locked", "--format-version=1", "--filter-platform", target]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@lru_cache
def checksums() -> dict[tuple[str, str], str]:
    """SHA-256 of each crate of `Cargo.lock`."""
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    return {(p["name"], p["version"]): p["checksum"] for p in locked if "checksum" in p}


def _crate(package: dict[str, Any], needs: tuple[str, ...]) -> Part:
    name, version = package["name"], package["version"]
    return Part(
        kind="cargo",
        name=name,
        version=version,
        licence=package["license"] or "",
        sha256=(checksums()[name, version],),
        source=package["source"],
        folder=Path(package["manifest_path"]).parent,
        needs=needs,
        copyright=", ".join(re.sub(r"\s*<?\S+@\S+>?", "", name) for name in package["authors"]),
    )


def linked_crates(found: dict[str, Any], root: str) -> dict[str, list[str]]:
    """Ids of what is linked into the crate `root`, each with what it links; build-time crates not.

    Examples
    --------
    >>> def package(name, kind="lib"):
    ...     return {"id": name, "name": name, "targets": [{"kind": [kind]}]}
    >>> def on(name, kind=None):
    ...     return {"pkg": name, "dep_kinds": [{"kind": kind}]}
    >>> nodes = [{"id": "a", "deps": [on("b"), on("c", "dev"), on("d")]}]
    >>> nodes += [{"id": each, "deps": []} for each in "bcd"]
    >>> packages = [package("a"), package("b"), package("c"), package("d", "proc-macro")]
    >>> linked_crates({"packages": packages, "resolve": {"nodes": nodes}}, "a")
    {'a': ['b'], 'b': []}
    """
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    todo = [each for each, package in packages.items() if package["name"] == root]
    linked: dict[str, list[str]] = {}
    while todo:
        crate = todo.pop()
        if crate in linked:
            continue
        linked[crate] = [
            each["pkg"]
            for each in nodes[crate]["deps"]
            if any(kind["kind"] is None for kind in each["dep_kinds"])
            and not any("proc-macro" in t["kind"] for t in packages[each["pkg"]]["targets"])
        ]
        todo += linked[crate]
    return linked


def crates(root: str) -> list[Part]:
    """Crates of others that are linked into ours of this name, on any of our machines."""
    parts: dict[str, Part] = {}
    for target in TARGETS:
        found = metadata(target)
        packages = {package["id"]: package for package in found["packages"]}
        for crate, needs in linked_crates(found, root).items():
            if packages[crate]["source"] is not None:
                both = parts[crate].needs if crate in parts else ()
                names = {f"{packages[n]['name']} {packages[n]['version']}" for n in needs}
                parts[crate] = _crate(packages[crate], tuple(sorted(names.union(both))))
    return sorted(parts.values(), key=lambda part: part.label)


@lru_cache
def jar_hashes() -> dict[str, str]:
    """SHA-256 of each file of a Maven repository that a build uses (`jvm/maven.lock`)."""
    lines = (ROOT / "jvm" / "maven.lock").read_text().splitlines()
    return {path: digest for digest, path in (line.split("  ", 1) for line in lines)}


def artifacts(pom: Path) -> Iterator[tuple[str, str, str, str]]:
    """Group, artifact, version and scope of a POM's dependencies."""
    tree = ElementTree.parse(pom).getroot()
    properties = tree.find("m:properties", POM)
    assert properties is not None
    values = {each.tag.partition("}")[2]: each.text or "" for each in properties}
    for each in tree.findall("m:dependencies/m:dependency", POM):
        said = {child.tag.partition("}")[2]: (child.text or "").strip() for child in each}
        version = re.sub(r"\$\{(.+?)\}", lambda name: values[name[1]], said["version"])
        yield said["groupId"], said["artifactId"], version, said.get("scope", "compile")


def jars(pom: Path) -> list[Part]:
    """Jars that are packed into ours: whatever its POM does not call provided or for tests."""
    parts = []
    for group, artifact, version, scope in artifacts(pom):
        if scope != "compile":
            continue
        name = f"{group}:{artifact}"
        said = declared()["maven"].get(name)
        if said is None:
            raise SystemExit(f"{pom}: {name} is packed into the jar. Name it in {DECLARED}")
        path = f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.jar"
        parts.append(
            Part(
                kind="maven",
                name=name,
                version=version,
                licence=said["licence"],
                sha256=(jar_hashes()[path],),
                needs=tuple(said.get("linked", ())),
                copyright=said["copyright"],
            )
        )
        parts += [linked(each) for each in said.get("linked", ())]
    return parts


def linked(name: str, *, ask: bool = False) -> Part:
    """Make a part of what a compiler links in; its version only if the machine is to be asked."""
    said = declared()["linked"][name]
    version = ""
    if ask and "version" in said:
        done = subprocess.run(said["version"], capture_output=True, text=True, check=True)
        number = re.search(r"\d+(\.\d+)+", done.stdout)
        version = number[0] if number else ""
    licence, note = said["licence"], said.get("note", "")
    return Part("linked", name, version, licence, copyright=said["copyright"], note=note)


def wheel_parts(*, ask: bool = False) -> dict[str, list[Part]]:
    """All that others wrote, by the file of the wheel that it is in."""
    found = {}
    for file, said in declared()["part"].items():
        inside = [linked(name, ask=ask) for name in said.get("linked", ())]
        for crate in said.get("crates", ()):
            inside += [part for part in crates(crate) if part not in inside]
        if "pom" in said:
            inside += jars(ROOT / said["pom"])
        if "npm" in said and json.loads((ROOT / said["npm"]).read_text()).get("dependencies"):
            raise SystemExit(f"{said['npm']}: packages of npm are new. Teach {__file__}")
        found[file] = inside
    return found


def python_packages(lock: Path = ROOT / "requirements" / "package.txt") -> list[Part]:
    """Read which packages pip installs with the wheel."""
    found = []
    for entry in re.split(r"\n(?=\S)", lock.read_text().strip()):
        name, version = re.match(r"(\S+)==(\S+)", entry).groups()  # type: ignore[union-attr]
        hashes = tuple(re.findall(r"--hash=sha256:(\w+)", entry))
        found.append(Part("pypi", name, version, "", hashes))
    return found


def project_version() -> str:
    """Read Pyrometer's own version."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    return str(workspace["package"]["version"])
