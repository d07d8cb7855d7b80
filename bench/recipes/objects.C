// Three objects that are large by themselves: 8 million bins, 10 million points, 10 million numbers.

#include <cmath>
#include <vector>
#include "TFile.h"
#include "TGraph.h"
#include "TH3.h"
#include "TRandom3.h"

void make_objects(const char* path, int bins, int numbers) {
  TFile file(path, "RECREATE", "", 505);
  TRandom3 random(23);
  TH3D histogram("histogram", "a large one", bins, -1, 1, bins, -1, 1, bins, -1, 1);
  histogram.SetDirectory(nullptr);
  double* contents = histogram.GetArray();
  for (int i = 0; i < histogram.GetNcells(); i++) contents[i] = random.Poisson(2.0);
  histogram.Write();
  {
    TGraph graph(numbers);
    for (int i = 0; i < numbers; i++) {
      graph.GetX()[i] = i * 0.125;
      graph.GetY()[i] = int(random.Gaus(0.0, 1000.0)) * 0.125;
    }
    graph.Write("graph");
  }
  std::vector<double> values(numbers);
  for (double& value : values) value = int(random.Exp(800.0)) * 0.125;
  file.WriteObject(&values, "numbers");
  file.Close();
}
