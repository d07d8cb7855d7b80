"""uproot: arrays() of some columns into Awkward arrays, its own fastest form."""

import clock
import uproot

args = clock.arguments(clock.HANDLER, clock.CUT)
options = clock.through(args)


def job():
    tree = uproot.open(args.url, **options)[args.tree]
    clock.opened()
    return tree.arrays(args.columns or None, args.cut, entry_stop=args.entry_stop, library="ak")


clock.run(job, clock.awkward_answer)
