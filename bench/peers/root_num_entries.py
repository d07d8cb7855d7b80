"""ROOT: number of entries of many files, one after the other as TChain does."""

import clock
import ROOT

args = clock.many_files()
ROOT.gROOT.SetBatch(True)


def count(url):
    file = ROOT.TFile.Open(url)
    entries = file.Get(args.tree).GetEntries()
    file.Close()
    return entries


clock.run(
    lambda: [count(url) for url in args.urls],
    lambda found: {"entries": round(sum(found) * args.scale)},
    args.scale,
)
