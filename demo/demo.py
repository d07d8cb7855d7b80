"""The main job, end to end: three columns of a file 100 ms away, with farroot and with uproot.

Makes a NanoAOD-like file, serves it with `farroot serve`, at no distance and at 100 ms, and reads
it from both with each client in a fresh process. Everything stays in build/demo.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import make_nano

HERE = Path(__file__).parent
FOLDER = HERE.parent / "build" / "demo"
COLUMNS = ["Muon_pt", "Jet_pt", "flat_00"]
RTT_MS = 100
#: The best of so many runs counts: the first one pays for cold disks and libraries.
RUNS = 2
CLIENTS = ["farroot", "uproot"]


def main() -> int:
    """Runs the demonstration; fails where the clients disagree."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    nano = FOLDER / "nano.root"
    if not nano.exists():
        print("making a NanoAOD-like file ...", flush=True)
        make_nano.make(nano, 200_000)
    size = nano.stat().st_size / 1e6
    print(f"{nano.relative_to(HERE.parent)}: {size:.1f} MB, 200,000 entries, 100 branches")
    print(f"reading {', '.join(COLUMNS)} over root://\n")
    near = measure(0)
    far = measure(RTT_MS)
    for line in table(near, far):
        print(line)
    print(f"\nfarroot, {RTT_MS} ms away:\n{far['farroot']['text']}")
    print("one line a connection; . a request on its way, # bytes arriving")
    print(far["farroot"]["timeline"])
    print(f"as a picture: {(FOLDER / 'timeline.svg').relative_to(HERE.parent)}")
    digests = {result["digest"] for results in (near, far) for result in results.values()}
    print("the arrays are equal" if len(digests) == 1 else "THE ARRAYS DIFFER")
    return 0 if len(digests) == 1 else 1


def measure(rtt_ms: int) -> dict[str, dict]:
    """Every client's best result, each on a cold connection, from a server that far away."""
    with served(rtt_ms) as url:
        rounds = [{client: read(client, url) for client in CLIENTS} for _ in range(RUNS)]
    return {
        client: min((results[client] for results in rounds), key=lambda result: result["seconds"])
        for client in CLIENTS
    }


@contextmanager
def served(rtt_ms: int) -> Iterator[str]:
    """The address of the file, as long as it is served."""
    command = [Path(sys.executable).parent / "farroot", "serve", FOLDER]
    command += ["--port", "0", "--rtt", f"{rtt_ms}ms"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            first = server.stdout.readline()
            found = re.search(r"root://\S+", first)
            if not found:
                raise SystemExit(f"`farroot serve` did not start: it said {first!r}")
            yield f"{found.group().rstrip('/')}//nano.root"
        finally:
            server.terminate()


def read(client: str, url: str) -> dict:
    """The figures of one client, in a process of its own."""
    command = [sys.executable, HERE / "read_three.py", client, url, *COLUMNS]
    if client == "farroot":
        command += ["--timeline", FOLDER / "timeline.svg"]
    # Every run is a first one.
    environment = {**os.environ, "FARROOT_STORE": "0"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=environment
    )
    if done.returncode:
        raise SystemExit(f"{client} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def table(near: dict[str, dict], far: dict[str, dict]) -> Iterator[str]:
    """Both clients side by side; round trips are the cost of distance, divided by it."""
    rows = [f"at {RTT_MS} ms", "at 0 ms", "round trips", "requests", "bytes"]
    yield f"{'':>10}" + "".join(f"{row:>14}" for row in rows)
    for client in CLIENTS:
        there, here = far[client], near[client]
        trips = (there["seconds"] - here["seconds"]) / (RTT_MS / 1e3)
        cells = [f"{there['seconds']:.2f} s", f"{here['seconds']:.2f} s", f"{trips:.1f}"]
        cells += [f"{there['requests']}", f"{there['bytes'] / 1e6:.2f} MB"]
        yield f"{client:>10}" + "".join(f"{cell:>14}" for cell in cells)
    ratio = far["uproot"]["seconds"] / far["farroot"]["seconds"]
    yield f"\nfarroot is {ratio:.1f} times as fast at {RTT_MS} ms"


if __name__ == "__main__":
    sys.exit(main())
