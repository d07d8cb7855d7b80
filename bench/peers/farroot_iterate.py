"""farroot: iterate() over all entries in steps of a given size in memory."""

import awkward  # noqa: F401, as uproot does: farroot waits until it is asked for arrays
import clock
import farroot

args = clock.arguments(clock.STEP)


def job() -> int:
    source = {args.url: args.tree}
    batches = farroot.iterate(source, args.columns or None, step_size=args.step, library="ak")
    return sum(len(batch) for batch in batches)


clock.run(job, lambda entries: {"entries": entries})
