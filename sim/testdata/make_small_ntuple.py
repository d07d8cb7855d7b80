"""Makes small_ntuple.root with ROOT: nine clusters in three groups, hard to compress.

Besides the columns that tests read it has a hundred fields with long names, so that the header
does not come with the first bytes of the file.

Usage: make_small_ntuple.py PATH
"""

import sys

import ROOT

ROOT.gInterpreter.Declare(r"""
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>

#include <random>

void make_small_ntuple(const char *path) {
   std::mt19937 random(11);
   std::uniform_real_distribution<float> real;
   std::poisson_distribution<int> count(1.5);
   auto model = ROOT::RNTupleModel::Create();
   auto pt = model->MakeField<std::vector<float>>("Muon_pt");
   auto eta = model->MakeField<std::vector<float>>("Muon_eta");
   std::vector<std::shared_ptr<float>> flat;
   for (int n = 0; n < 10; ++n)
      flat.push_back(model->MakeField<float>("flat_" + std::to_string(n)));
   for (int n = 0; n < 180; ++n) {
      std::string name = "HLT_";
      for (int k = 0; k < 40; ++k) name += 'a' + random() % 26;
      model->MakeField<bool>(name);
   }
   ROOT::RNTupleWriteOptions options;
   options.SetInitialUnzippedPageSize(1024);
   options.SetMaxUnzippedPageSize(1024);
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "Events", path, options);
   for (int n = 0; n < 5400; ++n) {
      pt->clear();
      eta->clear();
      for (int k = count(random); k > 0; --k) {
         pt->push_back(real(random));
         eta->push_back(real(random));
      }
      for (auto &value : flat) *value = real(random);
      writer->Fill();
      if (n % 600 == 599) writer->CommitCluster(n % 1800 == 1799);
   }
}
""")

ROOT.make_small_ntuple(sys.argv[1])
