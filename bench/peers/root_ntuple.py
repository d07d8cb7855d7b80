"""ROOT: all fields of an RNTuple in bulk, cluster by cluster: its fastest way, compiled with -O2.

Lists are asked for as `RVec`, which ROOT reads without work per entry. A bulk is overwritten by the
next cluster.
"""

import sys
import tempfile

import clock
import ROOT

args = clock.arguments()

SOURCE = r"""
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#include "ROOT/RNTupleDescriptor.hxx"
#include "ROOT/RNTupleModel.hxx"
#include "ROOT/RNTupleReader.hxx"
#include "ROOT/RVec.hxx"

std::pair<std::uint64_t, std::uint64_t> read_bulks(const char* url, const char* name) {
  auto fields = ROOT::RNTupleModel::Create();
  std::vector<std::string> names;
  std::vector<bool> lists;
  {
    auto plain = ROOT::RNTupleReader::Open(name, url);
    const auto& descriptor = plain->GetDescriptor();
    for (const auto& field : descriptor.GetTopLevelFields()) {
      names.push_back(field.GetFieldName());
      lists.push_back(field.GetTypeName() == "std::vector<float>");
      if (lists.back()) fields->MakeField<ROOT::RVec<float>>(names.back());
      else fields->AddField(field.CreateField(descriptor));
    }
  }
  auto reader = ROOT::RNTupleReader::Open(std::move(fields), name, url);
  std::vector<ROOT::RFieldBase::RBulkValues> bulks;
  std::vector<std::size_t> sizes;
  for (const auto& one : names) {
    bulks.push_back(reader->GetModel().CreateBulk(one));
    sizes.push_back(reader->GetModel().GetConstField(one).GetValueSize());
  }
  std::uint64_t entries = 0, bytes = 0;
  for (const auto& cluster : reader->GetDescriptor().GetClusterIterable()) {
    const std::size_t count = cluster.GetNEntries();
    for (std::size_t i = 0; i < bulks.size(); i++) {
      void* values = bulks[i].ReadBulk(ROOT::RNTupleLocalRange(cluster.GetId(), 0, count));
      if (lists[i]) {
        auto items = static_cast<ROOT::RVec<float>*>(values);
        for (std::size_t k = 0; k < count; k++) bytes += items[k].size() * sizeof(float);
      } else {
        bytes += count * sizes[i];
      }
    }
    entries += count;
  }
  return {entries, bytes};
}
"""

ROOT.gSystem.Load("libROOTNTuple")
with tempfile.TemporaryDirectory() as folder:
    with open(f"{folder}/bulks.C", "w") as source:
        source.write(SOURCE)
    ROOT.gSystem.SetBuildDir(folder, True)
    if not ROOT.gSystem.CompileMacro(f"{folder}/bulks.C", "O"):
        sys.exit("ROOT does not take it")


def job():
    return ROOT.read_bulks(args.url, args.tree)


clock.run(job, lambda read: {"entries": read.first, "payload_bytes": read.second})
