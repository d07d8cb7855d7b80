"""The experiments home-*: uproot and coffea alone, uproot and coffea reading through farroot, and
farroot in place of both. Data only, as definitions.py."""

from __future__ import annotations

from dataclasses import replace

from definitions import FARROOT, H42_COLUMNS, NANO_COLUMNS, UPROOT, UPROOT_HTTP
from model import Experiment, Link, Peer

HANDLER = ("--handler",)
UNDER_UPROOT = Peer("farroot.Source under uproot", "uproot_arrays", options=HANDLER)
NEAR_AND_FAR = (Link(0), Link(100))
# Entries of a chunk of `nano`: one chunk is one cluster.
CHUNKS = ("--step", "25000")
# Entries of a chunk of `nano947`, and the number of chunks over which figures are averaged.
LATER = ("--step", "200", "--chunks", "4")


def known(peer: Peer, state: str = "file known") -> Peer:
    """The peer with the metadata and processor columns that an earlier process has stored."""
    return replace(peer, name=f"{peer.name}, {state}", is_known=True)


def by(how: str, name: str, script: str, *options: str, scheme: str = "root") -> Peer:
    """A peer that reads by ``how``: coffea alone, coffea on farroot.Source, or farroot.coffea."""
    return Peer(name, script, scheme, ("--by", how, *options))


FARROOT_COFFEA = by("farroot", "farroot.coffea", "coffea_runner", *CHUNKS)
RUNNERS = (
    by("coffea", "coffea", "coffea_runner", *CHUNKS),
    by("source", "farroot.Source under coffea", "coffea_runner", *CHUNKS),
    FARROOT_COFFEA,
    known(FARROOT_COFFEA, "run before"),
)
EVENTS = (
    by("coffea", "coffea", "coffea_from_root", *LATER, scheme="local"),
    by("farroot", "farroot.coffea, first chunk", "coffea_from_root", *LATER[:2], scheme="local"),
    by(
        *("farroot", "farroot.coffea, later chunks", "coffea_from_root", *LATER, "--later"),
        scheme="local",
    ),
)

EXPERIMENTS = {
    "home-first": Experiment(
        about="(time at 100 ms - time at 0) / 100 ms: uproot.open, 20,000 entries of 3 columns",
        file="nano",
        columns=NANO_COLUMNS,
        entry_stop=20_000,
        links=NEAR_AND_FAR,
        peers=(UPROOT, UNDER_UPROOT, known(UNDER_UPROOT), FARROOT, known(FARROOT)),
        figure="round_trips",
    ),
    "home-iterate": Experiment(
        about="(time at 100 ms - time at 0) / 100 ms: uproot.iterate of 3 columns in 8 steps",
        file="nano",
        columns=NANO_COLUMNS,
        links=NEAR_AND_FAR,
        peers=(
            Peer("uproot root://", "uproot_iterate", options=CHUNKS),
            Peer("farroot.Source under uproot", "uproot_iterate", options=(*CHUNKS, *HANDLER)),
            Peer("farroot root://", "farroot_iterate", options=CHUNKS),
        ),
        figure="round_trips",
    ),
    "home-h42": Experiment(
        about="three branches of h42 by uproot as it is and through farroot.Source, at 100 ms",
        file="h42",
        columns=H42_COLUMNS,
        links=(Link(100),),
        peers=(UPROOT, UPROOT_HTTP, UNDER_UPROOT, known(UNDER_UPROOT), FARROOT),
    ),
    "home-coffea": Experiment(
        about="coffea's Runner over 8 chunks of 25,000 entries, two columns of each",
        file="nano",
        links=NEAR_AND_FAR,
        peers=RUNNERS,
    ),
    "home-from-root": Experiment(
        about="NanoEvents of a chunk of a local TTree of 947 branches",
        file="nano947",
        peers=EVENTS,
        figure="cpu_s",
    ),
    "home-from-root-ntuple": Experiment(
        about="NanoEvents of a chunk of the same as an RNTuple",
        file="nano947-ntuple",
        peers=EVENTS,
        figure="cpu_s",
    ),
}
