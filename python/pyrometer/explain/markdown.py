"""Findings as Markdown, for an issue tracker: GitHub's and GitLab's dialect.

What a log says is untrusted text. It makes no markup, no link, and calls nobody: words that a
tracker takes for a mention, an issue or an address stand in code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.explain import words
from pyrometer.explain.manual import manual_of
from pyrometer.explain.schema import Finding, Findings, Note, Remedy
from pyrometer.terminal.harmless import harmless

MOST_CHARACTERS = 2000
"""Of one text from a log."""
_LINKED = re.compile(r"[@#]|GH-\d|://|www\.|[\w.+-]!\d|\$", re.IGNORECASE)
_MARKUP = re.compile(r"([\\`*_\[\]<>|~&])")
_TICKED = re.compile(r"(?<![^\s(])(`[^`\s](?:[^`]*[^`\s])?`)(?![^\s),.;:])")
_BEGINS = re.compile(r"^(\d{0,9})([#+=:.)-])(?=$|[\s#=:-])")
"""What makes a list, a heading or a rule of a line."""


def page(found: Findings, everything: bool = False) -> str:
    """Write findings as Markdown.

    Parameters
    ----------
    found : Findings
        Of one window.
    everything : bool
        Also those below the noise.
    """
    blocks = list(_blocks(found, everything))
    return "\n\n".join(block.rstrip() for block in blocks if block.strip()) + "\n"


def prose(text: str, in_table: bool = False) -> str:
    r"""Write a text that came from elsewhere, on one line; of markup, single backticks count.

    Examples
    --------
    >>> prose("a|b <b>*x*</b> @all #12 `run`")
    'a\\|b \\<b\\>\\*x\\*\\</b\\> `@all` `#12` `run`'
    """
    parts = _TICKED.split(" ".join(_clean(text).split()))
    word = partial(_word, in_table=in_table)
    written = "".join(
        code(part[1:-1], in_table) if at % 2 else re.sub(r"\S+", word, part)
        for at, part in enumerate(parts)
    )
    return _BEGINS.sub(r"\1\\\2", written)


def code(text: str, in_table: bool = False) -> str:
    r"""Write a text as code, on one line; a bar would end a cell even in code.

    Examples
    --------
    >>> code("a"), code("a`b"), code("`"), code("a|b", in_table=True)
    ('`a`', '``a`b``', '`` ` ``', '`a\\|b`')
    """
    line = " ".join(_clean(text).split())
    if not line:
        return ""
    fence = "`" * (_longest_ticks(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    # Before a bar that is escaped, a backslash would escape the backslash.
    inner = line.replace("\\|", "\\ |").replace("|", "\\|") if in_table else line
    return f"{fence}{space}{inner}{space}{fence}"


def block(text: str, language: str = "") -> str:
    r"""Write lines as a block of code.

    Examples
    --------
    >>> block("a\nb", "sh")
    '```sh\na\nb\n```'
    """
    lines = _clean(text).rstrip("\n")
    fence = "`" * max(3, _longest_ticks(lines) + 1)
    return f"{fence}{language}\n{lines}\n{fence}"


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Make a table; a title that begins with ``>`` has its cells on the right."""
    heads = [title.removeprefix(">") for title in titles]
    marks = ["--:" if title.startswith(">") else "---" for title in titles]
    lines = [heads, marks, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def manual(text: str) -> str:
    """Write the manual of a rule."""
    known = manual_of(text)
    parts = [manual_text(known.summary)]
    for heading, part in known.parts.items():
        beside = "\n\n" if part.startswith(("- ", "* ", "1. ")) else " "
        parts.append(f"**{heading}.**{beside}{manual_text(part)}")
    return "\n\n".join(parts)


def manual_text(text: str) -> str:
    """Keep code and paragraphs of a manual; what looks like other markup is text."""
    parts = re.split(r"(``[^`]+``|`[^`]+`)", text)
    for at in range(0, len(parts), 2):
        plain = re.sub(r"([*_<|])", r"\\\1", parts[at])
        parts[at] = re.sub(r"(https?://[^\s,;)]*[^\s,;).])", r"<\1>", plain.replace("\\_", "_"))
    return "".join(part if at % 2 == 0 else code(part.strip("`")) for at, part in enumerate(parts))


def _blocks(found: Findings, everything: bool) -> Iterator[str]:
    counted = words.counted(found.findings)
    shown = words.listed(found.findings, everything)
    yield f"# {prose(_title(found, counted))}"
    yield prose(found.conclusion)
    noise = (
        "" if found.baseline.simulated_ns is None
        else f" {words.noise_named(found.noise)}"
        f" ({prose(found.noise.method)}); a finding counts if the whole interval of its saving lies"
        " above."
    )  # fmt: skip
    yield f"Window {code(found.window.name)}, {units.duration(found.baseline.elapsed_ns)}.{noise}"
    if shown:
        yield _table(found, shown)
    for number, one in enumerate(shown, 1):
        yield from _finding(number, one)
    yield from _notes(found.notes)
    yield from _without_gain(words.without_gain(found.findings))
    yield from _muted([one for one in found.findings if one.muted is not None])
    yield from _unjudged(found)
    if found.doubts:
        yield "## Doubts"
        yield "\n".join(
            f"- {one.severity}: {prose(one.message)} ({code(one.code)}). {prose(one.remedy)}"
            for one in found.doubts
        )


def _title(found: Findings, counted: Sequence[Finding]) -> str:
    name = found.run.name or "This run"
    elapsed = units.duration(found.baseline.elapsed_ns)
    if not counted:
        if found.baseline.simulated_ns is None:
            return f"{name}, {elapsed}: nothing could be judged"
        return f"{name}, {elapsed}: nothing to save above the noise"
    best = found.joint_saving or counted[0].saving
    return f"{name}: {units.duration(best.elapsed_ns.value)} of {elapsed} can be saved"


def _table(found: Findings, shown: Sequence[Finding]) -> str:
    titles = (">#", "finding", "place", ">saves", ">90 % interval", ">of elapsed")
    rows = [
        [str(number), prose(one.title, True), code(words.where(one.place), in_table=True),
         *_cells(one.saving.elapsed_ns, one.saving_ratio)]
        for number, one in enumerate(shown, 1)
    ]  # fmt: skip
    count = len(words.counted(shown))
    if found.joint_saving is not None and found.joint_ratio is not None and count > 1:
        joint = _cells(found.joint_saving.elapsed_ns, found.joint_ratio)
        which = "together" if count == len(shown) else f"the first {count} together"
        rows.append(["", f"**{which}**", "simulated at once", *joint])
    return table(titles, rows)


def _cells(one: Estimate, ratio: Estimate) -> list[str]:
    return [
        units.duration(one.value), words.interval(one, "ns") or units.MISSING,
        units.percent(ratio.value),
    ]  # fmt: skip


def _finding(number: int, one: Finding) -> Iterator[str]:
    yield f"## {number}. {prose(one.title)}"
    yield f"{code(one.key)} · {code(words.where(one.place))} · saves {words.saved(one.saving)}"
    if one.proof:
        yield f"**Tried:** {prose(words.tried(one.proof))}"
    if not one.shown:
        yield "*Not above the noise of the run.*"
    yield prose(one.mechanism)
    for at, remedy in enumerate(one.remedies):
        yield from _remedy(remedy, "Remedy" if at == 0 else "Or")
    if one.evidence:
        yield "**Evidence**"
        yield table(
            ("what", ">value", ">interval", "from"),
            [
                [prose(each.what, True), words.number(each.estimate.value, each.unit),
                 words.interval(each.estimate, each.unit) or "exact",
                 code(words.source_of(each), in_table=True)]
                for each in one.evidence
            ],
        )  # fmt: skip
    others = words.other_options(one)
    lines = []
    for each in one.symptoms:
        options = others.pop(each.code, [])
        lines.append(
            f"**Explains also:** {prose(each.title)} ({code(each.code)}, {code(each.place.words)}):"
            f" {prose(each.mechanism)}"
            + (f" Or: {', '.join(map(code, options))}." if options else "")
        )
    if earlier := words.earlier(one.record):
        lines.append(f"**Findings of this rule:** {earlier}")
    lines += [f"**Doubt:** {prose(each.message)} ({code(each.code)})" for each in one.doubts]
    lines.append(f"**Refute it:** {prose(one.refute)}")
    yield "\n".join(f"- {line}" for line in lines)


def _remedy(one: Remedy, name: str) -> Iterator[str]:
    yield f"**{name}:** {prose(one.text)}"
    options = words.options(one)
    if options:
        yield block("\n".join(options), "sh")
    if one.example:
        yield "For example, in names that are not yours:"
    if one.before or one.after:
        lines = [f"-{line}" for line in _clean(one.before or "").splitlines()]
        lines += [f"+{line}" for line in _clean(one.after or "").splitlines()]
        yield block("\n".join(lines), "diff")


def _notes(found: Sequence[Note]) -> Iterator[str]:
    for title, notes in words.by_title(found).items():
        yield f"## {prose(title)}"
        lines = []
        for one in notes:
            names = ", ".join(code(f"{name}={value}") for name, value in one.settings.items())
            options = [" ".join(words.options(remedy)) for remedy in one.remedies]
            tried = ", ".join(code(option) for option in options if option)
            lines.append(
                f"- {names}{': ' if names else ''}{prose(one.mechanism)} ({code(one.code)})"
                + (f" Try: {tried}." if tried else "")
            )
        yield "\n".join(lines)


def _without_gain(found: Sequence[Finding]) -> Iterator[str]:
    if found:
        yield "## Tried, without a gain"
        yield table(
            ("finding", ">predicted", "measured"),
            [
                [f"{prose(one.title, True)} ({code(one.key, in_table=True)})",
                 units.duration(one.saving.elapsed_ns.value),
                 prose(words.tried(one.proof) if one.proof else "", True)]
                for one in found
            ],
        )  # fmt: skip


def _muted(found: Sequence[Finding]) -> Iterator[str]:
    if found:
        yield "## Muted by the project"
        yield table(
            ("finding", ">saves", "why it is muted"),
            [
                [f"{prose(one.title, True)} ({code(one.key, in_table=True)})",
                 units.duration(one.saving.elapsed_ns.value), prose(one.muted or "", True)]
                for one in found
            ],
        )  # fmt: skip


def _unjudged(found: Findings) -> Iterator[str]:
    if found.unjudged:
        yield "## Not judged"
        yield f"{words.lacking(found)}: what they look for may be there all the same."
        yield table(
            ("what is missing", "rules", "what would allow it"),
            [
                [prose(missing, True), ", ".join(code(name, in_table=True) for name in names),
                 code(remedy, in_table=True)]
                for (missing, remedy), names in words.by_lack(found.unjudged)
            ],
        )  # fmt: skip


def _clean(text: str) -> str:
    kept = harmless(str(text).replace("\r\n", "\n").replace("\t", "    "))
    kept = "".join("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in kept)
    return kept if len(kept) <= MOST_CHARACTERS else f"{kept[:MOST_CHARACTERS]}…"


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)


def _word(found: re.Match[str], in_table: bool) -> str:
    return code(found[0], in_table) if _LINKED.search(found[0]) else _escaped(found[0])


def _longest_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
