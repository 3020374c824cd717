"""Check what others wrote against the policy in `deny.toml`, and find the texts that go with it.

As a program: licences, sources and banned crates of everything that is compiled or packed, without
a network; exit 1 and a line for each thing that is not allowed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from . import parts
from .parts import ROOT, Part

# A sentence by which the text of a licence is known.
KNOWN_BY = {
    "Apache-2.0": r"Apache License Version 2\.0, January 2004",
    "Apache-2.0 WITH LLVM-exception": r"LLVM Exceptions to the Apache 2\.0 License",
    "BSD-3-Clause": r"Redistribution and use in source and binary forms.*Neither the name",
    "CC0-1.0": r"CC0 1\.0 Universal",
    "GPL-3.0-or-later WITH GCC-exception-3.1": r"GCC RUNTIME LIBRARY EXCEPTION",
    "LGPL-2.1-or-later": r"GNU LESSER GENERAL PUBLIC LICENSE Version 2\.1",
    "MIT": r"Permission is hereby granted, free of charge, to any person obtaining a copy",
    "Unicode-3.0": r"UNICODE LICENSE V3",
    "Zlib": r"This software is provided 'as-is', without any express or implied warranty",
}
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
TEXT_FILE = re.compile(r"(?i)(licen[cs]e|copying|unlicense|copyright)")
NOTICE_FILE = re.compile(r"(?i)notice")


@lru_cache
def policy() -> dict[str, Any]:
    """Read `deny.toml`."""
    return tomllib.loads((ROOT / "deny.toml").read_text())


def choose(expression: str, allowed: Sequence[str]) -> tuple[str, ...] | None:
    """Licences to take of an SPDX expression: the first allowed of several offered; None if none.

    Examples
    --------
    >>> choose("(MIT OR Apache-2.0) AND Unicode-3.0", ["Apache-2.0", "MIT", "Unicode-3.0"])
    ('Apache-2.0', 'Unicode-3.0')
    >>> choose("MIT/Apache-2.0", ["Apache-2.0"])
    ('Apache-2.0',)
    >>> choose("GPL-2.0-only OR Zlib AND GPL-2.0-only", ["Zlib"]) is None
    True
    """
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either() -> tuple[str, ...] | None:
        offered = [both()]
        while words and words[0] == "OR":
            words.pop(0)
            offered.append(both())
        possible = [each for each in offered if each is not None]
        return min(possible, key=lambda ids: max(map(allowed.index, ids)), default=None)

    def both() -> tuple[str, ...] | None:
        together = [one()]
        while words and words[0] == "AND":
            words.pop(0)
            together.append(one())
        if any(each is None for each in together):
            return None
        return tuple(sorted({name for each in together if each for name in each}))

    def one() -> tuple[str, ...] | None:
        word = words.pop(0)
        if word == "(":
            inside = either()
            words.pop(0)
            return inside
        if words and words[0] == "WITH":
            words.pop(0)
            word = f"{word} WITH {words.pop(0)}"
        return (word,) if word in allowed else None

    return either() if words else None


def taken(part: Part) -> tuple[str, ...]:
    """Licences under which a part is used.

    Raises
    ------
    SystemExit
        If the policy allows none of those offered.
    """
    allowed: list[str] = policy()["licenses"]["allow"]
    if part.kind == "linked":
        # Each is in third-party/parts.toml because somebody looked at it.
        allowed = [*allowed, *(name for name in KNOWN_BY if name not in allowed)]
    chosen = choose(part.licence, allowed)
    if chosen is None:
        raise SystemExit(f"{part.label}: licence {part.licence or 'unknown'!r} is not allowed")
    return chosen


def is_text_of(licence: str, text: str) -> bool:
    """Whether it is the text of that licence."""
    return re.search(KNOWN_BY[licence], " ".join(text.split())) is not None


def texts(part: Part) -> list[str]:
    """Texts that go with a part: of each licence taken, and notices. Apache's own is in `LICENSE`.

    Raises
    ------
    SystemExit
        If a licence's text is not to be found, or a file of licences inside a crate is one that
        nobody has looked at.
    """
    found = list(_of_crate(part)) if part.folder else list(_declared(part))
    for licence in taken(part):
        if licence != "Apache-2.0" and not any(is_text_of(licence, text) for text in found):
            raise SystemExit(f"{part.label}: no text of {licence}. Add it to {parts.DECLARED}")
    return found


def _declared(part: Part) -> Iterator[str]:
    """Of a jar or a linked library: the files that parts.toml names."""
    said = parts.declared()[part.kind][part.name]
    for name in said.get("texts", ()):
        yield _read(ROOT / "third-party" / "texts" / name)


def _of_crate(part: Part) -> Iterator[str]:
    """Of a crate: its own files, as far as they belong to a licence that is taken."""
    assert part.folder is not None
    said = parts.declared()["crates"].get(part.name, {})
    for name in (*said.get("texts", ()), *said.get("ignore", ())):
        if not (part.folder / name).is_file():
            raise SystemExit(f"{part.label}: has no {name} any more. Look what became of it")
    wanted = [name for name in taken(part) if name != "Apache-2.0"]
    for path in sorted(part.folder.rglob("*")):
        if not path.is_file() or path.suffix in (".rs", ".c", ".h", ".py"):
            continue
        name = path.relative_to(part.folder).as_posix()
        if NOTICE_FILE.match(path.name) or name in said.get("texts", ()):
            yield _read(path)
        elif TEXT_FILE.match(path.name) and name not in said.get("ignore", ()):
            if "/" in name:
                raise SystemExit(f"{part.label}: {name}? Say in {parts.DECLARED} what it is")
            text = _read(path)
            if any(is_text_of(licence, text) for licence in wanted):
                yield text


def _read(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n") + "\n"


def refused(found: dict[str, Any]) -> Iterator[str]:
    """List what is not allowed in all crates, also those of the build and of tests."""
    banned = {each["crate"]: each["reason"] for each in policy()["bans"]["deny"]}
    allowed = policy()["licenses"]["allow"]
    for package in found["packages"]:
        label = f"{package['name']} {package['version']}"
        if package["source"] is None:
            continue
        if package["source"] != CRATES_IO:
            yield f"{label}: comes from {package['source']}, not from crates.io"
        if package["name"] in banned:
            yield f"{label}: {banned[package['name']]}"
        if choose(package["license"] or "", allowed) is None:
            yield f"{label}: licence {package['license'] or 'unknown'} is not in deny.toml"


def main(accounts: Iterable[dict[str, Any]] = ()) -> None:
    """Print what is refused; exit 1 if anything is."""
    wrong = {line for found in accounts for line in refused(found)}
    for line in sorted(wrong):
        print(line)
    for inside in parts.wheel_parts().values():
        for part in inside:
            texts(part)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main(parts.metadata(target) for target in parts.TARGETS)
