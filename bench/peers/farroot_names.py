"""farroot: from the address to the names of all branches."""

import clock
import farroot

args = clock.arguments()


def job():
    return farroot.open(f"{args.url}:{args.tree}").keys()


clock.run(job, lambda names: {"branches": len(names)})
