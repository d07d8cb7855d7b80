// 947 branches in the manner of NanoAOD: 3 ids, 244 flags of triggers, and 25 collections of a
// counter and 27 jagged floats. As an RNTuple they are what ROOT's importer makes of these branches.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>
#include "TFile.h"
#include "TRandom3.h"
#include "TROOT.h"
#include "TString.h"
#include "TTree.h"

void write_nano947(const char* path, long entries, long entries_per_cluster) {
  const std::vector<std::string> known = {"Muon", "Electron", "Jet", "Tau", "Photon", "FatJet"};
  const std::vector<std::string> field = {"pt", "eta", "phi", "mass", "charge"};
  const int flags = 244, collections = 25, fields = 27, most = 8;
  unsigned run = 1, lumi = 1;
  unsigned long long event = 0;
  auto flag = std::make_unique<bool[]>(flags);
  std::vector<int> count(collections);
  std::vector<float> values(collections * fields * most);

  TFile file(path, "RECREATE", "", 505);
  TTree tree("Events", "Events");
  tree.SetAutoFlush(entries_per_cluster);
  tree.Branch("run", &run, "run/i");
  tree.Branch("luminosityBlock", &lumi, "luminosityBlock/i");
  tree.Branch("event", &event, "event/l");
  for (int i = 0; i < flags; i++) {
    std::string name = "HLT_path" + std::to_string(i);
    tree.Branch(name.c_str(), &flag[i], (name + "/O").c_str());
  }
  for (int c = 0; c < collections; c++) {
    std::string collection = c < int(known.size()) ? known[c] : "Other" + std::to_string(c);
    std::string counter = "n" + collection;
    tree.Branch(counter.c_str(), &count[c], (counter + "/I").c_str());
    for (int f = 0; f < fields; f++) {
      std::string member = f < int(field.size()) ? field[f] : "more" + std::to_string(f);
      std::string name = collection + "_" + member;
      std::string leaf = name + "[" + counter + "]/F";
      tree.Branch(name.c_str(), &values[(c * fields + f) * most], leaf.c_str());
    }
  }
  TRandom3 random(42);
  for (long entry = 0; entry < entries; entry++) {
    event = 1000000 + entry;
    lumi = 1 + entry / 500;
    for (int i = 0; i < flags; i++) flag[i] = random.Uniform() < 0.1;
    for (int& one : count) one = random.Integer(most);
    for (float& value : values) value = random.Integer(1000) * 0.125f;
    tree.Fill();
  }
  tree.Write();
  file.Close();
}

void make_nano947(const char* path, long entries, long entries_per_cluster, int as_ntuple) {
  if (!as_ntuple) return write_nano947(path, entries, entries_per_cluster);
  std::string tree = std::string(path) + ".tree";
  write_nano947(tree.c_str(), entries, entries_per_cluster);
  std::remove(path);
  // Interpreted: the importer's library is then found by its class.
  gROOT->ProcessLine(TString::Format(
      "{ auto importer = ROOT::Experimental::RNTupleImporter::Create(\"%s\", \"Events\", \"%s\");"
      " importer->SetIsQuiet(true); importer->Import(); }",
      tree.c_str(), path));
  std::remove(tree.c_str());
}
