"""uproot: iterate() with some work of the caller's own on each batch."""

import clock
import fsspec_xrootd  # noqa: F401  (uproot would import it on first use)
import uproot

args = clock.arguments(*clock.WORK)
clock.run_with_work(args, uproot.iterate)
