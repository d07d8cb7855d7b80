"""Writes trees whose names could mean several things, and prints ROOT's meaning of them.

usage: names.py FOLDER
"""

import json
import os
import sys

import ROOT

from .names_texts import TEXTS

SOURCE = """
void names(const char* main, const char* other) {
  float w; int i, j, only;
  {
    TFile f(other, "RECREATE");
    f.mkdir("sub")->cd();
    TTree z("z", "");
    z.Branch("w", &w); z.Branch("i", &i); z.Branch("only", &only);
    for (int e = 0; e < 4; e++) { w = e + .25; i = e + 10; only = e * 7; z.Fill(); }
    z.Write();
    TTree v("v", "");
    v.Branch("w", &w);
    for (int e = 0; e < 4; e++) { w = e + .5; v.Fill(); }
    v.Write();
  }
  TFile f(main, "RECREATE");
  TTree t("m", "");
  t.Branch("w", &w); t.Branch("j", &j);
  for (int e = 0; e < 4; e++) { w = e; j = e - 2; t.Fill(); }
  t.AddFriend("sub/z", other);
  t.AddFriend("again=sub/v", other);
  t.SetAlias("j", "j+100");      // hidden by a branch of its own
  t.SetAlias("only", "w*1000");  // hidden by a friend's branch
  t.SetAlias("half", "j/2.");    // of the branch, not of the alias
  t.SetAlias("more", "half+1");
  t.Write();
}
"""


def main(folder: str) -> None:
    ROOT.gErrorIgnoreLevel = ROOT.kError
    ROOT.gInterpreter.Declare(SOURCE)
    path = os.path.join(folder, "main.root")
    ROOT.names(path, os.path.join(folder, "other.root"))
    file = ROOT.TFile(path)
    tree = file.Get("m")
    drawn = {}
    for text in TEXTS:
        count = tree.Draw(text, "", "goff")
        drawn[text] = [tree.GetV1()[at] for at in range(count)]
    with open(os.path.join(folder, "drawn.json"), "w") as found:
        json.dump(drawn, found)


if __name__ == "__main__":
    main(sys.argv[1])
