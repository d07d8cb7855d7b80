"""The experiments of the talks and papers that farroot begins with, and slow links. Data only, as
definitions.py. Their links are so slow that other programs on the machine change little."""

from __future__ import annotations

from dataclasses import replace

from definitions import (
    FARROOT,
    FARROOT_EVENTS,
    FARROOT_EVENTS_APART,
    FARROOT_EVENTS_WITHOUT,
    FARROOT_HTTP,
    FARROOT_LOOP,
    H42_COLUMNS,
    ROOT_64KB,
    ROOT_DEFAULT,
    ROOT_LOOP,
    ROOT_LOOP_SAMPLES,
    ROOT_LOOP_TRAINED,
    ROOT_NO_CACHE,
    ROOT_TRAINED,
    UPROOT,
    UPROOT_HTTP,
    farroot_chunks,
)
from model import Experiment, Link, Peer

#: Round trips up to which each of many requests may wait for the one before.
ONE_BY_ONE_MS = 23.0


def link(rtt_ms: float, rate: str, flow_rate: str = "none") -> Link:
    return Link(rtt_ms, f"rate={rate} flow-rate={flow_rate} loss=0")


def near(peer: Peer, **more: object) -> Peer:
    """The peer at short distances only: it waits for each basket."""
    return replace(peer, rtt_max_ms=ONE_BY_ONE_MS, **more)


FARROOT_EVENTS_BARE = Peer(
    "farroot, without all three",
    "farroot_exercise",
    options=("--row-wise", "--without", "startup,together,coalescing"),
)
#: Far away it waits for each basket that an event needs in addition: a fifth of the events.
WITHOUT_TOGETHER = (FARROOT_EVENTS_WITHOUT[1], FARROOT_EVENTS_BARE)
FAR_SAMPLES = tuple(
    replace(
        peer,
        name=f"{peer.name} (200 events)",
        options=(*peer.options, "--sample", "200"),
        rtt_min_ms=ONE_BY_ONE_MS,
        runs_max=1,
    )
    for peer in WITHOUT_TOGETHER
)
CMSSW = (
    near(ROOT_LOOP),
    near(ROOT_LOOP_TRAINED),
    *ROOT_LOOP_SAMPLES,
    FARROOT_LOOP,
    FARROOT_EVENTS,
    FARROOT_EVENTS_WITHOUT[0],
    FARROOT_EVENTS_APART,
    *map(near, WITHOUT_TOGETHER),
    *FAR_SAMPLES,
)
#: A fifth of the paper's 50,000 chunks, over all of a file of 200 MB.
CHUNKS = ("--chunks", "10000")
#: As many bytes in pieces of 800 kB: below 700 kB the talk has less speed.
LARGE = ("--chunks", "125", "--bytes", "800000", "--stride", "1600000")


def asynchronous(streams: int) -> Peer:
    return Peer(
        f"XRootD's client, {streams} stream{'s' if streams > 1 else ''}",
        "xrootd_chunks",
        options=("--mode", "async", *CHUNKS),
        environment={"XRD_SUBSTREAMSPERCHANNEL": str(streams)},
    )


def chunks(connections: int) -> Peer:
    return replace(farroot_chunks(connections), options=CHUNKS)


def large(peer: Peer) -> Peer:
    options = (*peer.options[: peer.options.index("--chunks")], *LARGE)
    return replace(peer, name=f"{peer.name}, 800 kB", options=options)


def connections(count: int) -> Peer:
    name = f"farroot, {count} connection{'s' if count > 1 else ''}"
    return replace(FARROOT, name=name, environment={"FARROOT_CONNECTIONS": str(count)})


STREAMS = (1, 2, 4, 8, 16)

EXPERIMENTS = {
    "slowlinks": Experiment(
        about="three branches of h42 over links of 8 to 100 Mbit/s",
        file="h42",
        columns=H42_COLUMNS,
        links=tuple(
            link(rtt_ms, f"{megabits}mbit")
            for megabits in (8, 10, 50, 100)
            for rtt_ms in (20, 50, 100)
        ),
        peers=(ROOT_TRAINED, UPROOT, UPROOT_HTTP, FARROOT, FARROOT_HTTP),
        runs=3,
    ),
    "seed-cmssw": Experiment(
        about="the event loop of CMS's paper at 20 MB/s, with one of farroot's rules left out",
        file="eventloop",
        entry_stop=1_000,
        links=(link(0.3, "20MB/s"), link(137, "20MB/s")),
        peers=CMSSW,
        runs=3,
        timeout_s=900.0,
    ),
    "seed-caches": Experiment(
        about="three branches of h42 by the links of 2006, without a cache and with small ones",
        file="h42",
        columns=H42_COLUMNS,
        links=(
            link(0.3, "100mbit"),
            link(2, "10mbit"),
            link(11, "100mbit"),
            link(22, "100mbit"),
            link(72, "8mbit"),
            link(240, "1gbit"),
        ),
        peers=(
            near(ROOT_NO_CACHE, runs_max=1),
            replace(ROOT_64KB, runs_max=1),
            Peer("ROOT, 10 MB cache", "root_getentry", options=("--cache", "10MB")),
            ROOT_DEFAULT,
            UPROOT,
            FARROOT,
        ),
        runs=3,
    ),
    "seed-draw": Experiment(
        about="three branches of h42 at 160 ms and 100 Mbit/s: until the tree is open, and all",
        file="h42",
        columns=H42_COLUMNS,
        links=(link(160, "100mbit"),),
        peers=(ROOT_DEFAULT, ROOT_TRAINED, UPROOT, *map(connections, (1, 5, 10, 15)), FARROOT),
        runs=3,
    ),
    "seed-streams": Experiment(
        about="10,000 chunks of 10 kB over a link of 10 MB/s, 2.5 MB/s for each connection",
        file="h42",
        links=(link(23, "10MB/s", "2.5MB/s"), link(160, "10MB/s", "2.5MB/s")),
        peers=(
            Peer(
                "XRootD's client, one by one",
                "xrootd_chunks",
                options=("--mode", "one", *CHUNKS, "--sample", "200"),
            ),
            Peer(
                "XRootD's client, vectored",
                "xrootd_chunks",
                options=("--mode", "vectored", *CHUNKS),
            ),
            *map(asynchronous, STREAMS),
            large(asynchronous(16)),
            *map(chunks, STREAMS),
            large(chunks(16)),
        ),
        runs=3,
    ),
}
