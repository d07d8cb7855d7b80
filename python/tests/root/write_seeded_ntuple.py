"""Writes RNTuples of types that are made up from seeds, each in several ways.

usage: write_seeded_ntuple.py FOLDER FIRST-SEED SEEDS

The types are in the folder: `generated.h`, which `seeded_ntuple.py` makes.
"""

import os
import random
import resource
import sys
from pathlib import Path
from typing import Any

import ROOT

from . import dictionary

MEMORY_MAX, SECONDS_MAX = 4 << 30, 20
COMPRESSIONS = (0, 101, 207, 404, 505)


def options(chosen: random.Random, seed: int, way: int) -> Any:
    made = ROOT.seeded.NtupleOptions()
    made.seed = seed * 100 + way
    made.entries = chosen.choice((0, 1, 7, 40, 150))
    made.late = chosen.choice((0, 1, 5, 30, 1000))
    made.cluster = chosen.choice((0, 1, 3, 10, 37))
    made.group = chosen.choice((0, 1, 2, 4))
    made.any_columns = chosen.random() < 0.6
    made.representations = chosen.choice((1, 2, 3))
    made.append = chosen.random() < 0.5
    made.folder = chosen.random() < 0.5
    made.write.SetCompression(chosen.choice(COMPRESSIONS))
    made.write.SetInitialUnzippedPageSize(chosen.choice((16, 32, 256)))
    made.write.SetMaxUnzippedPageSize(chosen.choice((256, 300, 4096, 1 << 20)))
    made.write.SetEnablePageChecksums(chosen.random() < 0.7)
    made.write.SetUseBufferedWrite(chosen.random() < 0.7)
    return made


def main(folder: str, first: int, count: int) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kError
    dictionary.load(Path(folder, "generated.h"), ("Physics", "MathCore", "ROOTNTuple"))
    ROOT.gEnv.SetValue("Root.Stacktrace", "no")  # It would describe for seconds where it ends.
    for seed in range(first, first + count):
        chosen = random.Random(seed)
        for way in range(3):
            how = options(chosen, seed, way)
            # ROOT ends where it cannot write a type after all, or writes it without an end.
            child = os.fork()
            if child == 0:
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
                resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_MAX, SECONDS_MAX))
                writer = ROOT.seeded.NtupleWriter(os.path.join(folder, f"{seed}_{way}"), how)
                getattr(ROOT, f"seeded_ntuple_{seed}")(writer)
                sys.stdout.flush()
                os._exit(0)
            if os.waitpid(child, 0)[1] != 0:
                print(f"{seed}_{way}: ROOT ends")
                Path(folder, f"{seed}_{way}.root").unlink(missing_ok=True)


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
