"""Runs one experiment: every peer in turn, several times, in fresh processes, and prints the table.

    python bench/run.py NAME [--runs N] [--peers farroot,uproot] [--links 72] [--congestion bbr]

Writes each run to bench/record/NAME.csv and the table to NAME.json, with the day, the commit and
the class of machine, and makes the pages again that show them (tables.py).
With --add it adds to the record, also where only a part of the peers or links was run.
Experiments with a link run inside farroot-lab, which needs root or user namespaces. See METHOD.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import commands
import data
import definitions
import home
import machine
import record
import tables
from definitions import Experiment, Link, Peer
from xcache import XCaches

BENCH = Path(__file__).resolve().parent
INSIDE = "FARROOT_BENCH_INSIDE"
EXPERIMENTS = definitions.EXPERIMENTS | home.EXPERIMENTS
CACHE = data.DATA.parent / "cache"
XCACHES = XCaches()
#: Port of the xrootd to which peers upload.
UPLOAD_PORT = 1094


def main() -> None:
    try:
        measure(arguments())
    finally:
        XCACHES.stop()


def measure(args: argparse.Namespace) -> None:
    experiment = EXPERIMENTS[args.name]
    peers = wanted_peers(experiment, args.peers)
    if experiment.file:
        data.path_of(experiment.file)
    if experiment.copies:
        data.copies_of(experiment.file, experiment.copies)
    if experiment.links and INSIDE not in os.environ:
        enter_lab(args, experiment)
    facts = {
        "about": experiment.about,
        "figure": experiment.figure,
        "congestion": args.congestion,
        "machine": machine.facts(),
    }
    rows = []
    shutil.rmtree(CACHE, ignore_errors=True)
    for number in range(args.runs):
        for link in experiment.links or (None,):
            if link and args.links and not is_wanted(link, experiment, args.links):
                continue
            if link:
                set_link(link)
            for peer in peers:
                if (peer.is_cached or peer.is_known) and number == 0:
                    run_peer(experiment, peer, link)
                row = {"run": number, "link": link.label if link else "", "peer": peer.name}
                row |= run_peer(experiment, peer, link)
                rows.append(row)
                print(record.one_line(row), file=sys.stderr, flush=True)
    suffix = "" if args.congestion == "cubic" else f"-{args.congestion}"
    stem = BENCH / "record" / f"{args.name}{suffix}"
    if args.add:
        rows, peers = record.added(stem, rows), list(experiment.peers)
    table = record.table(experiment, peers, rows, needed_bytes(experiment))
    print(record.as_text(experiment, table))
    if args.add or not (args.peers or args.links):
        record.write(stem, facts, rows, table)
        tables.write()


def arguments() -> argparse.Namespace:
    names = "\n".join(f"  {name:12} {one.about}" for name, one in EXPERIMENTS.items())
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=f"{__doc__}\n{names}", formatter_class=form)
    parser.add_argument("name", choices=EXPERIMENTS, metavar="NAME")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--peers", help="only those whose names contain one of these words; no record"
    )
    parser.add_argument(
        "--links", help="only those whose labels contain this text; no record without --add"
    )
    parser.add_argument("--add", action="store_true", help="add to the record")
    parser.add_argument("--congestion", default="cubic", help="TCP congestion control in the lab")
    return parser.parse_args()


def wanted_peers(experiment: Experiment, words: str | None) -> list[Peer]:
    chosen = [
        peer
        for peer in experiment.peers
        if not words or any(word in peer.name for word in words.split(","))
    ]
    if not chosen:
        sys.exit(f"no peer matches {words!r}: {', '.join(peer.name for peer in experiment.peers)}")
    if has_farroot():
        return chosen
    if INSIDE not in os.environ:
        print("farroot is not installed (make extension-release): no row for it", file=sys.stderr)
    return [peer for peer in chosen if not peer.name.startswith("farroot")]


def is_wanted(link: Link, experiment: Experiment, text: str) -> bool:
    """A whole label names one link, anything else those that have it in their labels."""
    labels = [one.label for one in experiment.links]
    return link.label == text if text in labels else text in link.label


def has_farroot() -> bool:
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('farroot') is None)"
    return subprocess.run([python(), "-c", look], check=False).returncode == 0


def python() -> str:
    """The interpreter that has the peers and farroot."""
    return os.environ.get("FARROOT_PYTHON", sys.executable)


def enter_lab(args: argparse.Namespace, experiment: Experiment) -> None:
    """Becomes this same command again, on the near side of a lab that serves the data."""
    lab = [lab_program(), "run", "--rtt", "0", "--congestion", args.congestion]
    here = [sys.executable, __file__, *sys.argv[1:]]
    serve = taking_files() if experiment.uploads else ["--serve", str(data.DATA)]
    os.environ[INSIDE] = "1"
    os.execv(lab[0], [*lab, *serve, "--", *here])


def taking_files() -> list[str]:
    """Options of the lab for a writable xrootd that serves an empty folder."""
    prefix = "farroot-bench-uploads-"
    # Remove folders of earlier runs: the lab replaces this process, so none can do so at its end.
    for old in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        shutil.rmtree(old, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    taken, own = folder / "taken", folder / "server"
    taken.mkdir()
    own.mkdir()
    if os.geteuid() == 0:
        for place in (folder, taken, own):
            shutil.chown(place, "xrootd")
    config = folder / "xrootd.cfg"
    config.write_text(
        f"all.export /\noss.localroot {taken}\nall.adminpath {own}\nall.pidpath {own}\n"
        f"xrd.port {UPLOAD_PORT}\nxrootd.chksum max 2 adler32 crc32c\n"
    )
    user = "-R xrootd" if os.geteuid() == 0 else ""
    command = f"exec xrootd {user} -n lab -c {config} -l {own}/log"
    return ["--serve", str(taken), "--server", command, "--server-port", str(UPLOAD_PORT)]


def lab_program() -> str:
    target = Path(os.environ.get("CARGO_TARGET_DIR", BENCH.parent / "target"))
    program = os.environ.get("FARROOT_LAB", str(target / "release" / "farroot-lab"))
    if not Path(program).exists():
        sys.exit(f"{program} is not there: cargo build --release -p farroot-lab")
    return program


def set_link(link: Link) -> None:
    subprocess.run(
        [lab_program(), "set", "far", *link.settings], check=True, stdout=subprocess.DEVNULL
    )


def needed_bytes(experiment: Experiment) -> int | None:
    """Bytes of the baskets of whole columns; None for a part of the entries."""
    if not experiment.links or not experiment.columns or experiment.entry_stop:
        return None
    columns = data.facts_of(experiment.file)["columns"]
    return sum(columns[name]["bytes"] for name in experiment.columns)


def run_peer(experiment: Experiment, peer: Peer, link: Link | None) -> dict:
    """One cold run of one peer: its line of JSON, or why there is none. A failure stays a row."""
    if not peer.is_behind_xcache:
        return run_script(experiment, peer, link, os.environ.get("FARLAB_ROOT_URL"))
    origin = urlsplit(os.environ["FARLAB_ROOT_URL"]).netloc
    try:
        cache = XCACHES.before(origin, peer.name, peer.is_cached)
    except (OSError, RuntimeError) as error:
        return {"failed": str(error)}
    try:
        return run_script(experiment, peer, link, cache.url)
    finally:
        XCACHES.after(cache)


def run_script(experiment: Experiment, peer: Peer, link: Link | None, root_url: str | None) -> dict:
    led_by = [python(), "-m", "farroot", "run", "--quiet", "--"] if peer.is_led else []
    script = BENCH / "peers" / f"{peer.script}.py"
    command = [*led_by, python(), str(script), *job(experiment, peer, link, root_url)]
    environment = {**memory(peer), **peer.environment}
    if link is None:
        machine.take_memory()
    return commands.answer_of(command, environment, experiment.timeout_s)


def memory(peer: Peer) -> dict[str, str]:
    """Settings of farroot's store and cache on disk: off, except for known and cached peers."""
    own = CACHE / peer.name
    if peer.is_known:
        return {"FARROOT_STORE": "100 MB", "FARROOT_STORE_FOLDER": str(own)}
    cache = {"FARROOT_CACHE": "20 GB", "FARROOT_CACHE_FOLDER": str(own)}
    return {"FARROOT_STORE": "0", **(cache if peer.is_cached else {})}


def job(experiment: Experiment, peer: Peer, link: Link | None, root_url: str | None) -> list[str]:
    if peer.scheme == "none":
        return list(peer.options)
    if experiment.uploads:
        return [f"{os.environ['FARLAB_ROOT_URL']}/{peer.script}.root", *peer.options]
    path = data.DATA / f"{experiment.file}.root"
    base = {
        "local": str(data.DATA),
        "root": root_url,
        "http": os.environ.get("FARLAB_HTTP_URL"),
    }[peer.scheme]
    what = experiment.file if experiment.copies else f"{experiment.file}.root"
    words = [f"{base}/{what}", *peer.options]
    if experiment.copies:
        words += ["--files", str(experiment.copies)]
    if tree := data.FILES[experiment.file][1]:
        words += ["--tree", tree]
    if experiment.columns:
        words += ["--columns", ",".join(experiment.columns)]
    if experiment.entry_stop:
        words += ["--entry-stop", str(experiment.entry_stop)]
    if peer.script == "floor":
        words += ["--local", str(path)]
        if link:
            words += ["--pipe-bytes", str(link.pipe_bytes)]
    return words


if __name__ == "__main__":
    main()
