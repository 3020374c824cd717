"""A verb with subcommands whose first word may be left out: ``pyrometer tune WORKLOAD``."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class DefaultVerb(TyperGroup):
    """A group in which what is no subcommand is given to the first one, if that can be meant."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the first subcommand before words that begin with none."""
        helps = set(ctx.help_option_names)
        name, first = next(iter(self.commands.items()))
        if args and args[0] not in self.commands and args[0] not in helps:
            takes_words = any(one.param_type_name == "argument" for one in first.params)
            # Where the first one takes options alone, a word is a subcommand, mistyped.
            if takes_words or args[0].startswith("-"):
                args = [name, *args]
        return super().parse_args(ctx, args)
