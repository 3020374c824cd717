"""What the rules of stacks promise to the rest: their names, their pages, their doubts."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
# What the accounts split on-CPU time of tasks into.
PROMISED = {
    "operator", "cast", "decode", "decompression", "serialisation", "shuffle_write",
    "shuffle_read", "sort", "hash", "spill", "udf", "python_bridge", "memory", "other",
}  # fmt: skip


def load(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / "schema" / name).read_text(encoding="utf-8"))


def test_the_promised_categories_are_there_once() -> None:
    names = [category["name"] for category in load("categories.toml")["category"]]
    assert len(names) == len(set(names))
    assert set(names) >= PROMISED


def test_every_category_of_tasks_has_a_rule_and_every_rule_a_category() -> None:
    file = load("categories.toml")
    by_rule = {rule["category"] for rule in file["rule"]} - {"neutral"}
    names = {category["name"] for category in file["category"]}
    assert by_rule <= names
    assert names - by_rule == {"other", "jit", "driver", "helper", "python"}
    assert {*file["role"].values()} <= names


def test_roles_with_a_category_exist() -> None:
    roles = {rule["role"] for rule in load("roles.toml")["rule"]}
    assert set(load("categories.toml")["role"]) == roles - {"task"}


@pytest.mark.parametrize("folder", ["gclog", "jfr", "jitlog"])
def test_doubts_that_the_readers_raise_are_declared(folder: str) -> None:
    declared = {name for name in load("doubts.toml") if name != "version"}
    raised = set()
    for path in (ROOT / "crates/pyro-ingest/src" / folder).glob("*.rs"):
        if path.name != "tests.rs":
            raised |= set(re.findall(r'(?:Doubt::new|add)\(\s*"(\w+)"', path.read_text()))
    assert raised
    assert raised <= declared, raised - declared


def test_the_reference_page_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_categories.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
