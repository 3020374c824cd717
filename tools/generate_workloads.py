"""Write the reference of the workloads.

With ``--check`` nothing is written and the exit code is 1 when it is out of date.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pyrometer.core.units import count
from pyrometer.workloads.contract import GROUPS, Workload, load
from pyrometer.workloads.registry import BUILTIN
from pyrometer.workloads.values import Variant

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "workloads.md"
COMMAND = "python tools/generate_workloads.py"


def page(workloads: list[Workload]) -> str:
    """Render the reference."""
    out = [
        "# Workloads",
        "",
        f"<!-- Generated from the workloads' descriptions by `{COMMAND}`; do not edit. -->",
        "",
        "Run one by its name: `pyrometer run NAME --set VARIANT=LEVEL --scale SCALE`.",
    ]
    for group, title in GROUPS.items():
        members = [workload for workload in workloads if workload.group == group]
        if members:
            out += ["", f"## {title}"]
            for workload in members:
                out += ["", *section(workload)]
    return "\n".join(out) + "\n"


def section(workload: Workload) -> list[str]:
    """Render one workload."""
    sizes = ", ".join(f"`{name}` {count(size)}" for name, size in workload.scales.items())
    out = [
        f"### {workload.name}",
        "",
        f"{workload.summary}.",
        "",
        workload.description,
        "",
        f"- **Source:** {workload.source}",
        f"- **What to expect:** {workload.expectation}",
        f"- **Scale**, in {workload.scale_unit}: {sizes}",
    ]
    if workload.needs.python:
        out.append(f"- **Needs:** {', '.join(workload.needs.python)}")
    if workload.needs.spark_python:
        needed = ", ".join(workload.needs.spark_python)
        out.append(f"- **Needs in the Python that runs Spark:** {needed}")
    if workload.variants:
        out += ["", "| variant | levels (default in bold) | what |", "|---|---|---|"]
        for name, variant in workload.variants.items():
            out.append(f"| `{name}` | {levels(variant)} | {variant.doc} |")
    return out


def levels(variant: Variant) -> str:
    """Render the levels as a table cell."""
    known = list(variant.levels)
    if variant.default not in known:
        known.insert(0, variant.default)
    words = [f"**`{word}`**" if word == variant.default else f"`{word}`" for word in known]
    if len(words) > 12:
        words = [*words[:3], "…", words[-1]]
    words += ["any positive integer"] * variant.integer + ["text"] * variant.text
    return ", ".join(words + ["several joined by `+`"] * variant.joined)


def main() -> int:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if it is out of date")
    check = parser.parse_args().check
    text = page([load(entry) for _, entry in sorted(BUILTIN.items())])
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    if not check:
        PAGE.write_text(text, encoding="utf-8")
    verdict = f"out of date; run {COMMAND}" if check else "written"
    print(f"{PAGE.relative_to(ROOT)}: {verdict}", file=sys.stderr)
    return int(check)


if __name__ == "__main__":
    sys.exit(main())
