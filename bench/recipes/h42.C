// The 280 MB tree of TTreeCache's first measurements (2006), by its known figures: 283,813 entries,
// 152 branches, baskets of 8,000 bytes, written as they fill up, so all branches lie interleaved and
// there are no clusters. `nrun` hardly changes, `rawtr` is 128 bytes of detector data per entry.

#include <string>
#include <vector>
#include "TFile.h"
#include "TRandom3.h"
#include "TTree.h"

void make_h42(const char* path, long entries) {
  const int floats = 91, triples = 42, ints = 16, bytes = 128, basket_bytes = 8000;
  int nrun = 1;
  float edep = 0;
  std::vector<unsigned char> rawtr(bytes);
  std::vector<float> single(floats), triple(3 * triples);
  std::vector<int> small(ints);

  TFile file(path, "RECREATE", "", 101);
  TTree tree("h42", "h42");
  tree.SetAutoFlush(0);
  tree.Branch("nrun", &nrun, "nrun/I", basket_bytes);
  tree.Branch("edep", &edep, "edep/F", basket_bytes);
  tree.Branch("rawtr", rawtr.data(), "rawtr[128]/b", basket_bytes);
  for (int i = 0; i < floats; i++) {
    std::string name = "f" + std::to_string(i);
    tree.Branch(name.c_str(), &single[i], (name + "/F").c_str(), basket_bytes);
  }
  for (int i = 0; i < triples; i++) {
    std::string name = "v" + std::to_string(i);
    tree.Branch(name.c_str(), &triple[3 * i], (name + "[3]/F").c_str(), basket_bytes);
  }
  for (int i = 0; i < ints; i++) {
    std::string name = "i" + std::to_string(i);
    tree.Branch(name.c_str(), &small[i], (name + "/I").c_str(), basket_bytes);
  }
  TRandom3 random(42);
  for (long entry = 0; entry < entries; entry++) {
    nrun = 1 + entry / 20000;
    edep = random.Exp(1.0);
    // Mostly pedestal, some hits: about a third of it survives compression.
    for (int i = 0; i < bytes; i++) {
      rawtr[i] = random.Uniform() < 0.122 ? random.Integer(256) : 0;
    }
    for (float& value : single) value = random.Uniform(-100.0, 100.0);
    for (float& value : triple) value = random.Uniform(-100.0, 100.0);
    for (int& value : small) value = random.Integer(4);
    tree.Fill();
  }
  tree.Write();
  file.Close();
}
