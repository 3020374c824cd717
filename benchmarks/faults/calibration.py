"""A picture of predicted against measured savings, as SVG."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.faults.judge import Point

SIDE, MARGIN = 480, 56


def calibration(points: Sequence[Point]) -> str:
    """Draw each planted cause: measured saving across, predicted upwards, both with intervals.

    On the diagonal a prediction is right; a bar that meets the diagonal holds what was measured.
    """
    top = max([0.1, *(one.high for one in points), *(one.measured + one.spread for one in points)])
    size = SIDE - 2 * MARGIN

    def x(ratio: float) -> float:
        return round(MARGIN + size * min(max(ratio, 0.0), top) / top, 1)

    def y(ratio: float) -> float:
        return round(SIDE - MARGIN - size * min(max(ratio, 0.0), top) / top, 1)

    ticks = [top * n / 4 for n in range(5)]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}"'
        ' font-family="sans-serif" font-size="11" role="img">',
        "<title>Predicted and measured savings of planted causes</title>",
        f'<rect width="{SIDE}" height="{SIDE}" fill="white"/>',
        f'<path d="M{x(0)} {y(0)}L{x(top)} {y(top)}" stroke="#888" stroke-dasharray="4 3"/>',
        f'<path d="M{x(0)} {y(top)}V{y(0)}H{x(top)}" fill="none" stroke="#333"/>',
    ]
    for tick in ticks:
        parts += [
            f'<text x="{x(tick)}" y="{y(0) + 16}" text-anchor="middle">{tick:.0%}</text>',
            f'<text x="{x(0) - 6}" y="{y(tick) + 4}" text-anchor="end">{tick:.0%}</text>',
        ]
    parts.append(
        f'<text x="{SIDE / 2}" y="{SIDE - 14}" text-anchor="middle">measured saving, of elapsed'
        " time (90 %)</text>"
    )
    parts.append(
        f'<text transform="translate(14 {SIDE / 2}) rotate(-90)" text-anchor="middle">predicted'
        " saving (90 %)</text>"
    )
    for one in points:
        title = f"<title>{one.name}: {one.code} {one.predicted:.0%}, {one.measured:.0%}</title>"
        parts.append(
            f'<g stroke="#1f5fa8" fill="#1f5fa8">{title}'
            f'<path opacity="0.45" d="M{x(one.measured)} {y(one.low)}V{y(one.high)}'
            f"M{x(one.measured - one.spread)} {y(one.predicted)}"
            f'H{x(one.measured + one.spread)}"/>'
            f'<circle cx="{x(one.measured)}" cy="{y(one.predicted)}" r="3" stroke="none"/></g>'
        )
    return "\n".join([*parts, "</svg>", ""])
