"""uproot: the entries that pass a cut, batch by batch into a tree of its own."""

import clock
import uproot

args = clock.arguments(clock.CUT)
if args.url.startswith("root:"):
    import fsspec_xrootd  # noqa: F401
# In entries: from a size in bytes uproot 5.7 computes numbers that XRootD's Python refuses.
STEP = 25_000
target = clock.target("skimmed.root")


def job():
    with uproot.recreate(target, compression=uproot.ZSTD(5)) as file:
        table = None
        for batch in uproot.iterate({args.url: args.tree}, cut=args.cut, step_size=STEP):
            columns = {name: batch[name] for name in batch.fields}
            if table is None:
                types = {name: column.type.content for name, column in columns.items()}
                table = file.mktree(args.tree, types)
            if len(batch):
                table.extend(columns)


def answer(_):
    return {"file_bytes": target.stat().st_size} | clock.entries_in(target, args.tree)


clock.run(job, answer)
