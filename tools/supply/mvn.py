"""Run Maven such that it uses nothing whose hash is not in `jvm/maven.lock`.

    python3 tools/supply/mvn.py -f jvm/plugin/pom.xml test
    python3 tools/supply/mvn.py --lock

Maven from 3.9 on can do that itself (trusted checksums); Debian 12 has 3.8. `LockedArtifacts.java`
next to this file is loaded into any of them; the lines of the lock file are those that Maven 3.9
reads and `sha256sum` checks. `--lock` rewrites the file from an empty local repository, by
running everything that `make` asks of Maven.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("LockedArtifacts.java")
EXTENSION = ROOT / "target" / "maven-lock"
LOCK = ROOT / "jvm" / "maven.lock"
INDEX = "META-INF/sisu/javax.inject.Named"
MODULES = ("plugin", "workloads")
# All goals of the Makefile. `package` without tests is a part of `verify`.
GOALS = (["verify"], ["spotless:check"])
BENCH = ["-Pbench", "test-compile", "exec:exec", "-Dexec.skip=true"]


def maven_home() -> Path:
    """Where the Maven on PATH has its libraries."""
    said = subprocess.run(["mvn", "-v"], capture_output=True, text=True, check=True).stdout
    home = re.search(r"^Maven home: (.+)$", said, re.M)
    if home is None:
        raise SystemExit(f"mvn -v does not report its home: {said}")
    return Path(re.sub(r"\x1b\[[0-9;]*m", "", home[1]).strip())


def extension() -> Path:
    """Compile the extension if its source is newer; gives the folder of classes."""
    built = EXTENSION / "LockedArtifacts.class"
    if not built.exists() or built.stat().st_mtime < SOURCE.stat().st_mtime:
        EXTENSION.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=EXTENSION.parent) as folder:
            libraries = f"{maven_home()}/lib/*"
            command = ["javac", "--release", "11", "-proc:none", "-cp", libraries]
            subprocess.run([*command, "-d", folder, SOURCE], check=True)
            index = Path(folder) / INDEX
            index.parent.mkdir(parents=True)
            index.write_text("LockedArtifacts\n")
            (EXTENSION / INDEX).parent.mkdir(parents=True, exist_ok=True)
            os.replace(index, EXTENSION / INDEX)
            os.replace(Path(folder) / built.name, built)
    return EXTENSION


def command(*arguments: str, lock: Path = LOCK) -> list[str]:
    """Maven with the extension, and the arguments."""
    options = (f"-Dmaven.ext.class.path={extension()}", f"-Dpyrometer.lock={lock}")
    return ["mvn", "-B", "-ntp", *options, *arguments]


def write_lock() -> None:
    """Resolve everything into an empty repository and write its hashes."""
    repository = ROOT / "target" / "maven-lock-repository"
    shutil.rmtree(repository, ignore_errors=True)
    found = repository.with_suffix(".txt")
    found.unlink(missing_ok=True)
    poms = {module: ("-f", str(ROOT / "jvm" / module / "pom.xml")) for module in MODULES}
    runs = [(*poms[module], *goals) for module in MODULES for goals in GOALS]
    runs.append((*poms["plugin"], *BENCH))
    runs.append(("-f", str(ROOT / "jvm" / "testbed" / "pom.xml"), "compile"))
    for run in runs:
        options = ("-q", f"-Dmaven.repo.local={repository}", "-Dpyrometer.lock.record=true", *run)
        subprocess.run(command(*options, lock=found), check=True)
    lines = sorted(set(found.read_text().splitlines()), key=lambda line: line.split("  ")[1])
    LOCK.with_suffix(".tmp").write_text("".join(f"{line}\n" for line in lines))
    LOCK.with_suffix(".tmp").replace(LOCK)
    shutil.rmtree(repository)
    found.unlink()
    print(f"{LOCK.relative_to(ROOT)}: {len(lines)} files")


if __name__ == "__main__":
    if sys.argv[1:] == ["--lock"]:
        write_lock()
    else:
        given = command(*sys.argv[1:])
        os.execvp(given[0], given)
