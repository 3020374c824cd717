"""Files of a trial in a machine: what goes along, what is left out and told, what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support import experiments

from pyrometer.collect.launch.observe import Silent
from pyrometer.core.errors import UsageError
from pyrometer.guests import job
from pyrometer.guests.parts.closure import Listing
from pyrometer.orchestrator.command_files import CommandFiles
from pyrometer.orchestrator.guest_data import MOST_BYTES, data_of
from pyrometer.trial.trial import Trial

NOTHING = CommandFiles()


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*job.left_behind(os.environ), MOST_BYTES):
        monkeypatch.delenv(name, raising=False)


def listed(trial: Trial, command: CommandFiles = NOTHING) -> tuple[set[str], tuple[str, ...]]:
    found, left_out = data_of(trial, command, {}, Listing(), Silent())
    return set(found.files), left_out


def test_a_workload_comes_without_its_runs_experiments_and_environments(tmp_path: Path) -> None:
    experiments.napping(tmp_path)
    for name in (
        "sql/a.sql", "data/raw/b.csv",
        "pyrometer-runs/one/manifest.json", "pyrometer-runs/one/raw/log", "heap/experiment.json",
        "tuned/tuning.json", ".venv/pyvenv.cfg", ".venv/lib/x.py", ".git/config",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    files, left_out = listed(Trial(name=str(tmp_path / "workload.yaml")))
    names = {str(Path(one).relative_to(tmp_path)) for one in files}
    assert names == {"workload.yaml", "naps.yaml", "sql/a.sql", "data/raw/b.csv"}
    assert left_out == (
        "Environments next to the workload that the machine does not have:"
        f" {tmp_path / '.venv'} (name what is needed, or its Python, in the command).",
    )


def test_an_environment_that_the_command_names_comes_with_its_packages(tmp_path: Path) -> None:
    experiments.napping(tmp_path)
    env = tmp_path / "env"
    package = env / "lib/python3/site-packages/x.py"
    package.parent.mkdir(parents=True)
    for file in (package, env / "pyvenv.cfg", env / ".git/config"):
        file.parent.mkdir(exist_ok=True)
        file.touch()
    workload = Trial(name=str(tmp_path / "workload.yaml"))
    files, left_out = listed(workload, CommandFiles(data=(str(env),)))
    assert {one for one in files if one.startswith(str(env))} == {
        str(package), str(env / "pyvenv.cfg")
    }  # fmt: skip
    assert left_out == ()
    # The Python of one brings what it needs of it: nothing is missing.
    base = Listing(files={str(package): package.stat()})
    assert data_of(workload, NOTHING, {}, base, Silent())[1] == ()


def test_what_may_not_be_read_is_told_unless_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "input"
    folder.mkdir()
    for name in ("open", "secret"):
        (folder / name).touch()
    monkeypatch.setattr(os, "access", lambda path, how: not str(path).endswith("secret"))
    files, left_out = listed(Trial(command=("job",)), CommandFiles(data=(str(folder),)))
    assert files == {str(folder / "open")}
    assert left_out == (f"Files that this user may not read: {folder / 'secret'}.",)
    with pytest.raises(UsageError, match="secret may not be read"):
        listed(Trial(command=("job",)), CommandFiles(data=(str(folder), f"{folder}/secret")))


def test_folders_that_are_only_there_and_variables_that_stay_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HADOOP_HOME", "/opt/hadoop")
    command = CommandFiles(too_wide=(str(tmp_path),))
    found, left_out = data_of(Trial(command=("job",)), command, {}, Listing(), Silent())
    assert (found.folders, found.files) == ({str(tmp_path)}, {})
    assert left_out[0] == "Variables that the machine does not have: HADOOP_HOME."
    assert left_out[1].startswith(f"Folders that are named and empty in the machine: {tmp_path}")


def test_more_than_a_command_may_name_is_refused_with_the_way_to_allow_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = tmp_path / "large"
    large.touch()
    os.truncate(large, 17 << 30)
    command = CommandFiles(data=(str(large),))
    with pytest.raises(UsageError, match=r"names 17\.0 GiB .* is given 16\.0 GiB") as caught:
        listed(Trial(command=("job",)), command)
    assert f"{MOST_BYTES}=64g" in (caught.value.remedy or "")
    monkeypatch.setenv(MOST_BYTES, "20g")
    assert listed(Trial(command=("job",)), command) == ({str(large)}, ())
