r"""Names of frames that are the same in every JVM.

Numbers that the JVM, the compilers or Spark's code generator hand out in the order of use are no
part of a name, nor are lines: ``*`` stands in their place. An iterator that Spark generated is
named after the operators of its cluster, ``WholeStageCodegen[Project ← Filter].processNext``, as
the plan of the execution tells them, so that two clusters of one plan stay apart where they hold
different operators.

All is done in the database, over distinct frames. `define_frame_names` tells what frames alone
tell; `pyrometer.analyse.frame_paths` adds the operators of clusters.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyrometer.analyse.plan_match import CLUSTER
from pyrometer.store import Tables

UNTOLD = "*"
_ITERATOR = "GeneratedIteratorForCodegenStage"
_GENERATED = "GeneratedClass$"
Rules = Sequence[tuple[str, str]]

# Pattern and replacement in RE2's syntax, in this order.
CLASS_RULES: Rules = (
    (r"[/.+]0x[0-9a-fA-F]+", ""),  # address behind the name of a hidden class
    (r"\$\$Lambda\$\d+", "$$Lambda"),
    (r"\$\$Lambda/\d+", "$$Lambda"),
    (r"\$line\d+\.", "$line*."),  # spark-shell
    (r"proxy\d+\.", "proxy*."),
    (r"\$Proxy\d+", "$Proxy*"),
    (r"(Generated\w*Accessor)\d+", r"\1*"),
    (r"(LambdaForm\$\w+?)\d+\b", r"\1*"),
    # Anonymous classes and functions, of Java ($3) and Scala ($$anon$3, $$anonfun$map$3).
    (r"\$\d+\b", "$*"),
)
GENERATED_CLASS_RULES: Rules = (
    (r"(NestedClass|CodegenStage)\d+", r"\1*"),
    (r"(?:_\d+)+\b", ""),
)
METHOD_RULES: Rules = (
    (r"(lambda\$\w*?\$|\$anonfun\$.*?\$)\d+\b", r"\1*"),
    (r"(access\$)\d+", r"\1*"),
)
# A method that other classes call gets a second entry, whose name ends in $.
GENERATED_METHOD_RULES: Rules = ((r"\$$", ""), (r"(?:_\d+)+$", ""))
# Symbols without a class: libraries unpacked under a name of their own, and bare addresses.
NATIVE_RULES: Rules = (
    (r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "*"),
    (r"\d{8,}([^/ ]*\.so)", r"*\1"),
    (r"0x[0-9a-f]+", "0x*"),
)


def define_frame_names(tables: Tables) -> None:
    """Define ``frame_names``: per frame its name, and the cluster whose iterator it is.

    Columns are ``frame_id``, ``name``, ``cluster`` and ``method``; the last two are null but for
    frames of a cluster's iterator, whose ``name`` does not tell the operators yet.
    """
    generated = f"contains(class_name, '{_GENERATED}')"
    class_name = (
        f"CASE WHEN {generated} THEN {_replaced('class_name', GENERATED_CLASS_RULES)}"
        f" ELSE {_replaced('class_name', CLASS_RULES)} END"
    )
    method = (
        f"CASE WHEN class_name IS NULL THEN {_replaced('method', NATIVE_RULES)}"
        f" WHEN {generated} THEN {_replaced('method', GENERATED_METHOD_RULES)}"
        f" ELSE {_replaced('method', METHOD_RULES)} END"
    )
    number = f"regexp_extract(class_name, '{_ITERATOR}(\\d+)$', 1)"
    tables.define(
        "frame_names",
        "SELECT frame_id, CASE WHEN cluster IS NOT NULL THEN"
        f"  '{CLUSTER}[{UNTOLD}].' || stable_method"
        "  ELSE concat_ws('.', stable_class, stable_method) END AS name,"
        " cluster, stable_method AS method"
        f" FROM (SELECT frame_id, {class_name} AS stable_class, {method} AS stable_method,"
        f"  try_cast({number} AS INTEGER) AS cluster FROM frames)",
    )


def _replaced(column: str, rules: Rules) -> str:
    for pattern, replacement in rules:
        column = f"regexp_replace({column}, {_text(pattern)}, {_text(replacement)}, 'g')"
    return column


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
