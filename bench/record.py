"""From single runs to a table: medians, spread, ratios to the best peer; as text, CSV and JSON."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from statistics import median

from model import Cell, Experiment, Peer

SHOWN = {
    "time_s": (1.0, "s"),
    "peak_bytes": (1e-6, "MB"),
    "round_trips": (1.0, "round trips"),
    "cpu_s": (1.0, "s of CPU"),
}


def table(
    experiment: Experiment, peers: list[Peer], rows: list[dict], needed_bytes: int | None = None
) -> list[dict]:
    """One line for each link and peer. Round trips need both links and make one line a peer.

    `needed_bytes` are those of the baskets that the job needs, where they are known.
    """
    lines = []
    links = list(dict.fromkeys(row["link"] for row in rows))
    for link in links:
        found = (summary(peer, link, rows, experiment.figure) for peer in peers)
        lines += [line for line in found if line["runs"]]
    if experiment.figure == "round_trips":
        both = [peer for peer in peers if [line["peer"] for line in lines].count(peer.name) == 2]
        lines = [round_trips(experiment, peer, lines) for peer in both]
    for link in {line["link"] for line in lines}:
        on_link = [line for line in lines if line["link"] == link]
        add_ratios(on_link, peers)
        add_harm(on_link, needed_bytes)
    add_disagreements(lines)
    return lines


def summary(peer: Peer, link: str, rows: list[dict], figure: str) -> dict:
    key = "time_s" if figure == "round_trips" else figure
    mine = [row for row in rows if row["link"] == link and row["peer"] == peer.name]
    good = [row for row in mine if "failed" not in row]
    line = {"link": link, "peer": peer.name, "runs": len(mine), "failed": len(mine) - len(good)}
    if len(good) < len(mine):
        line["why"] = next(row["failed"] for row in mine if "failed" in row)
    if good:
        values = [row[key] for row in good]
        line |= {"median": median(values), "min": min(values), "max": max(values)}
        for extra in (
            "time_s",
            "cpu_s",
            "file_bytes",
            "peak_bytes",
            "waited",
            "link_bytes",
            "connections",
            "idle_bytes",
            "disk_bytes",
            "needed_bytes",
            "stalls",
            "serial_round_trips",
            "requests",
            "open_s",
        ):
            if extra in good[0]:
                line[extra] = median(row[extra] for row in good)
        for extra in ("entries", "payload_bytes"):
            if extra in good[0]:
                line[extra] = good[0][extra]
    return line


def round_trips(experiment: Experiment, peer: Peer, lines: list[dict]) -> dict:
    """(time far - time near) / (difference of the round-trip times), from the medians."""
    near, far = experiment.links
    by_link = {line["link"]: line for line in lines if line["peer"] == peer.name}
    here, there = by_link[near.label], by_link[far.label]
    line = {**there, "link": f"{near.label} to {far.label}"}
    for key in ("median", "min", "max"):
        line.pop(key, None)
    if "median" in here and "median" in there:
        apart_s = (far.rtt_ms - near.rtt_ms) / 1000
        line["near_s"], line["far_s"] = here["median"], there["median"]
        line["median"] = (there["median"] - here["median"]) / apart_s
        # The widest range that the runs allow.
        line["min"] = (there["min"] - here["max"]) / apart_s
        line["max"] = (there["max"] - here["min"]) / apart_s
    return line


def add_ratios(lines: list[dict], peers: list[Peer]) -> None:
    """How each compares with the best of the others: below 1 is better."""
    bounds = {peer.name for peer in peers if peer.is_bound}
    ours = [peer.name for peer in peers if peer.name.startswith("farroot")]
    rivals = [
        line["median"]
        for line in lines
        if "median" in line and line["peer"] not in bounds and line["peer"] not in ours
    ]
    for line in lines:
        if rivals and "median" in line:
            line["ratio_to_best_peer"] = line["median"] / min(rivals)


def add_harm(lines: list[dict], needed_bytes: int | None) -> None:
    """Bytes on the link beyond the needed baskets, as a part of these; headers of packets too."""
    known = [line["needed_bytes"] for line in lines if "needed_bytes" in line]
    needed = needed_bytes or min(known, default=None)
    for line in lines:
        if needed and "link_bytes" in line:
            line["beyond_needed"] = line["link_bytes"] / needed - 1
        elif needed_bytes and "disk_bytes" in line:
            line["disk_over_needed"] = line["disk_bytes"] / needed_bytes


def add_disagreements(lines: list[dict]) -> None:
    """Peers that read the same must have got as many entries and bytes."""
    for key in ("entries", "payload_bytes"):
        values = {line[key] for line in lines if key in line}
        if len(values) > 1:
            for line in lines:
                if key in line:
                    line["disagrees"] = f"{key}: {sorted(values)}"


def one_line(cell: Cell, row: dict) -> str:
    size = f" {row['size']:,}" if "size" in row else ""
    figures = ((key, unit) for key, unit in (("time_s", "s"), ("cpu_s", "s of CPU")) if key in row)
    key, unit = next(figures, ("", ""))
    result = row.get("failed") or f"{row[key]:.3f} {unit}"
    return f"run {row.get('run', 0)} {cell.link:>12} {cell.peer:24}{size} {result}"


def as_text(experiment: Experiment, lines: list[dict]) -> str:
    factor, unit = SHOWN[experiment.figure]
    head = f"{'link':22} {'peer':26} {'median':>9} {'min':>9} {'max':>9} {'ratio':>6}"
    text = [experiment.about, f"{head} {'MB':>7} {'beyond':>7} {'conns':>6}   [{unit}]"]
    for line in lines:
        start = f"{line['link']:22} {line['peer']:26}"
        if "median" not in line:
            text.append(f"{start} failed: {line['why']}")
            continue
        numbers = " ".join(f"{line[key] * factor:9.3f}" for key in ("median", "min", "max"))
        ratio = line.get("ratio_to_best_peer")
        megabytes, connections = line.get("link_bytes"), line.get("connections")
        beyond = line.get("beyond_needed")
        text.append(
            f"{start} {numbers} {f'{ratio:.2f}' if ratio else '-':>6}"
            f" {f'{megabytes / 1e6:.2f}' if megabytes else '-':>7}"
            f" {f'{100 * beyond:.1f} %' if beyond is not None else '-':>7}"
            f" {f'{connections:.0f}' if connections else '-':>6}"
            + (f" {line['file_bytes'] / 1e6:8.1f} MB written" if "file_bytes" in line else "")
            + (f", {100 * line['waited']:3.0f} % waited" if "waited" in line else "")
            + (f", disk {line['disk_over_needed']:.2f}" if "disk_over_needed" in line else "")
            + (
                f"   {line['failed']} of {line['runs']} failed: {line['why']}"
                if line["failed"]
                else ""
            )
            + (f"   DISAGREES: {line['disagrees']}" if "disagrees" in line else "")
        )
    return "\n".join(text)


def added(stem: Path, rows: list[dict]) -> list[dict]:
    """The recorded rows and the new ones; runs of the same link and peer are numbered on. Rows
    without runs, such as those of sizes, replace the recorded ones."""
    old = []
    if stem.with_suffix(".csv").exists():
        with stem.with_suffix(".csv").open(newline="") as file:
            old = [
                {key: parsed(text) for key, text in row.items() if text}
                for row in csv.DictReader(file)
            ]
    new = {identity(row) for row in rows if "run" not in row}
    old = [one for one in old if identity(one) not in new]
    # A link may have none.
    old = [{**row, "link": row.get("link", "")} if "peer" in row else row for row in old]
    for row in rows:
        if "run" in row:
            same = [one["run"] for one in old if identity(one) == identity(row)]
            row["run"] += max(same, default=-1) + 1
    return old + rows


def identity(row: dict) -> tuple:
    """The line of the table to which a row belongs."""
    return tuple(row.get(key) for key in ("link", "job", "peer", "kind", "call", "program"))


def parsed(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def read(stem: Path) -> dict:
    return json.loads(stem.with_suffix(".json").read_text())


def write(stem: Path, facts: dict, rows: list[dict], lines: list[dict]) -> None:
    stem.parent.mkdir(exist_ok=True)
    stem.with_suffix(".json").write_text(json.dumps({**facts, "table": lines}, indent=1) + "\n")
    keys = list(dict.fromkeys(key for row in rows for key in row))
    with stem.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, keys, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
