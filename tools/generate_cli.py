"""Write the reference of the command line from the commands themselves.

With ``--check`` nothing is written and the exit code is 1 when it is out of date.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from pyrometer.cli.main import VERBS, app

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "command-line.md"
COMMAND = "python tools/generate_cli.py"
HEAD = f"""# Commands and options

<!-- Generated from the commands by `{COMMAND}`; do not edit. -->

Every verb with its arguments, options and defaults, as `--help` prints them. What they mean in \
detail, exit codes and the fields of `--json`: [The command line](cli.md)."""


def page() -> str:
    """Render the reference."""
    top = typer.main.get_command(app)
    commands = [one for verb in VERBS for one in leaves(top.commands[verb], f"pyrometer {verb}")]  # type: ignore[attr-defined]
    out = [HEAD, "", "| command | what it does |", "|---|---|"]
    for name, command in commands:
        out.append(f"| [`{name}`](#{name.replace(' ', '-')}) | {cell(prose(command.help)[0])} |")
    for name, command in commands:
        out += ["", *section(name, command)]
    return "\n".join(out) + "\n"


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield every command that runs: a verb, or each verb of a group."""
    below = getattr(command, "commands", None)
    if not below:
        yield name, command
        return
    for word, one in below.items():
        yield from leaves(one, f"{name} {word}")


def section(name: str, command: Any) -> list[str]:
    """Render one command."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    words = [name, *(["[OPTIONS]"] if options else []), *(usage(one) for one in arguments)]
    out = [f"## {name}", "", "```", " ".join(words), "```"]
    for paragraph in prose(command.help):
        out += ["", text(paragraph)]
    if arguments:
        out += ["", "| argument | what |", "|---|---|"]
        out += [f"| `{cell(usage(one))}` | {cell(text(one.help or ''))} |" for one in arguments]
    if options:
        out += ["", "| option | default | what |", "|---|---|---|"]
        out += [
            f"| {names(one, command)} | {default(one)} | {cell(text(one.help or ''))} |"
            for one in options
        ]
    examples = example_lines(command.epilog)
    if examples:
        out += ["", "```", *examples, "```"]
    return out


def usage(argument: Any) -> str:
    """Render an argument as its command's usage shows it."""
    return str(argument.metavar or argument.name.upper())


def names(option: Any, command: Any) -> str:
    """Render the spellings of an option, with what follows it."""
    spelled = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    if option.is_flag:
        return spelled
    follows = option.metavar or option.display_type(typer.Context(command)).strip("<>")
    return f"{spelled} `{cell(follows)}`" + (" …" if option.multiple else "")


def default(option: Any) -> str:
    """Render what holds where the option is not given."""
    value = option.default
    if option.required:
        return "required"
    if option.is_flag or callable(value) or value in (None, "", [], ()):
        return ""
    return f"`{cell(str(value))}`"


def prose(written: str | None) -> list[str]:
    """Divide a help text into paragraphs, each of one line."""
    cleaned = inspect.cleandoc(written or "")
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", cleaned) if part.strip()]


def text(words: str) -> str:
    """Turn what stands in help into Markdown: options and code in monospace, no stray markup."""
    words = words.replace("``", "`")
    parts = re.split(r"(`[^`]*`)", words)
    for at in range(0, len(parts), 2):
        plain = parts[at].replace("*", r"\*").replace("<", "&lt;")
        parts[at] = re.sub(r"(?<![\w`-])(--?[a-z][a-z-]*)(?![\w`])", r"`\1`", plain)
    return "".join(parts)


def cell(words: str) -> str:
    """Keep a bar from ending a cell."""
    return words.replace("|", r"\|")


def example_lines(epilog: str | None) -> list[str]:
    """Take the commands out of an epilog."""
    lines = (line.strip() for line in (epilog or "").replace("Example:", "").splitlines())
    return [line for line in lines if line.startswith("pyrometer ")]


def main() -> int:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if it is out of date")
    check = parser.parse_args().check
    rendered = page()
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == rendered:
        return 0
    if not check:
        PAGE.write_text(rendered, encoding="utf-8")
    verdict = f"out of date; run {COMMAND}" if check else "written"
    print(f"{PAGE.relative_to(ROOT)}: {verdict}", file=sys.stderr)
    return int(check)


if __name__ == "__main__":
    sys.exit(main())
