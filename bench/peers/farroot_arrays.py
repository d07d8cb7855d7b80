"""farroot: arrays() of some columns into Awkward arrays."""

import awkward  # noqa: F401, as uproot does: farroot waits until it is asked for arrays
import clock
import farroot

args = clock.arguments()


def job():
    tree = farroot.open(f"{args.url}:{args.tree}")
    clock.opened()
    return tree, tree.arrays(args.columns or None, entry_stop=args.entry_stop, library="ak")


def answer(result):
    tree, arrays = result
    return clock.awkward_answer(arrays) | {"requests": tree.report()["requests"]}


clock.run(job, answer)
