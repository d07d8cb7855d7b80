"""Writes the tables of docs/measured/, other pages of docs/ and README.md from bench/record/, and
that of docs/jobs.md from sim/record/.

    python bench/tables.py            # write them
    python bench/tables.py --check    # name the pages that differ from the records

The pages of docs/measured/ are written as a whole, from the questions in pages.py that have
records. In the other pages only the text between `<!-- table NAME: RECORDS -->` and
`<!-- end of table -->` is replaced. Records that are older than the code that they measure are
marked as outdated.py has found them; `--check` does not look into the history.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import outdated
import seed_tables
from chart import Series, line_chart
from pages import COSTS, FIRST_SCREEN, HEADLINES, PAGES, Headline, Question
from papers import SPEED_UPS
from words import EXTRA, SHOWN, Rows, link_ms, link_name, seconds, shown, spread, table, wrapped

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
RECORD = BENCH / "record"
SIMULATED = ROOT / "sim/record"
WITH_BLOCKS = (
    "README.md",
    "docs/performance.md",
    "docs/jobs.md",
    "docs/growth.md",
    "docs/seeds.md",
    "docs/site-cache.md",
    "docs/near.md",
)
BLOCK = re.compile(r"(<!-- table (\w+): [\w, -]+ -->\n).*?(<!-- end of table -->)", re.DOTALL)
MARKS = outdated.MARKS
OUTDATED = "older than the code"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    if not check and not outdated.refresh():
        print("without the whole history, the marks of old records stay as they are")
    wrong = [path.relative_to(ROOT) for path, text in made().items() if not holds(path, text)]
    for path in wrong:
        print(f"{path}: not what bench/record/ says, run `make tables`" if check else path)
    if not check:
        write()
    return 1 if check and wrong else 0


def holds(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


def write() -> None:
    for path, text in made().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def made() -> dict[Path, str]:
    """Every file that depends on the records, with its text."""
    files = {ROOT / f"docs/measured/{name}.md": page(*parts) for name, parts in PAGES.items()}
    files[ROOT / "docs/distance.svg"] = distance_chart()
    for name, title in CHARTS_OF_JOBS.items():
        files[ROOT / f"docs/{name}.svg"] = jobs_chart(name, title)
    files[ROOT / "docs/site-jobs.svg"] = site_jobs_chart()
    files[ROOT / "docs/near-distance.svg"] = near_distance_chart()
    files[ROOT / "docs/near-clients.svg"] = near_clients_chart()
    for name, (make, source) in SEED_CHARTS.items():
        if has(source):
            files[ROOT / f"docs/{name}.svg"] = make(record(source)["table"])
    for name in WITH_BLOCKS:
        files[ROOT / name] = with_blocks((ROOT / name).read_text())
    return files


def with_blocks(text: str) -> str:
    """The page with its tables made again; its own words stay."""
    return BLOCK.sub(lambda found: found[1] + "\n" + BLOCKS[found[2]]() + "\n" + found[3], text)


def page(title: str, questions: tuple[Question, ...]) -> str:
    parts = [
        "<!-- Made by bench/tables.py from bench/record/: change these, not this page. -->",
        f"# {title}",
        "Medians. A range in brackets has the minimum and the maximum, if they differ by more "
        "than 4 %.\nBelow each table are its record and the versions of the programs. "
        "[METHOD.md](../../bench/METHOD.md)\ndescribes the method and its bias.",
    ]
    for question in filter(is_answered, questions):
        parts += [f"## {question.heading}", wrapped(question.sentence)]
        parts += [table(FORMS[question.form](question)), caption(question)]
    return "\n\n".join(parts) + "\n"


def is_answered(question: Question) -> bool:
    """Whether all its records exist: a new experiment is run later, on an idle machine."""
    return all(map(has, question.records))


def has(name: str) -> bool:
    return (RECORD / f"{name}.json").exists()


def caption(question: Question) -> str:
    """Record, date, commit, class of machine, versions, and the other facts of the record."""
    repeat = ", ".join(f"`make bench-{name}`" for name in question.records)
    return wrapped(f"{facts_of(question.records, '../../')} To repeat it: {repeat}.")


def facts_of(names: tuple[str, ...], prefix: str) -> str:
    found = {name: record(name) for name in names}
    facts: dict[str, list[str]] = {}
    for name, one in found.items():
        facts.setdefault(origin(name, one), []).append(linked(name, prefix))
    lines = [f"{', '.join(names)}: {fact}." for fact, names in facts.items()]
    lines += dict.fromkeys(f"Note: {one['note']}." for one in found.values() if "note" in one)
    return " ".join(lines)


def origin(name: str, one: dict) -> str:
    facts = one["machine"]
    day = date.fromisoformat(facts["date"])
    cpu = re.sub(r"\((R|TM)\)| Processor| CPU", "", facts["cpu"])
    used = facts.get("cores_used", facts["cores"])
    cores = (
        f"{facts['cores']} cores" if used == facts["cores"] else f"{used} of {facts['cores']} cores"
    )
    parts = [
        f"{day.day} {day:%B %Y}",
        f"commit {facts['commit']}{mark(name)}",
        f"{cores} of an {cpu}",
    ]
    parts += [f"ROOT {facts['root']}", f"uproot {facts['packages']['uproot']}"]
    if "congestion" in one and any(line.get("link") for line in one["table"]):
        parts += [f"xrootd {facts['xrootd'].removeprefix('v')}", one["congestion"]]
    return ", ".join(parts)


def linked(name: str, prefix: str) -> str:
    return f"[{name}]({prefix}bench/record/{name}.json)"


def mark(name: str) -> str:
    """Of a record that is older than the code that it measures."""
    is_old = outdated.is_outdated(name, record(name), outdated.read(MARKS))
    return f" ({OUTDATED})" if is_old else ""


def record(name: str) -> dict:
    return json.loads((RECORD / f"{name}.json").read_text())


# --- the forms of tables


def peers(question: Question) -> Rows:
    """A line a peer: median, least, most, and the other figures of the record."""
    lines = record(question.records[0])["table"]
    names = ["", "median, s", "min", "max"]
    if all("near_s" in line for line in lines):
        names[1] = "round trips"
    if record(question.records[0]).get("figure") == "cpu_s":
        names[1] = "median, CPU s"
    extra = [(key, name) for key, name in EXTRA if any(line.get(key) for line in lines)]
    rows = [names + [name for _, name in extra]]
    for line in lines:
        cells = [shown(line["peer"]), *(seconds(line[key]) for key in ("median", "min", "max"))]
        rows.append(cells + [SHOWN[key](line[key]) if key in line else "" for key, _ in extra])
    return rows


def links(question: Question) -> Rows:
    """A line a peer, a column a link."""
    lines = record(question.records[0])["table"]
    labels = list(dict.fromkeys(line["link"] for line in lines))
    rows = [["", *(link_name(label) for label in labels)]]
    for peer in dict.fromkeys(line["peer"] for line in lines):
        found = {line["link"]: line for line in lines if line["peer"] == peer}
        cells = [spread(found[label]) if label in found else "not run" for label in labels]
        rows.append([shown(peer), *cells])
    return rows


def records(question: Question) -> Rows:
    """A line a record, a column a peer."""
    tables = [record(name)["table"] for name in question.records]
    names = [line["peer"] for line in tables[0][:-1]]
    rows = [["", *(shown(name) for name in names), "the library alone"]]
    for label, lines in zip(question.labels, tables, strict=True):
        rows.append([label, *(spread(line) for line in lines)])
    return rows


def both(question: Question) -> Rows:
    """A line for each record, a column for each peer of the first record."""
    tables = [record(name)["table"] for name in question.records]
    names = [line["peer"] for line in tables[0]]
    rows = [["", *(shown(name) for name in names)]]
    for label, lines in zip(question.labels, tables, strict=True):
        found = {line["peer"]: line for line in lines}
        rows.append([label, *(spread(found[name]) for name in names)])
    return rows


def over_read(question: Question) -> Rows:
    """A line for each peer, a column for each place: bytes that the disk read by bytes needed."""
    lines = record(question.records[0])["table"]
    labels = list(dict.fromkeys(line["link"] for line in lines))
    found = {(line["peer"], line["link"]): line.get("disk_over_needed") for line in lines}
    rows = [["", *labels]]
    for peer in dict.fromkeys(line["peer"] for line in lines):
        values = (found.get((peer, label)) for label in labels)
        rows.append([shown(peer), *(f"{value:.2f}" if value else "not run" for value in values)])
    return rows


def jobs(question: Question) -> Rows:
    """A line a job of one scenario: its time, and how that compares with the first job's."""
    lines = record(question.records[0])["table"]
    rows = [["", "s", "ratio to the first job", "MB", "connections"]]
    for line in lines:
        moved = [
            SHOWN[key](line[key]) if key in line else "" for key in ("link_bytes", "connections")
        ]
        star = ", measured earlier on two cores" if line.get("earlier") else ""
        error = ", an error" if "failed" in line else ""
        rows.append([line["job"] + error + star, spread(line), f"{line['to_first']:.2f}", *moved])
    return rows


