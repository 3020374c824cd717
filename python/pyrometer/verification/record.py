"""Verdicts that are kept: how findings of each rule fared when they were tried.

A folder of one's own, or of a team, with a file for each host and user: one verdict a line
(``pyrometer/verdict/1``), appended under a lock, never changed. Who may read the folder may read
its files. A damaged line is skipped, and said so.
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pyrometer.core.errors import CapabilityError
from pyrometer.core.estimate import Estimate
from pyrometer.core.json_text import parse_json
from pyrometer.core.redaction import redacted
from pyrometer.explain.schema import ENOUGH_JOBS, Judgement, Proof, Record, Tried
from pyrometer.explain.words import LEAST_BIAS
from pyrometer.store.private import FILE_MODE, make_private
from pyrometer.verification.learned import bias_of, error_of

VARIABLE = "PYROMETER_VERDICTS"
TRIED = frozenset({"proven", "refuted", "no_difference"})


class Verdict(BaseModel):
    """One line: a finding, what was predicted, and what an experiment measured.

    Attributes
    ----------
    id : str
        Of the experiment's outcome: the same one is kept once.
    app : int
        Number of the application; 0 where the run has one.
    place : str
        Where the cause is, in words.
    predicted_ns, measured_ns : Estimate or None
        Elapsed time of the run that the remedy saves.
    job : str
        What a command runs, whatever its arguments; empty where ``workload`` names the job, or
        its words name no script, class or jar.
    bias_ratio : float
        What the prediction was multiplied by, for what trials before it had saved.
    of_run : bool
        The data were those of the run, not smaller.
    """

    schema_name: Literal["pyrometer/verdict/1"] = Field("pyrometer/verdict/1", alias="schema")
    id: str
    code: str
    app: int = 0
    place: str
    run_id: str
    workload: str
    job: str = ""
    verdict: Judgement
    predicted_ns: Estimate
    measured_ns: Estimate | None = None
    bias_ratio: float = 1.0
    of_run: bool = True
    blocks: int = 0
    remedy: str = ""
    reason: str | None = None
    notes: list[str] = Field(default_factory=list)
    experiment: str
    wall_ns: int
    pyrometer_version: str

    model_config = ConfigDict(populate_by_name=True, extra="allow")

    @property
    def saved_ratio(self) -> float | None:
        """What was saved, of what is predicted without earlier trials; ``None``: that is open.

        Nothing, where no saving could be measured.
        """
        predicted = self.predicted_ns.value
        if self.verdict not in TRIED or not self.of_run or not predicted or predicted < 0:
            return None
        measured = None if self.measured_ns is None else self.measured_ns.value
        return (measured or 0.0) * self.bias_ratio / predicted


@dataclass(frozen=True)
class Kept:
    """What a folder holds, the oldest first; and which lines could not be read, with the reason."""

    verdicts: Sequence[Verdict] = ()
    unread: Sequence[str] = field(default_factory=tuple)


def folder_of(asked: Path | None, environment: Mapping[str, str] = os.environ) -> Path:
    """Give the folder of verdicts: as asked for, of the variable, or the user's own.

    Examples
    --------
    >>> folder_of(None, {"PYROMETER_VERDICTS": "/team/verdicts"}).as_posix()
    '/team/verdicts'
    """
    if asked is not None:
        return asked
    named = environment.get(VARIABLE)
    return Path(named) if named else Path.home() / ".local/share/pyrometer/verdicts"


def keep(folder: Path, verdict: Verdict) -> bool:
    """Append a verdict; it is on the disk when this returns.

    Returns
    -------
    bool
        Whether it is new: the outcome of an experiment counts once.

    Raises
    ------
    CapabilityError
        If it cannot be written; nothing of it remains then.
    """
    line = redacted(verdict.model_dump_json(by_alias=True, exclude_none=True)).encode() + b"\n"
    path = folder / f"{_word(platform.node())}-{os.geteuid()}.ndjson"
    # The folder may be one that others write to: no link of theirs is followed.
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        make_private(folder)
        descriptor = os.open(path, flags, FILE_MODE)
        try:
            _share(descriptor, folder)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if any(one.id == verdict.id for one in read(folder).verdicts):
                return False
            _append(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise CapabilityError(
            f"{path} cannot be written: {error.strerror}",
            f"name another folder: --verdicts, {VARIABLE}",
        ) from error
    return True


def _share(descriptor: int, folder: Path) -> None:
    """Let those read a file of ours who may read its folder: a team's is open to the team."""
    found = os.fstat(descriptor)
    mode = stat.S_IMODE(found.st_mode)
    missing = folder.stat().st_mode & 0o044 & ~mode
    if missing and found.st_uid == os.geteuid():
        os.fchmod(descriptor, mode | missing)


