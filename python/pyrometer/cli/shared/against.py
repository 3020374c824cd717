"""``RUN… --against RUN…``: what changed from the first runs to the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from pyrometer.cli.shared.run_named import run_path
from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import emit_json, err, human

AGAINST = "--against"
AgainstOption = Annotated[
    list[Path] | None,
    typer.Option(
        AGAINST,
        metavar="RUN…",
        parser=run_path,
        help="Show what changed from the runs before this option (A) to those after it (B): the"
        " largest changes here, with -o the differential flame graph as a page.",
        show_default=False,
    ),
]


def repeated(words: Iterable[str], option: str) -> Iterator[str]:
    """Repeat an option before each of the words that follow it, up to the next option.

    Examples
    --------
    >>> " ".join(repeated(["a", "--against", "b", "c", "--json"], "--against"))
    'a --against b --against c --json'
    """
    inside = first = False
    for word in words:
        if word.startswith("-"):
            inside = first = word == option
        elif inside and not first:
            yield option
        else:
            first = False
        yield word


def apart(words: Iterable[str], option: str) -> Iterator[str]:
    """Write the value of an option as the word after it.

    Examples
    --------
    >>> " ".join(apart(["a", "--against=b", "c", "--json"], "--against"))
    'a --against b c --json'
    """
    for word in words:
        name, equals, value = word.partition("=")
        yield from (name, value) if equals and name == option else (word,)


class SeveralAgainst(TyperCommand):
    """A command whose ``--against`` takes all words up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, with the option repeated for each of its words.

        Raises
        ------
        UsageError
            If a run follows another option after ``--against``: it could belong to either side.
        """
        from pyrometer.store.remote.address import checked, is_url, shown
        from pyrometer.store.remote.opened import address

        args = list(apart(args, AGAINST))
        before = args[: args.index(AGAINST)] if AGAINST in args else args
        rest = super().parse_args(ctx, list(repeated(args, AGAINST)))
        # As the runs are called: a slash at the end is none of the name.
        words = [shown(checked(word)) if is_url(word) else str(Path(word)) for word in args]
        for run in map(address, ctx.params.get("run") or ()):
            if run not in words[: len(before)] and run in words:
                raise UsageError(
                    f"{run}: put all side-B runs directly after {AGAINST}",
                    f"pyrometer {ctx.info_name} RUN… {AGAINST} RUN…",
                )
        return rest


def print_difference(
    a: Sequence[Path], b: Sequence[Path], output: Path | None, as_json: bool
) -> None:
    """Compare two sides: print the largest changes, and write the page where one is named."""
    from rich.markup import escape

    from pyrometer.flame.difference.difference import frame_difference
    from pyrometer.flame.difference.page import write_difference
    from pyrometer.flame.difference.terminal import show_difference

    with err().status("comparing profiles"):
        difference = frame_difference(a, b) if output is None else write_difference(a, b, output)
    console = human(as_json)
    show_difference(console, difference)
    if output is not None:
        size = output.stat().st_size
        console.print(f"Page: {escape(str(output))} ({units.size(size)})", soft_wrap=True)
    if as_json:
        emit_json(difference)