def sites(question: Question) -> Rows:
    """A line a job and peer, in milliseconds."""
    rows = [["", "", "median, ms", "min", "max"]]
    for line in record(question.records[0])["table"]:
        figures = [f"{1000 * line[key]:.0f}" for key in ("median", "min", "max") if key in line]
        rows.append([line["job"], shown(line["peer"]), *(figures or ["refuses", "", ""])])
    return rows


def memory(question: Question) -> Rows:
    rows = [["", "peak, MB", "without data, MB", "time, s"]]
    for line in record(question.records[0])["table"]:
        megabytes = (f"{line[key] / 1e6:.0f}" for key in ("median", "idle_bytes"))
        rows.append([shown(line["peer"]), *megabytes, seconds(line["time_s"])])
    return rows


def overhead(question: Question) -> Rows:
    rows = [["", "link", "", "over-read", "connections"]]
    for name in question.records:
        for line in record(name)["table"]:
            is_sample = "(50 events)" in line["peer"]
            if "beyond_needed" not in line or is_sample or line["peer"].startswith("xrdcp"):
                continue
            beyond = f"{100 * line['beyond_needed']:.1f} %"
            cells = [link_name(line["link"]), shown(line["peer"]), beyond]
            rows.append([name, *cells, f"{line['connections']:.0f}"])
    return rows


