"""The readers that `fuzz/python/documents.py` fuzzes, for some documents and without atheris."""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrometer.core.errors import PyrometerError

ROOT = Path(__file__).parents[3]
FUZZ = ROOT / "fuzz" / "python"
NAMES = [
    "canary", "chunk", "constraint", "elf", "executor", "exit", "experiment", "guest", "iterations",
    "journal", "json", "manifest", "pings", "plan", "space", "study", "tuning", "tuning-journal",
    "tuning-memory", "workload", "yaml",
]  # fmt: skip


@pytest.fixture(scope="module")
def fuzz() -> Iterator[Any]:
    sys.path.insert(0, str(FUZZ))
    try:
        import mutate
        import readers
    finally:
        sys.path.remove(str(FUZZ))
    made = readers.Readers()
    yield made.by_name, readers.seeds(), mutate.mutated
    made.close()


def test_documents_are_a_target_of_every_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    campaign = importlib.import_module("fuzz_campaign")
    assert "documents" in campaign.targets()
    assert Path(campaign.program("documents", ROOT)[-1]) == FUZZ / "documents.py"
    assert (campaign.CORPORA / "documents.tar.xz").is_file()


def test_every_reader_is_tried(fuzz: Any) -> None:
    by_name, seeds, _ = fuzz
    assert list(by_name) == list(seeds) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_document_is_a_value_or_one_of_our_errors(fuzz: Any, name: str) -> None:
    by_name, seeds, mutated = fuzz
    rng = random.Random(name)

    def some_byte(data: bytes) -> bytes:
        at = rng.randrange(len(data) + 1)
        return data[:at] + bytes([rng.randrange(256)]) + data[at + rng.randrange(3) :]

    for document in seeds[name]:
        for _ in range(60):
            changed = mutated(name, document, rng, some_byte)
            try:
                by_name[name](changed)
            except PyrometerError:
                continue


# One of the experiments extends a file that lies elsewhere.
@pytest.mark.parametrize("name", sorted(set(NAMES) - {"experiment"}))
def test_what_is_mutated_is_valid(fuzz: Any, name: str) -> None:
    by_name, seeds, _ = fuzz
    for document in seeds[name]:
        by_name[name](document)
