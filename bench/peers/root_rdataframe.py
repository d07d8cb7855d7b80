"""ROOT: RDataFrame, one thread, each column's sum in one event loop; compiling is on the clock."""

import clock
import ROOT

args = clock.arguments()
ROOT.gSystem.Load("libNetxNG")
ROOT.gSystem.Load("libROOTDataFrame")


def job():
    frame = ROOT.RDataFrame(args.tree, args.url)
    if args.entry_stop is not None:
        frame = frame.Range(args.entry_stop)
    sums = [frame.Sum(column) for column in args.columns]
    count = frame.Count()
    for total in sums:
        total.GetValue()
    return count.GetValue()


clock.run(job, lambda count: {"entries": int(count)})
