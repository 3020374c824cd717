"""Examples open with today's commands, which only read them, and hold nothing of their machine."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.support.cli import pyrometer

EXAMPLES = Path(__file__).parents[3] / "examples"
OPENED = {
    ("show", "slow-job"): "of the CPU of tasks and their Python workers is BatchEvalPython",
    ("flame", "slow-job", "-o", "flame.html"): "Hottest by self",
    ("ledger", "slow-job", "--task", "slowest"): "Why this one",
    ("show", "event-log/revenue.zstd"): "tasks were on the CPU for",
    ("experiment", "show", "join"): "faster",
    ("experiment", "history", "nightly"): "slower",
}
"""What a reader may type, and what the answer must hold."""
PLACES = re.compile(r"(?<![\w.])/(?:home|root|work|Users|mnt|media|build|builds)/[\w./-]*")
"""Where a machine keeps what is somebody's own; /opt, /srv and /tmp are those of the examples."""
NETWORK = re.compile(r"(?i)https?\.proxyHost|https?_proxy|index-url|://[\w.-]*(?:pypi|maven|nexus)")
"""How packages reach a machine: registries and proxies."""


def strings(path: Path) -> str:
    """All text of a file, that of a compressed one too."""
    if path.suffix == ".parquet":
        columns = pq.read_table(path).columns
        return "\n".join(str(value) for column in columns for value in column.to_pylist())
    if path.suffix == ".zstd":
        import zstandard

        with path.open("rb") as file:
            return zstandard.ZstdDecompressor().stream_reader(file).read().decode()
    return path.read_text()


def contents(folder: Path) -> dict[Path, bytes]:
    """All files below a folder, but for what `show` keeps there."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        path: path.read_bytes()
        for path in files
        if not path.match(".summary-*.json") and not path.match(".findings-*.json")
    }


@pytest.mark.slow
@pytest.mark.parametrize("words", OPENED, ids=" ".join)
def test_a_command_of_today_reads_it_and_leaves_it_as_it_is(words, tmp_path):
    copied = tmp_path / "examples"
    shutil.copytree(EXAMPLES, copied)
    before = contents(copied)
    arguments = [copied / word if (copied / word).exists() else word for word in words]
    done = pyrometer(*arguments, cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert OPENED[words] in " ".join(done.stdout.split())
    assert contents(copied) == before


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(EXAMPLES.rglob("*")) if p.is_file() and "apps" not in p.parts],
    ids=lambda path: str(path.relative_to(EXAMPLES)),
)
def test_nothing_of_the_machine_is_in_it(path):
    text = strings(path)
    assert not PLACES.findall(text)
    assert not NETWORK.findall(text)


def test_hosts_are_called_example():
    manifests = list(EXAMPLES.rglob("manifest.json"))
    assert manifests
    for path in manifests:
        assert re.findall(r'"hostname": ?"([^"]*)"', path.read_text()) == ["example"]


def test_git_holds_no_more_than_four_mebibytes():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "examples"], cwd=EXAMPLES.parent, capture_output=True, check=False
    )
    if listed.returncode:
        pytest.skip("this machine lacks a checkout with its history")
    names = listed.stdout.decode().split("\0")
    assert sum((EXAMPLES.parent / name).stat().st_size for name in names if name) < 4 * 2**20
