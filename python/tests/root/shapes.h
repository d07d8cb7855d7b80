// Shapes of members and branches beside those of the other headers, every one a function of the entry's number.
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <TArrayI.h>
#include <TNamed.h>
#include <TObjString.h>
#include <TObject.h>
#include <TTree.h>
#include <TVector3.h>

enum Metal { kTin, kLead, kGold };
enum class Small : unsigned char { kOne, kTwo };

// Nothing of it is written, where it is split.
struct Nothing {};
struct Part {
  int id = 0;
  virtual ~Part() {}
  ClassDef(Part, 1)
};
struct Heavy : public Part {
  double mass = 0;
  ClassDef(Heavy, 1)
};
struct Row : public Nothing {
  int n = 0;
  int *pair[2] = {nullptr, nullptr}; //[n]
  Nothing nothing;
  int last = 0;
  Row() = default;
  Row(const Row &other) : Row() { fill(other.last); }
  Row &operator=(const Row &other) { fill(other.last); return *this; }
  ~Row() { delete[] pair[0]; delete[] pair[1]; }
  void fill(int i) {
    n = i % 3;
    last = i;
    for (int j = 0; j < 2; j++) {
      delete[] pair[j];
      pair[j] = new int[n];
      for (int k = 0; k < n; k++)
        pair[j][k] = 10 * i + j + k;
    }
  }
};

// Arrays of collections: C++'s own have one header, those of the standard library none.
struct Boxes {
  std::map<int, double> maps[2];
  std::array<std::vector<int>, 3> lists;
  std::array<std::map<std::string, int>, 2> named;
  int last = 0;
  void fill(int i) {
    for (int k = 0; k < 2; k++) {
      maps[k].clear();
      named[k].clear();
      for (int j = 0; j < (i + k) % 3; j++) {
        maps[k][i + j] = j / 2.;
        named[k][std::string(j + 1, 'k')] = i;
      }
    }
    for (int k = 0; k < 3; k++)
      lists[k].assign((i + k) % 4, i);
    last = -i;
  }
  virtual ~Boxes() {}
  ClassDef(Boxes, 1)
};

class Shapes {
public:
  Part *pointers[3] = {nullptr, nullptr, nullptr};
  Part parts[3], grid[2][2];
  TVector3 vectors[2];
  TObjString texts[2];
  TArrayI arrays[2];
  TNamed named[2];
  TObject objects[2];
  std::vector<Row> rows;
  std::vector<TObjString> words;
  std::vector<Metal> metals;
  std::vector<Small> smalls;
  int last = 0;

  void fill(int i) {
    for (int k = 0; k < 3; k++) {
      delete pointers[k];
      pointers[k] = k == i % 3 ? nullptr : k ? new Heavy : new Part;
      if (pointers[k])
        pointers[k]->id = i + k;
      parts[k].id = i + k;
    }
    for (int k = 0; k < 2; k++) {
      grid[k][0].id = grid[k][1].id = i * k;
      vectors[k].SetXYZ(i, k, 0);
      texts[k].SetString(TString('t', i % 3 + k));
      arrays[k].Set(i % 3);
      arrays[k].Reset(i);
      named[k].SetNameTitle(TString('n', i % 3), "t");
      objects[k].SetUniqueID(i + k);
    }
    rows.resize(i % 3);
    for (auto &row : rows)
      row.fill(i + int(&row - &rows[0]));
    words.assign(i % 4, TObjString(TString('w', i % 3)));
    metals.assign(i % 3, kGold);
    // ROOT takes four bytes of memory for each.
    smalls.clear();
    smalls.reserve(64);
    last = -i;
  }
  virtual ~Shapes() {}
  ClassDef(Shapes, 1)
};

#ifdef __CLING__
#pragma link C++ class std::vector<Row>+;
#pragma link C++ class std::map<int, double>+;
#pragma link C++ class std::map<std::string, int>+;
#pragma link C++ class std::vector<Boxes>+;
#pragma link C++ class std::vector<TObjString>+;
#pragma link C++ class std::vector<Metal>+;
#pragma link C++ class std::vector<Small>+;
#pragma link C++ class std::set<Metal>+;
#endif

void fill_shapes(TTree *tree, int split) {
  auto shapes = new Shapes;
  auto rows = new std::vector<Row>;
  auto metals = new std::vector<Metal>, late = new std::vector<Metal>;
  auto set = new std::set<Metal>;
  tree->Branch("shapes.", &shapes, 1000, split);
  auto boxes = new Boxes;
  auto crates = new std::vector<Boxes>;
  tree->Branch("boxes.", &boxes, 1000, split);
  tree->Branch("crates", &crates, 1000, split);
  tree->Branch("rows", &rows, 300, split);
  tree->Branch("metals", &metals, 300, split);
  tree->Branch("late", &late, 100, split);
  tree->Branch("set", &set, 300, split);
  for (int i = 0; i < 40; i++) {
    shapes->fill(i);
    boxes->fill(i);
    crates->resize(i % 3);
    for (auto &crate : *crates)
      crate.fill(i + int(&crate - &crates->front()));
    *rows = shapes->rows;
    *metals = shapes->metals;
    late->assign(i < 30 ? 0 : i % 3, kLead);
    set->clear();
    if (i % 2)
      set->insert(kGold);
    tree->Fill();
  }
}
