// Layouts of members that the other headers do not have, each a function of the entry's number.
#include <array>
#include <complex>
#include <map>
#include <string>
#include <vector>

#include <TBranch.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TString.h>
#include <TTree.h>

struct Cell {
  double foo = 0;
  int bar = 0;
};
struct Inner {
  int q[2][2];
  float r[3];
};
// Arrays of every dimension, of C and of the standard library.
struct Grids {
  Cell two[2];
  Cell grid[2][2];
  int m[2][3];
  float d3[2][2][2];
  bool b2[2][2];
  char c2[2][3];
  Double32_t dr[2][3]; //[0,100,16]
  Float16_t fr[3]; //[0,10,10]
  std::string sm[2][2];
  TString tm[2][3];
  std::array<float, 2> af;
  std::array<std::array<int, 3>, 2> aa;
  std::array<std::string, 2> as;
  std::array<Cell, 2> ac;
  std::array<std::vector<float>, 2> av;
  std::vector<std::array<float, 2>> va;
  std::vector<std::vector<std::array<int, 2>>> vva;
  std::vector<std::array<Cell, 2>> vac;
  std::map<int, std::array<float, 2>> ma;
  std::vector<int> vm[2][2];
  std::vector<Inner> vin;
  Inner ina[2];
  std::pair<int, std::array<float, 2>> pa;
  int n = 0;
  float *pp[2] = {nullptr, nullptr}; //[n]
  float *pq[2][3] = {{nullptr, nullptr, nullptr}, {nullptr, nullptr, nullptr}}; //[n]
  int last = 0;
  void fill(int e) {
    for (int i = 0; i < 2; i++) {
      two[i] = {e + .5 + i, i};
      af[i] = i + e;
      as[i] = std::string(e % 3 + i, 'a');
      ac[i] = {e + .25, i};
      av[i].assign((e + i) % 3, 1.5f + i);
      for (int k = 0; k < 2; k++) {
        grid[i][k] = {e + .125, 10 * i + k};
        b2[i][k] = (e + i + k) % 2;
        sm[i][k] = "m" + std::to_string(10 * i + k);
        vm[i][k].assign((i + k + e) % 3, e);
        ina[i].q[0][k] = 100 * i + k;
        ina[i].q[1][k] = e;
        for (int l = 0; l < 2; l++)
          d3[i][k][l] = 100 * i + 10 * k + l + e;
      }
      for (int k = 0; k < 3; k++) {
        m[i][k] = 10 * i + k;
        c2[i][k] = 10 * i + k;
        dr[i][k] = 10 * i + k;
        tm[i][k] = TString::Format("u%d%d", i, k);
        aa[i][k] = 10 * i + k + e;
        ina[i].r[k] = k + .5;
      }
    }
    for (int k = 0; k < 3; k++)
      fr[k] = k;
    va.clear(), vva.clear(), vac.clear(), ma.clear();
    vin.assign(e % 3, ina[1]);
    for (int k = 0; k < e % 3; k++) {
      va.push_back({1.f + k, 2.f + e});
      vva.push_back({{k, e}, {7, 8}});
      vac.push_back({Cell{k + .5, 1}, Cell{e + .5, 2}});
      ma[k] = {k + .5f, e + .5f};
    }
    pa = {e, {1.f, e + .5f}};
    n = e % 3;
    for (int i = 0; i < 2; i++) {
      numbers(pp[i], 10 * i);
      for (int k = 0; k < 3; k++)
        numbers(pq[i][k], 100 * i + 10 * k);
    }
    last = -e;
  }
  void numbers(float *&to, int first) {
    delete[] to;
    to = new float[3];
    for (int k = 0; k < 3; k++)
      to[k] = first + k;
  }
};
// Base classes with members of one name.
struct One {
  int x = 0;
  int one = 0;
};
struct Two {
  int x = 0;
};
struct Both : public One, public Two {
  int y = 0;
};
struct Further : public Both {
  int x = 0;
};
struct Left : public Two {
  int left = 0;
};
struct Right : public Two {
  int right = 0;
};
struct Diamond : public Left, public Right {
  int bottom = 0;
};
struct Waves {
  std::complex<float> f;
  std::complex<double> d;
  std::complex<float> a[2];
  std::vector<std::complex<double>> w;
  std::map<int, std::complex<double>> mp;
  void fill(int e) {
    f = {float(e), e + .5f};
    d = {-e + .0, e + .0};
    w.clear(), mp.clear();
    for (int i = 0; i < 2; i++)
      a[i] = {float(i), float(e)};
    for (int i = 0; i < e % 3; i++) {
      w.push_back({i + .0, e + .0});
      mp[i] = {i + .0, 7};
    }
  }
};

