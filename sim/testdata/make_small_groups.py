"""Makes small_groups.root with ROOT: 24 groups of two clusters each, whose page
lists lie all over the file.

Lists of pairs of a number and a list, of which one may want only a part, and other fields beside
them. Not compressed.

Usage: make_small_groups.py PATH
"""

import sys

import ROOT

ROOT.gInterpreter.Declare("""
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>

void make_small_groups(const char *path) {
   using Hit = std::pair<float, std::vector<std::int32_t>>;
   auto model = ROOT::RNTupleModel::Create();
   auto hits = model->MakeField<std::vector<Hit>>("hits");
   auto other = model->MakeField<std::vector<double>>("other");
   auto number = model->MakeField<std::int64_t>("number");
   ROOT::RNTupleWriteOptions options;
   options.SetCompression(0);
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "Events", path, options);
   for (int i = 0; i < 48 * 40; ++i) {
      *number = i;
      hits->clear();
      for (int k = 0; k < i % 4; ++k)
         hits->push_back(Hit(i + k / 8.f, std::vector<std::int32_t>(k + 1, i)));
      other->assign(i % 11, i / 3.);
      writer->Fill();
      if (i % 40 == 39) writer->CommitCluster(i % 80 == 79);
   }
}
""")
ROOT.make_small_groups(sys.argv[1])
