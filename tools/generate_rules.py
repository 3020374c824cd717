"""Write the reference of the findings from the manuals of the rules.

With ``--check`` nothing is written and the exit code is 1 when it is out of date.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from pyrometer.explain.every_rule import every_rule
from pyrometer.explain.markdown import manual, manual_text
from pyrometer.explain.rule import Rule

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "findings.md"
COMMAND = "python tools/generate_rules.py"
HEAD = f"""# Findings

<!-- Generated from the rules' manuals by `{COMMAND}`; do not edit. -->

The causes that `pyrometer explain` looks for, as `pyrometer rules CODE` prints them. Codes are \
stable; the first word of a code is its family. No rule fires at a threshold: each says what would \
be different without the cause, the simulator says how many seconds that saves, and a finding \
counts if the whole interval of its saving lies above the noise of the run \
([how to read one](../how-to/explain-a-run.md)). The fields of `--json`: \
[findings](json/findings.md)."""


def page(rules: Sequence[Rule]) -> str:
    """Render the reference."""
    out = [HEAD, "", "| code | finding | cause |", "|---|---|---|"]
    for rule in rules:
        link = f"[`{rule.code}`](#{anchor(rule.code)})"
        out.append(f"| {link} | {manual_text(rule.title)} | {manual_text(rule.cause)} |")
    for family, those in groupby(rules, lambda rule: rule.family):
        out += ["", f"## {family}"]
        for rule in those:
            out += ["", *section(rule)]
    return "\n".join(out) + "\n"


def section(rule: Rule) -> list[str]:
    """Render one rule."""
    out = [f"### {rule.code}", "", f"**{manual_text(rule.title)}**", "", manual(rule.manual)]
    out += ["", f"**Refute it.** {manual_text(rule.refute)}"]
    facts = []
    if rule.needs:
        needs = "; ".join(dict.fromkeys(manual_text(need.remedy) for need in rule.needs))
        facts.append(f"- **Needs:** {needs}")
    if rule.explains:
        names = ", ".join(f"`{one}*`" if one.endswith(".") else f"`{one}`" for one in rule.explains)
        facts.append(f"- **Explains also:** {names}")
    return [*out, "", *facts] if facts else out


def anchor(heading: str) -> str:
    """Give the anchor that the site makes of a heading.

    Examples
    --------
    >>> anchor("gc.heap-too-small")
    'gcheap-too-small'
    """
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def main() -> int:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if it is out of date")
    check = parser.parse_args().check
    text = page(every_rule())
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    if not check:
        PAGE.write_text(text, encoding="utf-8")
    verdict = f"out of date; run {COMMAND}" if check else "written"
    print(f"{PAGE.relative_to(ROOT)}: {verdict}", file=sys.stderr)
    return int(check)


if __name__ == "__main__":
    sys.exit(main())
