// Classes whose streamers are written by hand: what they write, no file tells.
#include <vector>

#include <TBuffer.h>
#include <TObject.h>
#include <TTree.h>

struct Custom {
  int number = 0;
  float other = 0;
  virtual ~Custom() {}
  ClassDef(Custom, 3)
};
struct Derived : public Custom {
  int own = 0;
  ClassDef(Derived, 1)
};
struct Owner {
  int before = 0;
  Custom custom;
  std::vector<Custom> customs;
  Derived derived;
  int after = 0;
  virtual ~Owner() {}
  ClassDef(Owner, 1)
};
// One that collections of ROOT hold.
struct Item : public TObject {
  int number = 0;
  ClassDef(Item, 2)
};
// The example of docs/python.md.
struct Hits {
  std::vector<short> channel;
  std::vector<float> charge;
  virtual ~Hits() {}
  ClassDef(Hits, 1)
};

#ifdef __CLING__
#pragma link C++ class Custom-;
#pragma link C++ class Derived+;
#pragma link C++ class std::vector<Custom>+;
#pragma link C++ class Owner+;
#pragma link C++ class Hits-;
#pragma link C++ class Item-;
#endif

void Custom::Streamer(TBuffer &buffer) {
  UInt_t start, count;
  if (buffer.IsReading()) {
    buffer.ReadVersion(&start, &count);
    unsigned char byte;
    buffer >> byte;
    number = byte;
    buffer.CheckByteCount(start, count, Custom::IsA());
  } else {
    count = buffer.WriteVersion(Custom::IsA(), true);
    buffer << (unsigned char)number;
    buffer.SetByteCount(count, true);
  }
}

void Item::Streamer(TBuffer &buffer) {
  UInt_t start, count;
  if (buffer.IsReading()) {
    buffer.ReadVersion(&start, &count);
    buffer >> number;
    buffer.CheckByteCount(start, count, Item::IsA());
  } else {
    count = buffer.WriteVersion(Item::IsA(), true);
    buffer << number;
    buffer.SetByteCount(count, true);
  }
}

void Hits::Streamer(TBuffer &buffer) {
  UInt_t start, length;
  UShort_t count = channel.size();
  if (buffer.IsReading()) {
    buffer.ReadVersion(&start, &length);
    buffer >> count;
    channel.resize(count);
    charge.resize(count);
    for (UShort_t i = 0; i < count; i++) buffer >> channel[i] >> charge[i];
    buffer.CheckByteCount(start, length, Hits::IsA());
  } else {
    length = buffer.WriteVersion(Hits::IsA(), true);
    buffer << count;
    for (UShort_t i = 0; i < count; i++) buffer << channel[i] << charge[i];
    buffer.SetByteCount(length, true);
  }
}

void fill_hits(TTree *tree, int) {
  auto hits = new Hits;
  tree->Branch("hits", &hits, 1000, 0);
  for (int i = 0; i < 30; i++) {
    hits->channel.assign(i % 3, i);
    hits->charge.assign(i % 3, i / 2.f);
    tree->Fill();
  }
}

void fill_custom(TTree *tree, int split) {
  auto owner = new Owner;
  auto customs = new std::vector<Custom>;
  tree->Branch("owner.", &owner, 1000, split);
  auto alone = new Custom;
  tree->Branch("customs", &customs, 1000, split);
  tree->Branch("alone", &alone, 1000, split);
  for (int i = 0; i < 30; i++) {
    owner->before = i;
    owner->custom.number = owner->derived.number = i;
    owner->derived.own = 3 * i;
    owner->customs.resize(i % 3);
    owner->after = -i;
    customs->resize(i % 3);
    tree->Fill();
  }
}
