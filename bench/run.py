"""Runs experiments: every peer in turn, several times, in fresh processes, and prints the tables.

    python bench/run.py NAME...        # or --all
    python bench/run.py NAME [--runs N] [--peers farroot,uproot] [--links 72] [--add]

Writes each run to bench/record/NAME.csv and the table to NAME.json, with the day, the commit and
the class of machine, and makes the pages again that show them (tables.py). All records of one call
are of one commit. A call that was interrupted goes on where it ended, if the commit is the same:
the runs that are done lie in build/bench. An experiment that has a record of this commit is left
out, unless `--again` is given. A busy machine is waited for, and then refused, unless `--busy` is
given. Experiments with a link run inside farroot-lab, which needs root or user namespaces. See
METHOD.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import commands
import definitions
import home
import machine
import near
import outdated
import record
import seeds
import tables
from growth import Growth
from journal import Journal
from model import Bench, CannotRunError, Cell
from reads import Reads
from scenarios import SCENARIOS
from sites import Sites
from sources import Sources

BENCH = Path(__file__).resolve().parent
RECORD = BENCH / "record"
JOURNALS = BENCH.parent / "build" / "bench"
#: Code that must be committed, for a record to name it.
MEASURED = ("crates", "python", "lab")

EXPERIMENTS: dict[str, Bench] = {
    **{
        name: Reads(one)
        for module in (definitions, home, near, seeds)
        for name, one in module.EXPERIMENTS.items()
    },
    **{f"sources-{name}": Sources(one) for name, one in SCENARIOS.items()},
    "sites": Sites(),
    "growth": Growth(),
}


@dataclass(frozen=True)
class Wanted:
    """The options of a call: which experiments run, and whether their records are written."""

    runs: int | None = None
    peers: str | None = None
    links: str | None = None
    add: bool = False
    again: bool = False
    busy: bool = False
    congestion: str = "cubic"

    @property
    def is_part(self) -> bool:
        return bool(self.peers or self.links)

    def cells(self, bench: Bench) -> list[Cell]:
        """The chosen cells. A whole label names one link, other text all that contain it."""
        cells = bench.cells()
        links, labels = self.links, {cell.link for cell in cells}
        if links:
            is_whole = links in labels
            cells = [
                one for one in cells if one.link == links or (not is_whole and links in one.link)
            ]
        if self.peers:
            words = self.peers.split(",")
            cells = [cell for cell in cells if any(word in cell.peer for word in words)]
        if not cells:
            names = dict.fromkeys(f"{one.link}: {one.peer}" for one in bench.cells())
            raise CannotRunError(f"no run matches; there are {'; '.join(names)}")
        return cells

    def words(self) -> list[str]:
        """The options that choose runs, as arguments of the same command."""
        chosen = (("--runs", self.runs), ("--peers", self.peers), ("--links", self.links))
        return [f"{name}={value}" for name, value in chosen if value is not None]


def main() -> int:
    args = arguments()
    names = list(EXPERIMENTS) if args.all else args.names
    wanted = Wanted(
        args.runs, args.peers, args.links, args.add, args.again, args.busy, args.congestion
    )
    if args.inside:
        fill(EXPERIMENTS[names[0]], wanted, Journal(args.inside))
        return 0
    return campaign(names, wanted)


def arguments() -> argparse.Namespace:
    names = "\n".join(f"  {name:12} {one.about}" for name, one in EXPERIMENTS.items())
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=f"{__doc__}\n{names}", formatter_class=form)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true", help="every experiment")
    parser.add_argument("--runs", type=int, help="of each peer; an experiment has its own number")
    parser.add_argument(
        "--peers", help="only those whose names contain one of these words; no record"
    )
    parser.add_argument(
        "--links", help="only those whose labels contain this text; no record without --add"
    )
    parser.add_argument("--add", action="store_true", help="add to the record")
    parser.add_argument("--again", action="store_true", help="also with a record of this commit")
    parser.add_argument("--busy", action="store_true", help="also on a busy machine, with a note")
    parser.add_argument("--congestion", default="cubic", help="TCP congestion control in the lab")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := set(args.names) - set(EXPERIMENTS):
        parser.error(f"no such experiment: {', '.join(sorted(unknown))}")
    if args.all == bool(args.names):
        parser.error("name experiments, or give --all")
    return args


def campaign(names: list[str], wanted: Wanted) -> int:
    """Measures one experiment after the other; one that fails does not end the others."""
    commit = machine.commit()
    if not commit:
        sys.exit("a record names its commit, and this is no git checkout")
    if changed := list(filter(outdated.is_code, machine.changed_files(MEASURED))):
        sys.exit(f"commit first, as records name the measured commit: {', '.join(changed)}")
    failed = {}
    for number, name in enumerate(names, 1):
        say(f"{number} of {len(names)}: {name}")
        if machine.commit() != commit:
            sys.exit(f"the checkout has another commit than {commit}: records would be of two")
        if is_measured(name, commit, wanted):
            say(f"{name} has a record of {commit}; --again measures it again")
            continue
        try:
            measure(name, commit, wanted)
        except (CannotRunError, OSError, subprocess.CalledProcessError) as error:
            failed[name] = str(error)
            say(f"{name}: {error}")
    for name, why in failed.items():
        say(f"not measured: {name}: {why}")
    return 1 if failed else 0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def stem_of(name: str, wanted: Wanted) -> Path:
    suffix = "" if wanted.congestion == "cubic" else f"-{wanted.congestion}"
    return RECORD / f"{name}{suffix}"


def is_measured(name: str, commit: str, wanted: Wanted) -> bool:
    stem = stem_of(name, wanted)
    if wanted.again or wanted.add or wanted.is_part or not stem.with_suffix(".json").exists():
        return False
    return record.read(stem)["machine"]["commit"] == commit


def measure(name: str, commit: str, wanted: Wanted) -> None:
    """Makes the runs that the journal lacks, and the record of all of them."""
    bench, stem = EXPERIMENTS[name], stem_of(name, wanted)
    is_whole = not (wanted.is_part or wanted.add)
    # A part does not go on: another one may be measured at the same time.
    part = "" if is_whole else f"-part-{os.getpid()}"
    journal = Journal(JOURNALS / commit / f"{stem.name}{part}.jsonl")
    if journal.runs:
        say(f"{name}: {len(journal.runs)} runs are done")
    wanted.cells(bench)
    bench.prepare()
    facts = {"about": bench.about, **bench.facts, "congestion": wanted.congestion}
    facts["machine"] = machine.facts()
    if note := machine.settle(wanted.busy):
        facts["note"] = note
    with bench.lab() as options:
        if options is None:
            del facts["congestion"]
            fill(bench, wanted, journal)
        else:
            lab = [commands.lab(), "run", *options, "--congestion", wanted.congestion]
            inside = ["--inside", str(journal.path), *wanted.words(), name]
            subprocess.run([*lab, "--", sys.executable, __file__, *inside], check=True)
            journal = Journal(journal.path)
    rows = journal.rows()
    if wanted.add:
        rows = record.added(stem, rows)
    lines = bench.table(rows)
    print(bench.text(lines))
    if is_whole or wanted.add:
        record.write(stem, facts, rows, lines)
        outdated.refresh()
        tables.write()
    journal.forget()


def fill(bench: Bench, wanted: Wanted, journal: Journal) -> None:
    """Makes the runs that a journal lacks: in each round one of each peer, so that a busy minute
    affects all."""
    cells = wanted.cells(bench)
    if not has_farroot():
        say("farroot is not installed (make extension-release): no row for it")
        cells = [cell for cell in cells if "farroot" not in cell.peer]
    with bench.opened() as run:
        for number in range(wanted.runs or bench.runs):
            for cell in cells:
                if not journal.has(number, cell):
                    rows = run(number, cell)
                    journal.add(number, cell, rows)
                    for row in rows:
                        say(record.one_line(cell, row))


def has_farroot() -> bool:
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('farroot') is None)"
    return subprocess.run([commands.python(), "-c", look], check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
