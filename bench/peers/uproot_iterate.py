"""uproot: iterate() over all entries in steps of a given size in memory."""

import clock
import uproot

args = clock.arguments(clock.STEP, clock.HANDLER)
options = {"step_size": args.step, "library": "ak", **clock.through(args)}


def job() -> int:
    source = {args.url: args.tree}
    batches = uproot.iterate(source, args.columns or None, **options)
    return sum(len(batch) for batch in batches)


clock.run(job, lambda entries: {"entries": entries})
