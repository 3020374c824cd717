"""Constraints of an experiment: a small language of comparisons with its own parser, never `eval`.

``layout.executors * jvm.heap <= 0.9 * mem_total and jvm.gc != "z"``: factors, facts of the host,
numbers (also sizes such as 2g, times such as 30s), quoted words; ``+ - * /``, comparisons, ``and or
not``, brackets.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyrometer.core.errors import UsageError

Value = float | str | bool

MOST_LETTERS = 2_000
DEEPEST = 40

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kmgt]?)b?", re.IGNORECASE)
_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|min|h|d)", re.IGNORECASE)
_MINUTES = re.compile(r"([0-9]+(?:\.[0-9]+)?)m", re.IGNORECASE)
"""Minutes as Spark writes them, beside another time: elsewhere m is MiB."""
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<time>[0-9]+(?:\.[0-9]+)?(?i:ms|s|min|h|d))(?![\w.])
    | (?P<number>[0-9]+(?:\.[0-9]+)?[kmgtKMGT]?[bB]?)(?![\w.])
    | (?P<text>"[^"]*"|'[^']*')
    | (?P<word>[A-Za-z_][\w]*(?:\.[\w]+)*)
    | (?P<sign><=|>=|==|!=|<|>|\+|-|\*|/|\(|\))
    )""",
    re.VERBOSE | re.ASCII,
)

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ADD: dict[str, Callable[[float, float], float]] = {"+": operator.add, "-": operator.sub}
_TIMES: dict[str, Callable[[float, float], float]] = {"*": operator.mul, "/": operator.truediv}


