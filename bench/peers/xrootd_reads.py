"""XRootD's own client: a few reads at random places of an open file, all sent at once."""

from __future__ import annotations

import random
import threading

import clock
from XRootD import client

args = clock.arguments(
    ("--reads", {"type": int, "default": 20}),
    ("--bytes", {"type": int, "default": 2000}),
)
file = client.File()
status, _ = file.open(args.url)
if not status.ok:
    raise OSError(status.message)
size = file.stat()[1].size
# A fixed seed, so that all peers read at the same offsets.
chance = random.Random(6)
offsets = [chance.randrange(size - args.bytes) for _ in range(args.reads)]


def job() -> int:
    arrived = threading.Semaphore(0)
    sizes: list[int] = []

    def take(status, data, hosts) -> None:
        sizes.append(len(data) if status.ok else 0)
        arrived.release()

    for offset in offsets:
        status = file.read(offset, args.bytes, callback=take)
        if not status.ok:
            raise OSError(status.message)
    for _ in offsets:
        arrived.acquire()
    return sum(sizes)


clock.run(job, lambda total: {"payload_bytes": total})
