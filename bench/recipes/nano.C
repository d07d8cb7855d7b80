// A NanoAOD-like tree: 3 ids, 37 flat floats, and 6 collections of a counter and 9 jagged floats.
// Values keep 14 bits of their mantissa, as NanoAOD's do.

#include <cstring>
#include <string>
#include <vector>
#include "TFile.h"
#include "TRandom3.h"
#include "TTree.h"

float keep_14_bits(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, 4);
  bits = (bits + 0x100u) & 0xfffffe00u;
  std::memcpy(&value, &bits, 4);
  return value;
}

void make_nano(const char* path, long entries, long entries_per_cluster) {
  const char* collection[6] = {"Muon", "Electron", "Jet", "Tau", "Photon", "FatJet"};
  const double mean[6] = {1.0, 0.8, 3.6, 0.9, 1.0, 0.6};
  const char* field[9] = {"pt", "eta", "phi", "mass", "dxy", "dz", "iso", "score", "charge"};
  const int most = 32;
  unsigned run = 1, lumi = 1;
  unsigned long long event = 0;
  std::vector<float> flat(37);
  std::vector<int> count(6);
  std::vector<float> values(6 * 9 * most);

  TFile file(path, "RECREATE", "", 505);
  TTree tree("Events", "Events");
  tree.SetAutoFlush(entries_per_cluster);
  tree.Branch("run", &run, "run/i");
  tree.Branch("luminosityBlock", &lumi, "luminosityBlock/i");
  tree.Branch("event", &event, "event/l");
  for (int i = 0; i < 37; i++) {
    std::string name = std::string("flat_") + char('0' + i / 10) + char('0' + i % 10);
    tree.Branch(name.c_str(), &flat[i], (name + "/F").c_str());
  }
  for (int c = 0; c < 6; c++) {
    std::string counter = std::string("n") + collection[c];
    tree.Branch(counter.c_str(), &count[c], (counter + "/I").c_str());
    for (int f = 0; f < 9; f++) {
      std::string name = std::string(collection[c]) + "_" + field[f];
      std::string leaf = name + "[" + counter + "]/F";
      tree.Branch(name.c_str(), &values[(c * 9 + f) * most], leaf.c_str());
    }
  }
  TRandom3 random(42);
  for (long entry = 0; entry < entries; entry++) {
    event = 1000000 + entry;
    lumi = 1 + entry / 500;
    for (int i = 0; i < 37; i++) flat[i] = keep_14_bits(random.Gaus(i, 10.0));
    for (int c = 0; c < 6; c++) {
      count[c] = random.Poisson(mean[c]);
      if (count[c] > most) count[c] = most;
      for (int k = 0; k < count[c]; k++) {
        float* at = &values[c * 9 * most + k];
        at[0 * most] = keep_14_bits(3.0 + random.Exp(25.0));
        at[1 * most] = keep_14_bits(random.Gaus(0.0, 1.5));
        at[2 * most] = keep_14_bits(random.Uniform(-3.14159, 3.14159));
        at[3 * most] = c == 0 ? 0.10566f : keep_14_bits(random.Exp(8.0));
        at[4 * most] = keep_14_bits(random.Gaus(0.0, 0.01));
        at[5 * most] = keep_14_bits(random.Gaus(0.0, 0.05));
        at[6 * most] = keep_14_bits(random.Exp(0.3));
        at[7 * most] = keep_14_bits(random.Uniform(0.0, 1.0));
        at[8 * most] = random.Uniform() < 0.5 ? -1.f : 1.f;
      }
    }
    tree.Fill();
  }
  tree.Write();
  file.Close();
}
