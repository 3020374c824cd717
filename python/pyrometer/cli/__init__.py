"""The command line: one verb, one file; the only place that prints or exits.

A verb lives in ``pyrometer/cli/<room>/<verb>.py``, where rooms are the headings of ``--help``, and
holds ``app``, a ``typer.Typer`` (one command makes a plain verb, several make a group); a group's
commands that are long have files of their own beside it. :mod:`pyrometer.cli.main` lists the verbs
and imports one only when it is asked for, so anything heavy is imported inside the command's
function. What several verbs need is in ``shared/``.
Errors are raised as :class:`pyrometer.core.errors.PyrometerError`; a code other than 0 without an
error is ``raise typer.Exit(code)``.
"""
