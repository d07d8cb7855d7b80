"""XRootD's own client: many chunks of one file, one by one, asynchronously, or vectored."""

from __future__ import annotations

import threading

import clock
from XRootD import client

MODES = ("one", "async", "vectored")
# Asynchronous reads unanswered at one time, and chunks of a vectored read.
UNANSWERED_MAX = 1024
SEGMENTS_MAX = 1024

args = clock.arguments(
    ("--mode", {"choices": MODES, "required": True}),
    ("--chunks", {"type": int, "default": 50_000}),
    ("--bytes", {"type": int, "default": 10_000}),
    ("--stride", {"type": int, "default": 20_000}),
    ("--sample", {"type": int, "help": "so many of the chunks stand for all"}),
)
sample = args.sample or args.chunks
chunks = [(number * args.stride, args.bytes) for number in range(sample)]


def checked(status) -> None:
    if not status.ok:
        raise OSError(status.message)


def one_by_one(file) -> int:
    total = 0
    for offset, size in chunks:
        status, data = file.read(offset, size)
        checked(status)
        total += len(data)
    return total


def asynchronously(file) -> int:
    room = threading.Semaphore(UNANSWERED_MAX)
    sizes: list[int] = []

    def arrived(status, data, hosts) -> None:
        sizes.append(len(data) if status.ok else 0)
        room.release()

    for offset, size in chunks:
        room.acquire()
        checked(file.read(offset, size, callback=arrived))
    for _ in range(UNANSWERED_MAX):
        room.acquire()
    return sum(sizes)


def vectored(file) -> int:
    total = 0
    for at in range(0, len(chunks), SEGMENTS_MAX):
        status, answer = file.vector_read(chunks[at : at + SEGMENTS_MAX])
        checked(status)
        total += sum(len(chunk.buffer) for chunk in answer.chunks)
    return total


def job() -> int:
    file = client.File()
    status, _ = file.open(args.url)
    checked(status)
    return {"one": one_by_one, "async": asynchronously, "vectored": vectored}[args.mode](file)


def answer(total: int) -> dict:
    return {"payload_bytes": total * args.chunks // sample}


clock.run(job, answer, scale=args.chunks / sample)
