"""Write the reference of categories, wait classes, roles and operators from `schema/`."""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
COMMAND = "python tools/generate_categories.py"


def load(name: str) -> dict[str, Any]:
    """Read one file of `schema/`."""
    with (ROOT / "schema" / name).open("rb") as file:
        return tomllib.load(file)


def code(patterns: list[str]) -> str:
    """Patterns as a table cell."""
    return "<br>".join("`" + pattern.replace("|", "\\|") + "`" for pattern in patterns)


def weighed(rule: dict[str, Any]) -> str:
    """Patterns of a rule, with how much they decide."""
    weight = f" ({rule['weight']})" if "weight" in rule else ""
    return code(rule["match"]) + weight


def page(categories: dict[str, Any], operators: dict[str, Any], roles: dict[str, Any]) -> str:
    """Render the page."""
    out = [
        "# What stacks and threads are taken for",
        "",
        f"<!-- Generated from schema/ by `{COMMAND}`; do not edit. -->",
        "",
        "Every sample of a task thread on CPU has exactly one *category*, every sleeping one a "
        "[*wait class*](wait-classes.md), and, where its frames name one, an *operator*. "
        "The rules are data: "
        "`schema/categories.toml`, `schema/operators.toml`, `schema/roles.toml`.",
        "",
        "A stack is read from its leaf towards its root; the first frame that a rule names "
        "decides. Frames of the JDK, of Scala and of raw memory access are passed over, so a "
        "memory copy belongs to whoever asked for it. Three kinds of frames own all that they "
        "call, however deep: instruments, code generation, and class loading.",
        "",
        "## Categories",
        "",
        "| category | covers |",
        "|---|---|",
        *(f"| `{each['name']}` | {each['doc']} |" for each in categories["category"]),
        "",
        "Threads of other roles than `task` have their role's category: "
        + ", ".join(f"`{role}`" for role in categories["role"])
        + ". The profiler's own stacks are `pyrometer` in any thread. A sample whose stack was "
        "lost with the recording's last chunk has none.",
        "",
        "## Work of Python workers",
        "",
        "By the module of the frame nearest the leaf that a rule names (`import`: of any frame). "
        "The standard library works for whoever calls it; `function` is any other module, the "
        "application's own code and the libraries that it calls.",
        "",
        "| work | covers | modules |",
        "|---|---|---|",
        *(
            f"| `{each['work']}` | {each['doc']} | {code([each['module']])} |"
            for each in categories["python"]
        ),
        "",
        "## Operators",
        "",
        "Names are those of Spark's plan nodes. In generated code the prefix of a method names "
        "its operator. Whole-stage code generation fuses the operators of a pipeline into one "
        f"method (`{operators['codegen']['pipeline']}`): what runs there has the operator "
        f"`{operators['codegen']['fused']}` and the number of its code generation stage.",
        "",
        "| operator | generated methods |",
        "|---|---|",
        *(
            f"| `{each['operator']}` | {code(each['match'])} |"
            for each in operators["codegen"]["prefix"]
        ),
        "",
        "| operator | frames |",
        "|---|---|",
        *(f"| `{each['name']}` | {weighed(each)} |" for each in operators["operator"]),
        "",
        "Frames marked *pull* only ask others for rows; *guest*: code that counts to the operator "
        "of SQL that called it, else, or where that only pulls, to an RDD; *pulled*: code of SQL "
        "in the same place, before guests; *fallback*: counts "
        "where no other frame says more. A user's own frames are guests. In samples, `RDD`, "
        "`MLlib` and `GraphX` are named further by the event log: `RDD flatMap at Words.java:12`; "
        "reading a shuffle outside SQL, with the sort or aggregation that it feeds, belongs to the "
        "operation that made the shuffled RDD, reading a file to the one that made its RDD. "
        "`Exchange write` and `Exchange read` belong to the exchange whose metrics that stage "
        "updated.",
        "",
        f"Operators whose class bears their name (`{operators['classes']['pattern']}`): "
        + ", ".join(f"`{name}`" for name in operators["classes"]["names"])
        + ".",
        "",
        "## Places",
        "",
        "What a task does that is no operator's. A sample with neither operator nor place is "
        "unmapped: it is not known what it was for.",
        "",
        "| place | covers | frames |",
        "|---|---|---|",
        *(
            f"| `{each['name']}` | {each.get('doc', 'as above')} | {weighed(each)} |"
            for each in operators["place"]
        ),
        "",
        "## Roles of threads",
        "",
        "By name, the first rule that fits; a thread inside a task's span is `task` whatever its "
        "name, one that no rule names is `other`.",
        "",
        "| role | thread name | kernel's name |",
        "|---|---|---|",
    ]
    for rule in roles["rule"]:
        cells = [code([rule[key]]) if key in rule else "" for key in ("name", "comm")]
        out.append(f"| `{rule['role']}` | {cells[0]} | {cells[1]} |")
    return "\n".join(out) + "\n"


