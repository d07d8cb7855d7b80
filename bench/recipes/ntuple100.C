// The columns of flat100.C as the fields of an RNTuple: 60 of one number, 40 of lists, 4 clusters and more.

#include <memory>
#include <string>
#include <vector>
#include "ROOT/RNTupleModel.hxx"
#include "ROOT/RNTupleWriteOptions.hxx"
#include "ROOT/RNTupleWriter.hxx"
#include "TRandom3.h"

void make_ntuple100(const char* path, long entries, long entries_per_cluster) {
  const int kinds = 9;
  auto model = ROOT::RNTupleModel::Create();
  std::vector<std::shared_ptr<float>> f;
  std::vector<std::shared_ptr<double>> d;
  std::vector<std::shared_ptr<int>> n;
  std::vector<std::shared_ptr<long long>> l;
  std::vector<std::shared_ptr<short>> s;
  std::vector<std::shared_ptr<bool>> b;
  std::vector<std::shared_ptr<std::vector<float>>> jagged;
  auto name = [](const char* kind, int i) { return std::string(kind) + std::to_string(i); };
  for (int i = 0; i < kinds; i++) {
    f.push_back(model->MakeField<float>(name("f", i)));
    d.push_back(model->MakeField<double>(name("d", i)));
    n.push_back(model->MakeField<int>(name("n", i)));
    l.push_back(model->MakeField<long long>(name("l", i)));
    s.push_back(model->MakeField<short>(name("s", i)));
  }
  for (int i = 0; i < 15; i++) b.push_back(model->MakeField<bool>(name("b", i)));
  for (int i = 0; i < 40; i++) jagged.push_back(model->MakeField<std::vector<float>>(name("j", i)));

  ROOT::RNTupleWriteOptions options;
  options.SetCompression(505);
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "Events", path, options);
  TRandom3 random(7);
  for (long entry = 0; entry < entries; entry++) {
    for (int i = 0; i < kinds; i++) {
      *f[i] = int(random.Gaus(0.0, 1000.0)) * 0.125f;
      *d[i] = int(random.Gaus(0.0, 1000.0)) * 0.125;
      *n[i] = random.Poisson(20.0);
      *l[i] = 1000000LL * i + entry;
      *s[i] = random.Integer(1000);
    }
    for (auto& flag : b) *flag = random.Uniform() < 0.1;
    for (int i = 0; i < 4; i++) {
      int count = random.Poisson(1.0 + i);
      for (int k = 0; k < 10; k++) {
        jagged[10 * i + k]->resize(count);
        for (float& item : *jagged[10 * i + k]) item = int(random.Exp(800.0)) * 0.125f;
      }
    }
    writer->Fill();
    if ((entry + 1) % entries_per_cluster == 0) writer->CommitCluster();
  }
}
