"""One redactor for all that is written down: passwords, keys and tokens never reach a file of ours.

Names of settings are judged by Spark's own pattern (``spark.redaction.regex``, the user's if one is
given) and by ours; texts (command lines, URLs, plans, messages) by what secrets look like. The
rules stand in ``schema/redaction.toml``; by the same ones Rust redacts tables and raw files.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from pyrometer.core.schema import schema_folder

REDACTED: Final = "*********(redacted)"
"""Spark's word for it (``org.apache.spark.util.Utils.REDACTION_REPLACEMENT_TEXT``)."""

_CONF = "--conf="
# How fields of our own data are called: settings have dots, variables capital letters.
_FIELD = re.compile(r"[a-z][a-z0-9_]*")
_WORD = r"[\w.$-]*"
# Rust needs no more than the word: its search is leftmost, and its time grows with the text alone.
_START = r"(?<![\w.$-])"
# An arrow is none of it.
_TAIL = r"(?:[\w.$]|-(?!>))*"
_ANY_NAME = r"(?P<name>(?:[\w.$]|-(?!>))++)"
# Or behind an encoded name that says nothing.
_ANY_START = rf"(?:{_START}|(?<=%3[Dd]))"
_NUMBER = re.compile(r"[0-9.+-]*|true|false")
_APART = re.compile(r"[\s\"'\\]")
# What follows an option without a value.
_NEXT_OPTION = re.compile(r"-.?|--.*|-[DX].*", re.DOTALL)
# Programs whose options mean passwords.
_PROGRAM = re.compile(
    r"(?:.*/)?(?:curl|sshpass|(?:mysql|mariadb)(?:-?(?:admin|check|dump|import|show))?)"
)


@dataclass(frozen=True)
class _Rule:
    pattern: re.Pattern[str]
    shortest: int


@dataclass(frozen=True)
class _Rules:
    hints: tuple[str, ...]
    names: re.Pattern[str]
    brief: re.Pattern[str]
    option: re.Pattern[str]
    kept: re.Pattern[str]
    texts: tuple[_Rule, ...]
    beside_any: tuple[_Rule, ...]


@cache
def _rules() -> _Rules:
    data = tomllib.loads((schema_folder() / "redaction.toml").read_text(encoding="utf-8"))
    words, whole = f"{data['spark']}|{data['ours']}", data["whole"]
    named = rf"{_WORD}(?:{words}){_TAIL}|(?:{_WORD}[\d_.$-])?(?:{whole})(?:(?=[\d_.$-]){_TAIL})?"
    places = {"START": _START, "WORD": _WORD, "QUOTED": data["quoted"], "BARE": data["bare"]}
    # All of a word or nothing: to try shorter ones again and again would be quadratic.
    places |= {"NAME": f"(?>(?i:{named}))", "BEGIN": data["begin"]}
    places |= {"BRIEF": rf"(?i:(?:{_WORD}(?:[_.$-]|-D))?(?:{data['brief']}))"}

    def filled(pattern: str, **others: str) -> re.Pattern[str]:
        for place, what in (places | others).items():
            pattern = pattern.replace(f"%{place}%", what)
        return re.compile(pattern, re.ASCII)

    rules = [(rule["pattern"], rule.get("shortest", 1)) for rule in data["rules"]]
    return _Rules(
        hints=tuple(data["hints"]),
        brief=filled("%BRIEF%"),
        names=re.compile(f"(?i:{words}|(?:^|[^a-zA-Z])(?:{whole})(?:[^a-zA-Z]|$))", re.ASCII),
        option=filled("--?%NAME%"),
        kept=filled(data["kept"]),
        texts=tuple(_Rule(filled(pattern), shortest) for pattern, shortest in rules),
        beside_any=tuple(
            _Rule(filled(pattern, NAME=_ANY_NAME, START=_ANY_START), shortest)
            for pattern, shortest in rules
            if "%NAME%" in pattern
        ),
    )