def conditions(rule: dict[str, Any]) -> str:
    """Write what a rule asks for in a table cell."""
    parts = []
    for name in ("state", "role", "frames"):
        if name in rule:
            parts.append(f"{name}: " + ", ".join(f"`{word}`" for word in rule[name]))
    for name in ("io_wait", "task", "paused"):
        if name in rule:
            parts.append(f"{name}: {'yes' if rule[name] else 'no'}")
    for name in ("syscall", "kernel"):
        if name in rule:
            parts.append(f"{name}: {code([rule[name]])}")
    return "<br>".join(parts)


def waits_page(waits: dict[str, Any]) -> str:
    """Render the page of wait classes."""
    out = [
        "# What threads off their CPU are taken to wait for",
        "",
        f"<!-- Generated from schema/ by `{COMMAND}`; do not edit. -->",
        "",
        "Every moment in which a thread was off its CPU has exactly one *wait class*. The rules "
        "are data: `schema/wait_classes.toml`.",
        "",
        "A profiler infers a thread's state from its current instruction, so a thread that was "
        "just woken looks like one that runs. Whatever its reported state, a wall-clock sample "
        "counts as asleep where its leaf frame is one in which a thread is only while it waits:",
        "",
        *(f"- `{pattern}`" for pattern in waits["blocked"]),
        "",
        "| class | covers |",
        "|---|---|",
        *(f"| `{each['name']}` | {each['doc']} |" for each in waits["class"]),
        "",
        "## What frames say",
        "",
        "A wall-clock sample of the profiler has a stack and nothing else: the frame nearest the "
        "leaf that a pattern matches gives the class. *fallback*: how a thread waits, not for "
        "what; counts where no other frame says more, in this order.",
        "",
        "| class | frames |",
        "|---|---|",
        *(
            f"| `{each['class']}`{' (fallback)' if each.get('fallback') else ''} "
            f"| {code(each['match'])} |"
            for each in waits["frames"]
        ),
        "",
        "## Rules",
        "",
        "Where the OS probe saw the thread, too, more is known: its state, the system call, the "
        "kernel's stack. The first rule whose conditions all hold decides; `nothing`: there is no "
        "stack, or no frame says.",
        "",
        "| class | conditions | holds on |",
        "|---|---|---|",
        *(
            f"| `{each['class']}` | {conditions(each)} | {each['source']} |"
            for each in waits["rule"]
        ),
    ]
    return "\n".join(out) + "\n"


def main() -> int:
    """Write the pages, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit 1 if a page is out of date")
    check = parser.parse_args().check
    categories = page(load("categories.toml"), load("operators.toml"), load("roles.toml"))
    pages = {"categories.md": categories, "wait-classes.md": waits_page(load("wait_classes.toml"))}
    stale = False
    for name, text in pages.items():
        file = REFERENCE / name
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        stale = True
        if not check:
            file.write_text(text, encoding="utf-8")
        verdict = f"out of date; run {COMMAND}" if check else "written"
        print(f"{file.relative_to(ROOT)}: {verdict}", file=sys.stderr)
    return int(stale and check)


if __name__ == "__main__":
    sys.exit(main())
