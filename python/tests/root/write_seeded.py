"""Writes trees of classes that are made up from seeds, at several split levels.

usage: write_seeded.py FOLDER FIRST-SEED SEEDS

The classes are in the folder: `generated.h`, which `seeded.py` makes.
"""

import os
import random
import sys
from pathlib import Path

import ROOT

from . import dictionary

COMPRESSIONS = (0, 101, 207, 404, 505)


def main(folder: str, first: int, count: int) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kError
    seeds = list(range(first, first + count))
    dictionary.load(Path(folder, "generated.h"), ("Physics", "MathCore"))
    for seed in seeds:
        chosen = random.Random(seed)
        for split in (0, 1, 2, 99):
            options = ROOT.seeded.Options()
            options.split = split
            options.memberwise = chosen.random() < 0.5
            options.basket = chosen.choice((100, 400, 4000, 32000, 1 << 20))
            options.entries = chosen.choice((1, 5, 20, 40))
            options.flush = chosen.choice((0, 0, 3, 10))
            options.compression = chosen.choice(COMPRESSIONS)
            name = f"{seed}_{split}_{'memberwise' if options.memberwise else 'objectwise'}"
            getattr(ROOT, f"seeded_{seed}")(os.path.join(folder, name), options)


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
