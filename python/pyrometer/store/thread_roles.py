"""Roles of threads by the kernel's names for them, in SQL."""

from __future__ import annotations

from pyrometer.core import schema

OTHER = "other"


def role_case(column: str) -> str:
    """Make SQL that gives a thread's role from its kernel name (``schema/roles.toml``)."""
    rules = " ".join(
        f"WHEN regexp_matches({column}, '{_quoted(rule.comm)}') THEN '{rule.role}'"
        for rule in schema.role_rules()
        if rule.comm
    )
    return f"CASE {rules} ELSE '{OTHER}' END"


def _quoted(text: str | None) -> str:
    return (text or "").replace("'", "''")
