"""One redactor for all that is written down: passwords, keys and tokens never reach a file of ours.

Names of settings are judged by Spark's own pattern (``spark.redaction.regex``, the user's if one is
given) and by ours; texts (command lines, URLs, plans, messages) by what secrets look like.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

REDACTED: Final = "*********(redacted)"
"""Spark's word for it (``org.apache.spark.util.Utils.REDACTION_REPLACEMENT_TEXT``)."""

SPARK: Final = r"secret|password|token|access[.]?key"
"""Default of ``spark.redaction.regex`` (Spark 2.2 to 4.x), whatever the case."""

OURS: Final = (
    r"passwd|passphrase|pass[_-]?word|\bpwd\b|credential|(?:access|api|account|private|encryption)"
    r"[._-]?key|signature|(?<![a-z])sas(?![a-z])|auth[._-]?header"
)
"""Names that Spark's pattern lets through, whatever the case."""

_NAME = re.compile(f"{SPARK}|{OURS}", re.IGNORECASE)

# What a value may be: quoted, or up to where a word, a parameter or a bracket ends.
_VALUE = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,;&"'()\[\]{}<>]+"""
_WORD = r"[\w.$-]{0,200}"
_ASSIGNED = re.compile(
    rf"""(?P<key>(?<![\w.$-]){_WORD}(?:{SPARK}|{OURS}){_WORD}\\?["']?"""
    r"""(?:\s{0,8}[=:]\s{0,8}\\?|\s{1,8}(?=["'])))"""
    rf"(?P<value>{_VALUE})",
    re.IGNORECASE,
)
_OPTION = re.compile(
    rf"(?P<key>(?<![\w-])--?{_WORD}(?:{SPARK}|{OURS}){_WORD}\s{{1,8}})(?P<value>(?!-){_VALUE})",
    re.IGNORECASE,
)
_NAMED_OPTION = re.compile(rf"--?{_WORD}(?:{SPARK}|{OURS}){_WORD}", re.IGNORECASE)
_KEPT_FRONT = (
    # user:password@host of any URL; scott/tiger@ of Oracle's.
    re.compile(
        r"(?P<key>\b[a-z][a-z0-9+.-]{0,30}://[^/\s:@]{0,200}:)(?P<value>[^/\s@]{1,500})(?=@)", re.I
    ),
    re.compile(
        r"(?P<key>\bjdbc:oracle:\w{1,20}:[^/\s@]{1,200}/)(?P<value>[^\s@]{1,200})(?=@)", re.I
    ),
    # Signed URLs (Azure's short name; others are found by theirs).
    re.compile(r"(?P<key>[?&;]sig=)(?P<value>[^\s&;\"']+)", re.I),
    re.compile(
        r"(?P<key>\b(?:bearer|authorization\W{1,8}basic)\s{1,8})"
        r"(?P<value>(?=[a-z+/~-]{0,200}[0-9._=])[\w+/=.~-]{8,})",
        re.I,
    ),
)
_SHAPES = re.compile(
    r"\b(?:AKIA|ASIA|AROA)[0-9A-Z]{16}\b"  # AWS
    r"|\beyJ[\w-]{8,4000}\.[\w-]{8,8000}\.[\w-]{0,4000}"  # JSON Web Token
    r"|\bgh[pousr]_\w{20,250}\b|\bgithub_pat_\w{20,250}\b|\bglpat-[\w-]{15,100}"  # GitHub, GitLab
    r"|\bxox[abeprs]-[\w-]{10,250}"  # Slack
    r"|\bdapi[0-9a-f]{32}\b|\bAIza[\w-]{35}"  # Databricks, Google
    r"|\bsk-[\w-]{20,250}|\b[rs]k_live_\w{16,250}|\bhf_\w{30,100}\b|\bpypi-[\w-]{40,400}"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----)[\s\S]){0,20000}"
    r"(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?"
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
        """Take the user's own patterns from the words of a command; a broken one is passed over.

        Examples
        --------
        >>> Redactor.of(["--conf", "spark.redaction.regex=(?i)plum"]).setting("my.plum", "x")
        '*********(redacted)'
        """
        found: dict[str, re.Pattern[str]] = {}
        for word in words:
            name, equals, pattern = word.removeprefix("--conf=").partition("=")
            if equals and name in ("spark.redaction.regex", "spark.redaction.string.regex"):
                try:
                    found[name] = re.compile(pattern)
                except re.error:
                    continue
        return cls(found.get("spark.redaction.regex"), found.get("spark.redaction.string.regex"))

    def secret(self, name: str) -> bool:
        """Whether the value of a setting of this name is secret."""
        return bool(_NAME.search(name) or (self.names and self.names.search(name)))

    def setting(self, name: str, value: str) -> str:
        """Give the value of a setting as it may be written."""
        # Spark's own patterns are no secrets, though their names and values say the words.
        if name.startswith("spark.redaction."):
            return value
        return REDACTED if value and self.secret(name) else self.text(value)

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
        made = _SHAPES.sub(REDACTED, text)
        for pattern in (*_KEPT_FRONT, _ASSIGNED, _OPTION):
            made = pattern.sub(_struck, made)
        return self.texts.sub(REDACTED, made) if self.texts is not None else made

    def words(self, words: Sequence[str]) -> list[str]:
        """Redact the words of a command: ``--password X``, ``--conf KEY=X``, ``-Dkey=X``, URLs.

        Examples
        --------
        >>> Redactor().words(["psql", "--password", "x", "--conf", "a.secret=y", "-Dz.token=w"])
        ['psql', '--password', '*********(redacted)', '--conf', 'a.secret=*********(redacted)', \
'-Dz.token=*********(redacted)']
        """
        made: list[str] = []
        for at, word in enumerate(words):
            before = words[at - 1] if at else ""
            if _NAMED_OPTION.fullmatch(before) and not word.startswith("-"):
                made.append(REDACTED)
                continue
            name, equals, value = word.partition("=")
            if equals and _plain_name(name):
                made.append(f"{name}={self.setting(name.removeprefix('-D'), value)}")
            else:
                made.append(self.text(word))
        return made

    def data(self, value: Any, name: str = "") -> Any:
        """Redact plain data (of JSON): values by the names that they stand under, texts, words."""
        if isinstance(value, str):
            return self.setting(name, value)
        if isinstance(value, Mapping):
            made = {key: self.data(one, str(key)) for key, one in value.items()}
            # A setting as a record: {"key": …, "value": …}.
            setting, found = value.get("key"), value.get("value")
            if isinstance(setting, str) and isinstance(found, str):
                made |= {"key": setting, "value": self.setting(setting, found)}
            return made
        if isinstance(value, (list, tuple)):
            if all(isinstance(one, str) for one in value):
                return self.words(value)
            return [self.data(one, name) for one in value]
        return value


def _plain_name(name: str) -> bool:
    return re.fullmatch(r"[\w.$-]{1,300}", name) is not None


def _struck(found: re.Match[str]) -> str:
    value = found["value"]
    if value.strip("\"'\\").startswith(REDACTED[:9]):
        return found[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found['key']}{quote}{REDACTED}{quote}"
