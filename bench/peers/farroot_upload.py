"""farroot: generates a tree batch by batch, compresses it and writes it to a server; `--megabytes`
is its size before compression. With `--cp`, `farroot cp` of a file of random bytes of that size.
"""

import subprocess
import sys

import clock
import farroot
import farroot.writing  # off the clock, as programs import it before they write
import numpy as np

args = clock.arguments(
    ("--megabytes", {"type": float, "required": True}),
    ("--cp", {"action": "store_true"}),
    ("--compression", {"type": int, "default": 505}),
    ("--threads", {"type": int, "default": 1}),
)
COLUMNS = 20
total = max(round(args.megabytes * 1e6 / 4 / COLUMNS), 1)
batch = min(total, 100_000)
# Reals with 9 bits of mantissa, as in compact analysis formats.
some = np.random.default_rng(13).normal(0.0, 40.0, batch + COLUMNS).astype(np.float32)
some = (some.view(np.uint32) & 0xFFFFC000).view(np.float32)
columns = {f"x{at}": some[at : at + batch] for at in range(COLUMNS)}


def write():
    options = {"compression": args.compression, "threads": args.threads}
    with farroot.recreate(args.url, **options) as file:
        table = file.mktree("Events", dict.fromkeys(columns, np.float32))
        for _ in range(total // batch):
            table.extend(columns)
    return file.file.report


if args.cp:
    source = clock.random_file(args.megabytes)
    command = [sys.executable, "-m", "farroot", "cp", "-f", str(source), args.url]
    clock.run(
        lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL),
        lambda _: {"file_bytes": source.stat().st_size},
    )
else:
    clock.run(
        write,
        lambda report: {"file_bytes": farroot.open_bytes(args.url).size, "report": str(report)},
    )
