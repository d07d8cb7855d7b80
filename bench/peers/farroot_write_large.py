"""farroot: writes entries that are made up batch after batch, to measure the memory of writing.

`--gigabytes` of float columns, a batch of `--batch` entries at a time; nothing reads the file.
"""

import argparse

import clock
import farroot
import farroot.writing  # its imports are no part of the memory of writing
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--as", dest="form", choices=("tree", "ntuple"), default="tree")
parser.add_argument("--compression", type=int, default=0)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--columns", type=int, default=20)
parser.add_argument("--batch", type=int, default=100_000)
parser.add_argument("--gigabytes", type=float)
parser.add_argument("--batches", type=int, default=1)
args = parser.parse_args()
names = [f"x{number}" for number in range(args.columns)]
# Of 9 bits of the mantissa, as analysis data may have them.
some = np.random.default_rng(13).normal(0.0, 40.0, args.batch + args.columns).astype(np.float32)
some = (some.view(np.uint32) & 0xFFFFC000).view(np.float32)
batch = {name: some[at : at + args.batch] for at, name in enumerate(names)}
batch_bytes = 4 * args.batch * args.columns
batches = round(args.gigabytes * 1e9 / batch_bytes) if args.gigabytes else args.batches
target = clock.target("written.root")


def job():
    with farroot.recreate(target, compression=args.compression, threads=args.threads) as file:
        make = file.mktree if args.form == "tree" else file.mkrntuple
        table = make("Events", dict.fromkeys(names, np.float32))
        for _ in range(batches):
            table.extend(batch)


def written(_):
    file_bytes = target.stat().st_size
    entries = batches * args.batch
    return {
        "entries": entries,
        "payload_bytes": 4 * args.columns * entries,
        "file_bytes": file_bytes,
    }


clock.run(job, written)
