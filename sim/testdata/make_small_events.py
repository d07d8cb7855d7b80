"""Makes small_events.root: `python small_events.py FOLDER`. Needs ROOT.

Events in clusters of 20 entries, of 38 branches: 6 large ones with several baskets a cluster, and
32 small ones with one. Not compressed, so that bytes can be counted.
"""

import array
import pathlib
import sys

import ROOT

EVENTS, CLUSTER, LARGE, SMALL = 300, 20, 6, 32


def main():
    file = ROOT.TFile(str(pathlib.Path(sys.argv[1]) / "small_events.root"), "RECREATE", "", 0)
    tree = ROOT.TTree("Events", "events of of large and small branches")
    tree.SetAutoFlush(CLUSTER)
    buffers = []
    for number in range(LARGE + SMALL):
        length = 30 if number < LARGE else 1
        buffer = array.array("f", length * [0])
        name = f"large_{number}" if number < LARGE else f"small_{number - LARGE}"
        tree.Branch(name, buffer, f"{name}[{length}]/F", 240)
        buffers.append(buffer)
    for event in range(EVENTS):
        for number, buffer in enumerate(buffers):
            for at in range(len(buffer)):
                buffer[at] = event * 1000 + number + at / 64
        tree.Fill()
    tree.Write()
    file.Close()


main()