@dataclass(frozen=True)
class Redactor:
    """Strikes secrets out.

    Parameters
    ----------
    names : re.Pattern, optional
        More names of settings whose values are secret (``spark.redaction.regex``).
    texts : re.Pattern, optional
        More that is secret in a text (``spark.redaction.string.regex``).
    """

    names: re.Pattern[str] | None = None
    texts: re.Pattern[str] | None = None

    @classmethod
    def of(cls, words: Iterable[str]) -> Redactor:
        """Take the user's patterns from the words of a command; a broken one is passed over.

        Examples
        --------
        >>> Redactor.of(["--conf", "spark.redaction.regex=(?i)plum"]).setting("my.plum", "x")
        '*********(redacted)'
        """
        found: dict[str, re.Pattern[str]] = {}
        for word in words:
            name, equals, pattern = word.removeprefix(_CONF).partition("=")
            if equals and name in ("spark.redaction.regex", "spark.redaction.string.regex"):
                try:
                    found[name] = re.compile(pattern)
                except re.error:
                    continue
        return cls(found.get("spark.redaction.regex"), found.get("spark.redaction.string.regex"))

    def teach(self) -> bool:
        """Have tables, raw files and pages redacted by the user's patterns as well, from here on.

        Returns
        -------
        bool
            Whether Rust understands them.
        """
        from pyrometer._core import learn_secrets

        patterns = (one and one.pattern for one in (self.names, self.texts))
        try:
            return learn_secrets(*patterns)
        except UnicodeEncodeError:
            # No argument that is not UTF-8 is a pattern of Java's.
            return False

    def secret(self, name: str) -> bool:
        """Whether the value of a setting of this name is secret."""
        return bool(_rules().names.search(name) or self._of_user(name))

    def _of_user(self, name: str) -> bool:
        return self.names is not None and self.names.search(name) is not None

    def setting(self, name: str, value: str) -> str:
        """Give the value of a setting as it may be written."""
        # Spark's own patterns are no secrets, though their names and values say the words.
        if name.startswith("spark.redaction."):
            return value
        if value and (self.secret(name) or _secret_briefly(name, value)):
            return REDACTED
        return self.text(value)

    def text(self, text: str) -> str:
        """Strike out what in a text looks like a secret.

        Examples
        --------
        >>> redact = Redactor().text
        >>> redact("jdbc:postgresql://u:pw@db/x?user=u&password=pw&ssl=true")
        'jdbc:postgresql://u:*********(redacted)@db/x?user=u&password=*********(redacted)&ssl=true'
        >>> redact("--conf spark.sql.shuffle.partitions=200 tokens.parquet")
        '--conf spark.sql.shuffle.partitions=200 tokens.parquet'
        """
        if len(text) < 4 or text == REDACTED:
            return text
        redacted, lowered = text, text.lower()
        if any(hint in lowered for hint in _rules().hints):
            for rule in _rules().texts:
                redacted = rule.pattern.sub(partial(_replaced, rule.shortest), redacted)
        for rule in _rules().beside_any if self.names is not None else ():
            redacted = self._beside_names(rule, redacted)
        return self.texts.sub(REDACTED, redacted) if self.texts is not None else redacted

    def _beside_names(self, rule: _Rule, text: str) -> str:
        """Strike values of the user's names that a rule finds beside names of any kind."""
        made = ""
        done = at = 0
        while found := rule.pattern.search(text, at):
            # The name is a group of its own, within the first.
            key, name, value = found[1], found["name"], found[3]
            # What stands as the value of a name that says nothing may be a name itself, and what
            # parts the two may have to stand before it.
            at = max(found.end(1) - (not key[-1].isalnum()), at + 1)
            if self._of_user(name) and not name.startswith("spark.redaction."):
                struck = _struck(rule.shortest, key, value)
                if struck is not None:
                    made += text[done : found.start(3)] + struck
                    done = at = found.end(3)
        return made + text[done:]

    def words(self, words: Sequence[str]) -> list[str]:
        """Redact the words of a command: ``--password X``, ``--conf KEY=X``, ``-Dkey=X``, URLs.

        Examples
        --------
        >>> Redactor().words(["psql", "--password", "x", "--conf", "a.secret=y", "-Dz.token=w"])
        ['psql', '--password', '*********(redacted)', '--conf', 'a.secret=*********(redacted)', \
'-Dz.token=*********(redacted)']
        """
        redacted: list[str] = []
        program = before = ""
        for word in words:
            if before and not _NEXT_OPTION.fullmatch(word) and self._announces(before):
                redacted.append(REDACTED)
            else:
                redacted.append(self._word(word, program, before))
            program = word if _PROGRAM.fullmatch(word) else program
            before = word
        return redacted

    def _word(self, word: str, program: str, before: str) -> str:
        """Redact a word of a command, by the program and the word before it, too."""
        option = _CONF if word.startswith(_CONF) else ""
        name, equals, value = word.removeprefix(option).partition("=")
        if equals and _plain_name(name):
            kept = self.setting(name.removeprefix("-D"), value)
            if kept != value or name.startswith("spark.redaction."):
                return f"{option}{name}={kept}"
        made = self.text(word)
        context = before if before.startswith("-" if program else "--") else ""
        if made != word or not (program or context):
            return made
        context = f"{program} {context}".strip() + " "
        # Whatever it holds, it is one word.
        struck = self.text(context + _APART.sub("_", word))
        beside = struck.startswith(context) and REDACTED in struck[len(context) :]
        return struck[len(context) :] if beside else word

    def _announces(self, word: str) -> bool:
        """Whether a word is an option whose value, the next word, is secret."""
        if _rules().option.fullmatch(word):
            return True
        # What follows --conf has a name of its own.
        named = word.startswith("-") and word not in ("-c", "--conf") and _plain_name(word)
        return named and self._of_user(word)

    def data(self, value: Any, name: str = "") -> Any:
        """Redact plain data (of JSON): values by the names that they stand under, texts, words."""
        if isinstance(value, str):
            return self.setting(name, value)
        if isinstance(value, Mapping):
            redacted = {key: self.data(one, str(key)) for key, one in value.items()}
            # A setting as a record: {"key": …, "value": …}.
            setting, found = value.get("key"), value.get("value")
            if isinstance(setting, str) and isinstance(found, str):
                redacted |= {"key": setting, "value": self.setting(setting, found)}
            return redacted
        if isinstance(value, (list, tuple)):
            if all(isinstance(one, str) for one in value):
                return self.words(value)
            return [self.data(one, name) for one in value]
        return value


