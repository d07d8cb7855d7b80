"""Trees of an object with objects in it, each split in its own way, whose aliases are formulas of
members, and the values that ROOT draws of each: `python -m ... FOLDER FORMULAS`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import ROOT

ENTRIES = 12
SPLITS = (0, 1, 99)

MAKE = """
#include <map>
struct Base { int bi = 0; short bs[3] = {}; virtual ~Base() {} };
struct Part : public Base {
  double d1 = 0; int n = 0; double arr[4] = {}; double mat[2][2] = {}; std::vector<int> v;
  std::map<std::string, double> ms; std::pair<int, float> pr;
};
struct Item { int a = 0; std::vector<float> f; };
struct Event { int id = 0; int own[2] = {}; Part p; std::vector<Item> qs; Base base; };
struct Leaves { int a; float bb; } leaves;
void make(const char* path, int split, const std::vector<std::string>& formulas, int entries) {
  TFile file(path, "RECREATE"); TTree t("t", "t"); Event* e = new Event;
  t.Branch("ev", &e, 32000, split); t.Branch("e2.", &e, 32000, split);
  t.Branch("leaves", &leaves, "a/I:bb/F");
  TLorentzVector* u4 = new TLorentzVector; t.Branch("u4.", &u4, 32000, 0);
  for (int i = 0; i < entries; i++) {
    e->id = i; e->own[1] = 2 * i; e->p.bi = -i; e->p.bs[1] = i * 3; e->p.d1 = i * 0.75;
    e->p.n = i % 4; e->p.mat[1][0] = i * 1.25; e->p.v.assign(i % 3, i); e->p.pr = {i, i * .5f};
    for (int k = 0; k < 4; k++) e->p.arr[k] = i + k * 10.5;
    e->p.ms.clear(); e->qs.clear();
    for (int k = 0; k < i % 3; k++) {
      e->p.ms["k" + std::to_string(k)] = k + i * .5;
      Item item; item.a = k + i; item.f.assign(k + 1, i * .5f); e->qs.push_back(item);
    }
    e->base.bi = 100 + i; leaves = {7 * i, i / 2.f}; u4->SetPxPyPzE(i, 2 * i, 3 * i, 10 + i);
    t.Fill();
  }
  for (size_t i = 0; i < formulas.size(); i++)
    t.SetAlias(Form("formula%zu", i), formulas[i].c_str());
  t.SetAlias("bb", "id"); t.SetAlias("al", "p.arr"); t.SetAlias("twice", "p.arr*2");
  t.SetAlias("index", "twice[0]");
  t.Write();
}
"""


def main(folder: Path, formulas: list[str]) -> None:
    ROOT.gErrorIgnoreLevel = 6000
    ROOT.gInterpreter.Declare(MAKE)
    drawn: dict[int, Any] = {}
    for split in SPLITS:
        path = str(folder / f"split{split}.root")
        ROOT.make(path, split, ROOT.std.vector["std::string"](formulas), ENTRIES)
        file = ROOT.TFile(path)
        tree = file.Get("t")
        drawn[split] = []
        for text in formulas:
            entries = []
            for entry in range(ENTRIES):
                count = tree.Draw(text, "", "goff", 1, entry)
                values = tree.GetV1()
                entries.append([values[at] for at in range(count)] if count >= 0 else None)
            drawn[split].append(entries)
        file.Close()
    (folder / "drawn.json").write_text(json.dumps(drawn))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()))
