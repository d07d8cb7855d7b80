"""Lists in lists whose rows have items or none, with aliases, and the values that ROOT draws of
each in each entry: `python -m ... FOLDER FORMULAS`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import ROOT

ENTRIES = 40

MAKE = """
struct Row { int a = 0; std::vector<float> f; std::vector<int> g; };
struct Rows { std::vector<Row> qs; };
void make(const char* path, const std::vector<std::string>& formulas, int entries) {
  TFile file(path, "RECREATE"); TTree t("t", "t"); TRandom3 r(11);
  std::vector<std::vector<double>> vv, ww; std::vector<double> v, w; std::vector<Row> qs; Rows one;
  int n, k; double fixed[3], matrix[8][2], square[3][2], x[8];
  t.Branch("vv", &vv); t.Branch("ww", &ww); t.Branch("v", &v); t.Branch("w", &w);
  t.Branch("n", &n, "n/I"); t.Branch("k", &k, "k/I"); t.Branch("x", x, "x[k]/D");
  t.Branch("matrix", matrix, "matrix[n][2]/D"); t.Branch("fixed", fixed, "fixed[3]/D");
  t.Branch("square", square, "square[3][2]/D"); t.Branch("qs", &qs, 32000, 99);
  t.Branch("rows", &one, 32000, 99);
  auto some = [&](auto& list, int most) {
    list.clear();
    for (int i = r.Integer(most); i; i--) list.push_back(r.Integer(50) + 1);
  };
  for (int e = 0; e < entries; e++) {
    vv.clear(); ww.clear(); v.clear(); w.clear(); qs.clear();
    n = r.Integer(5); k = r.Integer(5);
    for (int i = 0; i < k; i++) x[i] = r.Integer(50) + 0.5;
    for (int i = 0; i < n; i++) {
      v.push_back(100 * (i + 1)); matrix[i][0] = i; matrix[i][1] = 10 + i;
      vv.emplace_back(); some(vv.back(), 4);
      qs.emplace_back(); qs.back().a = i + 1; some(qs.back().f, 4); some(qs.back().g, 3);
    }
    one.qs = qs;
    for (int i = r.Integer(5); i; i--) {
      w.push_back(1000 + i); ww.emplace_back(); some(ww.back(), 4);
    }
    for (int i = 0; i < 3; i++) { fixed[i] = i + 1; square[i][0] = i + .25; square[i][1] = i + .5; }
    t.Fill();
  }
  for (size_t i = 0; i < formulas.size(); i++)
    t.SetAlias(Form("formula%zu", i), formulas[i].c_str());
  t.SetAlias("firsts", "vv[][0]");
  t.Write();
}
"""


def main(folder: Path, formulas: list[str]) -> None:
    ROOT.gErrorIgnoreLevel = 6000
    ROOT.gInterpreter.Declare(MAKE)
    path = str(folder / "rows.root")
    ROOT.make(path, ROOT.std.vector["std::string"](formulas), ENTRIES)
    file = ROOT.TFile(path)
    tree = file.Get("t")
    drawn = []
    for text in formulas:
        entries = []
        for entry in range(ENTRIES):
            count = tree.Draw(text, "", "goff", 1, entry)
            values = tree.GetV1()
            entries.append([values[at] for at in range(count)] if count >= 0 else None)
        drawn.append(entries)
    (folder / "drawn.json").write_text(json.dumps(drawn))
    file.Close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()))
