// 100 branches for decoding from a local disk: 60 flat ones of six types, 40 jagged ones that share
// four counters. Compressible as analysis data is, by about a half.

#include <string>
#include <vector>
#include "TFile.h"
#include "TRandom3.h"
#include "TTree.h"

void make_flat100(const char* path, long entries, long entries_per_cluster) {
  const int kinds = 9, most = 64;
  std::vector<float> f(kinds), jagged(40 * most);
  std::vector<double> d(kinds);
  std::vector<int> n(kinds), count(4);
  std::vector<long long> l(kinds);
  std::vector<short> s(kinds);
  std::vector<unsigned char> b(11);

  TFile file(path, "RECREATE", "", 505);
  TTree tree("Events", "Events");
  tree.SetAutoFlush(entries_per_cluster);
  auto name = [](const char* kind, int i) { return std::string(kind) + std::to_string(i); };
  for (int i = 0; i < kinds; i++) {
    tree.Branch(name("f", i).c_str(), &f[i], (name("f", i) + "/F").c_str());
    tree.Branch(name("d", i).c_str(), &d[i], (name("d", i) + "/D").c_str());
    tree.Branch(name("n", i).c_str(), &n[i], (name("n", i) + "/I").c_str());
    tree.Branch(name("l", i).c_str(), &l[i], (name("l", i) + "/L").c_str());
    tree.Branch(name("s", i).c_str(), &s[i], (name("s", i) + "/S").c_str());
  }
  for (int i = 0; i < 11; i++) {
    tree.Branch(name("b", i).c_str(), &b[i], (name("b", i) + "/O").c_str());
  }
  for (int i = 0; i < 4; i++) {
    tree.Branch(name("count", i).c_str(), &count[i], (name("count", i) + "/I").c_str());
    for (int k = 0; k < 10; k++) {
      std::string leaf = name("j", 10 * i + k) + "[" + name("count", i) + "]/F";
      tree.Branch(name("j", 10 * i + k).c_str(), &jagged[(10 * i + k) * most], leaf.c_str());
    }
  }
  TRandom3 random(7);
  for (long entry = 0; entry < entries; entry++) {
    for (int i = 0; i < kinds; i++) {
      f[i] = int(random.Gaus(0.0, 1000.0)) * 0.125f;
      d[i] = int(random.Gaus(0.0, 1000.0)) * 0.125;
      n[i] = random.Poisson(20.0);
      l[i] = 1000000LL * i + entry;
      s[i] = random.Integer(1000);
    }
    for (unsigned char& flag : b) flag = random.Uniform() < 0.1;
    for (int i = 0; i < 4; i++) {
      count[i] = random.Poisson(1.0 + i);
      for (int k = 0; k < 10; k++) {
        float* at = &jagged[(10 * i + k) * most];
        for (int j = 0; j < count[i]; j++) at[j] = int(random.Exp(800.0)) * 0.125f;
      }
    }
    tree.Fill();
  }
  tree.Write();
  file.Close();
}
