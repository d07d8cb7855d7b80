"""uproot: iterate() with some work of the caller's own on each batch."""

import clock
import fsspec_xrootd  # noqa: F401  (uproot would import it on first use)
import uproot

args = clock.arguments(*clock.WORK)


def job() -> int:
    source = {args.url: args.tree}
    entries = 0
    for batch in uproot.iterate(source, args.columns or None, step_size=args.step, library="ak"):
        entries += len(batch)
        clock.work(args.work_s)
    return entries


clock.run(job, lambda entries: {"entries": entries})
