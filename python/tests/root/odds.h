// Members that few classes have, every one a function of the entry's number.
#include <array>
#include <complex>
#include <forward_list>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <Math/Vector4D.h>
#include <ROOT/RVec.hxx>
#include <TH1F.h>
#include <TLorentzVector.h>
#include <TMatrixDSym.h>
#include <TObjString.h>
#include <TObject.h>
#include <TParameter.h>
#include <TRef.h>
#include <TRefArray.h>
#include <TTimeStamp.h>
#include <TTree.h>
#include <TVector2.h>

enum Colour { kRuby = 1, kJade = 2 };

struct Cell : public TObject {
  int id = 0;
  Double32_t packed = 0; //[0,64,16]
  Float16_t half = 0;    //[0,0,10]
  Cell() = default;
  Cell(int i) : id(i), packed(i % 64), half(i % 7) {}
  ClassDef(Cell, 1)
};

class Odds : public TObject {
public:
  int n = 0;
  Double32_t *packed = nullptr; //[n][0,64,16]
  Float16_t *halves = nullptr;  //[n][0,0,10]
  int *numbers[2] = {nullptr, nullptr}; //[n]
  Cell *cells = nullptr;        //[n]
  Cell **pointers = nullptr;    //[n]
  char *text = nullptr;
  TTimeStamp stamp;
  TRef reference;
  TRefArray references;
  ROOT::RVec<float> rvec;
  ROOT::RVec<ROOT::RVec<int>> rvecs;
  TMatrixDSym matrix;
  TObjString string;
  TParameter<double> parameter;
  TVector2 plane;
  ROOT::Math::PtEtaPhiMVector vector;
  TH1F histogram;
  std::complex<double> complex;
  std::vector<Colour> colours;
  std::multiset<short> several;
  std::forward_list<int> forward;
  std::tuple<int, double> tuple;
  std::vector<std::array<float, 2>> arrays;
  std::map<std::pair<int, int>, float> by_pair;
  std::map<std::string, std::map<int, std::vector<double>>> maps;
  std::vector<std::vector<Cell>> grid;
  int last = 0;

  void fill(int i);
  ClassDef(Odds, 1)
};

void Odds::fill(int i) {
  delete[] packed;
  delete[] halves;
  delete[] cells;
  delete[] pointers;
  delete[] text;
  n = i % 3;
  packed = new Double32_t[n];
  halves = new Float16_t[n];
  cells = new Cell[n];
  pointers = new Cell *[n];
  for (int j = 0; j < 2; j++) {
    delete[] numbers[j];
    numbers[j] = new int[n];
  }
  for (int k = 0; k < n; k++) {
    packed[k] = i % 64;
    halves[k] = k;
    cells[k] = Cell(i + k);
    pointers[k] = k ? nullptr : new Cell(i);
    for (int j = 0; j < 2; j++)
      numbers[j][k] = 10 * j + k + i;
  }
  text = new char[4];
  strcpy(text, i % 2 ? "odd" : "");
  stamp.SetSec(1000 + i);
  stamp.SetNanoSec(i);
  reference.SetUniqueID(i);
  rvec = ROOT::RVec<float>(i % 4, i);
  rvecs = ROOT::RVec<ROOT::RVec<int>>(i % 3, ROOT::RVec<int>(2, i));
  matrix.ResizeTo(2, 2);
  matrix(0, 0) = i;
  matrix(0, 1) = matrix(1, 0) = -i;
  string.SetString(TString('s', i % 5));
  parameter.SetVal(i);
  plane.Set(1. * i, 2. * i);
  vector.SetCoordinates(i, 1, 0.5, 0.25);
  if (!histogram.GetNcells() || histogram.GetNbinsX() == 1)
    histogram = TH1F("h", "t", 2, 0, 2);
  histogram.SetDirectory(nullptr);
  histogram.Fill(0.5);
  complex = {1. * i, -1. * i};
  colours.assign(i % 3, kJade);
  several.clear();
  forward.assign(i % 3, i);
  tuple = {i, 0.5 * i};
  arrays.assign(i % 3, {1, float(i)});
  by_pair.clear();
  maps.clear();
  for (int k = 0; k < i % 3; k++) {
    several.insert(4);
    by_pair[{k, i}] = i;
    maps[std::string(k + 1, 'm')][i] = std::vector<double>(k, i);
  }
  grid.assign(i % 3, std::vector<Cell>(i % 2, Cell(i)));
  last = 7 * i;
}

// Branches as ROOT 2 made them, with a TBranchObject.
TObjString *old_text = new TObjString;
TLorentzVector *old_vector = new TLorentzVector;

void old_branches(TTree *tree) {
  tree->BranchOld("old_text", "TObjString", &old_text, 32000, 0);
  tree->BranchOld("old_vector", "TLorentzVector", &old_vector, 32000, 0);
}

void fill_old(int i) {
  old_text->SetString(TString('o', i % 4));
  old_vector->SetPxPyPzE(i, 1, 2, 3);
}
