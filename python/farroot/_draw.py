"""Pictures of histograms and graphs for notebooks, as SVG. Every text of a file is escaped."""

from __future__ import annotations

import base64
import html
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Axis(Protocol):
    """An axis of a histogram."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    @property
    def title(self) -> str: ...

    def labels(self) -> list[str] | None: ...

    def edges(self) -> NDArray[np.float64]: ...

    def centers(self) -> NDArray[np.float64]: ...

    def widths(self) -> NDArray[np.float64]: ...

    def __len__(self) -> int: ...


class Binned(Protocol):
    """A histogram, a profile or an efficiency."""

    @property
    def axes(self) -> Sequence[Axis]: ...

    @property
    def kind(self) -> str: ...

    @property
    def classname(self) -> str: ...

    def values(self) -> NDArray[Any]: ...

    def errors(self) -> Any: ...


class Graph(Protocol):
    """Points in a plane."""

    def values(self) -> Any: ...

    def errors(self, which: str, axis: str) -> Any: ...

    def __contains__(self, name: str) -> bool: ...


#: The picture and the part of it between the axes, in its own units.
WIDTH, HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 624, 12, 312
#: Bins, or points, that are drawn at most: neighbours share their largest value.
_DRAWN_MAX = 1120
#: Labels of an axis at most.
_LABELS_MAX = 12
_COLOUR = "#4878a8"
#: From the least to the greatest content, as in matplotlib's "viridis".
_SHADES = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))


@dataclass(frozen=True)
class _Scale:
    """From the numbers of an axis to the picture."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, values: Any) -> Any:
        return self.start + (np.asarray(values) - self.low) * (
            (self.stop - self.start) / (self.high - self.low)
        )

    def ticks(self) -> list[float]:
        """Five to ten round numbers."""
        step = 10.0 ** math.floor(math.log10((self.high - self.low) / 5))
        step *= next(by for by in (1, 2, 5, 10) if (self.high - self.low) / (step * by) <= 8)
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def histogram(drawn: Binned) -> str | None:
    """A histogram, profile or efficiency of one or two axes; None of others."""
    axes = drawn.axes
    if len(axes) not in (1, 2) or not all(axis.low < axis.high for axis in axes):
        return None
    values = np.asarray(drawn.values(), dtype=np.float64)
    if values.size == 0 or not np.isfinite(values).all():
        return None
    if len(axes) == 2:
        return _two(axes, values)
    return _one(axes[0], values, np.asarray(drawn.errors(), dtype=np.float64), _has_points(drawn))


def _has_points(drawn: Binned) -> bool:
    """Whether a bin is a measurement, and not a number of entries."""
    return drawn.kind != "COUNT" or drawn.classname == "TEfficiency"


def graph(drawn: Graph) -> str | None:
    """Points with their errors; None without points."""
    x, y = (np.asarray(each, dtype=np.float64) for each in drawn.values())
    if len(x) == 0 or len(x) > _DRAWN_MAX or not np.isfinite([x, y]).all():
        return None
    sides = [np.zeros(len(x))] * 4
    if "fEX" in drawn or "fEXlow" in drawn:
        sides = [
            np.asarray(drawn.errors(which, axis)) for axis in "xy" for which in ("low", "high")
        ]
    across = _scale(x - sides[0], x + sides[1], _LEFT, _RIGHT)
    up = _scale(y - sides[2], y + sides[3], _BOTTOM, _TOP)
    points = _points(across, up, (x, y), sides)
    return _picture([points], _Labelled(across), _Labelled(up))


@dataclass(frozen=True)
class _Labelled:
    """An axis, its title, and the names of its bins, if these have some."""

    scale: _Scale
    title: str = ""
    names: Sequence[str] = ()


def _of_axis(axis: Axis, start: float, stop: float) -> _Labelled:
    return _Labelled(_Scale(axis.low, axis.high, start, stop), axis.title, axis.labels() or ())


def _scale(low: NDArray[Any], high: NDArray[Any], start: float, stop: float) -> _Scale:
    """The range of some numbers with room beside them."""
    least, greatest = float(np.min(low)), float(np.max(high))
    room = (greatest - least) * 0.05 or abs(least) * 0.05 or 1.0
    return _Scale(least - room, greatest + room, start, stop)


def _one(axis: Axis, values: NDArray[Any], errors: NDArray[Any], has_points: bool) -> str:
    across = _of_axis(axis, _LEFT, _RIGHT)
    if has_points:
        up = _scale(values - errors, values + errors, _BOTTOM, _TOP)
        halves = axis.widths() / 2
        marks = _points(
            across.scale, up, (axis.centers(), values), [halves, halves, errors, errors]
        )
        return _picture([marks], across, _Labelled(up))
    greatest, least = float(values.max()), min(0.0, float(values.min()))
    up = _Scale(least, (greatest + (greatest - least) * 0.05) or 1.0, _BOTTOM, _TOP)
    edges, heights = _fewer(axis.edges(), values)
    corners = np.repeat(np.round(across.scale(edges), 1), 2)
    levels = np.round(up(np.concatenate(([0.0], np.repeat(heights, 2), [0.0]))), 1)
    path = "L".join(f"{x:g},{y:g}" for x, y in zip(corners, levels, strict=True))
    steps = (
        f'<path d="M{path}" fill="{_COLOUR}" fill-opacity=".25" stroke="{_COLOUR}" '
        'stroke-width="1.5" stroke-linejoin="round"/>'
    )
    return _picture([steps], across, _Labelled(up))


