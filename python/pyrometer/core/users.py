"""Users of this machine."""

from __future__ import annotations

import pwd


def user_name(uid: int) -> str:
    """Name a user, by its number where it has no name.

    Examples
    --------
    >>> user_name(0), user_name(2**31 - 9)
    ('root', '#2147483639')
    """
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"#{uid}"
