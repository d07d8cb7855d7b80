// What the benchmark of writing writes: 60 branches of vector<float> and 40 of float, with the
// entropy of analysis data: normal numbers of which 14 bits of the mantissa are kept, as NanoAOD
// does. As ROOT's TTree of ZSTD level 5.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>
#include "TFile.h"
#include "TRandom3.h"
#include "TTree.h"

void make_write100(const char* path, long entries, long entries_per_cluster) {
  std::vector<std::vector<float>> lists(60);
  std::vector<float> flat(40);
  TFile file(path, "RECREATE", "", 505);
  TTree tree("Events", "Events");
  tree.SetAutoFlush(entries_per_cluster);
  for (int i = 0; i < 60; i++) tree.Branch(("v" + std::to_string(i)).c_str(), &lists[i]);
  for (int i = 0; i < 40; i++) {
    std::string name = "f" + std::to_string(i);
    tree.Branch(name.c_str(), &flat[i], (name + "/F").c_str());
  }
  TRandom3 random(13);
  auto number = [&random] {
    float value = random.Gaus(0.0, 40.0);
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    bits &= 0xfffffe00;
    std::memcpy(&value, &bits, 4);
    return value;
  };
  for (long entry = 0; entry < entries; entry++) {
    for (auto& list : lists) {
      list.resize(random.Poisson(4.0));
      for (float& item : list) item = number();
    }
    for (float& item : flat) item = number();
    tree.Fill();
  }
  tree.Write();
  file.Close();
}
