// Classes with pointers of every kind, every member a function of the entry's number.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <TArrayI.h>
#include <TClonesArray.h>
#include <TH1F.h>
#include <TList.h>
#include <TNamed.h>
#include <TObjArray.h>
#include <TObjString.h>
#include <TObject.h>
#include <TString.h>
#include <TVector3.h>

namespace pointed {

// Without a version.
struct Plain {
  int id = 0;
  float x = 0;
};

class Thing : public TObject {
public:
  int number = 0;
  TString name;
  Thing() {}
  Thing(int i) : number(i), name('n', i % 4) {}
  ClassDef(Thing, 3)
};

class Base {
public:
  int id = 0;
  std::vector<short> hits;
  Base() {}
  Base(int i) : id(i), hits(i % 3, i) {}
  virtual ~Base() {}
  ClassDef(Base, 2)
};

// What it adds is behind what is read of it, and may be pointed to from elsewhere.
class Derived : public Base {
public:
  double more = 0;
  Thing *extra = nullptr;
  Derived() {}
  Derived(int i) : Base(i), more(2. * i) {}
  ClassDef(Derived, 4)
};

class First {
public:
  float first = 0;
  Thing *owned = nullptr;
  virtual ~First() {}
  ClassDef(First, 1)
};

class Beside : public First, public Base {
public:
  Beside() {}
  Beside(int i) : Base(i) { first = i; }
  ClassDef(Beside, 1)
};

// Leads back to itself in more than one way.
class Node {
public:
  int value = 0;
  Node *next = nullptr;
  std::vector<Node *> kids;
  Thing *thing = nullptr;
  virtual ~Node() {}
  ClassDef(Node, 1)
};

class Mother;
class Daughter {
public:
  int number = 0;
  Mother *mother = nullptr;
  virtual ~Daughter() {}
  ClassDef(Daughter, 1)
};
class Mother {
public:
  int age = 0;
  Daughter *daughter = nullptr;
  virtual ~Mother() {}
  ClassDef(Mother, 1)
};

// Leads back to itself by a pointer that may lead to anything.
class Ring : public TObject {
public:
  int number = 0;
  TObject *next = nullptr;
  ClassDef(Ring, 1)
};

class Inner {
public:
  int before = 0;
  Base *base = nullptr;
  Thing *thing = nullptr;
  int after = 0;
  virtual ~Inner() {}
  ClassDef(Inner, 1)
};

class Bottom {
public:
  Base *inherited = nullptr;
  int bottom = 0;
  virtual ~Bottom() {}
  ClassDef(Bottom, 5)
};

class Event : public Bottom {
public:
  int before = 0;
  Base *base = nullptr;
  Base *again = nullptr;
  Plain *plain = nullptr;
  Thing *thing = nullptr;
  Thing *held = new Thing; //->
  std::unique_ptr<Base> own;
  std::unique_ptr<Plain> own_plain;
  Base *several[2] = {nullptr, nullptr};
  Inner inner;
  std::vector<Inner> inners;
  std::vector<Base *> pointers;
  std::vector<int> *numbers = nullptr;
  std::vector<Base> *objects = nullptr;
  std::map<int, float> *map = nullptr;
  std::string *text = nullptr;
  TString *tstring = nullptr;
  TObjString *objstring = nullptr;
  TNamed *named = nullptr;
  TVector3 *vector = nullptr;
  TArrayI *ints = nullptr;
  std::pair<int, float> *pair = nullptr;
  TObject *any = nullptr;
  TObjArray *array = nullptr;
  TList *list = nullptr;
  TClonesArray *clones = nullptr;
  TH1F *histogram = nullptr;
  Node *node = nullptr;
  Mother *mother = nullptr;
  Ring *ring = nullptr;
  int after = 0;

