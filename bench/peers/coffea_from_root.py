"""NanoEvents of chunks of a local file, made by coffea or by farroot.coffea; no column is read.
Figures are means of one chunk."""

from __future__ import annotations

import clock
import coffea_jobs
from coffea.nanoevents import NanoAODSchema, NanoEventsFactory

args = coffea_jobs.arguments(
    ("--chunks", {"type": int, "default": 1, "help": "of which the mean is taken"}),
    ("--later", {"action": "store_true", "help": "with another chunk before the clock starts"}),
)
if args.by == "farroot":
    from farroot.coffea import from_root
else:
    from_root = NanoEventsFactory.from_root


def entries_of(path: str, number: int) -> int:
    """Makes the events of chunk ``number``; returns how many it has."""
    start = number * args.step
    factory = from_root(
        {path: args.tree},
        schemaclass=NanoAODSchema,
        metadata={"dataset": "nano"},
        entry_start=start,
        entry_stop=start + args.step,
    )
    return len(factory.events())


entries_of(str(coffea_jobs.small_file()), 0)
if args.later:
    entries_of(args.url, args.chunks)
clock.run(
    lambda: [entries_of(args.url, number) for number in range(args.chunks)],
    lambda found: {"entries": found[0]},
    scale=1 / args.chunks,
)
