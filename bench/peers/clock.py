"""Shared by all peers: one job, timed cold in this process, printed as one line of JSON.

Imports and compilation of helpers come before the clock starts; connecting, opening and decoding
after. Bytes and connections are those that crossed the lab's link: the same measure for everyone.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: With this variable in its environment a job prints this line, and waits for a line of input.
WAITS, READY = "FARROOT_BENCH_WAITS", "ready"
#: Temporary folders of this process.
FOLDERS: list[Path] = []
#: When the job has opened its table, if it says so.
OPENED: list[float] = []


def arguments(*more: tuple[str, dict[str, Any]]) -> argparse.Namespace:
    """The job: the columns to read. `more` are options of one peer alone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--tree", default="Events")
    parser.add_argument("--columns", default="", help="comma-separated; none: all")
    parser.add_argument("--entry-stop", type=int)
    for name, options in more:
        parser.add_argument(name, **options)
    args = parser.parse_args()
    args.columns = [column for column in args.columns.split(",") if column]
    return args


#: The option of a job that reads the entries which pass a cut.
CUT = ("--cut", {"default": None})
#: The option that makes uproot read through farroot.
HANDLER = ("--handler", {"action": "store_true", "help": "through farroot.Source"})


def through(args: argparse.Namespace) -> dict[str, Any]:
    """Options for `uproot.open` and `iterate`, of a job with :data:`HANDLER`. Imports the modules
    that uproot imports at first use, so that the job's time does not include them."""
    if args.handler:
        import farroot

        return {"handler": farroot.Source}
    if args.url.startswith("root:"):
        import fsspec_xrootd  # noqa: F401
    elif args.url.startswith("http"):
        import aiohttp  # noqa: F401
        import fsspec.implementations.http  # noqa: F401
    return {}


def step(text: str) -> int | str:
    """The `step_size` of `iterate`: a number of entries, or a size in memory."""
    return int(text) if text.isdigit() else text


STEP = ("--step", {"default": "100 MB", "type": step})


def many_files(*more: tuple[str, dict[str, Any]]) -> argparse.Namespace:
    """The job of many files: `urls` of the sample, and the factor by which its time is to be
    multiplied."""
    args = arguments(
        *more,
        ("--files", {"type": int, "required": True}),
        ("--sample", {"type": int, "help": "so many of the files stand for all"}),
        ("--threads", {"type": int, "default": 1}),
    )
    sample = min(args.sample or args.files, args.files)
    args.urls = [f"{args.url}/{number:04}.root" for number in range(sample)]
    args.scale = args.files / sample
    return args


WORK = (
    ("--step", {"type": int, "required": True, "help": "entries in a batch"}),
    ("--work-s", {"type": float, "default": 0.3, "help": "CPU seconds of work on each batch"}),
)


def work(seconds: float) -> None:
    """The caller's own work on a batch: one busy thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def link() -> dict[str, int]:
    """The bytes that this side's link has carried so far; none outside the lab."""
    control = os.environ.get("FARLAB_CONTROL")
    if not control:
        return {}
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(control)
        caller.sendall(b"stats\n")
        with caller.makefile() as answer:
            near = json.loads(answer.read())["near"]
    received, sent = near["received"], near["sent"]
    return {"link_bytes": received["bytes"], "connections": sent["connections"]}


def target(name: str = "copy") -> Path:
    """A path for a file, in a temporary folder that :func:`run` removes at its end."""
    folder = Path(tempfile.mkdtemp(prefix="farroot-bench-"))
    FOLDERS.append(folder)
    return folder / name


def random_file(megabytes: float) -> Path:
    """A local file of random bytes, at a path from :func:`target`."""
    source = target("source")
    with source.open("wb") as file:
        left = round(megabytes * 1e6)
        while left > 0:
            file.write(os.urandom(min(left, 1 << 24)))
            left -= 1 << 24
    return source


def copied(target: Path) -> dict[str, int]:
    """How much has been copied; the copy is thrown away."""
    size = target.stat().st_size
    shutil.rmtree(target.parent)
    return {"payload_bytes": size}


def opened() -> None:
    """Notes that the table is open, and its columns are not read yet."""
    OPENED.append(time.perf_counter())


