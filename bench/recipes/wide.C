// 1,600 branches, as in the widest analysis files: flat and jagged ones, of ten clusters each.

#include <string>
#include <vector>
#include "TFile.h"
#include "TRandom3.h"
#include "TTree.h"

void make_wide(const char* path, long entries, long entries_per_cluster) {
  const int groups = 100, members = 15, most = 8;
  std::vector<int> count(groups);
  std::vector<float> values(groups * members * most);

  TFile file(path, "RECREATE", "", 505);
  TTree tree("Events", "Events");
  tree.SetAutoFlush(entries_per_cluster);
  for (int i = 0; i < groups; i++) {
    std::string counter = "nGroup" + std::to_string(i);
    tree.Branch(counter.c_str(), &count[i], (counter + "/I").c_str());
    for (int k = 0; k < members; k++) {
      std::string name = "Group" + std::to_string(i) + "_member" + std::to_string(k);
      std::string leaf = k % 2 ? name + "/F" : name + "[" + counter + "]/F";
      tree.Branch(name.c_str(), &values[(i * members + k) * most], leaf.c_str());
    }
  }
  TRandom3 random(13);
  for (long entry = 0; entry < entries; entry++) {
    for (int& one : count) one = random.Integer(most);
    for (float& value : values) value = random.Integer(1000) * 0.125f;
    tree.Fill();
  }
  tree.Write();
  file.Close();
}
