"""The experiments: file, columns, links and peers of each. Data only; reads.py acts."""

from __future__ import annotations

from dataclasses import replace

from model import Experiment, Link, Peer, Place

ROOT_DEFAULT = Peer("ROOT, default cache", "root_getentry")
ROOT_TRAINED = Peer("ROOT, trained cache", "root_getentry", options=("--cache", "trained"))
ROOT_64KB = Peer("ROOT, 64 kB cache", "root_getentry", options=("--cache", "64kB"))
ROOT_NO_CACHE = Peer("ROOT, no cache", "root_getentry", options=("--cache", "none"))
ROOT_RDATAFRAME = Peer("ROOT RDataFrame", "root_rdataframe")
UPROOT = Peer("uproot root://", "uproot_arrays")
UPROOT_HTTP = Peer("uproot http://", "uproot_arrays", "http")
XRDCP = Peer("xrdcp of the whole file", "xrdcp", is_bound=True)
TO_DISK = ("--to-disk",)
COPIES = (
    Peer("xrdcp -S 12", "xrdcp", options=(*TO_DISK, "--streams", "12")),
    Peer("xrdcp -y 2", "xrdcp", options=(*TO_DISK, "--sources", "2")),
    Peer("farroot cp root://", "farroot_copy"),
    Peer("farroot cp http://", "farroot_copy", "http"),
    Peer("farroot cp, 64 connections", "farroot_copy", environment={"FARROOT_CONNECTIONS": "64"}),
)
FARROOT = Peer("farroot root://", "farroot_arrays")
FARROOT_CACHED = replace(FARROOT, name="farroot root://, cached", is_cached=True)
FARROOT_HTTP = Peer("farroot http://", "farroot_arrays", "http")


def floor(connections: int) -> Peer:
    options = ("--connections", str(connections))
    return Peer(f"floor, {connections} connections", "floor", options=options, is_bound=True)


def floors(*options: str) -> tuple[Peer, Peer]:
    """The floor that asks for everything at once, and the one that does not overfill the link."""
    asked = replace(floor(16), options=(*floor(16).options, *options))
    name = f"{asked.name}, link not overfilled"
    return asked, replace(asked, name=name, options=(*asked.options, "--fill", "1.5"))


def farroot_chunks(connections: int) -> Peer:
    count = str(connections)
    limits = {"FARROOT_CONNECTIONS": count}
    return Peer(f"farroot, {count} connections", "farroot_chunks", environment=limits)


ROOT_LOOP = Peer("ROOT, default cache", "root_exercise")
ROOT_LOOP_TRAINED = Peer("ROOT, trained cache", "root_exercise", options=("--cache", "trained"))
FARROOT_LOOP = Peer("farroot, columns", "farroot_exercise")
FARROOT_EVENTS = Peer("farroot, event by event", "farroot_exercise", options=("--row-wise",))
FARROOT_EVENTS_WITHOUT = tuple(
    Peer(f"farroot, without {rule}", "farroot_exercise", options=("--row-wise", "--without", rule))
    for rule in ("startup", "together")
)
FARROOT_EVENTS_APART = Peer(
    "farroot, without coalescing",
    "farroot_exercise",
    options=("--row-wise", "--without", "coalescing"),
)
ROOT_LOOP_SAMPLES = tuple(
    replace(
        peer,
        name=f"{peer.name} (50 events)",
        options=(*peer.options, "--sample", "50"),
        rtt_min_ms=1.0,
        runs_max=1,
    )
    for peer in (ROOT_LOOP, ROOT_LOOP_TRAINED)
)


def led(peer: Peer) -> tuple[Peer, Peer]:
    """A program under `farroot run`, without a cache and with one that has its bytes."""
    name = f"farroot run -- {peer.name}"
    without = replace(peer, name=name, is_led=True)
    return without, replace(without, name=f"{name}, cached", is_cached=True)


