"""Two sources for one quantity, side by side."""

from __future__ import annotations

from pyrometer.analyse.model import Check

TOLERANCE = 0.05


def compare(
    name: str, left: int | None, right: int | None, slack_ns: int, explanation: str
) -> Check:
    """Compare two sides; they agree within 5 % or within what their resolution allows."""
    if left is None or right is None:
        return Check(
            name=name,
            left_ns=left,
            right_ns=right,
            difference_ratio=None,
            ok=None,
            explanation=explanation,
        )
    difference = left - right
    ratio = difference / right if right else (0.0 if left == 0 else None)
    return Check(
        name=name,
        left_ns=left,
        right_ns=right,
        difference_ratio=ratio,
        ok=abs(difference) <= max(TOLERANCE * max(abs(left), abs(right)), slack_ns),
        explanation=explanation,
    )
