// RNTuples whose clusters come from several hands: parallel writers, mergers, and what else a file
// may hold beside one.

#include <ROOT/REntry.hxx>
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleAttrReading.hxx>
#include <ROOT/RNTupleAttrWriting.hxx>
#include <ROOT/RNTupleFillContext.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleParallelWriter.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TFile.h>

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

struct Point {
   float x = 0;
   std::int32_t id = 0;
};

#ifdef __CLING__
#pragma link C++ class Point+;
#endif

namespace joined_ntuples {

using ROOT::RFieldBase;
using ROOT::RNTupleModel;
using ROOT::RNTupleWriter;

inline ROOT::RNTupleWriteOptions options(int compression) {
   ROOT::RNTupleWriteOptions options;
   options.SetCompression(compression);
   options.SetInitialUnzippedPageSize(64);
   options.SetMaxUnzippedPageSize(256);
   return options;
}

/// Three contexts that are filled in turns and flushed at other times; one tells of its clusters later still.
inline void parallel(const char *path) {
   auto model = RNTupleModel::CreateBare();
   model->MakeField<std::int32_t>("number");
   model->MakeField<std::vector<Point>>("points");
   model->MakeField<std::string>("text");
   auto writer = ROOT::RNTupleParallelWriter::Recreate(std::move(model), "events", path, options(505));
   std::vector<std::shared_ptr<ROOT::RNTupleFillContext>> contexts;
   std::vector<std::unique_ptr<ROOT::REntry>> entries;
   for (int k = 0; k < 3; ++k) {
      contexts.push_back(writer->CreateFillContext());
      entries.push_back(contexts.back()->CreateEntry());
   }
   contexts[2]->EnableStagedClusterCommitting();
   for (int i = 0; i < 300; ++i) {
      int k = i * 7 % 3;
      *entries[k]->GetPtr<std::int32_t>("number") = i;
      entries[k]->GetPtr<std::vector<Point>>("points")->assign(i % 3, Point{0.5f * i, i});
      *entries[k]->GetPtr<std::string>("text") = std::string(i % 4, 't');
      contexts[k]->Fill(*entries[k]);
      if (i % 31 == 30) contexts[i % 2]->FlushCluster();
      if (i % 47 == 46) contexts[2]->FlushCluster();
   }
   contexts[2]->FlushCluster();
   contexts[2]->CommitStagedClusters();
}

/// What is merged: the second part has other fields and is stored in other ways.
inline void part(const char *path, int number, int compression) {
   auto model = RNTupleModel::Create();
   auto i = model->MakeField<std::int64_t>("i");
   auto text = model->MakeField<std::string>("text");
   auto points = model->MakeField<std::vector<Point>>("points");
   auto fixed = model->MakeField<std::array<std::uint16_t, 3>>("fixed");
   auto either = model->MakeField<std::variant<float, std::string>>("either");
   std::shared_ptr<std::vector<std::vector<float>>> lists;
   std::shared_ptr<double> real;
   std::shared_ptr<std::optional<std::int32_t>> maybe;
   if (number == 0) {
      real = model->MakeField<double>("real");
   } else {
      lists = model->MakeField<std::vector<std::vector<float>>>("lists");
      maybe = model->MakeField<std::optional<std::int32_t>>("maybe");
   }
   auto cardinality = RFieldBase::Create("n_points", "ROOT::RNTupleCardinality<std::uint32_t>").Unwrap();
   model->AddProjectedField(std::move(cardinality), [](const std::string &) { return std::string("points"); });
   auto writer = RNTupleWriter::Recreate(std::move(model), "events", path, options(compression));
   for (int k = 0; k < 60; ++k) {
      int n = 100 * number + k;
      *i = 5000000000LL * n;
      *text = std::string(n % 5, 'm');
      points->assign(n % 3, Point{0.25f * n, -n});
      *fixed = {std::uint16_t(n), std::uint16_t(2 * n), std::uint16_t(3 * n)};
      if (n % 2) *either = 0.5f * n; else *either = std::string(n % 4, 'e');
      if (real) *real = n / 3.;
      if (lists) lists->assign(n % 3, std::vector<float>(n % 2, n));
      if (maybe) { if (n % 3) *maybe = n; else maybe->reset(); }
      writer->Fill();
      if (k % 25 == 24) writer->CommitCluster(k % 50 == 49);
   }
}

/// Fields that come in the midst of clusters and of groups of them, twice and shortly before the end.
inline void late(const char *path) {
   using Pair = std::pair<float, std::vector<std::int16_t>>;
   auto model = RNTupleModel::Create();
   auto number = model->MakeField<std::int32_t>("number");
   auto list = model->MakeField<std::vector<float>>("list");
   auto writer = RNTupleWriter::Recreate(std::move(model), "events", path, options(505));
   std::shared_ptr<std::vector<std::vector<std::int32_t>>> lists;
   std::shared_ptr<std::string> text;
   std::shared_ptr<std::optional<double>> maybe;
   std::shared_ptr<std::variant<std::int32_t, std::string>> either;
   std::shared_ptr<std::array<Pair, 2>> pairs;
   std::shared_ptr<std::bitset<11>> bits;
   std::shared_ptr<float> last;
   for (int i = 0; i < 200; ++i) {
      if (i == 50 || i == 93 || i == 180) {
         auto updater = writer->CreateModelUpdater();
         updater->BeginUpdate();
         if (i == 50) {
            lists = updater->MakeField<std::vector<std::vector<std::int32_t>>>("lists");
            text = updater->MakeField<std::string>("text");
            maybe = updater->MakeField<std::optional<double>>("maybe");
         } else if (i == 93) {
            either = updater->MakeField<std::variant<std::int32_t, std::string>>("either");
            pairs = updater->MakeField<std::array<Pair, 2>>("pairs");
            bits = updater->MakeField<std::bitset<11>>("bits");
         } else {
            last = updater->MakeField<float>("last");
         }
         updater->CommitUpdate();
      }
      *number = i;
      list->assign(i % 3, i);
      if (lists) {
         lists->assign(i % 4, std::vector<std::int32_t>(i % 3, i));
         *text = std::string(i % 5, 's');
         if (i % 2) *maybe = i; else maybe->reset();
      }
      if (either) {
         if (i % 3) *either = i; else *either = "x" + std::to_string(i);
         for (int k = 0; k < 2; ++k) (*pairs)[k] = Pair(i + k, std::vector<std::int16_t>(i % 3, i));
         *bits = i;
      }
      if (last) *last = i;
      writer->Fill();
      if (i % 17 == 16) writer->CommitCluster(i % 34 == 33);
   }
}

/// Sets of attributes of ranges of entries, linked from the footer; and two RNTuples of one name. Of the second
/// one ranges are in each other, overlap, are empty, and are committed in another order than they begin.
inline void attributes(const char *path) {
   auto file = std::unique_ptr<TFile>(TFile::Open(path, "RECREATE"));
   for (int cycle = 1; cycle < 3; ++cycle) {
      auto model = RNTupleModel::Create();
      auto number = model->MakeField<std::int32_t>("number");
      auto writer = RNTupleWriter::Append(std::move(model), "events", *file, options(505));
      auto fill = [&](int begin, int end) {
         for (int i = begin; i < end; ++i) {
            *number = 1000 * cycle + i;
            writer->Fill();
         }
      };
      auto runs_model = RNTupleModel::Create();
      runs_model->SetDescription("runs of cycle " + std::to_string(cycle));
      auto run = runs_model->MakeField<std::int32_t>("run");
      auto note = runs_model->MakeField<std::string>("note");
      auto lists = runs_model->MakeField<std::vector<Point>>("points");
      auto runs = writer->CreateAttributeSet(std::move(runs_model), "runs");
      auto flags_model = RNTupleModel::Create();
      auto flag = flags_model->MakeField<std::uint16_t>("run");
      auto flags = writer->CreateAttributeSet(std::move(flags_model), "flags");
      for (int k = 0; k < 3; ++k) {
         auto range = runs->BeginRange();
         fill(10 * k, 10 * k + 5);
         auto inner = runs->BeginRange();
         auto across = flags->BeginRange();
         fill(10 * k + 5, 10 * k + 8);
         *run = 100 * cycle + 10 * k;
         *note = std::string(k, 'n');
         lists->assign(k, Point{0.5f * k, k});
         runs->CommitRange(std::move(inner));
         fill(10 * k + 8, 10 * k + 10);
         ++*run;
         runs->CommitRange(std::move(range));
         auto empty = runs->BeginRange();
         ++*run;
         runs->CommitRange(std::move(empty));
         *flag = 65535 - k;
         flags->CommitRange(std::move(across));
      }
   }
}

/// What ROOT finds in the set of the newest cycle: all, and by entries of the main RNTuple.
inline std::string attributes_found(const char *path) {
   auto reader = ROOT::RNTupleReader::Open("events", path);
   auto set = reader->OpenAttributeSet("runs");
   auto run = set->GetModel().GetDefaultEntry().GetPtr<std::int32_t>("run");
   std::string found = "[";
   auto append = [&](auto &&entries) {
      std::string numbers;
      for (auto index : entries) {
         auto range = set->LoadEntry(index);
         numbers += (numbers.empty() ? "[" : ", [") + std::to_string(index) + ", " + std::to_string(range.GetStart()) +
                    ", " + std::to_string(range.GetEnd()) + ", " + std::to_string(*run) + "]";
      }
      found += (found == "[" ? "[" : ", [") + numbers + "]";
   };
   append(set->GetAttributes());
   for (int entry = 0; entry < 30; ++entry) append(set->GetAttributes(entry));
   for (int start = 0; start < 30; start += 3)
      for (int end = start; end < 31; end += 2) {
         append(set->GetAttributesContainingRange(start, end));
         append(set->GetAttributesInRange(start, end));
      }
   return found + "]";
}

} // namespace joined_ntuples
