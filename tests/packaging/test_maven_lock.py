"""Maven uses nothing whose hash is not locked: downloaded, or in the local repository already."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest
from tools.supply import mvn, parts

ROOT = Path(__file__).resolve().parents[2]
EXTRA = "org/example/extra/1.0/extra-1.0"
# Maven adds it to whatever is loaded into it.
UTILS = "org/codehaus/plexus/plexus-utils/1.1/plexus-utils-1.1"
POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>{group}</groupId>
  <artifactId>{name}</artifactId>
  <version>{version}</version>
  {rest}
</project>
"""
# Resolved before any plugin is, so that no network is needed.
USES_EXTRA = """\
<packaging>pom</packaging>
<pluginRepositories><pluginRepository>
  <id>central</id><url>{url}</url>
</pluginRepository></pluginRepositories>
<build><extensions><extension>
  <groupId>org.example</groupId><artifactId>extra</artifactId><version>1.0</version>
</extension></extensions></build>
"""


def write_jar(path: Path, text: str) -> None:
    """Write a jar with this inside."""
    with ZipFile(path, "w") as jar:
        jar.writestr("extra.txt", text)


class Project:
    """A project that needs one jar of a repository beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.remote = folder / "remote"
        self.local = folder / "local"
        self.lock = folder / "lock"

    def write(self) -> None:
        """Write the project and its repository."""
        for path in (EXTRA, UTILS):
            (self.remote / path).parent.mkdir(parents=True)
            group, name, version = path.rsplit("/", 3)[:3]
            pom = POM.format(group=group.replace("/", "."), name=name, version=version, rest="")
            (self.remote / f"{path}.pom").write_text(pom)
            write_jar(self.remote / f"{path}.jar", "the one that was locked")
        self.write_pom()

    def write_pom(self) -> None:
        """Write what names the repository by where it lies."""
        uses = USES_EXTRA.format(url=self.remote.as_uri())
        pom = POM.format(group="org.example", name="project", version="1.0", rest=uses)
        (self.folder / "pom.xml").write_text(pom)

    def build(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Let Maven load the project."""
        options = (f"-Dmaven.repo.local={self.local}", "-f", str(self.folder / "pom.xml"), *options)
        command = mvn.command(*options, "validate", lock=self.lock)
        return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a project whose lock was recorded: it takes Maven seconds."""
    made = Project(tmp_path_factory.mktemp("recorded"))
    made.write()
    done = made.build("-Dpyrometer.lock.record=true")
    assert done.returncode == 0, done.stdout
    return made.folder


@pytest.fixture
def project(recorded: Path, tmp_path: Path) -> Project:
    made = Project(shutil.copytree(recorded, tmp_path / "project"))
    made.write_pom()
    return made


def test_what_was_recorded_is_accepted(project: Project) -> None:
    locked = hashes(project)
    assert {f"{EXTRA}.jar", f"{EXTRA}.pom"} <= set(locked)
    for path, digest in locked.items():
        assert digest == hashlib.sha256((project.remote / path).read_bytes()).hexdigest()
    done = project.build()
    assert done.returncode == 0, done.stdout


def test_another_jar_of_the_repository_stops_the_build(project: Project) -> None:
    (project.local / f"{EXTRA}.jar").unlink()
    write_jar(project.remote / f"{EXTRA}.jar", "another")
    done = project.build()
    assert done.returncode != 0
    assert f"{EXTRA}.jar is not what was locked in {project.lock}" in done.stdout
    assert f"expected {hashes(project)[f'{EXTRA}.jar']}" in done.stdout


def test_a_jar_that_was_changed_after_its_download_stops_the_build(project: Project) -> None:
    write_jar(project.local / f"{EXTRA}.jar", "changed later")
    done = project.build("-o")
    assert done.returncode != 0
    assert f"{EXTRA}.jar is not what was locked" in done.stdout
    assert f"Delete {project.local / EXTRA}.jar and build again" in done.stdout


def test_what_nobody_locked_stops_the_build(project: Project) -> None:
    lines = project.lock.read_text().splitlines()
    project.lock.write_text(
        "".join(f"{line}\n" for line in lines if not line.endswith(f"{EXTRA}.pom"))
    )
    done = project.build()
    assert done.returncode != 0
    assert f"{EXTRA}.pom is not locked in {project.lock}" in done.stdout
    assert "make lock" in done.stdout


def test_a_lock_that_is_damaged_stops_the_build(project: Project) -> None:
    project.lock.write_text(project.lock.read_text()[:30])
    done = project.build()
    assert done.returncode != 0
    assert f"{project.lock}: no hash and path" in done.stdout


def hashes(project: Project) -> dict[str, str]:
    return dict(reversed(line.split("  ")) for line in project.lock.read_text().splitlines())


@pytest.mark.parametrize("module", mvn.MODULES)
def test_all_that_a_project_names_is_locked(module: str) -> None:
    locked = parts.jar_hashes()
    named = list(parts.artifacts(ROOT / "jvm" / module / "pom.xml"))
    assert named
    for group, artifact, version, _ in named:
        folder = f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}"
        assert f"{folder}.pom" in locked, f"{group}:{artifact}:{version}: make lock"


def test_the_lock_is_sorted_and_names_no_place() -> None:
    lines = (ROOT / "jvm" / "maven.lock").read_text().splitlines()
    assert all(re.fullmatch(r"[0-9a-f]{64}  [\w./+-]+\.(jar|pom)", line) for line in lines)
    paths = [line.split("  ")[1] for line in lines]
    assert paths == sorted(set(paths))
