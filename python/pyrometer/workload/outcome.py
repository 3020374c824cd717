"""What an iteration's result says: parts that failed, and where it differs from the first one's."""

from __future__ import annotations

from pyrometer.workload.contract import IterationResult, Mismatch, PartResult


def failures(result: IterationResult) -> str | None:
    """Name the parts that failed, and why the first did; ``None`` if all ended."""
    failed = [part for part in result.parts if part.error is not None]
    if not failed:
        return None
    names = ", ".join(part.name for part in failed)
    return f"{len(failed)} of {len(result.parts)} failed ({names}): {failed[0].error}"


def unlike(first: IterationResult, result: IterationResult) -> Mismatch | None:
    """Tell where a result differs from the first iteration's; ``None`` if it does not."""
    for was, now in zip(first.parts, result.parts, strict=True):
        if (was.rows, was.checksum) != (now.rows, now.checksum):
            return Mismatch(f"{was.name}, unlike the first iteration", _shown(was), _shown(now))
    if (first.rows, first.checksum) != (result.rows, result.checksum):
        return Mismatch("result, unlike the first iteration", _shown(first), _shown(result))
    return None


def _shown(result: IterationResult | PartResult) -> str:
    return f"{result.rows} rows with checksum {result.checksum}"
