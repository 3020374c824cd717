"""What `make` would run, by its dry run: nothing twice, and at once what can be."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OTHER = {"x86_64": "aarch64", "aarch64": "x86_64"}[platform.machine()]
BUNDLED = "python/pyrometer/_bundled"


def make(*words: str) -> list[str]:
    """Lines that it prints."""
    own = ("MAKE", "MFLAGS", "PYROMETER_BEGAN")
    environment = {name: one for name, one in os.environ.items() if not name.startswith(own)}
    done = subprocess.run(
        ["make", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def asked(goal: str) -> list[list[str]]:
    """Goals of each make that it would start."""
    lines = make("-n", "MAKE=echo asked", goal)
    return [line.split()[1:] for line in lines if line.startswith("asked ")]


def test_environments_are_made_at_once() -> None:
    test = {f".venv{name}/.installed" for name in ("", "-spark35", "-remote")}
    first, *_ = asked("setup-test")
    assert test <= set(first)
    assert [test & set(words) for words in asked("setup")] == [{".venv/.installed"}]


def test_pip_comes_only_where_it_installs_itself() -> None:
    names = ("spark35", "remote", "docs", "audit", "wheel")
    lines = make("-n", "-B", *(f".venv-{name}/.installed" for name in names))
    made = {line.rpartition(" ")[2]: line for line in lines if " -m venv " in line}
    with_pip = {name for name, line in made.items() if "--without-pip" not in line}
    assert made.keys() == {".venv", *(f".venv-{name}" for name in names)}
    assert with_pip == {".venv", ".venv-wheel"}


@pytest.mark.parametrize("goal", ["test", "test-all"])
def test_tests_of_rust_the_jvm_and_the_web_run_side_by_side(goal: str) -> None:
    assert any({"-j", "test-rust", "test-jvm", "test-web"} <= set(words) for words in asked(goal))


def test_the_jar_of_workloads_waits_for_no_compiler_of_rust() -> None:
    jar = make("-n", "-B", f"{BUNDLED}/pyrometer-workloads.jar")
    assert not [line for line in jar if "cargo build" in line]
    # Maven's repository is not made for two at once.
    both = " ".join(make("-n", "-B", f"{BUNDLED}/pyrometer-plugin.jar"))
    assert re.findall(r"-f jvm/(\w+)/pom.xml", both) == ["workloads", "plugin"]


@pytest.mark.parametrize("machine", [platform.machine(), OTHER])
def test_a_wheel_holds_the_probe_that_is_compiled_already(machine: str) -> None:
    lines = make("-n", "-B", "wheel", f"ARCH={machine}")
    built = [line for line in lines if "cargo build" in line]
    assert [f"--target {OTHER}" in line for line in built] == [machine == OTHER]
    (wheel,) = [line for line in lines if "PYROMETER_PROBE=" in line]
    probe = f"{ROOT}/{BUNDLED}/pyro-probe" if machine != OTHER else f"/{OTHER}-unknown-linux-gnu/"
    assert probe in wheel


def test_seconds_of_all_steps_count_from_one_beginning() -> None:
    rule = "one two: ; @echo $$PYROMETER_BEGAN && sleep 1.1"
    assert len(set(make("--eval", rule, "one", "two"))) == 1
