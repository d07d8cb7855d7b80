"""uproot: number of entries of many files, one by one as it does by itself, or in threads."""

from concurrent.futures import ThreadPoolExecutor

import clock
import uproot

args = clock.many_files()
# uproot would import these on first use, which is no part of the job.
if args.url.startswith("root:"):
    import fsspec_xrootd  # noqa: F401


def count(url):
    with uproot.open(url) as file:
        return file[args.tree].num_entries


def job():
    if args.threads == 1:
        files = [f"{url}:{args.tree}" for url in args.urls]
        return [entries for _, _, entries in uproot.num_entries(files)]
    with ThreadPoolExecutor(args.threads) as pool:
        return list(pool.map(count, args.urls))


clock.run(job, lambda found: {"entries": round(sum(found) * args.scale)}, args.scale)
