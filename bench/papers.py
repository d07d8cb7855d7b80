"""Figures of the papers and talks that farroot begins with, and the records that are beside them.
Data only; seed_tables.py makes the tables."""

from __future__ import annotations

from dataclasses import dataclass

#: Table 2 of Bockelman, "Optimizing High-Latency I/O in CMSSW": slowdowns.
RULES = ("all rules", "no start-up", "no trigger", "no coalescing", "none of the three")
CMSSW = {
    "0.3 ms rate=20MB/s": ("0.3 ms, 25.2 MB/s", (1.0, 1.20, 1.03, 0.91)),
    "137 ms rate=20MB/s": ("137 ms, 18.7 MB/s", (2.38, 23.16, 13.89, 2.41)),
}
#: farroot's peers in the order of RULES.
FARROOT_RULES = (
    "farroot, event by event",
    "farroot, without startup",
    "farroot, without together",
    "farroot, without coalescing",
    "farroot, without all three",
)


@dataclass(frozen=True)
class SpeedUp:
    """Two sources in place of one: the paper's speed-up, and jobs of a record."""

    label: str
    paper: float
    record: str
    one: str
    two: str


SPEED_UPS = (
    SpeedUp(
        "event loop, two servers at one site",
        1.13,
        "sources-equal-loop",
        "one source",
        "two sources",
    ),
    SpeedUp(
        "all columns, a near and a far server", 1.51, "sources-near-far", "the far one", "both"
    ),
)


@dataclass(frozen=True)
class Client:
    """A client of Brun and Franco's table of 2006: seconds with a cache of 0, 64 kB, and 10 MB."""

    letter: str
    link: str  # of the record
    paper: tuple[str, str, str]


CLIENTS = (
    Client("B", "0.3 ms rate=100mbit", ("8.0", "6.0", "4.0")),
    Client("C", "2 ms rate=10mbit", ("11.6", "5.6", "4.9")),
    Client("D", "11 ms rate=100mbit", ("124.7", "12.3", "9.0")),
    Client("E", "22 ms rate=100mbit", ("230.9", "11.7", "8.4")),
    Client("F", "72 ms rate=8mbit", ("743.7", "48.3", "28.0")),
    Client("G", "240 ms", (">1800", "125.4", "9.9")),
)
CACHES = (
    "ROOT, no cache",
    "ROOT, 64 kB cache",
    "ROOT, 10 MB cache",
    "ROOT, default cache",
    "uproot root://",
    "farroot root://",
)

#: The first evaluation in a talk on XrdClient: seconds until the file was open, and in all; 160 ms.
DRAWS = (
    ("vectored reads", "2.40", "23.6", "ROOT, default cache"),
    ("asynchronous, 1 stream", "2.97", "17.4", "farroot, 1 connection"),
    ("asynchronous, 5 streams", "4.99", "16.9", "farroot, 5 connections"),
    ("asynchronous, 10 streams", "7.46", "20.1", "farroot, 10 connections"),
    ("asynchronous, 15 streams", "9.88", "24.8", "farroot, 15 connections"),
    ("", "", "", "ROOT, trained cache"),
    ("", "", "", "uproot root://"),
    ("", "", "", "farroot root://"),
)
#: Factors of that talk over one read after the other, and those that it expects.
FACTORS = {"23 ms": "24, heading for 28", "160 ms": "44, heading for 150"}


@dataclass(frozen=True)
class Output:
    """A setting of Riley's experiment: the size of the file beside the baseline."""

    setting: str
    paper: str
    peers: tuple[str, ...]  # of the record `write-buffers`


BASELINE = "ROOT, 15 MB flush, 16 kB"
OUTPUTS = (
    Output("15 MB flush, 16 kB baskets", "1", (BASELINE,)),
    Output("2 buffers of 8 MB, 16 kB", "1.40", ("TBufferMerger, 2 buffers, 8 MB, 16 kB",)),
    Output("4 buffers of 134 MB, 16 kB", "1.15", ("TBufferMerger, 4 buffers, 134 MB, 16 kB",)),
    Output("500 MB flush, 64 kB", "", ("ROOT, 500 MB flush, 64 kB",)),
    Output("4 buffers of 500 MB, 64 kB", "1.01", ("TBufferMerger, 4 buffers, 500 MB, 64 kB",)),
    Output("uproot", "", ("uproot mktree",)),
    Output("farroot", "", ("farroot TTree, one extend", "farroot TTree, clusters of 8 MB")),
)
