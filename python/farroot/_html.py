"""Tables and bars for notebooks. Every text of a file is escaped."""

from __future__ import annotations

import html
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from ._progress import size

#: Rows of a table at most; a notebook with more is slow.
ROWS_MAX = 100

_STYLE = (
    ".farroot{overflow-x:auto}"
    ".farroot svg{width:100%;height:auto;min-width:40em;max-width:60em}"
    ".farroot .drawn svg{min-width:20em;max-width:36em}"
    ".farroot table{border-collapse:collapse;font-size:.9em}"
    ".farroot th,.farroot td{text-align:left!important;padding:.15em .8em .15em 0;border:0;"
    "vertical-align:top}"
    ".farroot th{border-bottom:1px solid;font-weight:600}"
    ".farroot td.number{text-align:right!important;font-variant-numeric:tabular-nums}"
    ".farroot .bar{display:inline-block;height:.7em;background:#4878a8;min-width:1px}"
    ".farroot .head{margin-bottom:.4em}"
    ".farroot .more{opacity:.7;margin-top:.3em}"
)


def page(head: str, *parts: str) -> str:
    """Parts under a line of text."""
    shown = "".join(part for part in parts if part)
    return (
        f'<div class="farroot"><style>{_STYLE}</style>'
        f'<div class="head">{html.escape(head)}</div>{shown}</div>'
    )


def picture(svg: str) -> str:
    """A picture as wide as the notebook, up to 60 em; below 40 em it scrolls sideways."""
    return f'<div class="farroot"><style>{_STYLE}</style>{svg}</div>'


def drawn(svg: str) -> str:
    """A small picture among other parts of a page."""
    return f'<div class="drawn">{svg}</div>' if svg else ""


class Shown(str):
    """HTML for a notebook, and the same as plain text for other programs."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


def bar(part: float | None, text: str) -> Shown:
    """A progress bar, of which ``part`` (0 to 1) is done, with a text; None draws no bar."""
    shown = Shown(text)
    drawn = "" if part is None else f'<progress value="{part:.3f}"></progress> '
    shown.html = f"<div>{drawn}{html.escape(text)}</div>"
    return shown


def displayed(obj: object) -> Any:
    """Displays an object in a notebook and returns its handle (``update``); None elsewhere."""
    # A process with a kernel has imported IPython already; others need not.
    ipython = sys.modules.get("IPython")
    if ipython is None or getattr(ipython.get_ipython(), "kernel", None) is None:
        return None
    return import_module("IPython.display").display(obj, display_id=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], more: str = "") -> str:
    """A table of texts, and of numbers, which are set to the right.

    Args:
        more: The text below it.
    """
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    foot = f'<div class="more">{html.escape(more)}</div>' if more else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


class Bar(float):
    """A part of a whole, from 0 to 1, drawn as a bar."""


def _cell(value: Any) -> str:
    if isinstance(value, Bar):
        width = max(0.0, min(1.0, value)) * 16
        return f'<td><span class="bar" style="width:{width:.2f}em"></span></td>'
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    if isinstance(value, float):
        return f'<td class="number">{value:.3f}</td>'
    return f"<td>{html.escape(str(value))}</td>"


def report(figures: Mapping[str, Any]) -> str:
    """A :class:`~farroot.IoReport`."""
    wall = figures["wall_s"]
    times = [
        (name.replace("_", " "), seconds, Bar(seconds / wall if wall else 0))
        for name, seconds in figures["time_s"].items()
    ]
    counts = [
        (name.replace("_", " "), figures[name])
        for name in ("serial_round_trips", "stalls", "requests", "segments", "connections")
    ]
    amounts = [
        (name.replace("_", " "), size(figures[name]))
        for name in ("bytes_received", "bytes_baskets", "bytes_metadata")
    ]
    sources = [
        (
            each["name"],
            size(each["bytes_received"]),
            each["requests"],
            each["failures"],
            "" if each["rate"] is None else f"{size(each['rate'])}/s",
        )
        for each in figures["sources"]
    ]
    return page(
        f"{wall:.3f} s from the first call to the last answer",
        table(("waiting for", "seconds", ""), times),
        table(("", ""), [*amounts, *counts]),
        table(("server", "received", "requests", "failed", "rate"), sources),
        table(("notes",), [(note,) for note in figures["notes"]]) if figures["notes"] else "",
    )
