"""ROOT's hadd, or `cat` as the bound of any merge: several files into one, from a local disk."""

import importlib.util
import os
import resource
import subprocess
from pathlib import Path

import clock

args = clock.many_files(
    ("--flags", {"default": ""}),
    ("--cat", {"action": "store_true"}),
    ("--sync", {"action": "store_true", "help": "with --cat: until a crash cannot lose a byte"}),
)
target = clock.target("merged.root")


def job():
    if args.cat:
        with target.open("wb") as to:
            subprocess.run(["cat", *args.urls], check=True, stdout=to)
            if args.sync:
                os.fsync(to.fileno())
        return
    # Of the wheel; beside the interpreter it has a script, which would start Python, too.
    package = Path(importlib.util.find_spec("ROOT").origin).parent
    command = [package / "bin" / "hadd", *args.flags.split(), target, *args.urls]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def answer(_):
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    measured = {"cpu_s": used.ru_utime + used.ru_stime, "peak_bytes": used.ru_maxrss * 1024}
    measured["file_bytes"] = target.stat().st_size
    if not args.cat:
        measured |= clock.entries_in(target, args.tree)
    return measured


clock.run(job, answer)
