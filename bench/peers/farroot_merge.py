"""farroot: `farroot merge` of several files into one on a local disk, as a process of its own."""

import resource
import subprocess
import sys

import clock

args = clock.many_files(("--flags", {"default": ""}))
target = clock.target("merged.root")


def job():
    command = [sys.executable, "-m", "farroot", "merge", *args.flags.split(), target, *args.urls]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def answer(_):
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    measured = {"cpu_s": used.ru_utime + used.ru_stime, "peak_bytes": used.ru_maxrss * 1024}
    measured |= {"file_bytes": target.stat().st_size} | clock.entries_in(target, args.tree)
    return measured


clock.run(job, answer)
