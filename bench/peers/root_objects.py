"""ROOT: from the path to the numbers of objects, as views of its memory."""

import clock
import contents
import numpy as np
import ROOT

args = clock.arguments()

ROOT.gInterpreter.Declare("""
#include <vector>
#include "TDirectory.h"
#include "TH1.h"
#include "TKey.h"
void histograms_in(TDirectory& directory, std::vector<TH1D*>& found) {
  for (TObject* each : *directory.GetListOfKeys()) {
    auto key = static_cast<TKey*>(each);
    if (key->IsFolder()) histograms_in(*directory.GetDirectory(key->GetName()), found);
    else if (auto one = directory.Get<TH1D>(key->GetName())) found.push_back(one);
  }
}
""")


def view(pointer, count):
    return np.frombuffer(pointer, dtype=np.float64, count=count)


def numbers(each):
    if isinstance(each, ROOT.TH1):
        return [view(each.GetArray(), each.GetNcells())]
    if isinstance(each, ROOT.TGraph):
        return [view(each.GetX(), each.GetN()), view(each.GetY(), each.GetN())]
    return [np.asarray(each)]


def job():
    file = ROOT.TFile.Open(args.url)
    if args.columns:
        objects = [file.Get(name) for name in args.columns]
    else:
        objects = ROOT.std.vector["TH1D*"]()
        ROOT.histograms_in(file, objects)
    return file, objects, [numbers(each) for each in objects]


warm = ROOT.TMemFile("warm.root", "RECREATE")
for one in (ROOT.TH1D("h", "", 1, 0, 1), ROOT.TH3D(), ROOT.TGraph(1)):
    one.Write("one")
    warm.Get("one")
numbers(ROOT.TGraph(1))
numbers(ROOT.std.vector["double"]([1.0]))
ROOT.histograms_in(warm, ROOT.std.vector["TH1D*"]())
warm.Close()
clock.run(job, lambda read: contents.answer(read[2]))