def trusting(peer: Peer) -> Peer:
    """The peer with a cache that, as XCache, does not ask the origin whether a file has changed."""
    return replace(
        peer, name=f"{peer.name}, trusted", environment={"FARROOT_CACHE_CHECK": "trust=7d"}
    )


def behind_xcache(peer: Peer) -> tuple[Peer, Peer]:
    """A program through XRootD's own cache on its side of the link, empty and filled.

    With the filled cache nothing is read from the origin: as another job, it gets no ratio.
    """
    empty = replace(peer, name=f"{peer.name}, XCache", is_behind_xcache=True)
    filled = replace(empty, name=f"{peer.name}, XCache filled", is_cached=True, is_bound=True)
    return empty, filled


def clients(peer: Peer, count: int) -> Peer:
    """`count` processes of a peer at the same time; the time is that of the slowest."""
    options = ("--clients", str(count), "--script", peer.script, *peer.options)
    name = f"{peer.name}, {count} client{'s' if count > 1 else ''}"
    return replace(peer, name=name, script="several", options=options)


ROOT_FILES = Peer("ROOT, trained cache", "root_files", options=("--cache", "trained"))
XROOTD_READS = Peer("XRootD's Python", "xrootd_reads")

OVERLAP = ("--step", "25000", "--work-s", "0.3")

ONE_THREAD = {"FARROOT_DECODE_THREADS": "1"}
LOCAL_ROOT = Peer("ROOT GetEntry loop", "root_getentry", "local")
LOCAL_UPROOT = Peer("uproot", "uproot_arrays", "local")
LOCAL_FARROOT = Peer("farroot", "farroot_arrays", "local", environment=ONE_THREAD)
LOCAL_FARROOT_TWO = Peer(
    "farroot, two threads", "farroot_arrays", "local", environment={"FARROOT_DECODE_THREADS": "2"}
)
LOCAL_FLOOR = Peer("zstd alone", "codec_alone", "local", is_bound=True)
LOCAL_ARRAYS = (LOCAL_ROOT, LOCAL_UPROOT, LOCAL_FARROOT, LOCAL_FARROOT_TWO, LOCAL_FLOOR)
LOCAL_OBJECTS = (
    Peer("ROOT", "root_objects", "local"),
    Peer("uproot", "uproot_objects", "local"),
    replace(LOCAL_FARROOT, script="farroot_objects"),
    replace(LOCAL_FARROOT_TWO, script="farroot_objects"),
    replace(LOCAL_FLOOR, options=("--objects",)),
)
NANO_COLUMNS = ("Muon_pt", "Jet_pt", "flat_00")
SPLIT_COLUMNS = tuple(
    f"split.{member}"
    for member in (
        "pt",
        "eta",
        "phi",
        "charge",
        "residuals",
        "hits.x",
        "hits.y",
        "hits.z",
        "hits.layer",
    )
)
H42_COLUMNS = ("nrun", "edep", "rawtr")


WIDE = "--columns 10000 --batch 1000 --batches 10 --compression 505 --threads"


def writers(*rows: tuple[str, str, str], scheme: str = "local") -> tuple[Peer, ...]:
    """Peers that write from memory: name, script, and options in one text."""
    return tuple(
        Peer(name, script, scheme, tuple(options.split())) for name, script, options in rows
    )


def cms(
    name: str, form: str, flush_mb: int, basket_kb: int, buffers: int = 2
) -> tuple[tuple[str, str, str]]:
    """A row of CMS's table: ROOT's TTree, or TBufferMerger with buffers of `flush_mb`."""
    sizes = f"--flush {flush_mb * 10**6} --basket {basket_kb << 10}"
    # `--every 0`: a buffer is handed over when it is full, and at the end.
    threads = f" --threads {buffers} --every 0" if form == "merger" else ""
    return ((name, "root_write", f"--as {form} {sizes}{threads}"),)


