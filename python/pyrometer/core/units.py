"""Numbers with their units, for people: three significant digits, never a naked number.

The page writes them the same way (`web/src/ui/format.js`); `tests/fixtures/units.json` holds both
to it.
"""

from __future__ import annotations

from math import isfinite

MISSING = "–"
_TIME = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_BYTES = ((1 << 50, "PiB"), (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))

LARGE = 1e8
"""From here on numbers are written with an exponent."""


def digits(value: float, significant: int = 3) -> str:
    """Write a number to so many significant digits, without exponent; thousands are grouped.

    Examples
    --------
    >>> digits(0.012345), digits(1234.5), digits(7.0), digits(-2.0)
    ('0.0123', '1 235', '7.00', '−2.00')
    """
    if not isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    scientific = f"{abs(value):.{significant - 1}e}"
    exponent = int(scientific.split("e")[1])
    sign = "−" if value < 0 else ""
    return sign + _fixed(abs(value), max(0, significant - 1 - exponent))


def _fixed(size: float, places: int) -> str:
    # Half away from zero on the decimal digits, as people round.
    return f"{size + 1e-9 * 10.0**-places:,.{places}f}".replace(",", " ")


def short(value: float, significant: int = 3, signed: bool = False) -> str:
    """Write a number to at most so many significant digits; a large one whole, without exponent.

    Examples
    --------
    >>> short(1234.5), short(999.6), short(7.0), short(-123.4, 2), short(12.0, signed=True)
    ('1234', '1000', '7', '-123', '+12')
    >>> short(1e12), short(float("inf"))
    ('1e+12', 'inf')
    """
    sign = "+" if signed else ""
    whole = 10**significant - 0.5 <= abs(value) < LARGE
    return f"{value:{sign}.0f}" if whole else f"{value:{sign}.{significant}g}"


def duration(ns: float | None) -> str:
    """Write a time given in nanoseconds.

    Examples
    --------
    >>> duration(1_234_567_890), duration(45_600), duration(0), duration(None)
    ('1.23 s', '45.6 µs', '0 s', '–')
    >>> duration(465_430_000_000)
    '7 min 45 s'
    """
    if ns is None or not isfinite(ns):
        return MISSING
    if ns == 0:
        return "0 s"
    sign, size = ("−", -ns) if ns < 0 else ("", ns)
    seconds = size / 1e9
    if seconds >= 99.95:
        whole = int(seconds + 0.5)
        if whole < 3600:
            return f"{sign}{whole // 60} min {whole % 60:02d} s"
        return f"{sign}{whole // 3600} h {whole % 3600 // 60:02d} min"
    for factor, unit in _TIME:
        if size >= factor * 0.9995:
            return f"{sign}{digits(size / factor)} {unit}"
    return f"{sign}{digits(size)} ns"


def size(n: float | None) -> str:
    """Write a number of bytes in binary units.

    Examples
    --------
    >>> size(72_942_144_585), size(512), size(0), size(None)
    ('67.9 GiB', '512 B', '0 B', '–')
    """
    if n is None or not isfinite(n):
        return MISSING
    sign, amount = ("−", -n) if n < 0 else ("", n)
    for factor, unit in _BYTES:
        if amount >= factor * 0.9995:
            return f"{sign}{digits(amount / factor)} {unit}"
    return f"{sign}{_fixed(amount, 0)} B"


def rate(bytes_per_s: float | None) -> str:
    """Write bytes per second in binary units.

    Examples
    --------
    >>> rate(97_400_000), rate(None)
    ('92.9 MiB/s', '–')
    """
    if bytes_per_s is None or not isfinite(bytes_per_s):
        return MISSING
    return f"{size(bytes_per_s)}/s"


def count(n: int | None) -> str:
    """Write a count with thin groups of thousands.

    Examples
    --------
    >>> count(1079971165), count(None)
    ('1 079 971 165', '–')
    """
    return MISSING if n is None else f"{n:,}".replace(",", " ").replace("-", "−")


def counted(n: int, noun: str) -> str:
    """Write a count with what is counted, in the plural unless it is one.

    Examples
    --------
    >>> counted(1, "task"), counted(12500, "task"), counted(0, "other slot")
    ('1 task', '12 500 tasks', '0 other slots')
    """
    return f"{count(n)} {noun}{'' if n == 1 else 's'}"


def percent(ratio: float | None, signed: bool = False) -> str:
    """Write a ratio as per cent. What is not nothing does not look like it.

    Examples
    --------
    >>> percent(0.123), percent(0.0004), percent(-0.012, signed=True), percent(None)
    ('12.3 %', '0.04 %', '−1.20 %', '–')
    >>> percent(0.00001), percent(-0.00001)
    ('< 0.01 %', '> −0.01 %')
    """
    if ratio is None or not isfinite(ratio):
        return MISSING
    value = ratio * 100
    if value == 0:
        return "0 %"
    if abs(value) < 0.005:
        return "< 0.01 %" if value > 0 else "> −0.01 %"
    text = _fixed(abs(value), 2) if abs(value) < 9.995 else digits(abs(value))
    sign = "−" if value < 0 else "+" if signed else ""
    return f"{sign}{text} %"


def quantity(name: str, value: float | None) -> str:
    """Write a value in the unit that its name ends with (``_ns _bytes _count _ratio``).

    Examples
    --------
    >>> quantity("input_bytes", 1024), quantity("elapsed_ns", 2_000_000), quantity("tasks_count", 3)
    ('1.00 KiB', '2.00 ms', '3')
    """
    if value is None:
        return MISSING
    if name.endswith("_ns"):
        return duration(value)
    if name.endswith("_bytes"):
        return size(value)
    if name.endswith("_ratio"):
        return percent(value)
    if name.endswith("_count"):
        return count(int(value))
    return str(value)
