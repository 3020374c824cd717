"""The example in docs/how-to/workloads.md keeps the contract it explains."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "workloads.md"
EXAMPLE = re.compile(r"<!-- example: (\S+) -->\n```python\n(.*?)```\n", re.DOTALL)


def run_example(folder, marker):
    for name, text in EXAMPLE.findall(GUIDE.read_text(encoding="utf-8")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "my_package" / "__init__.py").write_text("")
    (folder / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n    spark: starts Spark\n    slow: takes longer\n"
    )
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", marker, "test_sum_integers.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_example_passes_its_tests(tmp_path):
    done = run_example(tmp_path, "not spark")
    assert done.returncode == 0, done.stdout
    assert re.search(r"\b9 passed", done.stdout), done.stdout


@pytest.mark.spark
@pytest.mark.slow
def test_example_runs_on_spark(tmp_path):
    done = run_example(tmp_path, "spark")
    assert done.returncode == 0, done.stdout
    assert re.search(r"\b3 passed", done.stdout), done.stdout
