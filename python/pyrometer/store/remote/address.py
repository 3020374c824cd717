"""Addresses of runs that lie elsewhere: which words are one, and how they are shown."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from pyrometer.core.errors import UsageError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://", re.ASCII)
_NEARLY = re.compile(r"(s3[an]?|gc?s|abfss?|az|hdfs|viewfs|https?)(:|//)", re.ASCII | re.IGNORECASE)
_PLAIN = re.compile(r"[^A-Za-z0-9._+=@-]+", re.ASCII)
_MOST_LETTERS = 2_000


def is_url(text: object) -> bool:
    """Whether a word is the address of a place elsewhere, not a path.

    Examples
    --------
    >>> is_url("s3://bucket/run"), is_url("runs/s3"), is_url("file.log")
    (True, False, False)
    """
    return isinstance(text, str) and _URL.match(text) is not None


def is_nearly_url(text: object) -> bool:
    """Whether a word, which is no address, was meant as one.

    Examples
    --------
    >>> is_nearly_url("s3:/bucket/run"), is_nearly_url("gs//bucket"), is_nearly_url("s3/run")
    (True, True, False)
    """
    return _NEARLY.match(str(text)) is not None


def checked(url: str) -> str:
    """Give an address without slashes at its end, its scheme in small letters.

    Examples
    --------
    >>> checked("S3://bucket/Run/")
    's3://bucket/Run'

    Raises
    ------
    UsageError
        If it is too long, holds control characters, or chains file systems (``a::b``): those
        would reach places that the address does not name. If it names no folder, or a folder
        without a name.
    """
    if len(url) > _MOST_LETTERS or not url.isprintable() or "::" in url:
        raise UsageError(
            f"{shown(url[:100])!r}: not the address of a run",
            "give one such as s3://bucket/folder/run",
        )
    scheme, _, rest = url.partition("://")
    place = rest.rstrip("/")
    if not place or "//" in place.partition("?")[0].lstrip("/"):
        raise UsageError(
            f"{shown(url)}: not the address of a run ("
            f"{'two slashes follow each other' if place else 'it names no bucket'})",
            f"give one such as {scheme.lower()}://bucket/folder/run",
        )
    return f"{scheme.lower()}://{place}"


def scheme_of(url: str) -> str:
    """Give the scheme of an address."""
    return url.partition("://")[0]


def shown(url: str) -> str:
    """Give an address as it may be printed and kept: without password and signature.

    Examples
    --------
    >>> shown("ftp://ann:pw@host/run"), shown("https://host/run?X-Amz-Signature=12ab&x=1")
    ('ftp://ann:*********(redacted)@host/run', 'https://host/run?*********(redacted)')
    >>> shown("abfs://runs@account.dfs.core.windows.net/nightly/7")
    'abfs://runs@account.dfs.core.windows.net/nightly/7'
    """
    # Imported with `pyrometer --help`: what takes long waits until there is an address.
    from pyrometer.core.redaction import REDACTED, redacted

    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    user, at, host = place.rpartition("@")
    name, colon, _ = user.partition(":")
    if colon:
        place = f"{name}:{REDACTED}{at}{host}"
    if "?" in path:
        path = f"{path.partition('?')[0]}?{REDACTED}"
    return redacted(f"{scheme}://{place}{slash}{path}")


def secrets_of(url: str) -> list[str]:
    """Give the parts of an address that nothing may repeat."""
    parts = urlsplit(url)
    return [part for part in (parts.password, parts.query) if part]


def name_of(url: str) -> str:
    """Give the last part of an address as a name for a folder here.

    Examples
    --------
    >>> name_of("s3://bucket/runs/nightly 7"), name_of("s3://bucket/.."), name_of("memory://")
    ('nightly-7', 'run', 'run')
    """
    last = shown(url).partition("://")[2].partition("?")[0].rpartition("/")[2]
    return _PLAIN.sub("-", last).strip(".-")[:100] or "run"