def by_link(question: Question) -> Rows:
    return seed_tables.by_link(record(question.records[0])["table"])


def beyond_by_link(question: Question) -> Rows:
    return seed_tables.beyond_by_link(record(question.records[0])["table"])


FORMS: dict[str, Callable[[Question], Rows]] = {
    "peers": peers,
    "links": links,
    "records": records,
    "both": both,
    "over_read": over_read,
    "jobs": jobs,
    "sites": sites,
    "memory": memory,
    "overhead": overhead,
    "by_link": by_link,
    "beyond_by_link": beyond_by_link,
}


# --- the blocks of README.md and docs/performance.md


def headline(one: Headline, prefix: str) -> list[str]:
    lines = {
        line["peer"]: line["median"]
        for line in record(one.record)["table"]
        if line["link"] == one.link
    }
    root, uproot = (min(lines[name] for name in names) for names in (one.root, one.uproot))
    ours = lines[one.farroot]
    cells = [f"{seconds(value)} s" for value in (root, uproot)] + [f"**{seconds(ours)} s**"]
    speed_up = f"{min(root, uproot) / ours:.1f}"
    return [one.label, *cells, speed_up, linked(one.record, prefix) + mark(one.record)]


HEADLINE_NAMES = ["", "ROOT", "uproot", "farroot", "speed-up", "record"]


