// What was once misread or refused, every member a function of the entry's number.
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <TArrayI.h>
#include <TClonesArray.h>
#include <TNamed.h>
#include <TObjString.h>
#include <TString.h>
#include <TTree.h>

enum Metal { kTin, kLead, kGold };

class Label : public TNamed {
public:
  int number = 0;
  void fill(int i) {
    SetNameTitle(TString('n', i % 3), TString('t', i % 4));
    number = i;
  }
  ClassDef(Label, 1)
};

struct Item {
  int n = 0;
  float *counted = nullptr; //[n]
  char *text = nullptr;
  TArrayI array;
  TString single[1];
  std::vector<Label> labels;
  int last = 0;

  void fill(int i) {
    n = i % 3;
    counted = n ? new float[n] : nullptr;
    for (int k = 0; k < n; k++)
      counted[k] = 0.5f * i + k;
    text = strdup(std::string(i % 4, 'c').c_str());
    single[0] = TString('s', i % 3);
    array.Set(i % 3);
    array.Reset(i);
    labels.resize(i % 3);
    for (auto &label : labels)
      label.fill(i);
    last = -i;
  }
};

class Found {
public:
  std::vector<Item> items;
  std::vector<short> *behind = new std::vector<short>;
  Label *held = new Label; //->
  TString *pointed = nullptr;
  std::vector<std::pair<Long64_t, bool>> pairs;
  std::map<short, Metal> metals;
  int after = 0;

  void fill(int i) {
    items.resize(i % 4);
    for (auto &item : items)
      item.fill(i + int(&item - &items[0]));
    behind->assign(i % 3, short(i));
    held->fill(i);
    pointed = i % 3 ? new TString('p', i % 5) : nullptr;
    pairs.assign(i % 3, {10000000000 * i, i % 2});
    metals.clear();
    for (int k = 0; k < i % 3; k++)
      metals[short(k)] = kGold;
    after = 7 * i;
  }
  virtual ~Found() {}
  ClassDef(Found, 1)
};

#ifdef __CLING__
#pragma link C++ class std::vector<Label>+;
#pragma link C++ class std::vector<Item>+;
#pragma link C++ class std::vector<std::pair<Long64_t, bool>>+;
#endif

void fill_found(TTree *tree, int split) {
  auto found = new Found;
  char text[8];
  tree->Branch("found.", &found, 1000, split);
  auto texts = new TClonesArray("TObjString");
  tree->Branch("texts", &texts, 1000, 0);
  tree->Branch("text", text, "text/C", 100);
  for (int i = 0; i < 40; i++) {
    found->fill(i);
    texts->Clear();
    for (int k = 0; k < i % 3; k++)
      ((TObjString *)texts->ConstructedAt(k))->SetString(TString('o', i % 4));
    strcpy(text, std::string(i % 3, 'x').c_str());
    tree->Fill();
  }
}
