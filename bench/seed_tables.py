"""The tables and charts of docs/seeds.md: figures of the papers beside those of records."""

from __future__ import annotations

import papers
from chart import Bars, Series, bar_chart, line_chart
from words import Rows, link_name, seconds, shown, spread

Lines = list[dict]


def found(lines: Lines) -> dict[tuple[str, str], dict]:
    """The lines of a record by link and peer, without those that failed."""
    return {(line["link"], line["peer"]): line for line in lines if "median" in line}


def cell(lines: dict[tuple[str, str], dict], link: str, peer: str) -> str:
    line = lines.get((link, peer))
    return spread(line) if line else "not run"


# --- CMSSW


def slowdowns(lines: Lines) -> dict[str, list[float | None]]:
    """Of each link farroot's times with one rule left out, by its time near with all."""
    times, (near, *_) = found(lines), papers.CMSSW
    # A sample stands for its peer.
    times |= {(link, peer.removesuffix(" (200 events)")): times[link, peer] for link, peer in times}
    best = times[near, papers.FARROOT_RULES[0]]["median"]
    return {
        link: [
            times[link, peer]["median"] / best if (link, peer) in times else None
            for peer in papers.FARROOT_RULES
        ]
        for link in papers.CMSSW
    }


def cmssw(lines: Lines) -> Rows:
    ours = slowdowns(lines)
    rows = [["", *papers.RULES]]
    for link, (name, figures) in papers.CMSSW.items():
        rows.append([f"CMSSW, {name}", *(f"{value:.2f}" for value in figures), ""])
        cells = [f"{value:.2f}" if value else "not run" for value in ours[link]]
        rows.append([f"**farroot**, {link_name(link)}", *cells])
    return rows


def cmssw_chart(lines: Lines) -> str:
    ours = slowdowns(lines)
    bars = []
    for link, (name, figures) in papers.CMSSW.items():
        bars.append(Bars(f"CMSSW, {name}", [*figures, None]))
        bars.append(Bars(f"farroot, {link_name(link)}", ours[link], is_ours=True))
    title = "Slowdown when a rule is left out (seed-cmssw.json and Table 2 of the paper)"
    return bar_chart(title, "x", list(papers.RULES), bars)


def by_link(lines: Lines) -> Rows:
    """A line a link, a column a peer: seconds."""
    times = found(lines)
    peers = list(dict.fromkeys(line["peer"] for line in lines))
    links = dict.fromkeys(line["link"] for line in lines)
    rows = [["", *map(shown, peers)]]
    for link in links:
        rows.append([link_name(link), *(cell(times, link, peer) for peer in peers)])
    return rows


def by_peer_and_link(lines: Lines) -> Rows:
    """A line a peer, a column a link: seconds."""
    times = found(lines)
    links = list(dict.fromkeys(line["link"] for line in lines))
    rows = [["", *map(link_name, links)]]
    for peer in dict.fromkeys(line["peer"] for line in lines):
        rows.append([shown(peer), *(cell(times, link, peer) for link in links)])
    return rows


def beyond_by_link(lines: Lines) -> Rows:
    """The same with the bytes received beyond the needed baskets, as a part of these."""
    peers = list(dict.fromkeys(line["peer"] for line in lines))
    beyond = {(line["link"], line["peer"]): line.get("beyond_needed") for line in lines}
    rows = [["", *map(shown, peers)]]
    for link in dict.fromkeys(line["link"] for line in lines):
        values = [beyond.get((link, peer)) for peer in peers]
        cells = ["not run" if value is None else f"{100 * value:.1f} %" for value in values]
        rows.append([link_name(link), *cells])
    return rows


def by_peer(lines: Lines) -> Rows:
    """A line a peer: seconds."""
    return [["", "s"], *([shown(line["peer"]), spread(line)] for line in lines)]


def speed_ups(records: dict[str, Lines]) -> Rows:
    rows = [["", "CMSSW", "**farroot**", "s with one", "s with two"]]
    for one in papers.SPEED_UPS:
        jobs = {line["job"]: line for line in records[one.record]}
        single, double = jobs[one.one], jobs[one.two]
        ratio = f"{single['median'] / double['median']:.2f}"
        rows.append([one.label, f"{one.paper:.2f}", ratio, spread(single), spread(double)])
    return rows


# --- ROOT's cache


def caches(lines: Lines) -> Rows:
    times = found(lines)
    rows = [["", "cache 0, 2006", "64 kB", "10 MB", *map(shown, papers.CACHES)]]
    for client in papers.CLIENTS:
        cells = [cell(times, client.link, peer) for peer in papers.CACHES]
        rows.append([f"{client.letter}: {link_name(client.link)}", *client.paper, *cells])
    return rows


