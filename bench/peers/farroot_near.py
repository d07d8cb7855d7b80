"""farroot: arrays() of the entries that pass a cut, decided here or by the server."""

import awkward  # noqa: F401, as uproot does: farroot waits until it is asked for arrays
import clock
import farroot

args = clock.arguments(clock.CUT, ("--near", {"action": "store_true"}))


def job():
    tree = farroot.open(f"{args.url}:{args.tree}", near=args.near)
    clock.opened()
    return tree.arrays(args.columns, args.cut, library="ak")


def answer(arrays):
    return clock.awkward_answer(arrays) | {"needed_bytes": clock.arrow_bytes(arrays)}


clock.run(job, answer)
