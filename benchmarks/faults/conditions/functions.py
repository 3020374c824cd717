"""Functions in Java that steps use, as a user would have written them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from benchmarks.faults.seventh.work import Work

SOURCES = Path(__file__).parent / "java" / "shop"
JAR = "shop.jar"


def build(folder: Path) -> None:
    """Compile them into a folder.

    Raises
    ------
    FileNotFoundError
        If there is no compiler.
    """
    compiler = shutil.which("javac")
    if compiler is None:
        raise FileNotFoundError("no javac: put a JDK on the PATH")
    libraries = Path(os.environ["SPARK_HOME"]) / "jars"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as classes:
        subprocess.run(
            [compiler, "--release", "17", "-cp", f"{libraries}/*", "-d", classes,
             *map(str, sorted(SOURCES.glob("*.java")))],
            check=True,
        )  # fmt: skip
        with zipfile.ZipFile(folder / JAR, "w") as jar:
            for one in sorted(Path(classes).rglob("*.class")):
                jar.write(one, one.relative_to(classes))


def register(work: Work, name: str) -> str:
    """Make a function known to SQL under the name of its class, and give that."""
    work.spark.sql(f"ADD JAR '{work.path(JAR)}'")
    work.spark.udf.registerJavaFunction(name, f"shop.{name}", "long")
    return name
