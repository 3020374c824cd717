"""A recorded run behind S3's own protocol: the same output as here, and a small part fetched."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.report_fixture import write_run
from tests.support.stores.planned_store import files_below
from tests.support.stores.s3 import SECRET, environment_of, said, served


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two recorded runs, whose raw files are most of them."""
    folder = tmp_path_factory.mktemp("runs")
    one = folder / "one"
    write_run(one)
    (one / "raw").mkdir()
    (one / "raw" / "profile-driver-7.jfr").write_bytes(b"\0" * 4_000_000)
    shutil.copytree(one, folder / "two")
    return {f"s3://lab/runs/{name}": folder / name for name in ("one", "two")}


@pytest.fixture(scope="module")
def endpoint(runs: dict[str, Path]) -> Iterator[str]:
    with served(runs) as address:
        yield address


@pytest.fixture
def env(endpoint: str, tmp_path: Path) -> dict[str, str]:
    return environment_of(endpoint, tmp_path)


def as_here(text: str, runs: dict[str, Path]) -> str:
    for url, root in runs.items():
        text = text.replace(url, str(root))
    return text


@pytest.mark.slow
def test_show_report_and_compare_are_those_of_the_run_here(
    env: dict[str, str], runs: dict[str, Path], tmp_path: Path
) -> None:
    (one, one_here), (two, two_here) = runs.items()
    for there, here in (
        (["show", one], ["show", one_here]),
        (["show", one, "--json"], ["show", one_here, "--json"]),
        (["compare", one, two, "--json"], ["compare", one_here, two_here, "--json"]),
    ):
        answers = said(env, tmp_path, *there), said(env, tmp_path, *here)
        assert [answer.code for answer in answers] == [0, 0], answers[0].stderr
        assert as_here(answers[0].stdout, runs) == answers[1].stdout
    assert said(env, tmp_path, "report", one, "-o", "there.html").code == 0
    assert said(env, tmp_path, "report", one_here, "-o", "here.html").code == 0
    page = (tmp_path / "there.html").read_text(encoding="utf-8")
    assert as_here(page, runs) == (tmp_path / "here.html").read_text(encoding="utf-8")
    for file in files_below(tmp_path):
        assert file.is_dir() or SECRET.encode() not in file.read_bytes()


@pytest.mark.slow
def test_a_small_part_is_fetched_and_once(
    env: dict[str, str], runs: dict[str, Path], tmp_path: Path
) -> None:
    one = next(iter(runs))
    told = [
        next(line for line in done.stderr.splitlines() if line.startswith("fetched")).split()
        for done in (said(env, tmp_path, "ledger", one) for _ in range(2))
    ]
    (first, of), (again, _) = [(int(words[1]), int(words[3])) for words in told]
    here = [file for file in runs[one].rglob("*") if file.is_file() and file.name[0] != "."]
    assert of == sum(file.stat().st_size for file in here)
    assert 0 < first < of / 4
    assert again == 0


@pytest.mark.slow
def test_what_cannot_be_read_is_one_message(env: dict[str, str], tmp_path: Path) -> None:
    for url, words in (
        ("s3://nobody/runs/one", "no such file, folder or bucket"),
        ("s3://lab/runs/three", "no such file, folder or bucket"),
        ("s3://lab/runs", "here are one, two"),
    ):
        done = said(env, tmp_path, "show", url)
        assert done.code == 2, done.stderr
        assert words in done.stderr
        assert done.stderr.count("error:") == 1


@pytest.mark.slow
def test_a_store_that_is_away_is_one_message(env: dict[str, str], tmp_path: Path) -> None:
    away = env | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}
    done = said(away, tmp_path, "show", "s3://lab/runs/one")
    assert done.code == 2, done.stderr
    assert "s3://lab/runs/one: cannot be reached, tried 4 times" in done.stderr
    assert done.stderr.count("error:") == 1
    assert "Traceback" not in done.stderr