  void fill(int i);
  ClassDef(Event, 7)
};

// Of the objects of earlier entries nothing is freed: they point to each other.
void Event::fill(int i) {
  bottom = 7 * i;
  before = i;
  after = -i;
  auto derived = new Derived(i);
  derived->extra = new Thing(100 + i);
  Base *each[] = {nullptr, new Base(i), derived, new Beside(i)};
  base = each[i % 4];
  inherited = i % 2 ? base : nullptr;
  again = i % 3 ? base : new Base(50 + i);
  plain = i % 3 ? new Plain{i, 0.5f * i} : nullptr;
  // In every fourth entry first in what is not read of a derived class.
  thing = i % 4 == 2 ? derived->extra : i % 4 == 3 ? nullptr : new Thing(i);
  *held = Thing(i);
  own.reset(i % 3 == 1 ? new Derived(i) : nullptr);
  own_plain.reset(i % 2 ? new Plain{-i, 1} : nullptr);
  several[0] = i % 2 ? base : nullptr;
  several[1] = new Base(i + 1);
  inner.before = i;
  inner.base = i % 3 == 2 ? base : nullptr;
  inner.thing = thing;
  inner.after = i + 1;
  inners.clear();
  pointers.clear();
  for (int k = 0; k < i % 4; k++) {
    inners.emplace_back();
    inners[k].before = k;
    inners[k].base = k == 1 ? base : new Base(i + k);
    inners[k].thing = k == 2 ? inners[0].thing : k ? nullptr : new Thing(k);
    inners[k].after = -k;
    pointers.push_back(k == 1 ? several[1] : inners[k].base);
  }
  numbers = i % 3 ? new std::vector<int>(i % 3, i) : nullptr;
  objects = i % 2 ? new std::vector<Base>(2, Base(i)) : nullptr;
  map = i % 3 ? new std::map<int, float>{{i, 0.5f * i}} : nullptr;
  text = i % 2 ? new std::string(i % 5, 's') : nullptr;
  tstring = i % 2 ? new TString('t', i % 5) : nullptr;
  objstring = i % 2 ? nullptr : new TObjString(TString('o', i % 3));
  named = i % 2 ? new TNamed("name", TString('t', i % 3).Data()) : nullptr;
  vector = i % 2 ? new TVector3(i, 1, 2) : nullptr;
  ints = i % 2 ? new TArrayI(i % 3) : nullptr;
  pair = i % 2 ? new std::pair<int, float>(i, 2) : nullptr;
  any = i % 4 == 1 ? (TObject *)thing : i % 4 == 2 ? new TNamed("n", "t") : nullptr;
  array = i % 3 ? new TObjArray : nullptr;
  list = i % 3 == 2 ? new TList : nullptr;
  clones = i % 3 == 1 ? new TClonesArray("pointed::Thing") : nullptr;
  for (int k = 0; k < i % 3; k++) {
    array->Add(k ? thing : new Thing(i + k));
    if (list)
      list->Add(new TNamed("l", ""));
    if (clones)
      *(Thing *)clones->ConstructedAt(k) = Thing(i + k);
  }
  histogram = i % 2 ? new TH1F("h", "", 2, 0, 2) : nullptr;
  if (histogram) {
    histogram->SetDirectory(nullptr);
    histogram->Fill(1, i);
  }
  node = i % 2 ? new Node : nullptr;
  if (node) {
    node->value = i;
    node->next = new Node;
    node->kids = {new Node, node};
    node->next->thing = node->thing = new Thing(i);
  }
  mother = i % 2 ? new Mother : nullptr;
  if (mother) {
    mother->age = i;
    mother->daughter = new Daughter;
    mother->daughter->number = 2 * i;
    mother->daughter->mother = mother;
  }
  ring = i % 3 ? new Ring : nullptr;
  if (ring) {
    ring->number = i;
    ring->next = i % 3 == 1 ? ring : new Ring;
  }
}

} // namespace pointed

#ifdef __CLING__
#pragma link C++ namespace pointed;
#pragma link C++ class pointed::Plain + ;
#pragma link C++ class pointed::Thing + ;
#pragma link C++ class pointed::Base + ;
#pragma link C++ class pointed::Derived + ;
#pragma link C++ class pointed::First + ;
#pragma link C++ class pointed::Beside + ;
#pragma link C++ class pointed::Node + ;
#pragma link C++ class pointed::Mother + ;
#pragma link C++ class pointed::Daughter + ;
#pragma link C++ class pointed::Ring + ;
#pragma link C++ class pointed::Inner + ;
#pragma link C++ class pointed::Bottom + ;
#pragma link C++ class pointed::Event + ;
#pragma link C++ class std::vector < pointed::Base> + ;
#pragma link C++ class std::vector < pointed::Base *> + ;
#pragma link C++ class std::vector < pointed::Node *> + ;
#pragma link C++ class std::vector < pointed::Inner> + ;
#pragma link C++ class std::pair < int, float> + ;
#endif