def first_screen() -> str:
    rows = [headline(one, "") for one in HEADLINES if one.record in FIRST_SCREEN]
    return table([HEADLINE_NAMES, *rows])


def headlines() -> str:
    return table([HEADLINE_NAMES, *(headline(one, "../") for one in HEADLINES)])


def losses() -> str:
    """Every line of every record of times in which another program that does the same job was
    faster."""
    rows = [["record", "faster peer", "s", "farroot", "s"]]
    for path in sorted(RECORD.glob("*.json")):
        if record(path.stem).get("figure") in ("peak_bytes", "exponent"):
            continue
        lines = record(path.stem)["table"]
        for link in dict.fromkeys(line.get("link") for line in lines):
            rows += lost_rows(path.stem, [line for line in lines if line.get("link") == link])
    return table(rows)


def lost_rows(name: str, lines: list[dict]) -> Iterator[list[str]]:
    timed = [line for line in lines if "ratio_to_best_peer" in line]
    best = min((line for line in timed if is_peer(line)), default=None, key=by_median)
    for line in timed:
        if best and line["peer"].startswith("farroot") and by_median(line) > by_median(best):
            at = f", {link_name(line['link'])}" if line["link"] else ""
            cells = [best["peer"], spread(best), shown(line["peer"]), spread(line)]
            yield [f"{linked(name, '../')}{mark(name)}{at}", *cells]


def is_peer(line: dict) -> bool:
    bounds = ("floor", "farroot", "xrdcp of", "the transfer", "numpy")
    return not line["peer"].startswith(bounds) and not line["peer"].endswith(" alone")


def by_median(line: dict) -> float:
    return line["median"]


def costs() -> str:
    """Resources of which farroot takes more than the programs of the same rows: connections and
    bytes."""
    rows = [["", "ROOT", "uproot", "farroot", "record"]]
    for one in COSTS:
        lines = {line["peer"]: line for line in record(one.record)["table"]}
        moved = [moved_by(lines[name]) for name in (one.root[0], one.uproot[0], one.farroot)]
        rows.append([one.label, *moved, linked(one.record, "../") + mark(one.record)])
    return table(rows)


def moved_by(line: dict) -> str:
    count = f"{line['connections']:.0f}"
    connections = "1 connection" if count == "1" else f"{count} connections"
    return f"{line['link_bytes'] / 1e6:.1f} MB, {connections}"


CHARTS_OF_JOBS = {
    "jobs": "CPU efficiency of jobs on one server, in virtual time (sim/record/jobs.json)",
    "proxied-jobs": "CPU efficiency of jobs on ten shared files (sim/record/proxied-jobs.json)",
}


def simulated_jobs(name: str) -> list[dict]:
    return json.loads((SIMULATED / f"{name}.json").read_text())["table"]


def simulated_table(name: str) -> str:
    """A line a number of jobs, a column a client: efficiencies; then the bytes that were moved for
    them."""
    lines = simulated_jobs(name)
    clients = list(dict.fromkeys(line["client"] for line in lines))
    counts = list(dict.fromkeys(line["jobs"] for line in lines))
    found = {(line["client"], line["jobs"]): line for line in lines}
    rows = [["CPU efficiency", *(shown(client) for client in clients), "the server allows"]]
    for count in counts:
        cells = [f"{found[client, count]['efficiency']:.2f}" for client in clients]
        allowed = f"{found[clients[-1], count]['allowed']:.2f}"
        rows.append([f"{count} jobs" if count > 1 else "1 job", *cells, allowed])
    for key, name in (
        ("moved", "bytes moved / bytes requested, {} jobs"),
        ("read", "bytes read from disks / bytes requested, {} jobs"),
        ("rate", "MB/s of the link, {} jobs"),
        ("slowest", "slowest job / median, {} jobs"),
    ):
        last = [found[client, counts[-1]][key] for client in clients]
        cells = [f"{value:.0f}" if key == "rate" else f"{value:.2f}" for value in last]
        rows.append([name.format(counts[-1]), *cells, ""])
    return table(rows)


