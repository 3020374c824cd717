"""Which options stand on the command line, whatever their values are, and those without effect."""

from __future__ import annotations

import typer

from pyrometer.core.errors import UsageError


def typed(context: typer.Context, *names: str) -> list[str]:
    """Give those of some parameters that were typed, as options are written.

    Parameters
    ----------
    *names : str
        Names of parameters of the verb's function.
    """
    found = []
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        if option.name in names and source is not None and source.name == "COMMANDLINE":
            found.append(max(option.opts, key=len))
    return found


def refuse(context: typer.Context, *names: str, of: str, where: str) -> None:
    """Refuse options that would have no effect.

    Parameters
    ----------
    *names : str
        Names of parameters of the verb's function.
    of : str
        What they are for.
    where : str
        Where they do nothing, beginning with a preposition.

    Raises
    ------
    UsageError
        If one of them was typed.
    """
    for option in typed(context, *names):
        raise UsageError(f"{option} is for {of}: it has no effect {where}", "leave it out")


def refuse_beside(context: typer.Context, *effective: str, of: str, where: str) -> None:
    """Refuse every option but ``--json`` and those that have an effect."""
    options = [str(one.name) for one in context.command.params if one.param_type_name == "option"]
    others = [name for name in options if name not in ("as_json", *effective)]
    refuse(context, *others, of=of, where=where)