def _append(descriptor: int, line: bytes) -> None:
    size = os.fstat(descriptor).st_size
    # A kill in the middle of a write leaves half a line: it must not take this one with it.
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        line = b"\n" + line
    written = 0
    try:
        while written < len(line):
            written += os.write(descriptor, line[written:])
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, size)
        raise


def read(folder: Path) -> Kept:
    """Read all verdicts of a folder; none where there is no such folder."""
    found: dict[str, Verdict] = {}
    unread: list[str] = []
    try:
        paths = sorted(folder.glob("*.ndjson"))
    except OSError as error:
        return Kept((), (f"{folder}: {error.strerror}",))
    for path in paths:
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError as error:
            unread.append(f"{path}: {error.strerror}")
            continue
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                one = Verdict.model_validate(parse_json(line))
            except (ValueError, ValidationError):
                unread.append(f"{path}:{number}: {_unlike(line)}")
                continue
            found.setdefault(one.id, one)
    ordered = sorted(found.values(), key=lambda one: (one.wall_ns, one.id))
    return Kept(tuple(ordered), tuple(unread))


def _unlike(line: bytes) -> str:
    newer = re.search(rb'"schema":\s*"pyrometer/verdict/(?!1")\d+"', line)
    return "a newer Pyrometer wrote it" if newer else "not a verdict: cut or edited"


def records(verdicts: Iterable[Verdict]) -> dict[str, Record]:
    """Give how findings fared, by the rule's code: what `explain` learns for its intervals.

    Of an experiment that went on after a verdict, the last one counts alone.

    Examples
    --------
    >>> records([])
    {}
    """
    by_code: dict[str, list[Verdict]] = {}
    for one in _last(verdicts):
        if one.verdict in TRIED:
            by_code.setdefault(one.code, []).append(one)
    found = {}
    for code, tried in sorted(by_code.items()):
        jobs: dict[str, list[float]] = {}
        for one in tried:
            if (ratio := one.saved_ratio) is not None:
                jobs.setdefault(one.job or one.workload or one.run_id, []).append(ratio)
        each = [ratio for those in jobs.values() for ratio in those]
        bias = 1.0
        if len(jobs) >= ENOUGH_JOBS:
            each = [median(those) for those in jobs.values()]
            bias = max(bias_of(each), LEAST_BIAS)
        found[code] = Record(
            tried_count=len(tried),
            proven_count=sum(one.verdict == "proven" for one in tried),
            jobs_count=len(jobs),
            error_ratio=error_of(each, bias) if each else None,
            bias_ratio=bias,
        )
    return found


def _last(verdicts: Iterable[Verdict]) -> Iterable[Verdict]:
    """Give the last verdict of each experiment."""
    return {
        (one.run_id, one.experiment, one.code, one.app, one.place): one
        for one in sorted(verdicts, key=lambda one: (one.wall_ns, one.id))
    }.values()


def proofs(verdicts: Iterable[Verdict]) -> dict[str, dict[Tried, Proof]]:
    """Give the latest verdict on what was tried, by run.

    One that did not decide counts only where none of another experiment did.
    """
    found: dict[str, dict[Tried, Proof]] = {}
    for one in sorted(_last(verdicts), key=lambda one: (one.verdict in TRIED, one.wall_ns, one.id)):
        found.setdefault(one.run_id, {})[one.code, one.app, one.place] = Proof(
            verdict=one.verdict, measured=one.measured_ns, experiment=one.experiment,
            reason=one.reason,
        )  # fmt: skip
    return found


def _word(host: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", host).strip("-.") or "host"
