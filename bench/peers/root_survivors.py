"""ROOT: RDataFrame, the columns of the entries that pass a cut as NumPy arrays, on all threads;
compiling is on the clock."""

import clock
import ROOT

args = clock.arguments(clock.CUT)
ROOT.gSystem.Load("libNetxNG")
ROOT.gSystem.Load("libROOTDataFrame")
ROOT.EnableImplicitMT()


def job():
    return ROOT.RDataFrame(args.tree, args.url).Filter(args.cut).AsNumpy(args.columns)


clock.run(job, lambda arrays: {"entries": len(arrays[args.columns[0]])})
