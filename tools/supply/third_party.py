"""Write the licences of what others wrote: `THIRD-PARTY.txt`, one for the wheel, one for the jar.

From the lock files, `third-party/` and the sources of the crates that cargo has loaded. `--check`
compares instead and exits with 1 if a file is not what it should be.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from . import licences, parts
from .parts import ROOT, Part

PLUGIN = "pyrometer/_bundled/pyrometer-plugin.jar"
RULE = "=" * 80
HEAD = """\
Third-party software in {what}
{underline}

Pyrometer itself is under the Apache License 2.0 (LICENSE). What it contains of others, in which
file, under which licence, by whom:
"""


def document(what: str, inside: Mapping[str, Sequence[Part]]) -> str:
    """List all parts by file, then each text once with the names of those that it belongs to."""
    lines = [HEAD.format(what=what, underline="=" * (len("Third-party software in ") + len(what)))]
    owners: dict[str, list[str]] = {}
    for file, held in inside.items():
        lines.append(f"{file}\n{'-' * len(file)}\n")
        lines += [_line(part) for part in held] or ["  Nothing of others."]
        lines.append("")
        for part in held:
            for text in licences.texts(part):
                names = owners.setdefault(text, [])
                if part.label not in names:
                    names.append(part.label)
    apache = (ROOT / "LICENSE").read_text()
    lines += [RULE, "The Apache License 2.0, of all that name it above:", RULE, "", apache]
    for text, names in owners.items():
        lines += [RULE, *_wrapped(f"Of {', '.join(names)}:"), RULE, "", text]
    return "\n".join(lines)


def _line(part: Part) -> str:
    said = f"  {part.label}: {' and '.join(licences.taken(part))}"
    if part.copyright:
        said += f". {part.copyright}"
    if part.note:
        said += f". {part.note}"
    return "\n".join(_wrapped(said, indent="      "))


def _wrapped(text: str, indent: str = "", width: int = 100) -> list[str]:
    lines, line = [], ""
    for word in text.lstrip().split(" "):
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = indent + word
        else:
            line = f"{line} {word}" if line else text[: len(text) - len(text.lstrip())] + word
    return [*lines, line]


def documents() -> dict[str, str]:
    """Path in the tree and content of each file."""
    inside = parts.wheel_parts()
    jar = {"This jar": inside[PLUGIN]}
    return {
        "THIRD-PARTY.txt": document("Pyrometer's wheel", inside),
        "jvm/plugin/src/main/resources/META-INF/THIRD-PARTY.txt": document(
            "Pyrometer's agent and Spark plugin", jar
        ),
    }


def main(arguments: Sequence[str]) -> None:
    """Write, or with `--check` compare."""
    stale = []
    for name, content in documents().items():
        path = ROOT / name
        if arguments == ["--check"]:
            if not path.exists() or path.read_text() != content:
                stale.append(name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    if stale:
        raise SystemExit(f"not as the lock files say: {', '.join(stale)}. Run: make third-party")


if __name__ == "__main__":
    main(sys.argv[1:])