@dataclass(frozen=True)
class Constraint:
    """A condition that every treatment must fulfil.

    Attributes
    ----------
    text : str
        As it was written.
    names : frozenset of str
        Factors and facts that it uses.
    """

    text: str
    names: frozenset[str]
    _holds: Callable[[Mapping[str, Value]], Value]

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Whether the values fulfil it.

        Raises
        ------
        UsageError
            If values do not fit it (a word where a number is needed, a division by zero).
        KeyError
            If a value of :attr:`names` is missing.
        """
        return _truth(self._holds(values), self.text)


def number_or_text(level: object) -> Value:
    """Read a level as a number where it is one, sizes among them.

    Examples
    --------
    >>> number_or_text("2g"), number_or_text("200"), number_or_text("g1"), number_or_text(0.5)
    (2147483648.0, 200.0, 'g1', 0.5)
    """
    if isinstance(level, int | float):
        return float(level)
    match = _NUMBER.fullmatch(str(level))
    return float(match[1]) * _UNITS[match[2].lower()] if match else str(level)


def parse_constraint(text: str) -> Constraint:
    """Read a constraint.

    Raises
    ------
    UsageError
        If it cannot be parsed: with the column.

    Examples
    --------
    >>> found = parse_constraint("layout.executors * jvm.heap <= 0.9 * mem_total")
    >>> sorted(found.names)
    ['jvm.heap', 'layout.executors', 'mem_total']
    >>> found.holds({"layout.executors": 2, "jvm.heap": 1 << 30, "mem_total": 4 << 30})
    True
    >>> [parse_constraint("elapsed < 1.5min").holds({"elapsed": one}) for one in (89.0, 91.0)]
    [True, False]
    """
    parser = _Parser(text)
    holds = parser.either()
    parser.end()
    return Constraint(text, frozenset(parser.names), holds)


@dataclass(frozen=True)
class Amount:
    """A number that follows from others: ``0.7 * mem_total / cpus``.

    Attributes
    ----------
    text : str
        As it was written.
    names : frozenset of str
        Facts that it uses.
    """

    text: str
    names: frozenset[str]
    _of: Callable[[Mapping[str, Value]], Value]

    def of(self, values: Mapping[str, Value]) -> float:
        """Give the number.

        Raises
        ------
        UsageError
            If it is none (a word, a division by zero).
        KeyError
            If a value of :attr:`names` is missing.
        """
        return _number(self._of(values), self.text)


def parse_amount(text: str) -> Amount:
    """Read an amount, in the language of constraints.

    Raises
    ------
    UsageError
        If it cannot be parsed: with the column.

    Examples
    --------
    >>> found = parse_amount("0.5 * mem_total - 1g")
    >>> sorted(found.names), found.of({"mem_total": 4 << 30}) / (1 << 30)
    (['mem_total'], 1.0)
    """
    parser = _Parser(text)
    amount = parser.sum()
    parser.end()
    return Amount(text, frozenset(parser.names), amount)


Part = Callable[[Mapping[str, Value]], Value]


@dataclass
class _Leaf:
    """A constant of a comparison, or the name of a level, and all that it is compared with."""

    written: str
    is_name: bool = False
    beside: Sequence[_Leaf] = ()

    def __call__(self, values: Mapping[str, Value]) -> Value:
        level = self._level(values)
        minutes = _MINUTES.fullmatch(level) if isinstance(level, str) else None
        if minutes is None or not any(one.is_time(values) for one in self.beside):
            return _value(level)
        return float(minutes[1]) * _SECONDS["min"]

    def is_time(self, values: Mapping[str, Value]) -> bool:
        level = self._level(values)
        return isinstance(level, str) and _TIME.fullmatch(level) is not None

    def _level(self, values: Mapping[str, Value]) -> Value:
        return values[self.written] if self.is_name else self.written


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.names: set[str] = set()
        self._depth = 0
        self._leaves: list[_Leaf] = []
        self._tokens: list[tuple[str, str, int]] = []
        if len(text) > MOST_LETTERS:
            raise UsageError(f"a constraint of {len(text)} letters: at most {MOST_LETTERS}")
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None or match.lastgroup is None:
                column = at + len(text[at:]) - len(text[at:].lstrip())
                raise UsageError(
                    f"{text!r}: column {column + 1}: {text[column]!r} has no meaning",
                    "numbers are written as 8, 0.5, 2g (a size) or 30s (a time)",
                )
            kind = match.lastgroup
            self._tokens.append((kind, match[kind], match.start(kind)))
            at = match.end()
        self._tokens.append(("end", "", len(text)))
        self._at = 0

    def either(self) -> Part:
        return self._logic("or", self.both)

    def both(self) -> Part:
        return self._logic("and", self.negated)

    def _logic(self, word: str, deeper: Callable[[], Part]) -> Part:
        parts = [deeper()]
        while self._take("word", word):
            parts.append(deeper())
        if len(parts) == 1:
            return parts[0]
        found = any if word == "or" else all
        return lambda values: found(_truth(part(values), self.text) for part in parts)

    def negated(self) -> Part:
        if self._take("word", "not"):
            inner = self._deeper(self.negated)
            return lambda values: not _truth(inner(values), self.text)
        return self.compared()

    def compared(self) -> Part:
        before = len(self._leaves)
        left = self.sum()
        kind, sign, _ = self._tokens[self._at]
        if kind != "sign" or sign not in (*_COMPARE, "==", "!="):
            return left
        self._at += 1
        right = self.sum()
        # What is left is part of the comparison around these brackets.
        self._leaves, leaves = self._leaves[:before], self._leaves[before:]
        for one in leaves:
            one.beside = leaves
        if sign in ("==", "!="):
            return lambda values: (left(values) == right(values)) == (sign == "==")
        compare = _COMPARE[sign]
        return lambda values: compare(
            _number(left(values), self.text), _number(right(values), self.text)
        )

    def sum(self) -> Part:
        return self._arithmetic(_ADD, self.product)

    def product(self) -> Part:
        return self._arithmetic(_TIMES, self.atom)

    def _arithmetic(
        self, signs: Mapping[str, Callable[[float, float], float]], deeper: Callable[[], Part]
    ) -> Part:
        terms = [(operator.add, deeper())]
        while self._tokens[self._at][0] == "sign" and self._tokens[self._at][1] in signs:
            sign = self._tokens[self._at][1]
            self._at += 1
            terms.append((signs[sign], deeper()))
        if len(terms) == 1:
            return terms[0][1]

        def total(values: Mapping[str, Value]) -> Value:
            found = _number(terms[0][1](values), self.text)
            for how, part in terms[1:]:
                try:
                    found = how(found, _number(part(values), self.text))
                except ZeroDivisionError:
                    raise UsageError(f"{self.text!r} divides by zero") from None
            return found

        return total

    def atom(self) -> Part:
        kind, text, _ = self._tokens[self._at]
        if kind == "sign" and text == "-":
            self._at += 1
            inner = self._deeper(self.atom)
            return lambda values: -_number(inner(values), self.text)
        if kind == "sign" and text == "(":
            self._at += 1
            found = self._deeper(self.either)
            if not self._take("sign", ")"):
                self._refuse("a closing bracket is missing")
            return found
        if kind in ("number", "time", "text"):
            self._at += 1
            return self._leaf(_Leaf(text[1:-1] if kind == "text" else text))
        if kind == "word" and text not in ("and", "or", "not"):
            self._at += 1
            self.names.add(text)
            return self._leaf(_Leaf(text, is_name=True))
        return self._refuse("a factor, a number or a quoted word is missing")

    def _leaf(self, found: _Leaf) -> Part:
        self._leaves.append(found)
        return found

    def end(self) -> None:
        if self._tokens[self._at][0] != "end":
            self._refuse("nothing more was expected")

    def _deeper(self, part: Callable[[], Part]) -> Part:
        self._depth += 1
        if self._depth > DEEPEST:
            self._refuse(f"nested deeper than {DEEPEST}")
        found = part()
        self._depth -= 1
        return found

    def _take(self, kind: str, text: str) -> bool:
        found = self._tokens[self._at][:2] == (kind, text)
        self._at += found
        return found

    def _refuse(self, why: str) -> Part:
        _, text, at = self._tokens[self._at]
        shown = f"at {text!r}" if text else "at the end"
        raise UsageError(
            f"{self.text!r}: column {at + 1}, {shown}: {why}",
            "for example: layout.executors * jvm.heap <= 0.9 * mem_total",
        )


def _value(level: object) -> Value:
    match = _TIME.fullmatch(level) if isinstance(level, str) else None
    return float(match[1]) * _SECONDS[match[2].lower()] if match else number_or_text(level)


def _number(value: Value, text: str) -> float:
    if isinstance(value, bool | str) or not math.isfinite(value):
        raise UsageError(f"{text!r}: {value!r} is not a number that can be compared")
    return value


def _truth(value: Value, text: str) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{text!r} is not a condition: it gives {value!r}", "compare it: <= 2g")
    return value