def jobs_chart(name: str, title: str) -> str:
    lines = simulated_jobs(name)
    clients = list(dict.fromkeys(line["client"] for line in lines))
    series = [
        Series(
            client,
            [(line["jobs"], line["efficiency"]) for line in lines if line["client"] == client],
            client.startswith("farroot"),
        )
        for client in clients
    ]
    allowed = [(line["jobs"], line["allowed"]) for line in lines if line["client"] == clients[-1]]
    return line_chart(title, "jobs", "", [*series, Series("the server allows", allowed)])


#: Ways of a read in sim/record/near.json, as the pictures have them.
NEAR_WAYS = {"here": "read here", "at the server": "selected there", "auto": "farroot chooses"}


def near_record(part: str) -> list[dict]:
    return json.loads((SIMULATED / "near.json").read_text())[part]


def near_chart(title: str, x_name: str, x: str, lines: list[dict]) -> str:
    series = [
        Series(
            shown_name,
            [(line[x], line["seconds"]) for line in lines if line["client"] == name],
            name == "auto",
        )
        for name, shown_name in NEAR_WAYS.items()
    ]
    return line_chart(title, x_name, "s", series)


def near_distance_chart() -> str:
    lines = near_record("distances")
    slow = [line for line in lines if line["rate"] == min(each["rate"] for each in lines)]
    bytes_of = {line["client"]: line["bytes"] for line in slow}
    here, there = (f"{bytes_of[name] / 1e3:.0f} kB" for name in ("here", "at the server"))
    title = f"1 % of the entries over 10 Mbit/s: {here} here, {there} from the server (near.json)"
    return near_chart(title, "round trip, ms", "rtt_ms", slow)


def near_clients_chart() -> str:
    title = "Seconds of a read: a server of 16 cores, 0.1 s each, 640 Mbit/s, 100 ms (near.json)"
    return near_chart(title, "clients", "clients", near_record("clients"))


#: Nodes of the picture of a site's jobs.
SITE_NODES = 8


def of_mount(client: str) -> bool:
    return ", mount" in client


def site_jobs(mount: bool = False) -> str:
    """A line a number of jobs and nodes, a column a client: of a distant server, or of a mount."""
    if not (SIMULATED / "site-jobs.json").exists():
        return "Not measured yet."
    lines = [line for line in simulated_jobs("site-jobs") if of_mount(line["client"]) == mount]
    if not lines:
        return "Not measured yet."
    clients = list(dict.fromkeys(line["client"] for line in lines))
    found = {(line["client"], line["nodes"], line["jobs"]): line for line in lines}
    source = "mount" if mount else "link"
    rows = [["jobs", "nodes", *map(shown, clients), f"MB/s of the {source}, cold"]]
    for jobs in dict.fromkeys(line["jobs"] for line in lines):
        for nodes in dict.fromkeys(line["nodes"] for line in lines if line["nodes"] > 1):
            each = [found.get((client, nodes, jobs)) for client in clients]
            # Without a cache there are no nodes.
            each[0] = found[clients[0], 1, jobs]
            cells = [f"{line['efficiency']:.2f}" if line else "" for line in each]
            cold = next(line for line in each if line and line["client"].endswith("cold"))
            rows.append([str(jobs), str(nodes), *cells, f"{cold['rate']:.0f}"])
    return table(rows)


def site_jobs_chart() -> str:
    """A line a client, with as many nodes as it has, or SITE_NODES of them."""
    lines = [line for line in simulated_jobs("site-jobs") if line["nodes"] in (1, SITE_NODES)]
    series = [
        Series(
            client,
            [(line["jobs"], line["efficiency"]) for line in lines if line["client"] == client],
            client.startswith("farroot"),
        )
        for client in dict.fromkeys(line["client"] for line in lines)
    ]
    title = f"CPU efficiency of jobs on 40 files, {SITE_NODES} proxies (sim/record/site-jobs.json)"
    return line_chart(title, "jobs", "", series)