# Megabytes before compression, chosen so that each peer sends about 1 GB.
UPLOADS = (
    Peer("xrdcp", "xrdcp_up", options=("--megabytes", "1000"), is_bound=True),
    Peer(
        "xrdcp, checksums compared",
        "xrdcp_up",
        options=("--megabytes", "1000", "--compare"),
        is_bound=True,
    ),
    Peer("farroot cp", "farroot_upload", options=("--cp", "--megabytes", "1000")),
    Peer(
        "farroot TTree, not compressed",
        "farroot_upload",
        options=("--megabytes", "1000", "--compression", "0"),
    ),
    Peer(
        "farroot TTree, LZ4, 2 threads",
        "farroot_upload",
        options=("--megabytes", "1110", "--compression", "401", "--threads", "2"),
    ),
    Peer(
        "farroot TTree, ZSTD 501, 2 threads",
        "farroot_upload",
        options=("--megabytes", "1700", "--compression", "501", "--threads", "2"),
    ),
)
FLOW_UPLOADS = (
    Peer("xrdcp", "xrdcp_up", options=("--megabytes", "128")),
    Peer("farroot cp", "farroot_upload", options=("--cp", "--megabytes", "128")),
)
SMALL_UPLOADS = (
    Peer("xrdcp", "xrdcp_up", options=("--megabytes", "0.01")),
    Peer("farroot cp", "farroot_upload", options=("--cp", "--megabytes", "0.01")),
    Peer("farroot TTree", "farroot_upload", options=("--megabytes", "0.01")),
)
LOCAL_MERGES = (
    Peer("hadd -ff", "hadd", "local", ("--flags=-ff",)),
    Peer("hadd, default", "hadd", "local", ("--flags=-f",)),
    Peer("farroot merge", "farroot_merge", "local"),
    Peer("cat", "hadd", "local", ("--cat",), is_bound=True),
    Peer("cat, then sync", "hadd", "local", ("--cat", "--sync"), is_bound=True),
)


def skims(cut: str, scheme: str = "root") -> tuple[Peer, ...]:
    words = ("--cut", cut) if cut else ()
    two = ("--threads", "2")
    return (
        Peer("ROOT RDataFrame Snapshot", "root_skim", scheme, words),
        Peer("ROOT RDataFrame Snapshot, 2 threads", "root_skim", scheme, words + two),
        Peer("uproot", "uproot_skim", scheme, words),
        Peer("farroot", "farroot_skim", scheme, words),
    )