def costs(lines: Lines) -> Rows:
    """Bytes, requests and connections of each peer over one link."""
    link = papers.CLIENTS[2].link
    rows = [["", "MB", "requests", "connections"]]
    for peer in papers.CACHES:
        if line := found(lines).get((link, peer)):
            requests = f"{line['requests']:,.0f}" if "requests" in line else "-"
            megabytes = f"{line['link_bytes'] / 1e6:.2f}"
            rows.append([shown(peer), megabytes, requests, f"{line['connections']:.0f}"])
    return rows


def caches_chart(lines: Lines) -> str:
    times = found(lines)
    bars = [
        Bars(
            peer,
            [
                times[client.link, peer]["median"] if (client.link, peer) in times else None
                for client in papers.CLIENTS
            ],
            peer.startswith("farroot"),
        )
        for peer in papers.CACHES
    ]
    names = [link_name(client.link) for client in papers.CLIENTS]
    return bar_chart("Three branches of h42 by client of 2006 (seed-caches.json)", "s", names, bars)


# --- XrdClient


def draws(lines: Lines) -> Rows:
    times = {line["peer"]: line for line in lines if "median" in line}
    rows = [["XrdClient", "open, s", "in all, s", "today", "open, s", "in all, s"]]
    for setting, opened, total, peer in papers.DRAWS:
        line = times.get(peer)
        own = [seconds(line["open_s"]), spread(line)] if line else ["not run", "not run"]
        rows.append([setting, opened, total, shown(peer), *own])
    return rows


def rate(line: dict) -> float:
    """Megabytes of chunks in a second."""
    return line["payload_bytes"] / line["median"] / 1e6


def streams(lines: Lines) -> Rows:
    """A line a way to read the chunks: its rate, and how that compares with one by one."""
    times = found(lines)
    links = list(dict.fromkeys(line["link"] for line in lines))
    names = [link_name(link).split(",")[0] for link in links]
    head = [f"{name}: {figure}" for name in names for figure in ("MB/s", "by one by one")]
    rows = [["", *head]]
    for peer in dict.fromkeys(line["peer"] for line in lines):
        cells = []
        for link in links:
            if line := times.get((link, peer)):
                slowest = rate(times[link, "XRootD's client, one by one"])
                cells += [f"{rate(line):.2f}", f"{rate(line) / slowest:.1f}"]
            else:
                cells += ["not run", ""]
        rows.append([shown(peer), *cells])
    paper = [cell for name in names for cell in ("", papers.FACTORS[name])]
    return [*rows, ["XrdClient at best", *paper]]


def streams_chart(lines: Lines) -> str:
    """Rate against connections: two clients at two distances, as the four curves of the talk."""
    series = []
    for link in dict.fromkeys(line["link"] for line in lines):
        for start, word in (("XRootD's client, ", "stream"), ("farroot, ", "connection")):
            points = []
            for line in lines:
                name = line["peer"].removeprefix(start).split(" ")
                is_one = len(name) == 2 and name[1].startswith(word) and name[0].isdigit()
                if line["link"] == link and "median" in line and is_one:
                    points.append((float(name[0]), rate(line)))
            name = f"{start}{link_name(link).split(',')[0]}"
            series.append(Series(name, sorted(points), start.startswith("farroot")))
    title = "10,000 chunks of 10 kB: 10 MB/s, 2.5 MB/s a connection (seed-streams.json)"
    return line_chart(title, "connections", "MB/s", [one for one in series if one.points])


# --- CMS's parallel output


def outputs(lines: Lines) -> Rows:
    by_peer = {line["peer"]: line for line in lines}
    base = by_peer[papers.BASELINE]["file_bytes"]
    names = ["", "file by baseline, 2017", "today", "s", "memory, MB", "waited"]
    rows = [names]
    for one in papers.OUTPUTS:
        for peer in one.peers:
            line = by_peer[peer]
            name = peer if peer.startswith("farroot") else one.setting
            cells = [f"{line['file_bytes'] / base:.2f}", spread(line)]
            memory = f"{line['peak_bytes'] / 1e6:.0f}"
            waited = f"{100 * line['waited']:.0f} %"
            rows.append([shown(name), one.paper, *cells, memory, waited])
    return rows


# --- Donvito's jobs and copies


def efficiencies(lines: Lines) -> Rows:
    """The paper's two points of the curve beside those of the simulation."""
    clients = list(dict.fromkeys(line["client"] for line in lines))
    by_client = {(line["client"], line["jobs"]): line for line in lines}
    rows = [["", "Donvito", *map(shown, clients)]]
    for jobs, paper in ((1, "0.86 to 0.90"), (120, "0.40")):
        cells = [f"{by_client[client, jobs]['efficiency']:.2f}" for client in clients]
        rows.append([f"CPU efficiency, {jobs} job{'s' if jobs > 1 else ''}", paper, *cells])
    rates = [f"{by_client[client, 120]['rate']:.0f}" for client in clients]
    return [*rows, ["MB/s of the link, 120 jobs", "100", *rates]]
