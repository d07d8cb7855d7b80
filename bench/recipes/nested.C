// What does not come as plain numbers: lists of lists, strings, and objects split and unsplit.
// ROOT makes the dictionaries of the classes when it compiles this.

#include <string>
#include <vector>
#include "TFile.h"
#include "TRandom3.h"
#include "TTree.h"

struct Hit {
  float x = 0, y = 0, z = 0;
  int layer = 0;
};

struct Track {
  float pt = 0, eta = 0, phi = 0;
  int charge = 0;
  std::vector<float> residuals;
  std::vector<Hit> hits;
};

#ifdef __ROOTCLING__
#pragma link C++ class Hit+;
#pragma link C++ class Track+;
#pragma link C++ class std::vector<Hit>+;
#pragma link C++ class std::vector<std::vector<float>>+;
#endif

void make_nested(const char* path, long entries, long entries_per_cluster) {
  std::vector<std::vector<float>> lists;
  std::vector<std::string> words;
  std::string word;
  Track split, whole;

  TFile file(path, "RECREATE", "", 505);
  TTree tree("Events", "Events");
  tree.SetAutoFlush(entries_per_cluster);
  tree.Branch("lists", &lists);
  tree.Branch("word", &word);
  tree.Branch("words", &words);
  tree.Branch("split.", &split, 32000, 99);
  tree.Branch("whole", &whole, 32000, 0);
  TRandom3 random(11);
  auto number = [&random] { return int(random.Exp(800.0)) * 0.125f; };
  auto text = [&random] { return std::string(random.Poisson(8.0), char('a' + random.Integer(26))); };
  auto fill = [&](Track& track) {
    track.pt = number();
    track.eta = number();
    track.phi = number();
    track.charge = random.Integer(2) ? 1 : -1;
    track.residuals.resize(random.Poisson(4.0));
    for (float& residual : track.residuals) residual = number();
    track.hits.resize(random.Poisson(4.0));
    for (Hit& hit : track.hits) hit = {number(), number(), number(), int(random.Integer(10))};
  };
  for (long entry = 0; entry < entries; entry++) {
    lists.resize(random.Poisson(3.0));
    for (std::vector<float>& list : lists) {
      list.resize(random.Poisson(4.0));
      for (float& item : list) item = number();
    }
    word = text();
    words.resize(random.Poisson(3.0));
    for (std::string& one : words) one = text();
    fill(split);
    fill(whole);
    tree.Fill();
  }
  tree.Write();
  file.Close();
}
