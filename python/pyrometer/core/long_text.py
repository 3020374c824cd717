"""Texts that are too long for a sentence."""

MOST = 160
"""Characters: two lines of a terminal."""


def without_middle(text: str, most: int = MOST) -> str:
    """Take the middle out of a long text: three quarters of what is kept are its beginning.

    Examples
    --------
    >>> without_middle("rlike(s, a)")
    'rlike(s, a)'
    >>> without_middle("CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END", 20)
    'CASE WHEN a T … END'
    """
    if len(text) <= most:
        return text
    kept = most - 3
    end = kept // 4
    return f"{text[: kept - end].rstrip()} … {text[len(text) - end :].lstrip()}"
