"""One call of growth_calls.py, once: its CPU time and the memory that it takes beyond the process.

    python bench/peers/growth.py KIND CALL PROGRAM SIZE
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import growth_calls
import growth_files

WARM_UP = 10


def main() -> None:
    kind, name, program, size = (*sys.argv[1:4], int(sys.argv[4]))
    call = next(one for one in growth_calls.CALLS if (one.kind, one.name) == (kind, name))
    job = call.jobs[program]
    path = growth_files.path_of(kind, size)
    if isinstance(job, list):
        measured = by_program(job, path)
    else:
        # The first call imports modules, and compiles.
        job(growth_files.path_of(kind, WARM_UP), WARM_UP)
        measured = in_process(lambda: job(path, size))
    print(json.dumps(measured))


def in_process(job) -> dict:
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    children = cpu(resource.RUSAGE_CHILDREN)
    begun = time.process_time()
    result = job()
    used = time.process_time() - begun
    children = cpu(resource.RUSAGE_CHILDREN) - children
    del result
    return {"cpu_s": used + children, "peak_bytes": max(status("VmHWM") - before, 0)}


def by_program(words: list[str], path: Path) -> dict:
    target = growth_calls.target_of(path)
    words = [word.format(path=path, target=target) for word in words]
    command = [sys.executable, "-m", "farroot", *words]
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    finally:
        growth_calls.remove(target)
    if done.returncode not in (0, 1) or (done.returncode == 1 and "check" not in words):
        sys.exit(done.stderr.decode()[-400:])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"cpu_s": cpu(resource.RUSAGE_CHILDREN), "peak_bytes": used.ru_maxrss * 1024}


def cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))


if __name__ == "__main__":
    os.environ.setdefault("FARROOT_STORE", "0")
    main()
