// The event loop of 2012: events of about 480 kB in 400 branches whose sizes span a factor of a
// thousand, clusters of 20 events, baskets of 16 kB. Compressible by about a fifth.

#include <cmath>
#include <string>
#include <vector>
#include "TFile.h"
#include "TRandom3.h"
#include "TTree.h"

void make_eventloop(const char* path, long entries, long entries_per_cluster) {
  const int branches = 400, basket_bytes = 16000;
  const double smallest = 2.0, largest = 2270.0;  // numbers in one event
  std::vector<std::vector<float>> values(branches);

  TFile file(path, "RECREATE", "", 101);
  TTree tree("Events", "Events");
  tree.SetAutoFlush(entries_per_cluster);
  for (int i = 0; i < branches; i++) {
    // Sizes rise evenly on a logarithmic scale, but neighbours in the file differ.
    double rank = (i * 149) % branches / double(branches - 1);
    int count = int(smallest * std::pow(largest / smallest, rank));
    values[i].resize(count);
    std::string name = "b" + std::to_string(i);
    std::string leaf = name + "[" + std::to_string(count) + "]/F";
    tree.Branch(name.c_str(), values[i].data(), leaf.c_str(), basket_bytes);
  }
  TRandom3 random(2012);
  for (long entry = 0; entry < entries; entry++) {
    for (auto& branch : values) {
      for (float& value : branch) value = random.Uniform(-100.0, 100.0);
    }
    tree.Fill();
    // The first flush enlarges the baskets.
    if (entry % entries_per_cluster == entries_per_cluster - 1) {
      tree.SetBasketSize("*", basket_bytes);
    }
  }
  tree.Write();
  file.Close();
}
