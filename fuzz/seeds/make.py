"""Makes the seeds: python fuzz/seeds/make.py, with ROOT, cramjam, pyarrow and xxhash installed.

They are kept in the repository, so this is needed only for new ones.
"""

import lzma
import tempfile
import zlib
from array import array
from pathlib import Path

import cramjam
import pyarrow as pa
import ROOT
import xxhash

HERE = Path(__file__).parent
CONTENT = b"farroot " * 100


def block(tag: bytes, compressed: bytes) -> bytes:
    """A compression block with ROOT's nine-byte header, behind the length of the content."""
    sizes = len(compressed).to_bytes(3, "little") + len(CONTENT).to_bytes(3, "little")
    return len(CONTENT).to_bytes(2, "big") + tag + sizes + compressed


def make_blocks() -> None:
    lz4 = bytes(cramjam.lz4.compress_block(CONTENT, store_size=False))
    raw = zlib.compressobj(6, zlib.DEFLATED, -15)
    blocks = {
        "zlib": block(b"ZL\x08", zlib.compress(CONTENT)),
        "lzma": block(b"XZ\x00", lzma.compress(CONTENT, check=lzma.CHECK_CRC32)),
        "lz4": block(b"L4\x01", xxhash.xxh64_digest(lz4) + lz4),
        "zstd": block(b"ZS\x01", bytes(cramjam.zstd.compress(CONTENT))),
        "old": block(b"CS\x08", raw.compress(CONTENT) + raw.flush()),
    }
    for name, data in blocks.items():
        (HERE / "block" / f"{name}.bin").write_bytes(data)


def make_answer() -> None:
    """A stream of Arrow as a server sends it that selects entries."""
    floats = pa.large_list(pa.float64())
    columns = {
        "i": pa.array(range(100), pa.int64()),
        "lists": pa.array([[1.5] * (number % 4) for number in range(100)], floats),
        "names": pa.array([f"name {number}" for number in range(100)], pa.large_string()),
        "pairs": pa.array([{"x": number, "y": None} for number in range(100)]),
        "three": pa.array([[1, 2, 3]] * 100, pa.list_(pa.int16(), 3)),
    }
    table = pa.table(columns)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    path = HERE / "answer" / "columns.arrows"
    with pa.ipc.new_stream(path, table.schema, options=options) as stream:
        stream.write_table(table)
        stream.write_table(table.slice(10, 50))


def make_file(name: str, compression: int) -> None:
    """A tree with a branch of every simple kind in a directory, as ROOT writes it."""
    file = ROOT.TFile.Open(str(HERE / "file" / name), "RECREATE", "", compression)
    file.mkdir("d").cd()
    tree = ROOT.TTree("t", "a tree")
    count, numbers, x = array("i", [0]), array("f", [0.0] * 8), array("d", [0.0])
    flags = array("B", [0] * 3)
    vector, text = ROOT.std.vector("float")(), ROOT.std.string()
    texts = ROOT.std.vector("string")()
    tree.Branch("n", count, "n/I")
    tree.Branch("numbers", numbers, "numbers[n]/F")
    tree.Branch("x", x, "x/D")
    tree.Branch("flags", flags, "flags[3]/O")
    tree.Branch("vector", vector)
    tree.Branch("text", text)
    tree.Branch("texts", texts)
    for entry in range(20):
        count[0] = entry % 4
        for index in range(count[0]):
            numbers[index] = entry + index / 8
        x[0] = entry / 3
        flags[entry % 3] ^= 1
        vector.clear()
        texts.clear()
        for index in range(entry % 3):
            vector.push_back(index)
            texts.push_back("x" * index)
        text.assign(str(entry))
        tree.Fill()
        if entry % 8 == 7:
            tree.FlushBaskets()
    tree.Write()
    file.Close()


def make_objects(name: str) -> None:
    """Objects that are no trees: lists, maps, a histogram with names of its bins, a pad."""
    file = ROOT.TFile.Open(str(HERE / "file" / name), "RECREATE", "", 0)
    histogram = ROOT.TH1D("histogram", "", 2, 0, 2)
    for label in ("a", "b", "a"):
        histogram.Fill(label, 1)
    histogram.Write()
    clones, objects = ROOT.TClonesArray("TNamed"), ROOT.TList()
    for index in range(3):
        clones.ConstructedAt(index).SetName(f"n{index}")
        objects.Add(clones.At(index), "an option")
    file.WriteObject(clones, "clones")
    file.WriteObject(objects, "list")
    array_of = ROOT.TObjArray()
    array_of.Add(clones.At(0))
    array_of.Add(clones.At(0))
    file.WriteObject(array_of, "twice")
    file.WriteObject(ROOT.std.vector["string"](["one", "two"]), "strings")
    by_name = ROOT.std.map["string", "double"]()
    by_name["one"] = 1.5
    file.WriteObject(by_name, "map")
    nested = ROOT.std.vector["vector<double>"]()
    nested.push_back(ROOT.std.vector["double"]([1.0, 2.0]))
    file.WriteObject(nested, "nested")
    matrix = ROOT.TMatrixTSym["double"](3)
    file.WriteObject(matrix, "matrix")
    file.Close()


def make_branches() -> None:
    """Trees with the branches of `branches.h`."""
    with tempfile.TemporaryDirectory() as folder:
        ROOT.gSystem.CompileMacro(str(HERE / "branches.h"), "kfs", "seed_branches", folder)
        for name, fill in (("branches.root", "fill_branches"), ("leaves.root", "fill_leaves")):
            file = ROOT.TFile.Open(str(HERE / "file" / name), "RECREATE", "", 0)
            tree = ROOT.TTree("t", "a tree")
            getattr(ROOT, fill)(tree)
            tree.Write()
            # The streamer infos, which are most of the file, and are as in the others.
            file.SetCompressionSettings(101)
            file.Close()


make_blocks()
make_answer()
make_file("plain.root", 0)
make_file("zlib.root", 101)
make_objects("objects.root")
make_branches()
