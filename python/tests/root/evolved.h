// A class in two versions, of which a file may hold both: compiled with `VERSION` 1 or 2.
#include <string>
#include <vector>

#include <TTree.h>

struct Base {
  int kept = 0;
#if VERSION == 2
  float added = 0;
#endif
  virtual ~Base() {}
  ClassDef(Base, VERSION)
};

// Neither version nor header of its own.
struct Plain {
  short first = 0;
#if VERSION == 2
  int second = 0;
#endif
};

struct Evolved : public Base {
#if VERSION == 1
  int number = 0;
  std::string gone;
#else
  double number = 0;
  std::vector<short> come;
#endif
  Plain plain;
  std::vector<Plain> plains;
  int last = 0;

  void fill(int i) {
    kept = i;
    number = 2 * i;
#if VERSION == 1
    gone = std::string(i % 3, 'g');
#else
    added = i;
    come.assign(i % 3, i);
    plain.second = -i;
#endif
    plain.first = i;
    plains.assign(i % 3, plain);
    last = 3 * i;
  }
  ClassDef(Evolved, VERSION + 3)
};

#ifdef __CLING__
#pragma link C++ class std::vector<Plain>+;
#pragma link C++ class std::vector<Evolved>+;
#endif

void fill_evolved(TTree *tree, int split) {
  auto whole = new Evolved;
  auto list = new std::vector<Evolved>;
  tree->Branch("whole.", &whole, 1000, split);
  tree->Branch("list", &list, 1000, split);
  for (int i = 0; i < 30; i++) {
    whole->fill(i);
    list->resize(i % 3);
    for (auto &each : *list)
      each.fill(i);
    tree->Fill();
  }
}
