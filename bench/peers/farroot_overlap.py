"""farroot: iterate() with some work of the caller's own on each batch."""

import clock
import farroot

args = clock.arguments(*clock.WORK)
clock.run_with_work(args, farroot.iterate)
