"""The notebook picture of a forecast: the curve so far, and bands for its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._foretell import Forecast

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 420, 220, 56, 16, 28, 34
LEVELS = ((0.95, 0.18), (0.8, 0.28), (0.5, 0.45))


def svg(forecast: Forecast) -> str:
    """The forecast as SVG."""
    steps, values = forecast.steps, forecast.values
    bands = [(*forecast.interval(level), shade) for level, shade in LEVELS]
    shown = [*values, bands[0][0], bands[0][1], *([] if forecast.best is None else [forecast.best])]
    low, high = min(shown), max(shown)
    margin = (high - low) * 0.06 or abs(high) * 0.06 or 1.0
    low, high = low - margin, high + margin
    first, last = min([*steps, forecast.target]), max([*steps, forecast.target])

    def x(step: float) -> float:
        return LEFT + (step - first) / (last - first or 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [_axes(low, high, first, last, y)]
    if forecast.best is not None:
        at = y(forecast.best)
        parts.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#555" stroke-dasharray="4 3" fill="none"/>')
    if steps and not forecast.recorded:
        x0, y0, x1 = x(steps[-1]), y(values[-1]), x(forecast.target)
        parts += [
            f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y(a):.1f}V{y(b):.1f}Z" fill="#d55e00" fill-opacity="{shade}"/>'
            for a, b, shade in bands
        ]
        parts.append(f'<circle cx="{x1:.1f}" cy="{y(forecast.mean):.1f}" r="3.5" fill="#d55e00"/>')
    line = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in zip(steps, values))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#0072b2" stroke-width="2"/>')
    title = f"{forecast.mean:.4g} ± {forecast.std:.2g} at step {forecast.target:g}"
    parts.append(f'<text x="{LEFT}" y="17" font-size="13" fill="#222">{title}</text>')
    body = "".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" role="img" aria-label="forecast {title}">'
        f'<rect width="100%" height="100%" fill="#fff"/>{body}</svg>'
    )


def _axes(low: float, high: float, first: float, last: float, y) -> str:
    bottom = HEIGHT - BOTTOM
    marks = [low + (high - low) * part for part in (0.1, 0.5, 0.9)]
    labels = "".join(
        f'<text x="{LEFT - 6}" y="{y(mark) + 4:.1f}" font-size="11" fill="#555" text-anchor="end">{mark:.3g}</text>'
        for mark in marks
    )
    ends = "".join(
        f'<text x="{at}" y="{bottom + 16}" font-size="11" fill="#555" text-anchor="{anchor}">{step:g}</text>'
        for at, step, anchor in ((LEFT, first, "start"), (WIDTH - RIGHT, last, "end"))
    )
    return f'<path d="M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}" stroke="#999" fill="none"/>{labels}{ends}'