def _plain_name(name: str) -> bool:
    return re.fullmatch(r"[\w.$-]+", name) is not None


def _secret_briefly(name: str, value: str) -> bool:
    return _rules().brief.fullmatch(name) is not None and not _NUMBER.fullmatch(value)


def redacted(text: str) -> str:
    """Strike secrets out of a text of any size: a page, a line of JSON (which stays JSON).

    Examples
    --------
    >>> redacted('{"levels": {"my.token": "x1"}, "count": 5}')
    '{"levels": {"my.token": "*********(redacted)"}, "count": 5}'
    """
    try:
        from pyrometer._core import redact
    except ImportError:
        return Redactor().text(text)
    # Half a surrogate pair, as other programs cut texts, stays one.
    return redact(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def redacted_data(value: Any, name: str = "") -> Any:
    """Strike secrets out of plain data (of JSON), by all patterns that are learnt by now.

    Names of settings are keys, and stand in texts; keys and numbers stay as they are.

    Examples
    --------
    >>> redacted_data({"levels": {"my.token": "x1"}, "count": 5, "said": ["a.password=y"]})
    {'levels': {'my.token': '*********(redacted)'}, 'count': 5, 'said': \
['a.password=*********(redacted)']}
    """
    if isinstance(value, str):
        return REDACTED if value and _known_secret(name, value) else redacted(value)
    if isinstance(value, Mapping):
        made = {key: redacted_data(one, str(key)) for key, one in value.items()}
        # A setting as a record: {"key": …, "value": …}.
        setting, found = value.get("key"), value.get("value")
        if isinstance(setting, str) and isinstance(found, str):
            made["value"] = redacted_data(found, setting)
        return made
    if isinstance(value, (list, tuple)):
        return [redacted_data(one) for one in value]
    return value


def redact_each(files: Iterable[Path], struck: list[Path] | None = None) -> Iterator[str]:
    """Strike secrets out of files of text; gives why one keeps what is secret in it.

    Parameters
    ----------
    files : iterable of Path
        The files. Other than regular ones, and what is not text, are passed over.
    struck : list of Path, optional
        Takes those that held a secret.

    Yields
    ------
    str
        A file that could not be read or replaced, and the reason.
    """
    from pyrometer.core.native import native

    for file in files:
        try:
            found = native().redact_files([str(file)])
            if struck is not None and found:
                struck.append(file)
        except Exception as error:
            yield str(error) if str(file) in str(error) else f"{file}: {error}"


def _known_secret(name: str, value: str) -> bool:
    """Whether a value of a setting of this name is secret, by all that is learnt by now."""
    if not name or _FIELD.fullmatch(name) or name.startswith("spark.redaction."):
        return False
    # A number is secret under those names alone that always name a secret.
    return _secret_briefly(name, value) or redacted(f"{name}=1") != f"{name}=1"


_OPENING = re.compile(r"\\{0,15}[\"']")
_CLOSING = re.compile(r"\\*[\"']\Z")
_KEY_QUOTE = re.compile(r"(\\*[\"'])\s*:\s*\Z", re.ASCII)


def _replaced(shortest: int, found: re.Match[str]) -> str:
    struck = _struck(shortest, found[1], found[2])
    return found[0] if struck is None else "".join((found[1], struck, *found.groups()[2:]))


def _struck(shortest: int, key: str, value: str) -> str | None:
    """Give what stands in place of a value; None where it stays."""
    opening = "" if (quote := _OPENING.match(value)) is None else quote[0]
    body = value[len(opening) :]
    if (
        len(value) < shortest
        or body.startswith(REDACTED[:9])
        or _rules().kept.fullmatch(key + value)
    ):
        return None
    closing = ""
    if opening:
        ends = _CLOSING.search(body)
        closing = ends[0] if ends else ""
        if body == closing:
            return None
    elif bare := _KEY_QUOTE.search(key):
        # A number in JSON: what stands in its place must be JSON too.
        opening = closing = bare[1]
    # Lines keep their numbers: positions in generated code refer to them.
    return f"{opening}{REDACTED}{closing}" + "\n" * value.count("\n")