def _fewer(edges: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """No more bins than the picture can show."""
    together = -(-len(values) // _DRAWN_MAX)
    starts = np.arange(0, len(values), together)
    return np.append(edges[starts], edges[-1]), np.maximum.reduceat(values, starts)


def _points(
    across: _Scale, up: _Scale, points: tuple[Any, Any], sides: Sequence[NDArray[Any]]
) -> str:
    """Points with bars: to the left, to the right, down and up."""
    x, y = points
    bars = (across(x - sides[0]), across(x + sides[1]), up(y - sides[2]), up(y + sides[3]))
    marks = []
    for left, right, low, high, at, level in zip(*bars, across(x), up(y), strict=True):
        lines = f"M{left:.1f},{level:.1f}H{right:.1f}M{at:.1f},{low:.1f}V{high:.1f}"
        marks.append(f'<path d="{lines}"/><circle cx="{at:.1f}" cy="{level:.1f}" r="2"/>')
    return f'<g stroke="{_COLOUR}" fill="{_COLOUR}">{"".join(marks)}</g>'


def _two(axes: Sequence[Axis], values: NDArray[Any]) -> str:
    across, up = _of_axis(axes[0], _LEFT, _RIGHT - 72), _of_axis(axes[1], _BOTTOM, _TOP)
    width, height = int(across.scale.stop) - _LEFT, _BOTTOM - _TOP
    columns = _bins_of(axes[0], width)
    rows = _bins_of(axes[1], height)[::-1]
    least, greatest = float(min(0.0, values.min())), float(values.max())
    if greatest <= least:
        greatest = least + 1.0
    shades = np.round((values - least) * (255 / (greatest - least))).astype(np.uint8)
    picture = _image(shades[np.ix_(columns, rows)].T, (_LEFT, _TOP))
    bar = _image(np.repeat(np.arange(255, -1, -1, dtype=np.uint8)[:, None], 12, axis=1), None)
    bar = bar.replace("<image", f'<image x="{_RIGHT - 60}" y="{_TOP}" height="{height}"', 1)
    contents = _Scale(least, greatest, _BOTTOM, _TOP)
    texts = "".join(
        f'<text x="{_RIGHT - 44}" y="{contents(tick) + 4:.1f}">{tick:g}</text>'
        for tick in contents.ticks()
    )
    return _picture([picture, bar, texts], across, up)


def _bins_of(axis: Axis, pixels: int) -> NDArray[Any]:
    """The bin at the middle of each pixel of an axis."""
    middles = axis.low + (np.arange(pixels) + 0.5) * ((axis.high - axis.low) / pixels)
    return np.clip(np.searchsorted(axis.edges(), middles, side="right") - 1, 0, len(axis) - 1)


def _image(shades: NDArray[np.uint8], corner: tuple[int, int] | None) -> str:
    """Pixels as a PNG with a palette; within SVG they are far smaller than one square each."""
    height, width = shades.shape
    known = np.linspace(0, 1, len(_SHADES))
    colours = np.array(_SHADES).T
    at = np.linspace(0, 1, 256)
    palette = np.stack([np.interp(at, known, each) for each in colours], axis=1).astype(np.uint8)
    rows = np.concatenate([np.zeros((height, 1), np.uint8), shades], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    png = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
        + chunk(b"PLTE", palette.tobytes())
        + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
        + chunk(b"IEND", b"")
    )
    text = base64.b64encode(png).decode()
    place = f'x="{corner[0]}" y="{corner[1]}" height="{height}" ' if corner else ""
    return (
        f'<image {place}width="{width}" preserveAspectRatio="none" '
        f'href="data:image/png;base64,{text}"/>'
    )


def _picture(parts: list[str], across: _Labelled, up: _Labelled) -> str:
    """The parts of a picture within its axes."""
    left, right = across.scale.start, across.scale.stop
    frame = f"M{left},{_TOP}V{_BOTTOM}H{right:g}"
    below = "".join(
        f'<text x="{at:.1f}" y="{_BOTTOM + 18}" text-anchor="middle">{name}</text>'
        for at, name in _marks(across)
    )
    beside = "".join(
        f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{name}</text>'
        for at, name in _marks(up)
    )
    titles = f'<text x="{right:g}" y="{HEIGHT - 8}" text-anchor="end">{_shown(across.title)}</text>'
    if up.title:
        titles += (
            f'<text transform="translate(14,{_TOP}) rotate(-90)" text-anchor="end">'
            f"{_shown(up.title)}</text>"
        )
    ticks = "".join(f"M{at:.1f},{_BOTTOM}v5" for at, _ in _marks(across))
    ticks += "".join(f"M{left},{at:.1f}h-5" for at, _ in _marks(up))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12" fill="currentColor">'
        f'{"".join(parts)}<path d="{frame}{ticks}" fill="none" stroke="currentColor"/>'
        f"{below}{beside}{titles}</svg>"
    )


def _marks(axis: _Labelled) -> list[tuple[float, str]]:
    """Places along an axis and their labels: names of bins, or round numbers."""
    if not axis.names:
        return [(float(axis.scale(tick)), f"{tick:.6g}") for tick in axis.scale.ticks()]
    every = -(-len(axis.names) // _LABELS_MAX)
    width = (axis.scale.high - axis.scale.low) / len(axis.names)
    return [
        (float(axis.scale(axis.scale.low + (number + 0.5) * width)), _shown(axis.names[number]))
        for number in range(0, len(axis.names), every)
    ]


def _shown(text: str, limit: int = 60) -> str:
    return html.escape(text if len(text) <= limit else text[: limit - 1] + "…")
