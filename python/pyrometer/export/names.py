"""Numbers of distinct names, in order of first use."""

from __future__ import annotations

from collections.abc import Iterator


class Names:
    """A table of strings that is filled while it is used.

    Parameters
    ----------
    first : str
        Names that have numbers from the start.

    Examples
    --------
    >>> names = Names("")
    >>> names.of("a"), names.of("b"), names.of("a"), list(names)
    (1, 2, 1, ['', 'a', 'b'])
    """

    def __init__(self, *first: str) -> None:
        self._number = {name: number for number, name in enumerate(first)}

    def of(self, name: str) -> int:
        """Give the number of a name."""
        return self._number.setdefault(name, len(self._number))

    def __iter__(self) -> Iterator[str]:
        return iter(self._number)

    def __len__(self) -> int:
        return len(self._number)
