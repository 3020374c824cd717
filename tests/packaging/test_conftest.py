"""What the tests leave out of each run, and whose caches they use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def kept(*files: str) -> dict[str, list[str]]:
    """Variants that run each time, by the name of the test."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-m", "not slow", *files], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = defaultdict(list)
    for line in done.stdout.splitlines():
        name, _, variant = line.rpartition("::")[2].partition("[")
        found[name].append(variant.removesuffix("]"))
    return found


def test_variants_that_their_authors_keep_run_each_time() -> None:
    folder = "tests/integration/collect"
    found = kept(f"{folder}/test_faults_jvm.py", f"{folder}/test_probe_states.py")
    options = found["test_options_of_the_application_stay_what_they_are"]
    assert options == ["small heap", "another agent"]
    # Of one recording: three tiers of ten threads.
    states = "test_time_on_a_cpu_waiting_for_one_and_asleep_are_as_declared"
    assert len(found[states]) == 30


def test_of_the_variants_of_a_test_of_the_terminal_the_first_two_run_each_time() -> None:
    found = kept("tests/unit/summary/test_samples_few.py")
    assert len(found["test_only_a_profile_of_cpu_can_have_too_few_samples"]) == 2


def told(script: str, **variables: str) -> str:
    """What a script says that imports the configuration of the tests."""
    env = {**os.environ, "PYROMETER_CACHE": "", **variables}
    command = [sys.executable, "-c", f"import os; from tests import conftest; {script}"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def test_of_the_users_cache_the_tests_use_data_sets_and_what_other_tools_keep(
    tmp_path: Path,
) -> None:
    cache = tmp_path / ".cache"
    for name in ("pyrometer/eventlogs", "uv"):
        (cache / name).mkdir(parents=True)
    script = (
        "own = os.environ['XDG_CACHE_HOME']; conftest.use_own_cache();"
        "print(conftest.default_root(), os.listdir(own), os.path.realpath(own + '/uv'),"
        " own == os.environ['XDG_CACHE_HOME'])"
    )
    uv = os.path.realpath(cache / "uv")
    said = told(script, HOME=str(tmp_path), XDG_CACHE_HOME="")
    assert said == f"{cache / 'pyrometer'} ['uv'] {uv} True\n"


def test_a_cache_that_cannot_be_looked_into_is_left_alone(tmp_path: Path) -> None:
    # Root may look into any folder, but nobody into one whose name is too long.
    cache = tmp_path / ("x" * 300)
    script = "print(os.listdir(os.environ['XDG_CACHE_HOME']))"
    assert told(script, XDG_CACHE_HOME=str(cache)) == "[]\n"


def test_every_test_is_found_without_recordings_of_others() -> None:
    """They are not part of the project: what needs them says so when it runs."""
    using = [
        str(file)
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        if any(word in file.read_text() for word in ("eventlog.recorded", "needs.corpus"))
    ]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", *using]
    env = {name: text for name, text in os.environ.items() if name != "PYROMETER_CORPUS"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert using
    assert done.returncode == 0, done.stdout
