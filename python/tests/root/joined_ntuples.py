"""Writes RNTuples of `joined_ntuples.h` with ROOT, and merges some.

usage: joined_ntuples.py FOLDER
"""

import os
import sys

import ROOT

from . import dictionary


def merge(folder: str, name: str, parts: list[str], mode: str, compression: int | None) -> None:
    merger = ROOT.TFileMerger(False)
    merger.SetMergeOptions(f"rntuple.MergingMode={mode}")
    path = os.path.join(folder, f"{name}.root")
    if compression is None:
        merger.OutputFile(path, "RECREATE")
        merger.SetMergeOptions(f"FirstSrcCompression rntuple.MergingMode={mode}")
    else:
        merger.OutputFile(path, "RECREATE", compression)
    for part in parts:
        merger.AddFile(os.path.join(folder, f"{part}.root"), False)
    if not merger.Merge():
        raise SystemExit(f"{name} could not be merged")


def main(folder: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kError
    dictionary.load(dictionary.HERE / "joined_ntuples.h")
    write = ROOT.joined_ntuples
    write.parallel(os.path.join(folder, "parallel.root"))
    write.late(os.path.join(folder, "late.root"))
    write.attributes(os.path.join(folder, "attributes.root"))
    with open(os.path.join(folder, "attributes.json"), "w") as found:
        found.write(str(write.attributes_found(os.path.join(folder, "attributes.root"))))
    for number, compression in ((0, 0), (1, 505)):
        write.part(os.path.join(folder, f"part_{number}.root"), number, compression)
    merge(folder, "union", ["part_0", "part_1", "part_0"], "Union", 404)
    merge(folder, "union_as_first", ["part_1", "part_0"], "Union", None)
    merge(folder, "filter", ["part_0", "part_0"], "Filter", 505)


main(sys.argv[1])
