"""uproot: arrays() of some columns into Awkward arrays, its own fastest form."""

import clock
import uproot

args = clock.arguments()
# uproot would import these on first use, which is no part of the job.
if args.url.startswith("root:"):
    import fsspec_xrootd  # noqa: F401
elif args.url.startswith("http"):
    import aiohttp  # noqa: F401
    import fsspec.implementations.http  # noqa: F401


def job():
    tree = uproot.open(args.url)[args.tree]
    return tree.arrays(args.columns or None, entry_stop=args.entry_stop, library="ak")


clock.run(job, clock.awkward_answer)
