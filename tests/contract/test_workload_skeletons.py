"""What ``pyrometer workloads new`` writes works as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from tests.support.cli import environment, pyrometer

from pyrometer.core.errors import UsageError
from pyrometer.workloads import registry
from pyrometer.workloads.custom import skeletons
from pyrometer.workloads.launch import launch_spec


@pytest.fixture
def python_workload(tmp_path):
    """A written skeleton, and a folder that is on the path as an installed package's would be."""
    folder = tmp_path / "my-sums"
    done = pyrometer("workloads", "new", "my-sums", cwd=tmp_path)
    assert done.code == 0, done.stderr
    info = folder / "my_sums-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-sums\nVersion: 0.1.0\n")
    points = re.search(
        r'\[project\.entry-points\."pyrometer\.workloads"\]\n"(.+?)" = "(.+?)"',
        (folder / "pyproject.toml").read_text(),
    )
    (info / "entry_points.txt").write_text(f"[pyrometer.workloads]\n{points[1]} = {points[2]}\n")
    return folder


def path_with(folder):
    return os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])


def test_the_class_passes_its_contract_tests(python_workload):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "not spark"],
        cwd=python_workload,
        env=environment(PYTHONPATH=path_with(python_workload)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"\b9 passed", done.stdout), done.stdout


def test_a_class_of_an_installed_package_is_listed_and_prepared(python_workload, tmp_path):
    env = environment(PYTHONPATH=path_with(python_workload), PYROMETER_CACHE=str(tmp_path / "c"))
    listed = pyrometer("workloads", "list", "--json", cwd=tmp_path, env=env).json
    assert "my-sums" in [one["name"] for one in listed["workloads"]]
    assert listed["broken"] == []
    words = ("workloads", "prepare", "my-sums", "--scale", "test", "--json")
    made = pyrometer(*words, cwd=tmp_path, env=env)
    assert made.code == 0, made.stderr
    assert made.json["facts"] == {"sum": 49_995_000}


@pytest.mark.parametrize(
    ("kind", "path", "levels"),
    [("sql", "query.sql", {"sql.below": "10"}), ("yaml", "", {}), ("yaml", "", {"codegen": "off"})],
)
def test_files_can_be_launched_as_they_stand(tmp_path, kind, path, levels):
    files = skeletons.write("mine", kind, tmp_path / "w")
    readme = next(f for f in files if f.name == "README.md").read_text()
    assert readme.startswith("# mine\n")
    assert readme.count("\n") == 3
    name = str(tmp_path / "w" / path)
    described = registry.get(name).describe()
    assert all(described[key] for key in ("summary", "description", "source", "expectation"))
    (tmp_path / "raw").mkdir()
    made = launch_spec(name, levels, raw_dir=tmp_path / "raw")
    assert made.prepared.facts["statements"][-1]["arguments"].keys() == {"below"}
    again = launch_spec(name, levels, raw_dir=tmp_path / "raw")
    assert again.prepared == made.prepared


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("My Query", "sql", "is not a name"),
        ("../x", "sql", "is not a name"),
        ("x", "scala", "unknown kind"),
        ("x", "sql", "not an empty folder"),
    ],
)
def test_what_cannot_be_written_is_told(tmp_path, name, kind, message):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(UsageError, match=message):
        skeletons.write(name, kind, tmp_path)
    assert (tmp_path / "mine").read_text() == "mine"
