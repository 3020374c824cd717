"""Write the reference of the spaces of tuning, from ``schema/conf.toml``.

With ``--check`` nothing is written and the exit code is 1 when it is out of date.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pyrometer.core.schema import spark_default
from pyrometer.trial.factors import find_factor
from pyrometer.tune.space.declared import Declared, of_space, spaces

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "spaces.md"
COMMAND = "python tools/generate_spaces.py"
SPARK = "4.0"
WHAT = {
    "spark-sql": "How Spark divides, joins, compresses and keeps data; files stay as they are.",
    "jvm": "The Java virtual machine of driver and executors.",
    "layout": "How many JVMs there are, with how many slots, and where they run.",
    "data": "How data are stored: of a built-in workload, or of what the job writes.",
    "os": "Switches of the kernel, for the whole machine; they need root, and are put back.",
}


def page() -> str:
    """Render the reference."""
    out = [
        "# Spaces of tuning",
        "",
        f"<!-- Generated from schema/conf.toml by `{COMMAND}`; do not edit. -->",
        "",
        "A knob is a [factor](factors.md) with the range that is safe. Its ends follow the machine"
        " (`mem_total` in bytes, `cpus`) and the job, as far as its settings or a run say (`heap`"
        " of a JVM, its `jvm_cpus`, `jvms`, `slots`, `input_bytes` of the stage that reads most,"
        " `shuffle_bytes` of"
        " the largest shuffle): of several amounts the first whose facts are known. What the job"
        " says now is the default, and always inside. A level in brackets is outside of the range,"
        " with the meaning that stands beside it. A knob that is newer than the job's Spark is left"
        " out. `all` has the knobs of all spaces. Files of spaces narrow and"
        " add: [how](experiment-file.md#the-file-of-a-space). How trials are chosen:"
        " [tuning](../explanation/tuning.md).",
    ]
    for name in spaces():
        if name in WHAT:
            out += ["", f"## {name}", "", WHAT[name], "", *table(of_space(name))]
    return "\n".join(out) + "\n"


def table(knobs: tuple[Declared, ...]) -> list[str]:
    """Render the knobs of a space."""
    rows = ["| knob | levels | default | tried first | changed by | what it may break |"]
    rows.append("|---|---|---|---|---|---|")
    for one in knobs:
        factor = find_factor(one.factor, [one.factor] if one.factor.startswith("data.") else None)
        restart = "a fresh JVM" if factor.restart else "a session"
        first = ", ".join(f"`{text}`" for text in one.first) or "–"
        default = spark_default(one.factor, SPARK) or one.default
        said = f"`{default}`" if default else "–"
        if one.default_if:
            said += f", if `{one.default_if}`"
        since = f" (since Spark {one.since})" if one.since else ""
        rows.append(
            f"| `{one.factor}`{since} | {levels(one)} | {said} | {first} |"
            f" {'the data' if factor.scope == 'workload' else restart} | {one.breaks or '–'} |"
        )
    return rows


def levels(one: Declared) -> str:
    """Render levels or a range as a table cell."""
    if one.kind == "choice":
        known = ", ".join(f"`{text}`" for text in one.levels) or "as the workload declares"
        return f"{known}; only if `{one.only_if}`" if one.only_if else known
    low, high = (", else ".join(f"`{text}`" for text in ends) for ends in (one.low, one.high))
    outer = f"; never outside of `{one.range[0]}` to `{one.range[1]}`"
    special = "".join(f" (`{text}`: {one.means[text]})" for text in one.special)
    unit = "" if one.kind == "size" else f" {one.unit or ''}".rstrip()
    only = f"; only if `{one.only_if}`" if one.only_if else ""
    return f"{low} to {high}{unit}{special}{outer}{only}"


def main() -> int:
    """Write the page, or say that it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    text = page()
    if not parser.parse_args().check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE.relative_to(ROOT)} is out of date: {COMMAND}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
