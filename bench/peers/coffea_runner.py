"""A Runner over all chunks of a file, one after the other, with a processor that uses two columns:
coffea's, coffea's on farroot.Source, or that of farroot.coffea."""

from __future__ import annotations

from typing import Any

import awkward as ak
import clock
import coffea_jobs
import fsspec_xrootd  # noqa: F401  (uproot would import it on first use)
from coffea import processor
from coffea.nanoevents import NanoAODSchema

args = coffea_jobs.arguments()
runner, options = processor.Runner, {}
if args.by == "source":
    import farroot

    options = {"handler": farroot.Source}
elif args.by == "farroot":
    import farroot.coffea

    runner = farroot.coffea.Runner


class Columns(processor.ProcessorABC):
    """Returns entries, and the bytes and the sum of the numbers in two columns."""

    def process(self, events: Any) -> dict[str, Any]:
        used = (events.Muon.pt, events.Jet.eta)
        return {
            "entries": len(events),
            "payload_bytes": 4 * sum(int(ak.count(each, axis=None)) for each in used),
            "sum": sum(float(ak.sum(each)) for each in used),
        }

    def postprocess(self, accumulator: Any) -> Any:
        return accumulator


class Warming(Columns):
    """The same under another name: farroot stores the columns of a processor by its class name."""


def run(url: str, dataset: str, program: Any) -> dict[str, Any]:
    made = runner(
        executor=processor.IterativeExecutor(status=False),
        schema=NanoAODSchema,
        chunksize=args.step,
        metadata_cache={},
    )
    files = {dataset: {"files": {url: args.tree}}}
    return made(files, program, uproot_options=options)


run(str(coffea_jobs.small_file()), "warming", Warming())
clock.run(
    lambda: run(args.url, "nano", Columns()),
    lambda found: {key: found[key] for key in ("entries", "payload_bytes")},
)
