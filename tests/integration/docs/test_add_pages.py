"""The pages that tell how to add a workload, a probe, a rule: their files work as they are."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cli import environment, pyrometer

import pyrometer as package

ROOT = Path(__file__).resolve().parents[3]
HOW_TO = ROOT / "docs" / "how-to"
LOGS = ROOT / "tests" / "fixtures" / "eventlog"
FILE = re.compile(r"<!-- file: (\S+) -->\n```python\n(.*?)```\n", re.DOTALL)


def write_file(page: str, folder: Path) -> Path:
    """Write the one file of a page."""
    ((name, text),) = files_of(page).items()
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def files_of(page: str) -> dict[str, str]:
    """Give the files of a page by their names."""
    return dict(FILE.findall((HOW_TO / page).read_text(encoding="utf-8")))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The Python sources as in a clone, with what is built linked beside them.

    What Python has compiled comes along: to compile it again takes longer than the tests.
    """
    source = Path(package.__file__).parent
    copy = tmp_path / "python" / "pyrometer"
    # A name that ends in neither is of a file that another process is writing.
    built = shutil.ignore_patterns("_bundled", "*.so", "*.tmp", "*.pyc.*")
    shutil.copytree(source, copy, ignore=built)
    for one in [source / "_bundled", *source.glob("*.so")]:
        (copy / one.name).symlink_to(one)
    (tmp_path / "schema").symlink_to(ROOT / "schema")
    return copy


def test_a_rule_is_one_file(checkout: Path, tmp_path: Path) -> None:
    write_file("add-a-rule.md", checkout / "summary" / "rules")
    log = LOGS / "whole.zstd.log"
    assert log.is_file()
    env = environment(PYTHONPATH=str(checkout.parent))
    with_rule = pyrometer("show", log, "--json", cwd=tmp_path, env=env)
    assert with_rule.code == 0, with_rule.stderr
    doubts = {one["code"]: one for one in with_rule.json["doubts"]}
    assert doubts["window_short"]["severity"] == "info"
    assert doubts["window_short"]["message"].startswith("window application lasts ")
    without = pyrometer("show", log, "--json", cwd=tmp_path).json["doubts"]
    assert [one for one in with_rule.json["doubts"] if one["code"] != "window_short"] == without


def test_a_rule_of_explain_is_one_file_and_passes_its_test(checkout: Path, tmp_path: Path) -> None:
    files = files_of("add-a-finding.md")
    rule, test = "serialisation_results.py", "test_serialisation_results.py"
    assert files.keys() == {rule, test}
    (checkout / "explain" / "catalogue" / "cpu" / rule).write_text(files[rule], encoding="utf-8")
    (tmp_path / test).write_text(files[test], encoding="utf-8")
    env = environment(PYTHONPATH=os.pathsep.join([str(checkout.parent), str(ROOT)]))
    words = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", ".", test]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
    shown = pyrometer("rules", "serialisation.results", "--json", cwd=tmp_path, env=env)
    assert shown.code == 0, shown.stderr
    assert shown.json["rules"][0]["cause"] == "result serialisation"
    explained = pyrometer("explain", LOGS / "whole.zstd.log", "--json", cwd=tmp_path, env=env)
    assert explained.code == 0, explained.stderr
    assert "serialisation.results" not in {one["code"] for one in explained.json["unjudged"]}


def test_a_probe_is_one_file(checkout: Path, tmp_path: Path) -> None:
    write_file("add-a-probe.md", checkout / "collect" / "probes")
    env = environment(PYTHONPATH=str(checkout.parent))
    words = ("run", "--profile", "light", "--no-report", "-o", "run", "--", "sleep", "0.2")
    done = pyrometer(*words, cwd=tmp_path, env=env)
    assert done.code == 0, done.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    entry = next(one for one in manifest["probes"] if one["name"] == "network")
    assert entry["got"].endswith(" interface(s)")
    counts = json.loads((tmp_path / "run" / "raw" / "network.json").read_text())
    assert counts
    assert all(one["received_bytes"] >= 0 for one in counts.values())


def test_a_workload_is_one_file(tmp_path: Path) -> None:
    write_file("add-a-workload.md", tmp_path)
    env = environment(PYROMETER_CACHE=str(tmp_path / "cache"))
    shown = pyrometer("workloads", "show", "sum_integers.py", "--json", cwd=tmp_path, env=env)
    assert shown.code == 0, shown.stderr
    words = ("workloads", "prepare", "sum_integers.py", "--scale", "test", "--json")
    made = pyrometer(*words, cwd=tmp_path, env=env)
    assert made.code == 0, made.stderr
    assert list((tmp_path / "cache").rglob("part-0.parquet"))


@pytest.mark.spark
@pytest.mark.slow
def test_the_workload_of_one_file_runs(tmp_path: Path) -> None:
    write_file("add-a-workload.md", tmp_path)
    env = environment(PYROMETER_CACHE=str(tmp_path / "cache"))
    words = ("run", "sum_integers.py", "--scale", "test", "--iterations", "1", "--set")
    done = pyrometer(
        *words, "code=python", "--profile", "light", "--json", "-o", "run", cwd=tmp_path, env=env
    )
    assert done.code == 0, done.stderr
    assert done.json["state"] == "finished"
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert [one["status"] for one in manifest["results"] if not one["warmup"]] == ["ok"]


def test_a_file_without_a_workload_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("x = 1\n")
    done = pyrometer("run", "empty.py", cwd=tmp_path)
    assert done.code == 2
    assert "empty.py defines no workload" in done.stderr


def test_a_program_is_not_run_unmeasured_by_mistake(tmp_path: Path) -> None:
    (tmp_path / "my job.py").write_text("open('ran', 'w')\n")
    done = pyrometer("run", "my job.py", cwd=tmp_path)
    assert done.code == 2
    assert "pyrometer run -- spark-submit 'my job.py'" in " ".join(done.stderr.split())
    assert not (tmp_path / "ran").exists()
