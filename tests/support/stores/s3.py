"""Folders behind S3's own protocol, and Pyrometer in the environment that reads it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import needs
from tests.support.cli import Done, environment

from pyrometer.cli.main import FETCHED

PACKAGE = Path(__file__).parents[3] / "python"
SERVER = Path(__file__).with_name("s3_server.py")
SECRET = "wJalrXUtnFEMI-K7MDENG-bPxRfiCY"


@contextmanager
def served(folders: dict[str, Path]) -> Iterator[str]:
    """Serve folders by their addresses (``s3://lab/…``); gives the endpoint."""
    words = [
        word for url, root in folders.items() for word in (root, url.removeprefix("s3://lab/"))
    ]
    server = subprocess.Popen(
        [needs.remote_python(), SERVER, *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert server.stdin is not None
    assert server.stdout is not None
    yield server.stdout.readline().strip()
    server.stdin.close()
    server.wait(30)


def environment_of(endpoint: str, folder: Path) -> dict[str, str]:
    """Give an environment with credentials, and a cache below a folder."""
    return environment(
        PYTHONPATH=str(PACKAGE), XDG_CACHE_HOME=str(folder / "cache"), AWS_ENDPOINT_URL=endpoint,
        AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY=SECRET, AWS_DEFAULT_REGION="us-east-1",
        **{FETCHED: "1"},
    )  # fmt: skip


def said(env: dict[str, str], cwd: Path, *words: str | Path) -> Done:
    """Run a verb of Pyrometer there."""
    command = [str(needs.remote_python()), "-m", "pyrometer", *map(str, words)]
    done = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)