def run(
    job: Callable[[], Any],
    answer: Callable[[Any], dict[str, Any]],
    scale: float = 1.0,
    threads: int | None = None,
) -> None:
    """Times `job`. Off the clock, its result becomes an `answer` to compare with the others'.

    The figures of a sample are scaled to the whole job: time and bytes times `scale`. With
    `threads`, `waited` is the fraction of their time in which they used no CPU: its stalls.
    """
    if WAITS in os.environ:
        print(READY, flush=True)
        sys.stdin.readline()
    before = link()
    disk_bytes = read_from_disk()
    idle_bytes = memory("VmRSS")
    cpu = time.process_time()
    begun = time.perf_counter()
    result = job()
    time_s = time.perf_counter() - begun
    cpu_s = time.process_time() - cpu
    after = link()
    peak = memory("VmHWM")
    disk_bytes = read_from_disk() - disk_bytes
    measured = {"time_s": time_s, "cpu_s": cpu_s, "peak_bytes": peak, "idle_bytes": idle_bytes}
    measured["disk_bytes"] = disk_bytes
    if OPENED and scale == 1.0:
        measured["open_s"] = OPENED[0] - begun
    measured |= {key: after[key] - before[key] for key in after}
    if threads:
        measured["waited"] = max(1 - cpu_s / (min(threads, os.cpu_count() or 1) * time_s), 0.0)
    if scale != 1.0:
        measured["scale"] = scale
        for key in ("time_s", "cpu_s", "link_bytes", "connections"):
            if key in measured:
                measured[key] *= scale
    print(json.dumps(measured | answer(result)))
    sys.stdout.flush()
    for folder in FOLDERS:
        shutil.rmtree(folder, ignore_errors=True)
    # Some peers hang or crash while they tidy up; their time has been printed.
    os._exit(0)


def read_from_disk() -> int:
    """Bytes that this process has read from disks so far; 0 if the kernel does not count them."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        return 0
    return int(next(line for line in lines if line.startswith("read_bytes:")).split()[1])


def memory(field: str) -> int:
    """Bytes of this process: VmRSS now, VmHWM at most so far (getrusage may give a parent's)."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024


def awkward_answer(arrays: Any) -> dict[str, Any]:
    """Entries, and bytes of numbers and text in all columns without the counts of jagged ones."""
    import awkward as ak

    # Text is then a list of bytes.
    return {"entries": len(arrays), "payload_bytes": payload_bytes(ak.without_parameters(arrays))}


def payload_bytes(arrays: Any) -> int:
    import awkward as ak

    if arrays.fields:
        return sum(payload_bytes(arrays[name]) for name in arrays.fields)
    content = ak.flatten(arrays, axis=None)
    return len(content) * ak.to_numpy(content[:0]).dtype.itemsize


def arrow_bytes(arrays: Any) -> int:
    """Bytes of a file of Arrow with these arrays, compressed by zstd: the least that an answer of
    columns takes."""
    import awkward as ak
    import pyarrow as pa

    table = ak.to_arrow_table(ak.to_packed(arrays), extensionarray=False)
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue().size


def run_with_work(args: argparse.Namespace, iterate: Callable[..., Any]) -> None:
    """Times an `iterate` whose caller works on each batch."""

    def job() -> int:
        entries = 0
        source = {args.url: args.tree}
        for batch in iterate(source, args.columns or None, step_size=args.step, library="ak"):
            entries += len(batch)
            work(args.work_s)
        return entries

    run(job, lambda entries: {"entries": entries})


def columns_in_memory(args: argparse.Namespace) -> dict[str, Any]:
    """All columns of the job's file as Awkward arrays by name, packed, for a writer."""
    import awkward as ak
    import uproot

    with uproot.open(args.url) as file:
        arrays = file[args.tree].arrays(library="ak")
    return {name: ak.to_packed(arrays[name]) for name in arrays.fields}


def parts(arrays: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The same entries in so many parts of nearly equal length."""
    length = len(next(iter(arrays.values())))
    borders = [length * at // count for at in range(count + 1)]
    return [
        {name: array[start:stop] for name, array in arrays.items()}
        for start, stop in itertools.pairwise(borders)
    ]


def written(target: Path) -> dict[str, Any]:
    """The content of a file that was written, by uproot: entries, numbers, and the file's own
    bytes."""
    import uproot

    file_bytes = target.stat().st_size
    with uproot.open(target) as file:
        names = [f"{kind}{at}" for kind, many in (("v", 60), ("f", 40)) for at in range(many)]
        answer = awkward_answer(file["Events"].arrays(names, library="ak"))
    return answer | {"file_bytes": file_bytes}


def entries_in(target: Path, tree: str | None) -> dict[str, Any]:
    """The number of entries of a tree, read by uproot; without a tree, the number of keys."""
    import uproot

    with uproot.open(target) as file:
        return {"entries": int(file[tree].num_entries) if tree else len(file.keys(recursive=True))}
