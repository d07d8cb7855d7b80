"""farroot: writes the entries of write100.root, from memory."""

import clock
import farroot

args = clock.arguments(
    ("--as", {"dest": "form", "choices": ("tree", "ntuple")}),
    ("--jagged", {"choices": ("vector", "counter"), "default": "vector"}),
    ("--compression", {"type": int, "default": 505}),
    ("--level", {"type": int, "help": "the library's own level of ZSTD"}),
    ("--threads", {"type": int, "default": 1}),
    ("--extends", {"type": int, "default": 1}),
    ("--cluster", {"help": "compressed bytes of a cluster, as 30MB"}),
)
arrays = clock.columns_in_memory(args)
target = clock.target("written.root")


def job():
    compression = args.compression if args.level is None else farroot.ZSTD(args.level)
    options = {"compression": compression, "threads": args.threads, "cluster": args.cluster}
    with farroot.recreate(target, **options) as file:
        types = {name: array.type.content for name, array in arrays.items()}
        if args.form == "tree":
            table = file.mktree("Events", types, jagged=args.jagged)
        else:
            table = file.mkrntuple("Events", types)
        for part in clock.parts(arrays, args.extends):
            table.extend(part)


clock.run(job, lambda _: clock.written(target), threads=args.threads)
