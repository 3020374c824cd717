"""What failed: the application's own error, in a line, with where it was.

An error is the cause of the end only if the program did nothing more after it. Where that is not
so, or no error is known, this is said.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyrometer.accounts.stage_names import at_file, stage_name
from pyrometer.core.model import Model
from pyrometer.core.redaction import redacted
from pyrometer.summary.story import short
from pyrometer.terminal.harmless import harmless

if TYPE_CHECKING:
    from pyrometer.window.scope import Scope

MOST = 160
"""Characters of a message."""
_TAIL_BYTES = 1 << 17

_PYTHON = "Traceback (most recent call last):"
_ERROR = re.compile(r"(?P<error>[A-Za-z_][\w.$]*)(?:: (?P<message>.*))?")
_JAVA = re.compile(
    r"(?:Exception in thread \"[^\"]*\" |Caused by: |: |^)"
    r"(?P<error>(?:[a-z_]\w*\.)+[A-Z][\w$]*): (?P<message>[^\n]*)",
    re.MULTILINE,
)
_CONDITION = re.compile(r"\[(?P<error>[A-Z][A-Z0-9_.]+)\] (?P<message>.*)")
_LINE = re.compile(r'  File "(?P<file>[^"]+)", line (?P<line>\d+)')
_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_NOT_OURS = ("site-packages", "pyspark.zip", "py4j", "<frozen", "/lib/python")


class Failure(Model):
    """Why a run failed.

    Attributes
    ----------
    text : str
        In a sentence or two, as the verdict begins.
    error : str or None
        Class of the exception, or Spark's error condition where its log has no class.
    message : str or None
        First line of its message, shortened; secrets are struck.
    line : str or None
        The user's line that raised it.
    app_index, sql_id, stage_id : int or None
        The query and the stage that failed.
    """

    text: str
    error: str | None = None
    message: str | None = None
    line: str | None = None
    app_index: int | None = None
    sql_id: int | None = None
    stage_id: int | None = None


def failure(scope: Scope) -> Failure | None:
    """Say what failed; None for a run that did not, or of which nothing says so."""
    manifest = scope.run.manifest
    if manifest is not None and manifest.state != "failed":
        return None
    last = _last_failed(scope)
    if manifest is None:
        return None if last is None or last["went_on"] else _of_spark(last)
    results = [one.error for one in manifest.results if one.error]
    output = [_tail(scope.run.paths.stderr), _tail(scope.run.paths.stdout)]
    for text, whole in [*((one, True) for one in results[-1:]), *((one, False) for one in output)]:
        found = _exception_in(text, whole)
        if found is not None:
            if last is not None and not last["went_on"]:
                found |= {key: last[key] for key in ("app_index", "sql_id", "stage_id")}
                return _failure(found, f" in {_where(last)}")
            return _failure(found, "")
    end = manifest.exit
    how = f"by {end.signal}" if end.signal else f"with exit code {end.code}"
    if last is not None and not last["went_on"]:
        return _of_spark(last)
    if last is not None:
        why = f": {_where(last)} had failed, but the program went on after it"
    elif scope.tables.query("SELECT 1 FROM apps LIMIT 1"):
        why = ": Spark's log has no failed query, job or stage"
    else:
        why = ""
    return Failure(text=f"Failed {how}{why}; the error is in what the command printed.")


def _of_spark(last: dict[str, Any]) -> Failure:
    found = _exception_in(last["error"] or "", whole=True)
    if found is None:
        return Failure(
            text=f"Failed in {_where(last)}; the log does not say why.",
            **{key: last[key] for key in ("app_index", "sql_id", "stage_id")},
        )
    found |= {key: last[key] for key in ("app_index", "sql_id", "stage_id")}
    return _failure(found, f" in {_where(last)}")


def _failure(found: dict[str, Any], where: str) -> Failure:
    error, message = found["error"], found["message"]
    what = ": ".join(part for part in (error, message) if part)
    at = f" at {found['line']}" if found.get("line") else ""
    return Failure(text=f"Failed{at}{where}: {what}".rstrip(".;") + ".", **found)


def _where(last: dict[str, Any]) -> str:
    """Name the stage and the query."""
    called = stage_name(last["name"], last["description"])
    parts = []
    if last["stage_id"] is not None:
        parts.append(f"stage {last['stage_id']}")
    if last["sql_id"] is not None:
        parts.append(f"query {last['sql_id']}")
    elif not parts:
        parts.append(f"job {last['job_id']}")
    text = " of ".join(parts)
    return f"{text} ({short(_clean(at_file(called)))})" if called else text


def _last_failed(scope: Scope) -> dict[str, Any] | None:
    """Give the query or job that failed last, and whether the program began anything after it."""
    rows = scope.tables.records(
        """
        WITH units AS (
          SELECT app_index, sql_id, NULL::BIGINT AS job_id, start_wall_ns AS since,
            end_wall_ns AS until, error, error IS NOT NULL AND error <> '' AS failed
          FROM sql_executions
          UNION ALL
          SELECT app_index, sql_id, job_id, submit_wall_ns, end_wall_ns, error, status = 'failed'
          FROM jobs),
        last AS (
          SELECT * FROM units WHERE failed
          ORDER BY until DESC NULLS FIRST, sql_id IS NULL, job_id NULLS LAST LIMIT 1),
        stage AS (
          SELECT s.* FROM stages s JOIN last l ON s.app_index = l.app_index
            AND (s.sql_id = l.sql_id OR s.job_id = l.job_id)
          WHERE s.status = 'failed'
          ORDER BY s.complete_wall_ns DESC NULLS LAST, s.stage_attempt DESC LIMIT 1)
        SELECT l.app_index, l.sql_id, l.job_id, s.stage_id, s.name, q.description,
          coalesce(nullif(l.error, ''), s.failure_reason) AS error,
          EXISTS (FROM units u WHERE u.app_index >= l.app_index AND u.since > l.until) AS went_on
        FROM last l LEFT JOIN stage s ON true
        LEFT JOIN sql_executions q ON q.app_index = l.app_index AND q.sql_id = l.sql_id
        """
    )
    return rows[0] if rows else None


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            return file.read(_TAIL_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _exception_in(text: str, whole: bool) -> dict[str, Any] | None:
    """Find an exception in a text; if all of it is a message, its first line will do."""
    found = _of_python(text) or _of_java(text)
    if found is None and (condition := _CONDITION.search(text)):
        found = {"error": condition["error"], "message": condition["message"]}
    if found is None and whole and text.strip():
        found = {"error": None, "message": text.strip().splitlines()[0]}
    if found is None:
        return None
    return {
        key: None if value is None else short(_clean(value), MOST) for key, value in found.items()
    }


def _of_python(text: str) -> dict[str, Any] | None:
    """Find the exception that the last traceback ends with, and the user's innermost line."""
    _, mark, rest = text.rpartition(_PYTHON)
    if not mark:
        return None
    line = None
    for one in rest.lstrip("\n").splitlines():
        if at := _LINE.match(one):
            if not any(word in at["file"] for word in _NOT_OURS):
                line = f"{at['file'].rpartition('/')[2]}:{at['line']}"
        elif one[:1].strip():
            found = _ERROR.fullmatch(one)
            if found is None:
                return None
            name = found["error"].rpartition(".")[2]
            return {"error": name, "message": found["message"], "line": line}
    return None


def _of_java(text: str) -> dict[str, Any] | None:
    every = list(_JAVA.finditer(text))
    if not every:
        return None
    return {"error": every[-1]["error"].rpartition(".")[2], "message": every[-1]["message"]}


def _clean(text: str) -> str:
    return redacted(harmless(_COLOURS.sub("", text)))
