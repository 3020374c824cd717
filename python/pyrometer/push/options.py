"""Options of an upload, from the command line or the environment; none of them holds a secret.

What is sent of a run, and how finely.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyrometer.core.errors import UsageError
from pyrometer.push.server import Server, parse_url

# Labels of samples: where in the application they were taken.
BY = ("stage", "operator", "sql", "thread_role", "state")


@dataclass(frozen=True)
class Settings:
    """What is sent, and how finely.

    Parameters
    ----------
    every_ns : int
        Length of a period.
    by : tuple of str
        Labels of samples, of :data:`BY`.
    operators, stages : int
        Values of these labels kept in one period of one event, the heaviest; the
        rest is ``other``. So are SQL executions, as many as stages.
    part_bytes : int
        Size, uncompressed, at which a profile is parted. Pyroscope takes 4 MiB and by default
        2 MB at once.
    part_samples : int
        Samples at which it is parted; Pyroscope takes 16000.
    labels : mapping of str to str
        Labels of every profile.
    """

    every_ns: int = 10_000_000_000
    by: tuple[str, ...] = BY
    operators: int = 12
    stages: int = 24
    part_bytes: int = 1 << 20
    part_samples: int = 10_000
    labels: Mapping[str, str] = field(default_factory=dict)

    def limit(self, label: str) -> int:
        """Values of a label kept in a period."""
        return self.operators if label == "operator" else self.stages


@dataclass(frozen=True)
class Window:
    """The time that a recording's chunks cover."""

    start_wall_ns: int
    end_wall_ns: int
    start_mono_ns: int | None

    def slices(self, every_ns: int) -> int:
        """Into how many periods of about a length it is parted."""
        return max(1, round((self.end_wall_ns - self.start_wall_ns) / every_ns))

    def width_ns(self, every_ns: int) -> int:
        """Length of these periods; above 0, also where the wall clock was set back meanwhile.

        Examples
        --------
        >>> Window(0, 25_000_000_000, None).width_ns(10_000_000_000)
        12500000000
        >>> Window(25_000_000_000, 0, None).width_ns(10_000_000_000)
        1
        """
        length_ns = self.end_wall_ns - self.start_wall_ns
        return max(1, math.ceil(length_ns / self.slices(every_ns)))


LABELS = "PYROMETER_PUSH_LABELS"
TENANT = "PYROMETER_PUSH_TENANT"
USER = "PYROMETER_PUSH_USER"
TOKEN_FILE = "PYROMETER_PUSH_TOKEN_FILE"  # noqa: S105

# Labels that identify a run, executor or sample.
OWN = ("app_id", "executor", "host", "role", "run_id", *BY)


def from_environment(
    url: str, environment: Mapping[str, str] = os.environ
) -> tuple[Server, Settings]:
    """Read the settings of a process that was given only the address from its environment.

    Raises
    ------
    UsageError
        If a variable cannot be understood.
    """
    token_file = environment.get(TOKEN_FILE)
    server = make_server(
        url,
        environment.get(TENANT),
        environment.get(USER),
        Path(token_file) if token_file else None,
    )
    return server, read_settings(environment.get(LABELS, "").split())


def make_server(url: str, tenant: str | None, user: str | None, token_file: Path | None) -> Server:
    """Read the address, and the token from its file.

    Raises
    ------
    UsageError
        If one of them cannot be used.
    """
    if user and token_file is None:
        raise UsageError("--user goes with a token", "--token-file FILE")
    return Server(parse_url(url), tenant or None, user or None, _token(token_file))


def read_settings(labels: Sequence[str], every: str = "10s", by: str = ",".join(BY)) -> Settings:
    """Read ``--label``, ``--every`` and ``--by``.

    Raises
    ------
    UsageError
        If one of them cannot be understood.

    Examples
    --------
    >>> read_settings(["cluster=blue"], "1m", "stage").every_ns
    60000000000
    """
    names = tuple(name.strip() for name in by.split(",") if name.strip())
    for name in names:
        if name not in BY:
            raise UsageError(f"--by {name}: not one of {', '.join(BY)}")
    return Settings(_nanoseconds(every), tuple(dict.fromkeys(names)), labels=_labels(labels))


def _labels(given: Sequence[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for text in given:
        name, _, value = text.partition("=")
        if not value or not re.fullmatch(r"(?!__)[A-Za-z_][A-Za-z0-9_]*", name):
            raise UsageError(f"--label {text}: not NAME=VALUE", "--label cluster=blue")
        if name in OWN:
            raise UsageError(f"--label {text}: {name} is one of our own labels")
        labels[name] = value
    return labels


def _nanoseconds(text: str) -> int:
    match = re.fullmatch(r"(\d{1,4})(s|m)", text)
    seconds = int(match[1]) * (60 if match[2] == "m" else 1) if match else 0
    if not 1 <= seconds <= 3600:
        raise UsageError(f"--every {text}: not a time from 1s to 60m", "--every 10s")
    return seconds * 1_000_000_000


def _token(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise UsageError(f"--token-file {path}: {reason}") from error
    if not token:
        raise UsageError(f"--token-file {path}: empty")
    return token
