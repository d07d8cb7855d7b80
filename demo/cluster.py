"""Fills a histogram on a Dask cluster, kills a worker, and compares it with that of one process.

Serves the file of `demo.py` 100 ms away, plans its partitions once, and fills the histogram in
three worker processes of `dask.distributed`. After the first result one worker is killed; Dask runs
its partitions again on the others. All files are in build/demo.
"""

import logging
import os
import signal
import threading
import time
from concurrent.futures import Executor, Future

import awkward as ak
import farroot
import make_nano
import numpy as np
from dask.distributed import Client, LocalCluster

import demo

WORKERS = 3
EDGES = np.linspace(0, 200, 101)


def fill(part: farroot.Partition) -> np.ndarray:
    """The number of jets in each bin."""
    jets = part.arrays()["Jet_pt"]
    return np.histogram(ak.to_numpy(ak.flatten(jets)), EDGES)[0]


class Killing(Executor):
    """An executor of a Dask cluster that kills a worker after the first result."""

    def __init__(self, client: Client) -> None:
        self.executor = client.get_executor()
        self.workers = list(client.run(os.getpid).values())
        self.killed: int | None = None
        self._lock = threading.Lock()

    def submit(self, *call: object) -> Future:
        """Submits the call to Dask."""
        future = self.executor.submit(*call)
        future.add_done_callback(self._kill)
        return future

    def _kill(self, _: Future) -> None:
        with self._lock:
            if self.killed is None:
                self.killed = self.workers[0]
                os.kill(self.killed, signal.SIGKILL)


def on_a_cluster(parts: farroot.Partitions) -> np.ndarray:
    """The histogram, filled by several worker processes, one of which is killed."""
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        executor = Killing(client)
        begun = time.perf_counter()
        filled = farroot.map(fill, parts, executor)
        took = time.perf_counter() - begun
    print(f"{WORKERS} workers, of which {executor.killed} was killed: {took:.1f} s")
    return sum(filled)


def main() -> int:
    """Runs the demonstration; fails where the histograms differ."""
    # Dask logs many lines about the lost worker.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    demo.FOLDER.mkdir(parents=True, exist_ok=True)
    nano = demo.FOLDER / "nano.root"
    if not nano.exists():
        print("making a NanoAOD-like file ...", flush=True)
        make_nano.make(nano, 200_000)
    # metadata="embed" needs a store of metadata: one of the demonstration's own.
    os.environ["FARROOT_STORE_FOLDER"] = str(demo.FOLDER / "store")
    with demo.served(demo.RTT_MS) as url:
        parts = farroot.partitions(url, ["Jet_pt"], step_size="100 kB", metadata="embed")
        print(f"{len(parts)} partitions of {parts.num_entries:,} entries")
        begun = time.perf_counter()
        alone = sum(farroot.map(fill, parts))
        print(f"one process: {time.perf_counter() - begun:.1f} s")
        together = on_a_cluster(parts)
    is_equal = np.array_equal(alone, together)
    print(f"{alone.sum():,} jets; the histograms {'are equal' if is_equal else 'DIFFER'}")
    return 0 if is_equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
