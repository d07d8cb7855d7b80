// Many small histograms with errors, in directories.

#include <string>
#include "TDirectory.h"
#include "TFile.h"
#include "TH1.h"
#include "TRandom3.h"

void make_histograms(const char* path, int directories, int in_each) {
  TFile file(path, "RECREATE", "", 505);
  TRandom3 random(29);
  for (int i = 0; i < directories; i++) {
    TDirectory* directory = file.mkdir(("region" + std::to_string(i)).c_str());
    directory->cd();
    for (int k = 0; k < in_each; k++) {
      std::string name = "h" + std::to_string(k);
      TH1D histogram(name.c_str(), "p_{T};GeV;events", 100, 0, 500);
      histogram.SetDirectory(nullptr);
      histogram.Sumw2();
      for (int n = 0; n < 500; n++) histogram.Fill(random.Exp(80.0), random.Uniform(0.5, 1.5));
      histogram.Write();
    }
  }
  file.Close();
}
