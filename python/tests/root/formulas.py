"""A tree whose aliases are formulas, and the values that ROOT draws of each: `python -m ...
FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import ROOT

MAKE = """
void make(const char* path, const std::vector<std::string>& formulas) {
  TFile file(path, "RECREATE"); TTree t("t", "t");
  bool flag; char i1; short i2; int i4, n; long long i8; unsigned char u1; unsigned short u2;
  unsigned u4; float f4, v[8]; double f8, fixed[3]; int w[8]; float matrix[8][2]; char text[4];
  std::string name; std::vector<float> vec; std::vector<std::vector<float>> deep, deeper;
  double one[1], square[2][3], thin[3][1] = {};
  t.Branch("flag", &flag, "flag/O"); t.Branch("i1", &i1, "i1/B"); t.Branch("i2", &i2, "i2/S");
  t.Branch("i4", &i4, "i4/I"); t.Branch("i8", &i8, "i8/L"); t.Branch("u1", &u1, "u1/b");
  t.Branch("u2", &u2, "u2/s"); t.Branch("u4", &u4, "u4/i"); t.Branch("f4", &f4, "f4/F");
  t.Branch("f8", &f8, "f8/D"); t.Branch("n", &n, "n/I"); t.Branch("k", &i2, "k/S");
  t.Branch("v", v, "v[n]/F"); int m; t.Branch("m", &m, "m/I"); t.Branch("w", w, "w[m]/I");
  t.Branch("matrix", matrix, "matrix[n][2]/F"); t.Branch("fixed", fixed, "fixed[3]/D");
  t.Branch("text", text, "text/C"); t.Branch("name", &name); t.Branch("vec", &vec);
  t.Branch("deep", &deep); t.Branch("deeper", &deeper); t.Branch("one", one, "one[1]/D");
  t.Branch("square", square, "square[2][3]/D"); t.Branch("thin", thin, "thin[3][1]/D");
  TRandom3 r(5);
  for (int e = 0; e < 40; e++) {
    flag = r.Integer(2); i1 = (int)r.Integer(256) - 128; i2 = (int)r.Integer(9) - 4;
    i4 = (int)r.Integer(2000) - 1000; i8 = (long long)r.Integer(1000000) - 500000;
    u1 = r.Integer(256); u2 = r.Integer(9); u4 = r.Integer(100); f4 = r.Gaus(0, 2);
    f8 = r.Gaus(0, 2); if (e < 3) { f4 = 0; f8 = 0; }
    n = e % 5; m = (e / 4) % 4; vec.clear(); deep.clear(); deeper.clear(); one[0] = r.Gaus();
    for (int i = 0; i < n; i++) {
      v[i] = r.Gaus(); matrix[i][0] = i; matrix[i][1] = r.Gaus(); vec.push_back(10 * e + i);
    }
    for (int i = 0; i < m; i++) w[i] = (int)r.Integer(9) - 4;
    for (int i = 0; i < 3; i++) { fixed[i] = r.Gaus(); square[0][i] = i; square[1][i] = r.Gaus(); }
    for (auto each : {&deep, &deeper})
      for (int i = (each == &deep ? e + 1 : e / 3) % 4; i; i--) {
        each->emplace_back();
        for (int j = r.Integer(4); j; j--) each->back().push_back(r.Gaus());
      }
    strcpy(text, e % 2 ? "a" : "bc"); name = e % 3 ? "x" : "yz"; t.Fill();
  }
  for (size_t i = 0; i < formulas.size(); i++)
    t.SetAlias(Form("formula%zu", i), formulas[i].c_str());
  t.Write();
}
"""


def main(folder: Path, formulas: list[str]) -> None:
    ROOT.gErrorIgnoreLevel = 6000
    ROOT.gInterpreter.Declare(MAKE)
    path = str(folder / "formulas.root")
    ROOT.make(path, ROOT.std.vector["std::string"](formulas))
    file = ROOT.TFile(path)
    tree = file.Get("t")
    tree.SetEstimate(100000)
    drawn = []
    for text in formulas:
        count = tree.Draw(text, "", "goff")
        values = tree.GetV1()
        drawn.append([values[at] for at in range(count)] if count >= 0 else None)
    (folder / "drawn.json").write_text(json.dumps(drawn))
    file.Close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()))
