"""farroot: `farroot.skim` of the entries that pass a cut, to a local disk."""

import clock
import farroot

args = clock.arguments(("--cut", {"default": None}), ("--threads", {"type": int}))
target = clock.target("skimmed.root")


def job():
    farroot.skim({args.url: args.tree}, target, cut=args.cut or None)


def answer(_):
    return {"file_bytes": target.stat().st_size} | clock.entries_in(target, args.tree)


clock.run(job, answer)
