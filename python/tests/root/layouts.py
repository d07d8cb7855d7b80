"""Writes trees of `layouts.h` with ROOT.

usage: layouts.py FOLDER
"""

import os
import sys

import ROOT

from . import dictionary

SPLITS = (0, 1, 99)


def write(path: str, fill: str, argument: int) -> None:
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("tree", fill)
    getattr(ROOT, f"fill_{fill}")(tree, argument)
    tree.Write()
    file.Close()


def elsewhere(folder: str) -> None:
    """A tree of which one branch is in another file, and one file with a foreign basket."""
    os.chdir(folder)
    ROOT.gInterpreter.Declare("""
void fill_elsewhere() {
  TFile file("elsewhere.root", "RECREATE");
  TTree tree("tree", "");
  int x, y;
  tree.Branch("x", &x, "x/I", 1000);
  auto *other = tree.Branch("y", &y, "y/I", 1000);
  other->SetFile("others.root");
  for (int e = 0; e < 600; e++) {
    x = e, y = -e;
    tree.Fill();
  }
  file.cd();
  tree.Write();
  other->GetFile(0)->Write();
}
// Without compression, so that the places of baskets can be changed.
void fill_plain(const char *path, bool renames) {
  TFile file(path, "RECREATE", "", 0);
  TTree tree("before", "");
  int x, y;
  tree.Branch("x", &x, "x/I", 1000);
  tree.Branch("y", &y, "y/I", 1000);
  for (int e = 0; e < 600; e++) {
    x = e, y = -e;
    tree.Fill();
  }
  if (!renames) {
    tree.Write();
    return;
  }
  tree.SetName("after");
  tree.GetBranch("x")->SetName("z");
  tree.GetBranch("y")->SetName("x");
  tree.GetBranch("z")->SetName("y");
  tree.Write();
}
""")
    ROOT.fill_elsewhere()
    ROOT.fill_plain("plain.root", False)
    ROOT.fill_plain("renamed.root", True)


def main(folder: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kFatal
    dictionary.load(dictionary.HERE / "layouts.h")
    for fill in ("grids", "both", "further", "diamond", "waves", "numbers"):
        for split in SPLITS:
            write(os.path.join(folder, f"{fill}_{split}.root"), fill, split)
    for filled in (0, 1):
        write(os.path.join(folder, f"nested_{filled}.root"), "nested", filled)
    file = ROOT.TFile(os.path.join(folder, "objects.root"), "RECREATE")
    ROOT.gInterpreter.ProcessLine("""{
      auto *both = new Both; both->One::x = 1; both->Two::x = 2; both->y = 3;
      gDirectory->WriteObjectAny(both, "Both", "both");
      auto *waves = new Waves; waves->fill(2); gDirectory->WriteObjectAny(waves, "Waves", "waves");
      auto *one = new std::complex<float>(1, -2);
      gDirectory->WriteObjectAny(one, "complex<float>", "one");
      auto *many = new std::vector<std::complex<double>>{{1, 2}, {3, 4}};
      gDirectory->WriteObjectAny(many, "vector<complex<double> >", "many");
    }""")
    file.Close()
    workspace(os.path.join(folder, "workspace.root"))
    elsewhere(folder)


def workspace(path: str) -> None:
    """A chain of products, each of which holds the one before."""
    ROOT.RooMsgService.instance().setGlobalKillBelow(5)
    made = ROOT.RooWorkspace("w")
    made.factory("x[1,0,10]")
    last = "x"
    for number in range(60):
        made.factory(f"prod::p{number}({last},c{number}[2,0,9])")
        last = f"p{number}"
    made.writeToFile(path)


main(*sys.argv[1:])
