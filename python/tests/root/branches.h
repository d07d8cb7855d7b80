// Branches of other classes than TBranchElement: what ROOT 2 and `TTree::BranchOld` make, and split
// collections of pointers. Every one a function of the entry's number.
#include <list>
#include <vector>

#include <TClonesArray.h>
#include <TNamed.h>
#include <TTree.h>
#include <TVector3.h>

class OldHit : public TNamed {
public:
  Char_t c = 0;
  UShort_t us = 0;
  Float_t f = 0;
  Double32_t d = 0;
  Int_t a[2][3] = {{0, 0, 0}, {0, 0, 0}};
  TVector3 v;
  void fill(int i, int k) {
    SetNameTitle(TString('n', i % 3), "t");
    c = -i;
    us = 1000 * k;
    f = i / 2.;
    d = k / 2.;
    a[1][2] = i;
    a[0][1] = k;
    v.SetXYZ(i, k, 0);
  }
  virtual ~OldHit() {}
  ClassDef(OldHit, 1)
};
class OldPart {
public:
  Int_t n = 0;
  Float_t *x = nullptr; //[n]
  virtual ~OldPart() { delete[] x; }
  ClassDef(OldPart, 1)
};
class OldEvent : public TObject {
public:
  Int_t before = 0;
  TClonesArray *hits = new TClonesArray("OldHit"); //->
  OldPart part;
  Long64_t after = 0;
  void fill(int i) {
    before = i;
    after = -i;
    hits->Clear("C");
    for (int k = 0; k < i % 4; k++)
      static_cast<OldHit *>(hits->ConstructedAt(k))->fill(i, k);
    part.n = i % 3;
    delete[] part.x;
    part.x = new Float_t[part.n];
    for (int k = 0; k < part.n; k++)
      part.x[k] = i + k;
  }
  virtual ~OldEvent() { delete hits; }
  ClassDef(OldEvent, 1)
};

class Animal {
public:
  int legs = 0;
  virtual ~Animal() {}
  ClassDef(Animal, 1)
};
class Bird : public Animal {
public:
  std::vector<float> wings;
  virtual ~Bird() {}
  ClassDef(Bird, 1)
};
class Fish : public Animal {
public:
  int n = 0;
  int *fins = nullptr; //[n]
  TString name;
  virtual ~Fish() { delete[] fins; }
  ClassDef(Fish, 1)
};
class Shark : public Fish {
public:
  double teeth = 0;
  virtual ~Shark() {}
  ClassDef(Shark, 1)
};
class Zoo {
public:
  int first = 0;
  std::vector<Animal *> animals;
  std::vector<Fish *> nothing;
  int last = 0;
  virtual ~Zoo() {}
  ClassDef(Zoo, 1)
};

#ifdef __CLING__
#pragma link C++ class OldHit+;
#pragma link C++ class OldPart+;
#pragma link C++ class OldEvent+;
#pragma link C++ class Animal+;
#pragma link C++ class Bird+;
#pragma link C++ class Fish+;
#pragma link C++ class Shark+;
#pragma link C++ class Zoo+;
#pragma link C++ class std::vector<Animal*>+;
#pragma link C++ class std::list<Animal*>+;
#pragma link C++ class std::vector<Bird*>+;
#pragma link C++ class std::vector<Fish*>+;
#pragma link C++ class std::vector<Shark*>+;
#endif

void fill_old(TTree *tree, int split) {
  auto event = new OldEvent;
  tree->BranchOld("event", "OldEvent", &event, 400, split);
  tree->BranchOld("dotted.", "OldEvent", &event, 32000, split);
  for (int i = 0; i < 60; i++) {
    event->fill(i);
    tree->Fill();
  }
}

// Birds and then fish, some of them sharks; none in the first entries, and fish only in later ones.
void fill_pointers(TTree *tree, int split) {
  // Only from 100 on are the objects behind pointers split.
  if (split > 0)
    split += 100;
  auto animals = new std::vector<Animal *>;
  auto listed = new std::list<Animal *>;
  auto zoo = new Zoo;
  tree->Branch("animals", &animals, 400, split);
  tree->Branch("listed", &listed, 32000, split);
  tree->Branch("zoo.", &zoo, 400, split);
  for (int i = 0; i < 60; i++) {
    for (auto animal : *animals)
      delete animal;
    animals->clear();
    for (int k = 0; i > 1 && k < i % 4; k++) {
      if (k == 2 && i % 3 == 0) {
        animals->push_back(nullptr);
      } else if (i < 30 || k % 2 == 0) {
        auto bird = new Bird;
        bird->legs = 2 * i + k;
        bird->wings.assign(k, i);
        animals->push_back(bird);
      } else {
        auto shark = i % 4 == 3 ? new Shark : nullptr;
        auto fish = shark ? shark : new Fish;
        if (shark)
          shark->teeth = i;
        fish->legs = -i;
        fish->n = i % 3;
        fish->fins = new int[fish->n];
        for (int j = 0; j < fish->n; j++)
          fish->fins[j] = i + j;
        fish->name = TString('f', i % 3);
        animals->push_back(fish);
      }
    }
    listed->assign(animals->begin(), animals->end());
    zoo->first = i;
    zoo->last = -i;
    zoo->animals = *animals;
    tree->Fill();
  }
}
