"""Writes trees of `experiments.h` or `forms.h` with ROOT, and beside each the values that were
filled.

usage: experiments.py FOLDER HEADER NAME...

For each name there is a function `write_NAME` in the header.
"""

import os
import random
import sys

import ROOT

from . import dictionary

COMPRESSIONS = (0, 101, 207, 404, 505)
#: Split level, and whether collections are streamed member by member.
KINDS = ((0, False), (0, True), (1, False), (2, True), (99, False), (99, True))


def main(folder: str, header: str, *names: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kFatal
    dictionary.load(dictionary.HERE / f"{header}.h", ("Physics", "MathCore", "GenVector"))
    chosen = random.Random(header)
    for name in names:
        for split, memberwise in KINDS:
            options = ROOT.seeded.Options()
            options.split, options.memberwise, options.entries = split, memberwise, 12
            options.basket = chosen.choice((100, 1000, 32000))
            options.flush = chosen.choice((0, 3, 5))
            options.compression = chosen.choice(COMPRESSIONS)
            kind = f"{name}_{split}_{'memberwise' if memberwise else 'objectwise'}"
            getattr(ROOT, f"write_{name}")(os.path.join(folder, kind), options, split)


main(*sys.argv[1:])
