"""Writes RNTuples of `ntuples.h` with ROOT.

usage: ntuples.py FOLDER
"""

import os
import sys

import ROOT

from . import dictionary


def main(folder: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kError
    dictionary.load(dictionary.HERE / "ntuples.h")
    write = ROOT.write_ntuples
    for compression in (0, 505):
        write.kinds(os.path.join(folder, f"kinds_{compression}.root"), compression)
    write.streamed(os.path.join(folder, "streamed_append.root"), True)
    write.streamed(os.path.join(folder, "streamed_recreate.root"), False)
    write.widths(os.path.join(folder, "widths.root"))
    write.representations(os.path.join(folder, "representations.root"))
    write.late(os.path.join(folder, "late.root"))
    write.unions(os.path.join(folder, "unions.root"))
    write.arrays(os.path.join(folder, "arrays.root"))
    for compression in (101, 404, 505):
        write.pages(os.path.join(folder, f"pages_{compression}.root"), compression)
    for compression in (0, 505):
        write.records(os.path.join(folder, f"records_{compression}.root"), compression)
    write.several(os.path.join(folder, "several.root"))


main(sys.argv[1])
