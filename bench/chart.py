"""Charts as SVG, which need no library and are the same on each machine."""

from __future__ import annotations

import math
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 380
LEFT, RIGHT, TOP, BOTTOM = 60, 190, 34, 52
COLORS = ("#b35900", "#d98c1f", "#2f6fb7", "#12843f", "#888888", "#8e44ad", "#c0392b")


@dataclass(frozen=True)
class Series:
    name: str
    points: list[tuple[float, float]]
    is_ours: bool = False


def line_chart(title: str, x_name: str, y_unit: str, series: list[Series]) -> str:
    """Both axes begin at zero and are linear: the slope is the cost of distance."""
    x_step, x_end = axis(max(x for one in series for x, _ in one.points))
    y_step, y_end = axis(max(y for one in series for _, y in one.points))

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (WIDTH - LEFT - RIGHT) * x / x_end
        down = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / y_end
        return round(across, 1), round(down, 1)

    parts = [text(LEFT, 20, title, weight="bold")]
    for number in range(round(y_end / y_step) + 1):
        left, down = place(0, number * y_step)
        parts.append(line((left, down), (WIDTH - RIGHT, down), "#dddddd"))
        parts.append(text(left - 8, down + 4, f"{number * y_step:g} {y_unit}", anchor="end"))
    for number in range(round(x_end / x_step) + 1):
        across, bottom = place(number * x_step, 0)
        parts.append(text(across, bottom + 18, f"{number * x_step:g}", anchor="middle"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_name, anchor="middle"))
    for one, color in zip(series, COLORS[: len(series)], strict=True):
        placed = [place(x, y) for x, y in one.points]
        path = " ".join(f"{across},{down}" for across, down in placed)
        width = 3 if one.is_ours else 1.5
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"/>'
        )
        parts += [
            f'<circle cx="{across}" cy="{down}" r="3" fill="{color}"/>' for across, down in placed
        ]
    parts += legend(series, [place(*one.points[-1])[1] for one in series])
    return drawing(parts, HEIGHT)


@dataclass(frozen=True)
class Bars:
    """A color of a bar chart: one bar a group, or none."""

    name: str
    values: list[float | None]
    is_ours: bool = False


BAR, GAP, NAMES = 13, 12, 150


def bar_chart(title: str, unit: str, groups: list[str], bars: list[Bars]) -> str:
    """Horizontal bars on a logarithmic axis, a group for each name."""
    values = [value for one in bars for value in one.values if value is not None]
    ticks = log_ticks(min(values), max(values))
    low, high = ticks[0], ticks[-1]
    sizes = [sum(one.values[at] is not None for one in bars) for at in range(len(groups))]
    top = TOP + 18 * math.ceil(len(bars) / 3)
    height = top + sum(BAR * size + GAP for size in sizes) + 40

    def place(value: float) -> float:
        part = math.log10(value / low) / max(math.log10(high / low), 1e-9)
        return round(NAMES + (WIDTH - NAMES - 70) * part, 1)

    parts = [text(10, 20, title, weight="bold")]
    for at, (one, color) in enumerate(zip(bars, COLORS, strict=False)):
        left, down = 10 + 240 * (at % 3), TOP + 18 * (at // 3)
        parts.append(f'<rect x="{left}" y="{down - 3}" width="10" height="10" fill="{color}"/>')
        weight = "bold" if one.is_ours else "normal"
        parts.append(text(left + 16, down + 6, one.name, weight=weight))
    for tick in ticks if len(ticks) < 9 else [one for one in ticks if is_power(one)]:
        parts.append(line((place(tick), top), (place(tick), height - 34), "#dddddd"))
        parts.append(text(place(tick), height - 16, f"{tick:g} {unit}", anchor="middle"))
    down = top + 4
    for at, group in enumerate(groups):
        middle = down + BAR * sizes[at] / 2 + 4
        parts.append(text(NAMES - 8, middle, group, anchor="end"))
        for one, color in zip(bars, COLORS, strict=False):
            value = one.values[at]
            if value is None:
                continue
            across = place(value)
            parts.append(
                f'<rect x="{NAMES}" y="{down}" width="{max(across - NAMES, 1):g}" '
                f'height="{BAR - 2}" fill="{color}"/>'
            )
            weight = "bold" if one.is_ours else "normal"
            parts.append(text(across + 5, down + 10, f"{value:.3g}", weight=weight))
            down += BAR
        down += GAP
    return drawing(parts, height)


def log_ticks(least: float, most: float) -> list[float]:
    """1, 2, 5, 10, 20 and so on, so that the first and the last enclose all values."""
    ticks = [step * 10.0**power for power in range(-6, 7) for step in (1, 2, 5)]
    first = max(at for at, tick in enumerate(ticks) if tick <= least)
    return ticks[first : 1 + next(at for at, tick in enumerate(ticks) if tick >= most)]


def is_power(tick: float) -> bool:
    return f"{tick:e}".startswith("1.0")


def drawing(parts: list[str], height: float) -> str:
    inner = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{height:g}" fill="white"/>\n{inner}\n</svg>\n'
    )


def legend(series: list[Series], heights: list[float]) -> list[str]:
    """The names beside the last points, apart by a line at least."""
    parts, free_from = [], 0.0
    for number in sorted(range(len(series)), key=lambda number: heights[number]):
        down = max(heights[number], free_from)
        free_from = down + 16
        weight = "bold" if series[number].is_ours else "normal"
        name, color = series[number].name, COLORS[number]
        parts.append(text(WIDTH - RIGHT + 10, down + 4, name, weight=weight, color=color))
    return parts


def axis(most: float) -> tuple[float, float]:
    """A step that is easy to read, and the first multiple of it that all values fit under."""
    step = next(
        step
        for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
        if most / step <= 7
    )
    return step, step * math.ceil(most / step)


def line(start: tuple[float, float], end: tuple[float, float], color: str) -> str:
    return (
        f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" '
        f'stroke="{color}" stroke-width="1"/>'
    )


def text(
    across: float,
    down: float,
    words: str,
    *,
    anchor: str = "start",
    weight: str = "normal",
    color: str = "#222222",
) -> str:
    return (
        f'<text x="{across:g}" y="{down:g}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="{color}">{words}</text>'
    )