void fill_grids(TTree &tree, int split) {
  auto *grids = new Grids;
  tree.Branch("grids.", grids, 32000, split);
  for (int e = 0; e < 6; e++) {
    grids->fill(e);
    tree.Fill();
  }
}
template <class T, class F> void fill_one(TTree &tree, const char *name, int split, F set) {
  auto *object = new T;
  auto *all = new std::vector<T>;
  tree.Branch(name, object, 32000, split);
  if (split == 0)
    tree.Branch((std::string("all_") + name).c_str(), all, 32000, split);
  for (int e = 0; e < 6; e++) {
    set(*object, e);
    all->assign(e % 3, *object);
    tree.Fill();
  }
  tree.ResetBranchAddresses();
}
void fill_both(TTree &tree, int split) {
  fill_one<Both>(tree, "both", split, [](Both &b, int e) {
    b.One::x = e, b.one = 5, b.Two::x = 100 + e, b.y = -e;
  });
}
void fill_further(TTree &tree, int split) {
  fill_one<Further>(tree, "further", split, [](Further &b, int e) {
    b.One::x = e, b.Two::x = 100 + e, b.x = 7;
  });
}
void fill_diamond(TTree &tree, int split) {
  fill_one<Diamond>(tree, "diamond", split, [](Diamond &b, int e) {
    b.Left::x = e, b.Right::x = 100 + e, b.bottom = -e;
  });
}
void fill_waves(TTree &tree, int split) {
  fill_one<Waves>(tree, "waves", split, [](Waves &waves, int e) { waves.fill(e); });
}
void fill_numbers(TTree &tree, int split) {
  auto *one = new std::complex<float>;
  auto *many = new std::vector<std::complex<double>>;
  tree.Branch("one", one, 32000, split);
  tree.Branch("many", many, 32000, split);
  for (int e = 0; e < 6; e++) {
    *one = {float(e), -2.f};
    many->assign(e % 3, {1.5, e + .0});
    tree.Fill();
  }
}
// A branch with a leaf of its own and another branch below, which may be empty.
void fill_nested(TTree &tree, int fills) {
  static float x, y[3];
  auto *above = tree.Branch("b1", &x, "b1/F");
  auto *below = new TBranch(above, "b2", y, "b2[2]/F:b3/F");
  above->GetListOfBranches()->Add(below);
  for (auto *leaf : *below->GetListOfLeaves())
    tree.GetListOfLeaves()->Add(leaf);
  for (int e = 0; e < 6; e++) {
    x = e + 1;
    y[0] = -e, y[1] = e, y[2] = 9;
    tree.Fill();
    if (fills)
      below->Fill();
  }
}

#ifdef __ROOTCLING__
#pragma link C++ class Cell+;
#pragma link C++ class Inner+;
#pragma link C++ class std::vector<Inner>+;
#pragma link C++ class std::vector<std::array<float, 2>>+;
#pragma link C++ class std::vector<std::vector<std::array<int, 2>>>+;
#pragma link C++ class std::vector<std::array<Cell, 2>>+;
#pragma link C++ class std::map<int, std::array<float, 2>>+;
#pragma link C++ class std::pair<int, std::array<float, 2>>+;
#pragma link C++ class Grids+;
#pragma link C++ class One+;
#pragma link C++ class Two+;
#pragma link C++ class Both+;
#pragma link C++ class Further+;
#pragma link C++ class Left+;
#pragma link C++ class Right+;
#pragma link C++ class Diamond+;
#pragma link C++ class std::vector<Both>+;
#pragma link C++ class std::vector<Further>+;
#pragma link C++ class std::vector<Diamond>+;
#pragma link C++ class std::complex<float>+;
#pragma link C++ class std::complex<double>+;
#pragma link C++ class std::vector<std::complex<double>>+;
#pragma link C++ class std::map<int, std::complex<double>>+;
#pragma link C++ class Waves+;
#pragma link C++ class std::vector<Waves>+;
#pragma link C++ function fill_grids;
#pragma link C++ function fill_both;
#pragma link C++ function fill_further;
#pragma link C++ function fill_diamond;
#pragma link C++ function fill_waves;
#pragma link C++ function fill_numbers;
#pragma link C++ function fill_nested;
#endif