EXPERIMENTS = {
    "roundtrips": Experiment(
        about="(time at 240 ms - time at 0) / 240 ms: URL to the first 20,000 entries of 3 columns",
        file="nano",
        columns=NANO_COLUMNS,
        entry_stop=20_000,
        links=(Link(0), Link(240)),
        peers=(
            ROOT_DEFAULT,
            ROOT_TRAINED,
            UPROOT,
            UPROOT_HTTP,
            FARROOT,
            FARROOT_HTTP,
            floor(1),
            floor(16),
        ),
        figure="round_trips",
    ),
    "h42": Experiment(
        about="three branches, 12.5 MB in 4,941 baskets of 245 MB, at 100 ms and 1 Gbit/s",
        file="h42",
        columns=H42_COLUMNS,
        links=(Link(100),),
        peers=(
            ROOT_DEFAULT,
            ROOT_TRAINED,
            ROOT_RDATAFRAME,
            UPROOT,
            UPROOT_HTTP,
            FARROOT,
            FARROOT_HTTP,
            floor(1),
            floor(16),
            XRDCP,
        ),
    ),
    "led": Experiment(
        about="three branches of h42 by programs as they are, and by farroot run, at 100 ms",
        file="h42",
        columns=H42_COLUMNS,
        links=(Link(100),),
        peers=(
            ROOT_TRAINED,
            *behind_xcache(ROOT_TRAINED),
            *led(ROOT_TRAINED),
            trusting(led(ROOT_TRAINED)[1]),
            UPROOT,
            *led(UPROOT),
            FARROOT,
            FARROOT_CACHED,
            trusting(FARROOT_CACHED),
        ),
    ),
    "led-reads": Experiment(
        about="20 reads of 2 kB at random places of h42, sent at once, at 100 ms",
        file="h42",
        links=(Link(100),),
        peers=(XROOTD_READS, behind_xcache(XROOTD_READS)[0], led(XROOTD_READS)[0]),
    ),
    "led-clients": Experiment(
        about="three branches of h42 by one ROOT and by eight at once, at 100 ms",
        file="h42",
        columns=H42_COLUMNS,
        links=(Link(100),),
        peers=tuple(
            clients(peer, count)
            for peer in (ROOT_TRAINED, behind_xcache(ROOT_TRAINED)[0], led(ROOT_TRAINED)[0])
            for count in (1, 8)
        ),
    ),
    "led-files": Experiment(
        about="three branches of ten files like h42, by ROOT: each but the first, at 100 ms",
        file="h42",
        copies=10,
        columns=H42_COLUMNS,
        links=(Link(100),),
        peers=(ROOT_FILES, behind_xcache(ROOT_FILES)[0], led(ROOT_FILES)[0]),
    ),
    "led-rdataframe": Experiment(
        about="the same by RDataFrame, whose start is part of it",
        file="h42",
        columns=H42_COLUMNS,
        links=(Link(100),),
        peers=(ROOT_RDATAFRAME, *led(ROOT_RDATAFRAME)),
    ),
    "caches": Experiment(
        about="the table of 2006: three branches of h42 by round-trip time and ROOT's cache",
        file="h42",
        columns=H42_COLUMNS,
        links=tuple(Link(rtt_ms) for rtt_ms in (0.3, 2, 11, 22, 72, 240)),
        peers=(ROOT_64KB, ROOT_DEFAULT, ROOT_TRAINED, UPROOT, FARROOT, floor(16)),
    ),
    "nocache": Experiment(
        about="ROOT without a cache on h42: one round trip for each of 4,941 baskets",
        file="h42",
        columns=H42_COLUMNS,
        links=(Link(0.3), Link(2)),
        peers=(ROOT_NO_CACHE, FARROOT),
    ),
    "slowflows": Experiment(
        about="three branches of h42 at 100 ms where each TCP flow gets 1 MB/s",
        file="h42",
        columns=H42_COLUMNS,
        links=(Link(100, "rate=1gbit flow-rate=1MB/s loss=0"),),
        peers=(ROOT_TRAINED, UPROOT, FARROOT, floor(16)),
    ),
    "copy": Experiment(
        about="a file of 75 MB to a disk, at 100 ms: 1 MB/s for each TCP flow, and 1 Gbit/s",
        file="nano",
        links=(
            Link(100, "rate=1gbit flow-rate=1MB/s loss=0"),
            Link(100),
        ),
        peers=COPIES,
    ),
    "loss": Experiment(
        about="three branches of h42 at 100 ms with 0.1 % and 1 % of the packets lost",
        file="h42",
        columns=H42_COLUMNS,
        links=tuple(Link(100, f"rate=1gbit flow-rate=none loss={loss}") for loss in ("0.1%", "1%")),
        peers=(ROOT_TRAINED, UPROOT, FARROOT, floor(16)),
    ),
    "opens": Experiment(
        about="entries of 1,576 small files at 100 ms; peers by a sample",
        file="small",
        copies=1576,
        links=(Link(100),),
        peers=(
            Peer("ROOT, one by one (10 files)", "root_num_entries", options=("--sample", "10")),
            Peer(
                "uproot, one by one (10 files)",
                "uproot_num_entries",
                options=("--sample", "10"),
            ),
            Peer(
                "uproot, 32 threads (320 files)",
                "uproot_num_entries",
                options=("--sample", "320", "--threads", "32"),
            ),
            Peer("farroot root://", "farroot_num_entries"),
            Peer("farroot http://", "farroot_num_entries", "http"),
        ),
    ),
    "eventloop": Experiment(
        about="1,000 events of 480 kB: 30 % of the bytes of each, all of each 50th",
        file="eventloop",
        entry_stop=1_000,
        links=tuple(
            Link(rtt_ms, f"rate={rate} flow-rate=none loss=0")
            for rate in ("1gbit", "20MB/s")
            for rtt_ms in (0.3, 137)
        ),
        peers=(
            *(replace(peer, rtt_max_ms=1.0) for peer in (ROOT_LOOP, ROOT_LOOP_TRAINED)),
            FARROOT_LOOP,
            FARROOT_EVENTS,
            *FARROOT_EVENTS_WITHOUT,
            FARROOT_EVENTS_APART,
            # As many bytes as the loop needs, of whole branches.
            *floors("--bytes", "192000000"),
            *ROOT_LOOP_SAMPLES,
        ),
    ),
    "eventloop-local": Experiment(
        about="the event loop on a local file",
        file="eventloop",
        entry_stop=1_000,
        peers=tuple(
            replace(peer, scheme="local")
            for peer in (ROOT_LOOP, FARROOT_LOOP, FARROOT_EVENTS, FARROOT_EVENTS_APART)
        ),
    ),
    "h42-local": Experiment(
        about="three branches of h42 from a local file, one thread",
        file="h42",
        columns=H42_COLUMNS,
        peers=(
            replace(ROOT_TRAINED, scheme="local"),
            LOCAL_UPROOT,
            LOCAL_FARROOT,
        ),
    ),
    "posix": Experiment(
        about="three branches of h42 that are not in memory, one thread",
        file="h42",
        columns=H42_COLUMNS,
        places=(Place(), Place(delay_s=0.005)),
        peers=(
            *(
                Peer(f"ROOT, cache {cache}", "root_getentry", "local", ("--cache", cache))
                for cache in ("default", "trained", "none")
            ),
            LOCAL_UPROOT,
            LOCAL_FARROOT,
            replace(LOCAL_FARROOT, name="farroot, two threads", environment={}),
        ),
    ),
    "overlap": Experiment(
        about="8 batches of 9 MB at 200 Mbit/s and 50 ms, 0.3 s of CPU work on each",
        file="nano",
        links=(Link(50, "rate=200mbit flow-rate=none loss=0"),),
        peers=(
            Peer("uproot root://", "uproot_overlap", options=OVERLAP),
            Peer("farroot root://", "farroot_overlap", options=OVERLAP),
            Peer("the transfer alone", "floor", options=("--connections", "16"), is_bound=True),
        ),
    ),
    "streams": Experiment(
        about="50,000 chunks of 10 kB, every other 10 kB of a file of 1 GB",
        file="onegb",
        links=(Link(23), Link(160)),
        peers=(
            Peer(
                "xrootd one by one", "xrootd_chunks", options=("--mode", "one", "--sample", "200")
            ),
            Peer("xrootd async", "xrootd_chunks", options=("--mode", "async")),
            Peer(
                "xrootd async, 16 streams",
                "xrootd_chunks",
                options=("--mode", "async"),
                environment={"XRD_SUBSTREAMSPERCHANNEL": "16"},
            ),
            Peer("xrootd vectored", "xrootd_chunks", options=("--mode", "vectored")),
            *(farroot_chunks(connections) for connections in (1, 2, 4, 8, 16)),
            *floors("--chunks", "50000"),
        ),
    ),
    "local": Experiment(
        about="a local file, all 100 branches, one thread",
        file="flat100",
        peers=LOCAL_ARRAYS,
    ),
    **{
        f"local-{codec}": Experiment(
            about=f"the same branches, {about}, one thread",
            file=f"flat100-{codec}",
            peers=(*LOCAL_ARRAYS[:-1], replace(LOCAL_FLOOR, name=floor)),
        )
        for codec, about, floor in (
            ("zlib", "zlib level 1, ROOT's default", "libdeflate alone"),
            ("lz4", "LZ4 level 4", "LZ4 alone"),
            ("lzma", "LZMA level 7", "LZMA alone"),
            ("none", "not compressed", "one copy alone"),
        )
    },
    "nested": Experiment(
        about="a local file, std::vector<std::vector<float>>, one thread",
        file="nested",
        columns=("lists",),
        peers=LOCAL_ARRAYS,
    ),
    "strings": Experiment(
        about="a local file, std::string and std::vector<std::string>, one thread",
        file="nested",
        columns=("word", "words"),
        peers=LOCAL_ARRAYS,
    ),
    "split": Experiment(
        about="a local file, an object with a list of objects, split into its members, one thread",
        file="nested",
        columns=SPLIT_COLUMNS,
        peers=LOCAL_ARRAYS,
    ),
    "whole": Experiment(
        about="a local file, the same object in one branch, one thread",
        file="nested",
        columns=("whole",),
        peers=LOCAL_ARRAYS,
    ),
    "ntuple": Experiment(
        about="a local RNTuple, all 100 fields, one thread",
        file="ntuple100",
        peers=(
            Peer("ROOT in bulk", "root_ntuple", "local"),
            LOCAL_UPROOT,
            LOCAL_FARROOT,
            LOCAL_FARROOT_TWO,
            LOCAL_FLOOR,
        ),
    ),
    **{
        f"object-{name}": Experiment(
            about=f"one object of a local file, {about}",
            file="objects",
            columns=(name,),
            peers=LOCAL_OBJECTS,
        )
        for name, about in (
            ("histogram", "a TH3D of 8 million bins"),
            ("graph", "a TGraph of 10 million points"),
            ("numbers", "a std::vector of 10 million numbers"),
        )
    },
    "histograms": Experiment(
        about="10,000 TH1D in 100 directories of a local file",
        file="histograms",
        peers=LOCAL_OBJECTS,
    ),
    "wide": Experiment(
        about="names of 1,600 branches of a local file",
        file="wide",
        peers=(
            Peer("ROOT", "root_names", "local"),
            Peer("uproot", "uproot_names", "local"),
            Peer("farroot", "farroot_names", "local"),
        ),
    ),
    "memory": Experiment(
        about="peak memory of iterate over a local file of 1 GB, all branches",
        file="onegb",
        peers=(
            Peer("uproot, step 100 MB", "uproot_iterate", "local", ("--step", "100 MB")),
            Peer(
                "farroot, budget 200 MB",
                "farroot_iterate",
                "local",
                ("--step", "100 MB"),
                {"FARROOT_MEMORY": "200 MB"},
            ),
        ),
        figure="peak_bytes",
    ),
    "import": Experiment(
        about="time to import the Python package in a fresh interpreter",
        file="",
        peers=(
            Peer("uproot", "import_package", "none", ("uproot",)),
            Peer("farroot", "import_package", "none", ("farroot",)),
            Peer("numpy alone", "import_package", "none", ("numpy",), is_bound=True),
        ),
    ),
    "write": Experiment(
        about="60 branches of vector<float>, 40 of float, 100,000 entries, ZSTD 505, one thread",
        file="write100",
        peers=writers(
            ("ROOT TTree", "root_write", "--as tree"),
            ("uproot mktree, its ZSTD(5)", "uproot_write", "--as tree"),
            ("farroot TTree of vectors", "farroot_write", "--as tree"),
            ("farroot TTree, counted", "farroot_write", "--as tree --jagged counter"),
            (
                "farroot TTree, counted, library's 5",
                "farroot_write",
                "--as tree --jagged counter --level 5",
            ),
        ),
        figure="cpu_s",
    ),
    "write-ntuple": Experiment(
        about="the same columns as an RNTuple, ZSTD 505, one thread",
        file="write100",
        peers=writers(
            ("ROOT RNTuple", "root_write", "--as ntuple"),
            ("uproot mkrntuple, its ZSTD(5)", "uproot_write", "--as ntuple"),
            ("farroot RNTuple", "farroot_write", "--as ntuple"),
            ("farroot RNTuple, library's 5", "farroot_write", "--as ntuple --level 5"),
        ),
        figure="cpu_s",
    ),
    "write-none": Experiment(
        about="the same, not compressed",
        file="write100",
        peers=writers(
            ("ROOT TTree", "root_write", "--as tree --compression 0"),
            ("uproot mktree", "uproot_write", "--as tree --level 0"),
            ("farroot TTree of vectors", "farroot_write", "--as tree --compression 0"),
        ),
    ),
    "write-none-ntuple": Experiment(
        about="the same as an RNTuple, not compressed",
        file="write100",
        peers=writers(
            ("ROOT RNTuple", "root_write", "--as ntuple --compression 0"),
            ("uproot mkrntuple", "uproot_write", "--as ntuple --level 0"),
            ("farroot RNTuple", "farroot_write", "--as ntuple --compression 0"),
        ),
    ),
    "write-threads": Experiment(
        about="the same, ZSTD 505, two threads",
        file="write100",
        peers=writers(
            ("ROOT TTree, implicit threads", "root_write", "--as tree --threads 2"),
            ("ROOT TBufferMerger", "root_write", "--as merger --threads 2"),
            ("farroot TTree, one thread", "farroot_write", "--as tree"),
            ("farroot TTree", "farroot_write", "--as tree --threads 2"),
        ),
    ),
    "write-threads-ntuple": Experiment(
        about="the same as an RNTuple, ZSTD 505, two threads",
        file="write100",
        peers=writers(
            ("ROOT RNTuple, implicit threads", "root_write", "--as ntuple --threads 2"),
            ("ROOT RNTupleParallelWriter", "root_write", "--as parallel --threads 2"),
            ("farroot RNTuple, one thread", "farroot_write", "--as ntuple"),
            ("farroot RNTuple", "farroot_write", "--as ntuple --threads 2"),
        ),
    ),
    "write-memory": Experiment(
        about="10 GB of 20 columns of float, in batches of 8 MB: memory at its highest",
        file="",
        peers=writers(
            ("farroot TTree", "farroot_write_large", "--as tree --gigabytes 10"),
            ("farroot RNTuple", "farroot_write_large", "--as ntuple --gigabytes 10"),
            (
                "farroot TTree, LZ4",
                "farroot_write_large",
                "--as tree --gigabytes 10 --compression 404 --threads 2",
            ),
            scheme="none",
        ),
        figure="peak_bytes",
        timeout_s=1200.0,
    ),
    "write-small": Experiment(
        about="100,000 entries of one float, not compressed: all at once, and one by one",
        file="",
        peers=writers(
            ("farroot TTree, one extend", "farroot_write_large", "--columns 1"),
            (
                "farroot TTree, 100,000 extends",
                "farroot_write_large",
                "--columns 1 --batch 1 --batches 100000",
            ),
            (
                "farroot RNTuple, 100,000 extends",
                "farroot_write_large",
                "--as ntuple --columns 1 --batch 1 --batches 100000",
            ),
            scheme="none",
        ),
    ),
    "write-wide": Experiment(
        about="10,000 branches of float, 10,000 entries in ten batches, ZSTD 505",
        file="",
        peers=writers(
            *(
                (f"farroot TTree, {threads} threads", "farroot_write_large", f"{WIDE} {threads}")
                for threads in (1, 2, 4)
            ),
            scheme="none",
        ),
    ),
    "write-buffers": Experiment(
        about="CMS's experiment of 2017: buffers, flush and basket sizes; two threads",
        file="write100",
        peers=writers(
            *cms("ROOT, 15 MB flush, 16 kB", "tree", 15, 16),
            *cms("ROOT, 134 MB flush, 16 kB", "tree", 134, 16),
            *cms("ROOT, 500 MB flush, 64 kB", "tree", 500, 64),
            *cms("TBufferMerger, 2 buffers, 8 MB, 16 kB", "merger", 8, 16),
            *cms("TBufferMerger, 4 buffers, 134 MB, 16 kB", "merger", 134, 16, buffers=4),
            *cms("TBufferMerger, 4 buffers, 500 MB, 64 kB", "merger", 500, 64, buffers=4),
            ("RNTupleParallelWriter, 2 contexts", "root_write", "--as parallel --threads 2"),
            ("uproot mktree", "uproot_write", "--as tree"),
            ("uproot mktree, 20 extends", "uproot_write", "--as tree --extends 20"),
            ("farroot TTree, one extend", "farroot_write", "--as tree --threads 2"),
            ("farroot TTree, 20 extends", "farroot_write", "--as tree --threads 2 --extends 20"),
            (
                "farroot TTree, 1,000 extends",
                "farroot_write",
                "--as tree --threads 2 --extends 1000",
            ),
            (
                "farroot TTree, clusters of 8 MB",
                "farroot_write",
                "--as tree --threads 2 --cluster 8MB",
            ),
            ("farroot RNTuple, one extend", "farroot_write", "--as ntuple --threads 2"),
        ),
    ),
    "upload": Experiment(
        about="1 GB to an xrootd 100 ms away, 1 Gbit/s; a tree is made and compressed meanwhile",
        file="",
        links=(Link(100),),
        peers=UPLOADS,
        uploads=True,
    ),
    "upload-flows": Experiment(
        about="128 MB to an xrootd 100 ms away, where a flow has 1 MB/s",
        file="",
        links=(Link(100, "rate=1gbit flow-rate=1MB/s loss=0"),),
        peers=FLOW_UPLOADS,
        uploads=True,
    ),
    "upload-small": Experiment(
        about="(time at 100 ms - time at 0) / 100 ms: a file of 10 kB to an xrootd, connecting too",
        file="",
        links=(Link(0), Link(100)),
        peers=SMALL_UPLOADS,
        figure="round_trips",
        uploads=True,
    ),
    "merge": Experiment(
        about="8 files of 110 MB into one on a local disk",
        file="write100",
        copies=8,
        peers=LOCAL_MERGES,
    ),
    "merge-small": Experiment(
        about="1,000 files of 1,000 entries each into one on a local disk",
        file="small",
        copies=1000,
        peers=LOCAL_MERGES,
    ),
    "merge-far": Experiment(
        about="8 files of 110 MB from a server 100 ms away into one on a local disk, 1 Gbit/s",
        file="write100",
        copies=8,
        links=(Link(100),),
        peers=(
            Peer("hadd -ff", "hadd", options=("--flags=-ff",)),
            Peer("farroot merge", "farroot_merge"),
        ),
    ),
    "merge-directories": Experiment(
        about="8 files of 1,000 directories of 20 histograms each into one: memory at its highest",
        file="directories",
        copies=8,
        figure="peak_bytes",
        peers=(
            Peer("hadd", "hadd", "local", ("--flags=-f", "--tree=")),
            Peer("farroot merge", "farroot_merge", "local", ("--tree=",)),
        ),
    ),
    "skim-copy": Experiment(
        about="copy of the file that is skimmed: 110 MB at 100 ms and 1 Gbit/s to a local disk",
        file="write100",
        links=(Link(100),),
        peers=(
            Peer("xrdcp", "xrdcp", options=TO_DISK, is_bound=True),
            Peer("farroot cp", "farroot_copy", is_bound=True),
            Peer("farroot, skim of all entries", "farroot_skim"),
        ),
    ),
    **{
        f"skim-{name}": Experiment(
            about=f"skim of 110 MB at 100 ms and 1 Gbit/s to a local file, {about}",
            file="write100",
            links=(Link(100),),
            peers=skims(cut),
        )
        for name, about, cut in (
            ("all", "all entries", ""),
            ("half", "half of the entries", "f0 > 0"),
            ("percent", "1 % of the entries", "f0 > 93"),
            ("nothing", "no entry", "f0 > 1e6"),
        )
    },
}
