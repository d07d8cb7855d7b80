"""farroot: number of entries of many files, in its own spelling of it."""

import clock
import farroot

args = clock.many_files()


def job():
    files = [f"{url}:{args.tree}" for url in args.urls]
    return [entries for _, _, entries in farroot.num_entries(files)]


clock.run(job, lambda found: {"entries": round(sum(found) * args.scale)}, args.scale)
