"""ROOT: RDataFrame's Snapshot of the entries that pass a cut; compiling it is on the clock."""

import clock
import ROOT

args = clock.arguments(
    ("--cut", {"default": ""}),
    ("--threads", {"type": int, "default": 1}),
    ("--copy-tree", {"action": "store_true", "help": "TTree::CopyTree instead"}),
)
ROOT.gROOT.SetBatch(True)
ROOT.gSystem.Load("libNetxNG")
ROOT.gSystem.Load("libROOTDataFrame")
target = clock.target("skimmed.root")


def job():
    if args.copy_tree:
        source = ROOT.TFile.Open(args.url)
        out = ROOT.TFile(str(target), "RECREATE", "", 505)
        out.WriteTObject(source.Get(args.tree).CopyTree(args.cut))
        out.Close()
        return
    if args.threads > 1:
        ROOT.EnableImplicitMT(args.threads)
    options = ROOT.RDF.RSnapshotOptions()
    options.fCompressionAlgorithm = ROOT.ROOT.RCompressionSetting.EAlgorithm.kZSTD
    options.fCompressionLevel = 5
    frame = ROOT.RDataFrame(args.tree, args.url)
    frame = frame.Filter(args.cut) if args.cut else frame
    frame.Snapshot(args.tree, str(target), "", options)


def answer(_):
    file_bytes = target.stat().st_size
    return {"file_bytes": file_bytes} | clock.entries_in(target, args.tree)


clock.run(job, answer)
