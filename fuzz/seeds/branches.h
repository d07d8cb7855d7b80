// Trees for seeds: branches of the kinds that ROOT makes for old trees, for pointers, for leaf lists
// and for what the file does not describe.
#include <cstring>
#include <vector>

#include <TClonesArray.h>
#include <TTree.h>

enum Metal { kTin, kLead, kGold };
struct Animal {
  int legs = 0;
  virtual ~Animal() {}
  ClassDef(Animal, 1)
};
struct Fish : public Animal {
  int n = 0;
  int *fins = nullptr; //[n]
  ClassDef(Fish, 1)
};
class Hit : public TObject {
public:
  short at = 0;
  float x[2] = {0, 0};
  ClassDef(Hit, 1)
};
class Event : public TObject {
public:
  TClonesArray *hits = new TClonesArray("Hit"); //->
  Animal *pet = nullptr;
  int last = 0;
  ClassDef(Event, 1)
};

#ifdef __CLING__
#pragma link C++ class std::vector<Animal*>+;
#pragma link C++ class std::vector<Metal>+;
#endif

// A `TBranchClones`; objects of a class that comes up late; pointers that are null now and then.
void fill_branches(TTree *tree) {
  auto event = new Event;
  auto animals = new std::vector<Animal *>;
  auto metals = new std::vector<Metal>;
  tree->BranchOld("old", "Event", &event, 500, 1);
  tree->Branch("event.", &event, 500, 0);
  tree->Branch("animals", &animals, 500, 199);
  tree->Branch("metals", &metals, 500, 99);
  for (int i = 0; i < 12; i++) {
    event->hits->Clear();
    for (int k = 0; k < i % 3; k++)
      static_cast<Hit *>(event->hits->ConstructedAt(k))->at = short(i);
    event->pet = i % 2 ? new Fish : nullptr;
    event->last = -i;
    animals->clear();
    for (int k = 0; k < i % 3; k++) {
      auto fish = new Fish;
      fish->n = k;
      fish->fins = new int[k];
      for (int j = 0; j < k; j++)
        fish->fins[j] = i;
      animals->push_back(i > 6 && k ? fish : new Animal);
    }
    metals->assign(i % 3, kGold);
    tree->Fill();
  }
}

struct Buffer {
  char bytes[64] = {0};
  template <class T> void put(int at, T value) { memcpy(bytes + at, &value, sizeof value); }
};

// Leaf lists with counters, texts and reduced numbers; arrays that are counted by another branch.
void fill_leaves(TTree *tree) {
  Buffer counted, two, text, reduced;
  float lists[4][2] = {};
  tree->Branch("counted", &counted, "n/I:y/F:x[n]/F", 200);
  tree->Branch("two", &two, "k/I:m/S:x[k]/B:y[m]/B", 200);
  tree->Branch("lists", lists, "lists[n][2]/F", 200);
  tree->Branch("tail", &counted, "tail[m]/I", 200);
  tree->Branch("text", &text, "number/I:text/C", 200);
  tree->Branch("reduced", &reduced, "x/d[0,10,16]:y/f[0,0,12]:z/d", 200);
  for (int i = 0; i < 12; i++) {
    counted.put(0, i % 3);
    two.put(0, i % 4);
    two.put(4, short(i % 3));
    lists[i % 3][1] = float(i);
    text.put(0, i);
    strcpy(text.bytes + 4, std::string(1 + i % 5, 't').c_str());
    reduced.put(0, double(i % 10));
    tree->Fill();
  }
}
