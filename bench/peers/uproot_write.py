"""uproot: writes the entries of write100.root, from memory; `--threads` is always one."""

import clock
import uproot

args = clock.arguments(
    ("--as", {"dest": "form", "choices": ("tree", "ntuple")}),
    ("--level", {"type": int, "default": 5}),
    ("--extends", {"type": int, "default": 1}),
)
arrays = clock.columns_in_memory(args)
target = clock.target("written.root")


def job():
    compression = uproot.ZSTD(args.level) if args.level else None
    with uproot.recreate(target, compression=compression) as file:
        make = file.mktree if args.form == "tree" else file.mkrntuple
        table = make("Events", {name: array.type.content for name, array in arrays.items()})
        for part in clock.parts(arrays, args.extends):
            table.extend(part)


clock.run(job, lambda _: clock.written(target), threads=1)
