"""uproot: from the address to the names of all branches."""

import clock
import uproot

args = clock.arguments()


def job():
    return uproot.open(args.url)[args.tree].keys()


clock.run(job, lambda names: {"branches": len(names)})
