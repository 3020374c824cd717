"""What every verb needs to print: human text to stderr or stdout, JSON as the last line."""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console as Console

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON as the last line of stdout, for programs.")
]


@cache
def err() -> Console:
    """Return the console for human text beside a program's output (stderr)."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


@cache
def out() -> Console:
    """Return the console for human text that is the verb's result (stdout)."""
    from rich.console import Console

    return Console(highlight=False)


def human(as_json: bool) -> Console:
    """Where a reading verb writes its text: stdout, or stderr if JSON goes to stdout."""
    return err() if as_json else out()


def emit_json(value: Any) -> None:
    """Write one line of JSON to stdout. Call it last.

    Parameters
    ----------
    value : Any
        A pydantic model or plain data; keys that end in a unit hold that unit.
    """
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        value = dump(mode="json", by_alias=True)
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()


def say_error(message: str, remedy: str | None) -> None:
    """Print an error: what is wrong, then what to do next."""
    from rich.markup import escape

    console = err()
    console.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
    if remedy:
        console.print(f"  [bold]try:[/] {escape(remedy)}", soft_wrap=True)
