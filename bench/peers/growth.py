"""One call of growth_calls.py with one size after the other: its CPU time, and the memory that it
takes beyond that of the process before.

    python bench/peers/growth.py KIND CALL PROGRAM SIZES LIMIT
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import growth_calls
import growth_files

WARM_UP = 10


def main() -> None:
    kind, name, program = sys.argv[1:4]
    limit_s = float(sys.argv[5])
    call = next(one for one in growth_calls.CALLS if (one.kind, one.name) == (kind, name))
    job = call.jobs[program]
    if not isinstance(job, list):
        # The first call imports modules, and compiles.
        job(growth_files.path_of(kind, WARM_UP), WARM_UP)
    for size in map(int, sys.argv[4].split(",")):
        path = growth_files.path_of(kind, size)
        row = {"size": size}
        try:
            row |= by_program(job, path) if isinstance(job, list) else in_process(job, path, size)
        except Exception as error:
            row["failed"] = f"{type(error).__name__}: {error}"[:200]
        print(json.dumps(row), flush=True)
        if row.get("cpu_s", limit_s) >= limit_s:
            break


def in_process(job, path: Path, size: int) -> dict:
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    children = cpu(resource.RUSAGE_CHILDREN)
    begun = time.process_time()
    result = job(path, size)
    used = time.process_time() - begun
    children = cpu(resource.RUSAGE_CHILDREN) - children
    del result
    return {"cpu_s": used + children, "peak_bytes": max(memory("VmHWM") - before, 0)}


def by_program(words: list[str], path: Path) -> dict:
    target = growth_calls.target_of(path)
    words = [word.format(path=path, target=target) for word in words]
    command = [sys.executable, "-m", "farroot", *words]
    environment = {**os.environ, "FARROOT_CACHE": "4 GB", "FARROOT_CACHE_FOLDER": str(path)}
    environment = environment if words[0] == "cache" else None
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=said
            )
            # Its own use: that of other children, which make files, is greater.
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = code = os.waitstatus_to_exitcode(status)
        finally:
            growth_calls.remove(target)
        said.seek(0)
        # 1 of `check` says that it has found something.
        if code != 0 and not (code == 1 and words[0] == "check"):
            raise RuntimeError(said.read().decode()[-200:])
    return {"cpu_s": used.ru_utime + used.ru_stime, "peak_bytes": used.ru_maxrss * 1024}


def cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def memory(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))


if __name__ == "__main__":
    os.environ.setdefault("FARROOT_STORE", "0")
    main()
