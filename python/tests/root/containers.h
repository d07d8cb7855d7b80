// ROOT's own containers, and classes whose objects are in them.
#include <vector>

#include <Math/Vector4D.h>
#include <TClonesArray.h>
#include <THashList.h>
#include <TList.h>
#include <TMap.h>
#include <TNamed.h>
#include <TObjArray.h>
#include <TObjString.h>
#include <TObject.h>
#include <TString.h>

class Part : public TObject {
public:
  int id = 0;
  float energy = 0;
  std::vector<short> hits;
  TString name;
  Part() = default;
  Part(int i) : id(i), energy(0.5f * i), hits(i % 3, short(i)), name('p', i % 4) {}
  ClassDef(Part, 2)
};

class Heavy : public Part {
public:
  double mass = 0;
  Heavy() = default;
  Heavy(int i) : Part(i), mass(3. * i) {}
  ClassDef(Heavy, 1)
};

class Holder : public TObject {
public:
  int before = 0;
  TClonesArray clones{"Part"};
  TClonesArray *heavy = new TClonesArray("Heavy");
  TObjArray array;
  TList list;
  THashList hash;
  TMap map;
  TObjArray nested;
  TNamed named;
  ROOT::Math::PtEtaPhiMVector vector;
  TObject *any = nullptr;
  int after = 0;

  void fill(int i, bool bypass);
  ClassDef(Holder, 1)
};

void Holder::fill(int i, bool bypass) {
  clones.Delete();
  heavy->Delete();
  if (array.GetEntriesFast() > 3)
    array.RemoveAt(3); // The same as another one.
  array.Delete();
  list.Delete();
  hash.Delete();
  map.DeleteAll();
  for (auto inner : nested)
    ((TObjArray *)inner)->Delete();
  nested.Delete();
  delete any;
  clones.BypassStreamer(bypass);
  heavy->BypassStreamer(bypass);
  before = i;
  after = -i;
  for (int k = 0; k < i % 4; k++) {
    new (clones[k]) Part(i + k);
    new ((*heavy)[k]) Heavy(i * k);
  }
  for (int k = 0; k < i % 3; k++) {
    auto part = new Part(i + k);
    array.Add(part);
    if (k == 1) {
      array.Add(nullptr);
      array.Add(part);
    }
    list.Add(k ? (TObject *)new TObjString("text") : new Heavy(i));
    hash.Add(new TObjString(TString('h', i % 5)));
    map.Add(new TObjString(TString('k', k + 1)), new Part(k));
    auto inner = new TObjArray;
    inner->Add(new TNamed("n", "t"));
    nested.Add(inner);
  }
  named.SetNameTitle("name", TString('t', i % 4));
  vector.SetCoordinates(i, 1, 0.5, 0.25);
  any = i % 2 ? new Heavy(i) : nullptr;
}