def fast_link() -> str:
    """A line a transfer, a column a limit of flows: parts of the link's rate, and their bounds."""
    lines = simulated_jobs("fast-link")
    limit_of = {id(line): (line["flow_bytes_max"], line["connections_max"]) for line in lines}
    limits = list(dict.fromkeys(limit_of.values()))
    found = {(line["transfer"], line["scheme"], limit_of[id(line)]): line for line in lines}
    rows = [["", *(f"{size >> 20} MiB a flow, {count} connections" for size, count in limits)]]
    for transfer, scheme in dict.fromkeys((line["transfer"], line["scheme"]) for line in lines):
        each = [found.get((transfer, scheme, limit)) for limit in limits]
        cells = [
            f"{line['share']:.2f} of {line['allowed']:.2f}" if line else "not run" for line in each
        ]
        rows.append([f"{transfer}, `{scheme}://`", *cells])
    return table(rows)


def soak() -> str:
    """A line a client: its answers; and the faults during them."""
    if not has("soak"):
        return "Not measured yet."
    one = record("soak")
    names = ["right", "refused", "expected", "unexpected", "wrong"]
    rows = [["client", *names, "slowest, s"]]
    for line in one["table"]:
        cells = [str(line[name]) for name in names]
        rows.append([shown(line["client"]), *cells, f"{line['slowest_s']:.1f}"])
    faults = [["fault", "times"], *([name, str(count)] for name, count in one["faults"].items())]
    peak = max(one["node_peak_bytes"].values()) / 1e6
    said = f"It took {one['seconds']} s, with seed {one['seed']}. Largest node: {peak:.0f} MB."
    facts = facts_of(("soak",), "../")
    return f"{table(rows)}\n\n{table(faults)}\n\n{wrapped(f'{facts} {said}')}"


def near() -> str:
    """A line a link and peer: its time and its parts, and the bytes of the link."""
    if not has("near"):
        return "Not measured yet."
    rows = [["link", "", "s", "open", "read", "MB", "ratio to Arrow"]]
    for line in record("near")["table"]:
        cells = [link_name(line["link"]), shown(line["peer"])]
        if "median" not in line:
            rows.append([*cells, "fails", "", "", "", ""])
            continue
        parts = [""] * 2
        if "open_s" in line:
            parts = [seconds(line["open_s"]), seconds(line["median"] - line["open_s"])]
        ratio = f"{1 + line['beyond_needed']:.2f}" if "beyond_needed" in line else ""
        moved = f"{line['link_bytes'] / 1e6:.2f}" if "link_bytes" in line else ""
        rows.append([*cells, spread(line), *parts, moved, ratio])
    return f"{table(rows)}\n\n{wrapped(facts_of(('near',), '../'))}"


def near_flight() -> str:
    """A line a peer, a column a record."""
    names = {"near-flight-few": "20 columns, s", "near-flight-many": "95 columns, s"}
    if not all(map(has, names)):
        return "Not measured yet."
    found = [{line["peer"]: line for line in record(name)["table"]} for name in names]
    rows = [["", *names.values()]]
    rows += [[shown(peer), *(spread(each[peer]) for each in found)] for peer in found[0]]
    return f"{table(rows)}\n\n{wrapped(facts_of(tuple(names), '../'))}"


