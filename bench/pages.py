"""The questions of the pages of docs/measured/ and their records. Data only; tables.py acts.

A question is a heading, one sentence, and a table that tables.py makes of one record or several.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """One section of a page; `form` is the function in tables.py that makes its table."""

    heading: str
    sentence: str
    records: tuple[str, ...]
    form: str  # a key of FORMS in tables.py
    labels: tuple[str, ...] = ()  # of the records, for `records` and `both`


@dataclass(frozen=True)
class Headline:
    """A row of the tables for users: the same job by ROOT, by uproot and by farroot."""

    label: str
    record: str
    link: str
    root: tuple[str, ...]  # the fastest of these stands for ROOT
    uproot: tuple[str, ...]
    farroot: str = "farroot root://"


ROOT_CACHES = ("ROOT, default cache", "ROOT, trained cache")
HEADLINES = (
    Headline(
        "three columns scattered over 245 MB, 100 ms away",
        "h42",
        "100 ms",
        ROOT_CACHES,
        ("uproot root://", "uproot http://"),
    ),
    Headline(
        "the same, 11 ms away",
        "caches",
        "11 ms",
        ROOT_CACHES,
        ("uproot root://",),
    ),
    Headline(
        "the same, 100 ms, 1 MB/s for each connection",
        "slowflows",
        "100 ms flow-rate=1MB/s",
        ("ROOT, trained cache",),
        ("uproot root://",),
    ),
    Headline(
        "counting the entries of 1,576 small files, 100 ms away",
        "opens",
        "100 ms",
        ("ROOT, one by one (10 files)",),
        ("uproot, 32 threads (320 files)",),
    ),
    Headline(
        "97 columns of 1 % of the entries, selected by the server, 100 ms away",
        "near",
        "100 ms",
        ("ROOT RDataFrame",),
        ("uproot root://", "uproot http://"),
        "farroot root://, near",
    ),
    Headline(
        "100 columns of a local TTree, one thread",
        "local",
        "",
        ("ROOT GetEntry loop",),
        ("uproot",),
        "farroot",
    ),
    Headline(
        "100 fields of a local RNTuple, one thread",
        "ntuple",
        "",
        ("ROOT in bulk",),
        ("uproot",),
        "farroot",
    ),
)
# The README has these of them.
FIRST_SCREEN = ("h42", "opens", "near", "local", "ntuple")
# The jobs of which bytes and connections are shown.
COSTS = (
    HEADLINES[0],
    HEADLINES[3],
    Headline(
        "the first 20,000 entries of three columns",
        "roundtrips",
        "0 ms to 240 ms",
        ("ROOT, trained cache",),
        ("uproot root://",),
    ),
)

PAGES = {
    "remote": (
        "Remote reads",
        (
            Question(
                "First batch on cold connections",
                "(Time at 240 ms - time at 0) / 240 ms, from the address to the first 20,000 "
                "entries of three columns, at 1 Gbit/s. The result is a number of round trips, "
                "those of TCP's slow start included.",
                ("roundtrips",),
                "peers",
            ),
            Question(
                "The first byte behind a credential, 100 ms away",
                "Real xrootd servers that require no credential, a token inside TLS, a proxy, a "
                "ticket, or a token over https. Timed from a new process to the first byte. "
                "Inside TLS xrootd answers in eleven small packets, and the first window of its "
                "TCP has ten. farroot makes a known server widen it before "
                "([how](../decisions/0018-sessions-of-xrootd.md)).",
                ("sites",),
                "sites",
            ),
            Question(
                "Three scattered branches, 100 ms away",
                "12.5 MB in 4,941 baskets of a file of 245 MB (h42), at 1 Gbit/s.",
                ("h42",),
                "peers",
            ),
            Question(
                "Unchanged programs through farroot run",
                "The three branches of h42 by ROOT and uproot alone, and through the proxy of "
                "`farroot run`, without a cache and with one that an earlier run has filled. The "
                "start of the proxy does not count. XCache is XRootD's own cache, which does not "
                "ask the origin whether a file has changed; farroot does, unless it is set to "
                "trust.",
                ("led", "led-rdataframe"),
                "peers",
            ),
            Question(
                "20 reads of 2 kB by an unchanged program",
                "At random offsets of h42, sent at once by XRootD's Python: directly, through an "
                "empty XCache (XRootD's own cache), and through `farroot run`.",
                ("led-reads",),
                "peers",
            ),
            Question(
                "Eight programs at once",
                "The three branches of h42 by one process of ROOT, and by eight at the same time: "
                "the time of the slowest. Two processors carry eight ROOTs.",
                ("led-clients",),
                "peers",
            ),
            Question(
                "Ten files one after the other",
                "The three branches of ten files like h42 in one process of ROOT, which keeps its "
                "connection: the time of each file but the first.",
                ("led-files",),
                "peers",
            ),
            Question(
                "Three scattered branches by round-trip time",
                "The three branches of h42 by round-trip time, in seconds; "
                "TTreeCache was first measured so, in 2006.",
                ("caches",),
                "links",
            ),
            Question(
                "Slow connections",
                "The three branches of h42, 100 ms away, where each TCP connection gets 1 MB/s.",
                ("slowflows",),
                "peers",
            ),
            Question(
                "Slow links",
                "The three branches of h42 over links of 8 to 100 Mbit/s, in seconds. 13.2 MB, the "
                "baskets with the headers of packets, take 13.2 s at 8 Mbit/s.",
                ("slowlinks",),
                "by_link",
            ),
            Question(
                "Bytes over slow links",
                "Bytes received over the link in excess of the baskets that the job needs, as a "
                "part of these; the headers of packets alone are 4.3 %.",
                ("slowlinks",),
                "beyond_by_link",
            ),
            Question(
                "Lost packets",
                "The three branches of h42, 100 ms away at 1 Gbit/s, in seconds, "
                "where packets are lost at random.",
                ("loss",),
                "links",
            ),
            Question(
                "50,000 ranges of 10 kB",
                "Every other 10 kB of a file of 1 GB by XRootD's own client, in seconds; "
                "519 MB cross the link, which takes 4.15 s at 1 Gbit/s. "
                "farroot's times have no record.",
                ("streams",),
                "links",
            ),
            Question(
                "1,576 small files",
                "The number of entries of the tree of each, 100 ms away. A client that opens one "
                "file after the other does so on a sample, and its figures are multiplied.",
                ("opens",),
                "peers",
            ),
            Question(
                "An event loop",
                "1,000 events of 480 kB in 400 branches, in seconds, at 1 Gbit/s unless stated "
                "otherwise. 30 % of the bytes of each event and all of each 50th are read "
                "(192 MB).",
                ("eventloop",),
                "links",
            ),
            Question(
                "Work that overlaps with reading",
                "`iterate` in 8 batches of 9 MB at 200 Mbit/s and 50 ms, with 0.3 s of the "
                "caller's own work on each batch.",
                ("overlap",),
                "peers",
            ),
            Question(
                "First columns by uproot through farroot",
                "(Time at 100 ms - time at 0) / 100 ms, from `uproot.open` to the first 20,000 "
                "entries of three columns: round trips, those of TCP's slow start included. "
                "`file known`: an earlier process has stored the file's metadata.",
                ("home-first",),
                "peers",
            ),
            Question(
                "Eight steps of uproot.iterate through farroot",
                "Round trips for `iterate` over three columns of 75 MB in eight steps.",
                ("home-iterate",),
                "peers",
            ),
            Question(
                "Three scattered branches by uproot through farroot",
                "The three branches of h42, 100 ms away at 1 Gbit/s.",
                ("home-h42",),
                "peers",
            ),
            Question(
                "coffea's Runner over eight chunks",
                "One worker, 25,000 entries and two columns a chunk, in seconds; `run before`: an "
                "earlier process has stored the file's metadata and the columns of the processor.",
                ("home-coffea",),
                "links",
            ),
            Question(
                "Whole files to a disk",
                "A file of 75 MB, 100 ms away, in seconds, each program's own start included.",
                ("copy",),
                "links",
            ),
        ),
    ),
    "sources": (
        "Several sources, and servers that fail",
        tuple(
            Question(heading, sentence, (f"sources-{scenario}",), "jobs")
            for scenario, heading, sentence in (
                (
                    "equal",
                    "Two equal sources",
                    "All columns of a file of 179 MB from servers 100 ms away with 20 MB/s each.",
                ),
                (
                    "equal-loop",
                    "An event loop over two sources",
                    "The event loop, event by event, from servers 100 ms away with 20 MB/s each.",
                ),
                (
                    "near-far",
                    "A near and a far source",
                    "The file of 179 MB from servers with 20 ms and 5 MB/s, and with 140 ms and "
                    "20 MB/s.",
                ),
                (
                    "dies",
                    "One of two sources fails",
                    "The first of two servers (20 MB/s, 100 ms) is killed, stopped or slowed "
                    "50-fold 1.5 s after the read has begun.",
                ),
                (
                    "alone",
                    "The only source fails for a while",
                    "One server (20 MB/s, 100 ms) is killed and started again after 3 s, "
                    "or its link is cut for 10 s.",
                ),
                (
                    "dead",
                    "A dead source",
                    "A server that refuses connections, or accepts them and says nothing, "
                    "from the beginning.",
                ),
                (
                    "enough",
                    "Two sources when one is enough",
                    "The three branches of h42 from servers 20 ms away with 1 Gbit/s each.",
                ),
                (
                    "federation",
                    "A redirector with three servers",
                    "The caller names the redirector only; the server that sends the most is "
                    "killed, stopped or slowed to 1 MB/s.",
                ),
                (
                    "poor-first",
                    "The redirector chooses a slow server",
                    "The server that the redirector chooses gets 1 MB/s; another has 20 MB/s.",
                ),
                (
                    "unequal-copies",
                    "A copy from three unequal servers",
                    "A file of 33.8 MB to a disk from servers of 20, 40 and 80 Mbit/s, 2 ms away.",
                ),
            )
        ),
    ),
    "local": (
        "Local files",
        (
            Question(
                "All branches of a TTree",
                "100 flat and jagged branches, 179 MB, ZSTD, one decoding thread unless stated "
                "otherwise; ROOT's loop keeps no arrays.",
                ("local",),
                "peers",
            ),
            Question(
                "All branches of a TTree in other compressions",
                "The same branches, in seconds; the last column is the decompressor's library "
                "alone (one copy where nothing is compressed).",
                ("local-zlib", "local-lz4", "local-lzma", "local-none"),
                "records",
                ("zlib, level 1", "LZ4, level 4", "LZMA, level 7", "not compressed"),
            ),
            Question(
                "Lists of lists, texts, objects",
                "500,000 entries of each, in seconds; the last column is zstd's library alone.",
                ("nested", "strings", "split", "whole"),
                "records",
                (
                    "`vector<vector<float>>`",
                    "`string`, `vector<string>`",
                    "an object with lists, split",
                    "the same in one branch",
                ),
            ),
            Question(
                "All fields of an RNTuple",
                "100 fields of numbers and lists, 112 MB in ten clusters, one decoding thread "
                "unless stated otherwise; ROOT reads in bulk and keeps no arrays.",
                ("ntuple",),
                "peers",
            ),
            Question(
                "Three scattered branches",
                "The three branches of h42 from a local file, one thread.",
                ("h42-local",),
                "peers",
            ),
            Question(
                "From a disk, without the page cache",
                "The three branches of h42 that are not in the page cache, one thread, in seconds: "
                "from a local disk, and from a mount that delays each read.",
                ("posix",),
                "links",
            ),
            Question(
                "Bytes read from the disk",
                "The three branches of h42: bytes read divided by bytes needed.",
                ("posix",),
                "over_read",
            ),
            Question(
                "An event loop",
                "The event loop from a local file.",
                ("eventloop-local",),
                "peers",
            ),
        ),
    ),
    "writing": (
        "Writing, merging, skimming",
        (
            Question(
                "A TTree, one thread",
                "60 branches of `vector<float>` and 40 of `float`, 100,000 entries, ZSTD as ROOT's "
                "505; uproot's columns are counted lists, which take fewer bytes.",
                ("write",),
                "peers",
            ),
            Question(
                "An RNTuple, one thread",
                "The same columns; uproot writes without splitting bytes, which takes more.",
                ("write-ntuple",),
                "peers",
            ),
            Question(
                "Not compressed",
                "The same columns, one thread, in seconds.",
                ("write-none",),
                "peers",
            ),
            Question(
                "An RNTuple, not compressed",
                "The same columns, one thread, in seconds.",
                ("write-none-ntuple",),
                "peers",
            ),
            Question(
                "A TTree, two threads",
                "The same columns, ZSTD 505, on both processors.",
                ("write-threads",),
                "peers",
            ),
            Question(
                "An RNTuple, two threads",
                "The same columns, ZSTD 505, on both processors.",
                ("write-threads-ntuple",),
                "peers",
            ),
            Question(
                "Sizes of buffers, clusters and baskets",
                "The same columns on two threads, as CMS varied them in 2017: the bytes of a "
                "flush, the size of baskets, and the number of `extend` calls.",
                ("write-buffers",),
                "peers",
            ),
            Question(
                "Memory while 10 GB are written",
                "20 branches of `float` in batches of 8 MB.",
                ("write-memory",),
                "memory",
            ),
            Question(
                "10,000 branches",
                "10,000 entries of 10,000 branches of `float`, on a machine of two processors.",
                ("write-wide",),
                "peers",
            ),
            Question(
                "Entries one by one",
                "100,000 entries of one `float`, not compressed.",
                ("write-small",),
                "peers",
            ),
            Question(
                "Merging eight files",
                "Files of 110 MB on a local disk into one; `cat` only copies the bytes.",
                ("merge",),
                "peers",
            ),
            Question(
                "Merging a thousand small files",
                "1,000 files of 425 kB, 100 branches and 1,000 entries each.",
                ("merge-small",),
                "peers",
            ),
            Question(
                "Merging files 100 ms away",
                "Eight files of 110 MB to a local disk; 880 MB take 7.0 s at 1 Gbit/s.",
                ("merge-far",),
                "peers",
            ),
            Question(
                "Memory of merging histograms",
                "Eight files of 1,000 directories of 20 histograms each.",
                ("merge-directories",),
                "memory",
            ),
            Question(
                "Skimming a file 100 ms away",
                "110 MB at 1 Gbit/s to a file on a local disk, in seconds, by the part of the "
                "entries that pass the cut.",
                ("skim-all", "skim-half", "skim-percent", "skim-nothing"),
                "both",
                ("all", "a half", "1 %", "none"),
            ),
            Question(
                "Copying that file",
                "The limit for a skim of all entries: new connections start slowly.",
                ("skim-copy",),
                "peers",
            ),
            Question(
                "Uploads to a server 100 ms away",
                "1 GB at 1 Gbit/s to xrootd: a file as it is, and trees that are made meanwhile.",
                ("upload",),
                "peers",
            ),
            Question(
                "Uploads where flows are slow",
                "128 MB at 100 ms, each flow 1 MB/s: farroot adds connections once one is steady.",
                ("upload-flows",),
                "peers",
            ),
            Question(
                "A small upload",
                "(Time at 100 ms - time at 0) / 100 ms for a file of 10 kB: round trips, those of "
                "the connection included.",
                ("upload-small",),
                "peers",
            ),
        ),
    ),
    "objects": (
        "Single objects",
        (
            Question(
                "Histograms, graphs, vectors",
                "From the path of a local file to the numbers, in seconds, one thread unless "
                "stated otherwise; the last column is zstd's library alone.",
                ("object-histogram", "object-graph", "object-numbers", "histograms"),
                "records",
                (
                    "a `TH3D` of 8 million bins",
                    "a `TGraph` of 10 million points",
                    "a `vector<double>` of 10 million",
                    "10,000 `TH1D` in 100 directories",
                ),
            ),
        ),
    ),
    "overhead": (
        "Bytes, connections, memory, import time",
        (
            Question(
                "Over-read and connections",
                "Bytes received over the link in excess of the baskets that the job needs, as a "
                "part of these, with metadata and the headers of packets and protocols.",
                ("h42", "eventloop"),
                "overhead",
            ),
            Question(
                "Peak memory of a loop over batches",
                "`iterate` over all branches of a file of 1 GB in batches of 100 MB.",
                ("memory",),
                "memory",
            ),
            Question(
                "Names of 1,600 branches",
                "From the path of a local file to the names of all branches.",
                ("wide",),
                "peers",
            ),
            Question(
                "Import",
                "The import statement alone, in a fresh interpreter.",
                ("import",),
                "peers",
            ),
            Question(
                "NanoEvents of a chunk",
                "`from_root` and `events()` of a local file of 947 branches, of which none is "
                "read, in CPU seconds a chunk.",
                ("home-from-root", "home-from-root-ntuple"),
                "both",
                ("a TTree", "the same as an RNTuple"),
            ),
        ),
    ),
}
