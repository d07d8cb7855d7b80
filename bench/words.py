"""Words and numbers in tables, and tables as text."""

from __future__ import annotations

import re
from collections.abc import Callable

IS_NUMBER = re.compile(r"[>*]*\d|not run$|refuses$|fails$|-$|$")
# Runs that differ by less are given by their median alone.
SCATTER = 1.04

Rows = list[list[str]]

EXTRA = (
    ("ratio_to_best_peer", "ratio to the best peer"),
    ("link_bytes", "MB"),
    ("connections", "connections"),
    ("file_bytes", "MB written"),
)
SHOWN: dict[str, Callable[[float], str]] = {
    "ratio_to_best_peer": lambda value: f"{value:.2f}",
    "link_bytes": lambda value: f"{value / 1e6:.2f}",
    "connections": lambda value: f"{value:.0f}",
    "file_bytes": lambda value: f"{value / 1e6:.1f}",
}


def link_ms(label: str) -> float:
    return float(label.split()[0])


def link_name(label: str) -> str:
    """`137 ms rate=20MB/s` in words; labels of anything but a link are returned unchanged."""
    if not re.match(r"[\d.]+ ms( \w|$)", label) or label.endswith("read"):
        return label
    distance, _, options = label.partition(" ms")
    words = {
        "rate": "{}",
        "flow-rate": "{} a connection",
        "loss": "{} lost",
    }
    extra = (option.split("=") for option in options.split())
    values = [
        words[option].format(re.sub(r"([a-zA-Z%])", r" \1", value, count=1))
        for option, value in extra
    ]
    values = [re.sub(r"\b([mg])bit", lambda unit: f"{unit[1].upper()}bit/s", one) for one in values]
    return ", ".join([f"{distance} ms", *values])


def shown(peer: str) -> str:
    """A peer's name; farroot's in bold."""
    name = re.sub(r"(root|http)://", r"`\1://`", peer)
    name = re.sub(r"\b1 (connection|thread)s", r"1 \1", name)
    return f"**{name}**" if peer.startswith("farroot") else name


def seconds(value: float) -> str:
    """Three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    digits = 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f}"


def spread(line: dict) -> str:
    if "median" not in line:
        return "refuses"
    text = seconds(line["median"])
    if line["max"] > SCATTER * line["min"]:
        text += f" ({seconds(line['min'])} to {seconds(line['max'])})"
    return text


def table(rows: Rows) -> str:
    """Words to the left, numbers to the right."""
    head, *body = rows
    marks = [
        "---:" if all(IS_NUMBER.match(row[at]) for row in body) else "---"
        for at in range(len(head))
    ]
    marks[0] = "---"
    lines = [[cell.replace("|", "\\|") for cell in row] for row in (head, marks, *body)]
    return "\n".join(
        "|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|" for line in lines
    )


def wrapped(text: str, width: int = 100) -> str:
    """Lines of at most so many characters."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)