def growth() -> str:
    """A line a call: the greatest size, the time there, and the exponents, of each program."""
    if not (RECORD / "growth.json").exists():
        return "Not measured yet."
    lines = record("growth")["table"]
    found = {(line["kind"], line["call"], line["program"]): line for line in lines}
    rows = [["so many", "call", "size", "s", "exponent", "of memory", "uproot", "ROOT"]]
    for kind, call in dict.fromkeys((line["kind"], line["call"]) for line in lines):
        own = found[kind, call, "farroot"]
        cells = [f"{own['size']:,}", seconds(own["cpu_s"])] if "size" in own else ["fails", ""]
        own_exponents = [exponent(own, key) for key in ("exponent", "memory_exponent")]
        others = [exponent(found.get((kind, call, peer), {})) for peer in ("uproot", "ROOT")]
        rows.append([kind, call, *cells, *own_exponents, *others])
    one = record("growth")
    said = f"{linked('growth', '../')}: {origin('growth', one)}."
    return table(rows) + "\n\n" + wrapped(f"{said} Note: {one['note']}." if "note" in one else said)


def exponent(line: dict, key: str = "exponent") -> str:
    """A dash where too little was used to tell; nothing where a program has no such call."""
    if "why" in line and "size" not in line:
        return "fails"
    value = line.get(key)
    return f"{value:.2f}" if value is not None else "-" if "size" in line else ""


def seed(make: Callable[[list[dict]], Rows], name: str) -> Callable[[], str]:
    """A table of docs/seeds.md from one record, and the facts of the record."""

    def block() -> str:
        if not has(name):
            return "Not measured yet."
        return f"{table(make(record(name)['table']))}\n\n{wrapped(facts_of((name,), '../'))}"

    return block


def seed_sources() -> str:
    names = tuple(one.record for one in SPEED_UPS)
    rows = seed_tables.speed_ups({name: record(name)["table"] for name in names})
    return f"{table(rows)}\n\n{wrapped(facts_of(names, '../'))}"


SEED_CHARTS: dict[str, tuple[Callable[[list[dict]], str], str]] = {
    "seed-cmssw": (seed_tables.cmssw_chart, "seed-cmssw"),
    "seed-caches": (seed_tables.caches_chart, "seed-caches"),
    "seed-streams": (seed_tables.streams_chart, "seed-streams"),
}

BLOCKS: dict[str, Callable[[], str]] = {
    "seed_cmssw": seed(seed_tables.cmssw, "seed-cmssw"),
    "seed_cmssw_times": seed(seed_tables.by_peer_and_link, "seed-cmssw"),
    "seed_sources": seed_sources,
    "seed_caches": seed(seed_tables.caches, "seed-caches"),
    "seed_costs": seed(seed_tables.costs, "seed-caches"),
    "seed_draws": seed(seed_tables.draws, "seed-draw"),
    "seed_streams": seed(seed_tables.streams, "seed-streams"),
    "seed_opens": seed(seed_tables.by_peer, "opens"),
    "seed_outputs": seed(seed_tables.outputs, "write-buffers"),
    "seed_copies": seed(seed_tables.by_peer_and_link, "copy"),
    "seed_jobs": lambda: table(seed_tables.efficiencies(simulated_jobs("jobs"))),
    "near": near,
    "near_flight": near_flight,
    "growth": growth,
    "first_screen": first_screen,
    "headlines": headlines,
    "losses": losses,
    "costs": costs,
    "jobs": lambda: simulated_table("jobs"),
    "proxied_jobs": lambda: simulated_table("proxied-jobs"),
    "site_jobs": lambda: site_jobs(),
    "site_mount": lambda: site_jobs(mount=True),
    "fast_link": fast_link,
    "soak": lambda: soak(),
}


def distance_chart() -> str:
    lines = record("caches")["table"]
    series = [
        Series(
            name,
            [(link_ms(line["link"]), line["median"]) for line in lines if line["peer"] == name],
            name.startswith("farroot"),
        )
        for name in dict.fromkeys(line["peer"] for line in lines)
    ]
    title = "Three branches, 12.5 MB scattered over 245 MB, by distance (caches.json)"
    return line_chart(title, "round-trip time, ms", "s", series)


if __name__ == "__main__":
    sys.exit(main())
