"""``--fail-if``: a condition on findings, such as ``finding(gc) or saving > 10%``.

::

    condition  = both ("or" both)*
    both       = one ("and" one)*
    one        = "not" one | "(" condition ")" | "finding(" rules ")" | quantity compare number
    quantity   = ("saving" | "count") ["(" rules ")"] | "joint" | "elapsed"
    rules      = a code (gc.heap-too-small), or a family (gc, or gc.*)
    compare    = ">" | ">=" | "<" | "<=" | "==" | "!="

Findings count that lie above the noise, are not muted, and were not tried without a gain. What
could not be judged makes a part of the condition neither true nor false: the whole is, only if that
part decides (Kleene's logic). Of rules some of which were not judged, what was found is a lower
bound.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.explain.schema import Finding, Findings
from pyrometer.explain.words import counted

EXAMPLE: Final = "--fail-if 'finding(gc.heap-too-small) or saving > 10%'"
MOST_CHARACTERS = 2000
MOST_DEPTH = 40
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>%|ns\b|us\b|µs|ms\b|s\b|min\b|h\b)?"
    r"|(?P<word>[A-Za-z][\w.*-]*)|(?P<sign>>=|<=|==|!=|[<>()]))"
)
_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_QUANTITIES = ("saving", "joint", "count", "elapsed")


@dataclass(frozen=True)
class Asked:
    """Rules that a condition names: a code, or a family."""

    name: str

    def __contains__(self, code: object) -> bool:
        return code == self.name or str(code).startswith(f"{self.name}.")

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Found:
    """``finding(rules)``: there is such a finding."""

    rules: Asked

    def holds(self, found: Findings) -> bool | None:
        """Judge it."""
        if _of(found, self.rules):
            return True
        return None if _unjudged(found, self.rules) else False

    def parts(self) -> Iterator[Found | Compared]:
        """Give what it is made of."""
        yield self

    def __str__(self) -> str:
        return f"finding({self.rules})"

    def said(self, found: Findings) -> str:
        """Say how it is."""
        holds = self.holds(found)
        if holds is None:
            return f"{self}: cannot tell, {_unjudged(found, self.rules)}"
        return f"{self} is {'true' if holds else 'false'}"


@dataclass(frozen=True)
class Compared:
    """A quantity compared with a number; `unit` is ``%``, a unit of time, or empty."""

    quantity: str
    rules: Asked | None
    compare: str
    number: float
    unit: str

    def value(self, found: Findings) -> float | None:
        """Give the quantity in the unit of the number; None where nothing is known of it."""
        if self.quantity == "elapsed":
            return found.baseline.elapsed_ns / _NS[self.unit or "ns"]
        if found.baseline.simulated_ns is None:
            return None
        if self.quantity == "joint":
            ratio, saving = found.joint_ratio, found.joint_saving
            if ratio is None or saving is None:
                return 0.0
            return self._saved([(ratio.value, saving.elapsed_ns.value)])
        those = _of(found, self.rules)
        if self.quantity == "count":
            return float(len(those))
        return self._saved([(one.saving_ratio.value, one.saving.elapsed_ns.value) for one in those])

    def _saved(self, savings: list[tuple[float | None, float | None]]) -> float:
        scale = 0.01 if self.unit == "%" else _NS[self.unit or "ns"]
        at = 0 if self.unit == "%" else 1
        return max(((saving[at] or 0.0) / scale for saving in savings), default=0.0)

    def holds(self, found: Findings) -> bool | None:
        """Judge it: of a lower bound, what no larger value would turn."""
        value = self.value(found)
        if value is None:
            return None
        possible = [value]
        if _unjudged(found, self.rules):
            possible += [max(value, self.number), math.inf]
        judged = {_COMPARE[self.compare](one, self.number) for one in possible}
        return judged.pop() if len(judged) == 1 else None

    def parts(self) -> Iterator[Found | Compared]:
        """Give what it is made of."""
        yield self

    @property
    def name(self) -> str:
        """Name the quantity."""
        return self.quantity if self.rules is None else f"{self.quantity}({self.rules})"

    def __str__(self) -> str:
        return f"{self.name} {self.compare} {self.number!r}{self.unit}"

    def said(self, found: Findings) -> str:
        """Say how it is."""
        value, lacks = self.value(found), _unjudged(found, self.rules)
        if value is None or self.holds(found) is None:
            return f"{self.name}: cannot tell, {lacks or 'nothing could be simulated'}"
        least = "at least " if lacks else ""
        if self.quantity == "count":
            return f"{self.name} is {least}{units.short(value)}"
        if self.unit == "%":
            return f"{self.name} is {least}{units.percent(value / 100)}"
        return f"{self.name} is {least}{units.duration(value * _NS[self.unit or 'ns'])}"


@dataclass(frozen=True)
class Not:
    """The opposite."""

    one: Condition

    def holds(self, found: Findings) -> bool | None:
        """Judge it."""
        holds = self.one.holds(found)
        return None if holds is None else not holds

    def parts(self) -> Iterator[Found | Compared]:
        """Give what it is made of."""
        yield from self.one.parts()

    def __str__(self) -> str:
        return f"not {self.one}" if isinstance(self.one, Found) else f"not ({self.one})"


@dataclass(frozen=True)
class Several:
    """Conditions joined by ``and`` or by ``or``."""

    word: str
    those: tuple[Condition, ...]

    def holds(self, found: Findings) -> bool | None:
        """Judge it: what decides alone decides, whatever the others are."""
        decides = self.word == "or"
        judged = [one.holds(found) for one in self.those]
        if decides in judged:
            return decides
        return None if None in judged else not decides

    def parts(self) -> Iterator[Found | Compared]:
        """Give what it is made of."""
        for one in self.those:
            yield from one.parts()

    def __str__(self) -> str:
        return f" {self.word} ".join(
            f"({one})" if isinstance(one, Several) else str(one) for one in self.those
        )


Condition = Found | Compared | Not | Several


def parse(text: str, codes: Collection[str]) -> Condition:
    """Read a condition.

    Parameters
    ----------
    text : str
        As the user wrote it.
    codes : collection of str
        Codes of all rules: what else is named is a mistake.

    Raises
    ------
    UsageError
        If it is none; the message says where.

    Examples
    --------
    >>> codes = ["gc.heap-too-small", "skew.bytes"]
    >>> str(parse("finding(gc.*) or not saving>10 % and count >= 2", codes))
    'finding(gc) or (not (saving > 10.0%) and count >= 2.0)'
    """
    if len(text) > MOST_CHARACTERS:
        raise UsageError(f"--fail-if: longer than {MOST_CHARACTERS} characters", EXAMPLE)
    return _Parser(text, codes).all()


def because(condition: Condition, found: Findings) -> list[str]:
    """Say how each part of a condition is, each once."""
    return list(dict.fromkeys(part.said(found) for part in condition.parts()))


@dataclass(frozen=True)
class _Token:
    at: int
    text: str
    number: str | None = None
    unit: str = ""


class _Parser:
    def __init__(self, text: str, codes: Collection[str]) -> None:
        self._text = text
        self._known = {*codes, *(code.split(".", 1)[0] for code in codes)}
        self._tokens = list(self._read())
        self._next = 0
        self._depth = 0

    def all(self) -> Condition:
        found = self._joined()
        if self._token.text:
            raise self._wrong("expected `and`, `or` or the end")
        return found

    def _read(self) -> Iterator[_Token]:
        at, text = 0, self._text.rstrip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                start = at + len(text[at:]) - len(text[at:].lstrip())
                raise UsageError(
                    f"--fail-if {self._text!r}: cannot read {text[start : start + 20]!r}"
                    f" at character {start + 1}",
                    EXAMPLE,
                )
            start = found.end() - len(found[0].lstrip())
            yield _Token(start, found[0].strip(), found["number"], found["unit"] or "")
            at = found.end()
        yield _Token(len(text), "")

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, text: str) -> bool:
        if self._token.number is None and self._token.text == text:
            self._next += 1
            return True
        return False

    def _wrong(self, what: str) -> UsageError:
        token = self._token
        there = f"{token.text!r} at character {token.at + 1}" if token.text else "the end"
        return UsageError(f"--fail-if {self._text!r}: {what}, found {there}", EXAMPLE)

    def _joined(self, word: str = "or") -> Condition:
        those = [self._and() if word == "or" else self._one()]
        while self._take(word):
            those.append(self._and() if word == "or" else self._one())
        return those[0] if len(those) == 1 else Several(word, tuple(those))

    def _and(self) -> Condition:
        return self._joined("and")

    def _one(self) -> Condition:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise self._wrong(f"more than {MOST_DEPTH} conditions inside one another")
        try:
            return self._inner()
        finally:
            self._depth -= 1

    def _inner(self) -> Condition:
        if self._take("not"):
            return Not(self._one())
        if self._take("("):
            inner = self._joined()
            if not self._take(")"):
                raise self._wrong("expected `)`")
            return inner
        if self._take("finding"):
            rules = self._rules()
            if rules is None:
                raise self._wrong("expected `(` and the code of a rule, or a family")
            return Found(rules)
        for quantity in _QUANTITIES:
            if self._take(quantity):
                return self._compared(quantity)
        raise self._wrong(f"expected finding(CODE), {', '.join(_QUANTITIES)}, not or `(`")

    def _rules(self) -> Asked | None:
        if not self._take("("):
            return None
        named = self._token
        name = named.text.removesuffix("*").removesuffix(".")
        if name not in self._known:
            near = get_close_matches(name, self._known, 1)
            raise UsageError(
                f"--fail-if {self._text!r}: no rule or family {named.text!r}"
                f" at character {named.at + 1}",
                f"did you mean {near[0]}?" if near else "pyrometer rules lists them",
            )
        self._next += 1
        if not self._take(")"):
            raise self._wrong("expected `)`")
        return Asked(name)

    def _compared(self, quantity: str) -> Compared:
        rules = self._rules() if quantity in ("saving", "count") else None
        compare = self._token.text
        if compare not in _COMPARE:
            raise self._wrong(f"expected one of {' '.join(_COMPARE)} after {quantity}")
        self._next += 1
        token = self._token
        if token.number is None:
            raise self._wrong("expected a number")
        self._check_unit(quantity, token)
        self._next += 1
        return Compared(quantity, rules, compare, float(token.number), token.unit)

    def _check_unit(self, quantity: str, token: _Token) -> None:
        if quantity == "count":
            if token.unit:
                raise self._wrong("count is compared with a number without a unit")
            return
        if not token.unit and float(token.number or 0):
            allowed = "a time (s, ms, min)" if quantity == "elapsed" else "% or a time (s, ms, min)"
            raise self._wrong(f"{quantity} is compared with {allowed}")
        if quantity == "elapsed" and token.unit == "%":
            raise self._wrong("elapsed is compared with a time (s, ms, min)")


def _of(found: Findings, rules: Asked | None) -> list[Finding]:
    return [one for one in counted(found.findings) if rules is None or one.code in rules]


def _unjudged(found: Findings, rules: Asked | None) -> str:
    lacks = [one.missing for one in found.unjudged if rules is not None and one.code in rules]
    return "; ".join(dict.fromkeys(lacks))
