"""RNTuples of every kind of field and column: python ntuples.py FOLDER, with ROOT 6.40.

Several clusters in several cluster groups, a field that comes late, and small pages, so that little
files meet all that the format allows. The tests compute their content again.
"""

import sys
from pathlib import Path

import ROOT

FOLDER = Path(sys.argv[1])

ROOT.gInterpreter.Declare(r"""
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TFile.h>

#include <array>
#include <atomic>
#include <bitset>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

struct Hit { float x; std::int32_t id; };
struct Base { std::int32_t number; double weight; };
struct Track : Base { std::int32_t number; std::vector<Hit> hits; };
struct Two : Base { std::string name; };
struct Both { Track track; Two two; };
enum class Colour : short { kRed = -1, kBlue = 3 };

using ROOT::RNTupleModel;
using ROOT::RNTupleWriter;
using Type = ROOT::ENTupleColumnType;

namespace make {

ROOT::RNTupleWriteOptions options(int compression, bool checksums = true) {
   ROOT::RNTupleWriteOptions options;
   options.SetCompression(compression);
   options.SetInitialUnzippedPageSize(64);
   options.SetMaxUnzippedPageSize(128);
   options.SetEnablePageChecksums(checksums);
   return options;
}

/// Every field type; a cluster every 40 entries, a group every two clusters.
void fields(const char *path, int compression, bool checksums) {
   auto model = RNTupleModel::Create();
   model->SetDescription("every kind of field");
   auto flag = model->MakeField<bool>("flag");
   auto letter = model->MakeField<char>("letter");
   auto byte = model->MakeField<std::byte>("byte");
   auto i8 = model->MakeField<std::int8_t>("i8");
   auto u8 = model->MakeField<std::uint8_t>("u8");
   auto i16 = model->MakeField<std::int16_t>("i16");
   auto u16 = model->MakeField<std::uint16_t>("u16");
   auto i32 = model->MakeField<std::int32_t>("i32");
   auto u32 = model->MakeField<std::uint32_t>("u32");
   auto i64 = model->MakeField<std::int64_t>("i64");
   auto u64 = model->MakeField<std::uint64_t>("u64");
   auto f32 = model->MakeField<float>("f32");
   auto f64 = model->MakeField<double>("f64");
   auto text = model->MakeField<std::string>("text");
   auto numbers = model->MakeField<std::vector<float>>("numbers");
   auto nested = model->MakeField<std::vector<std::vector<std::int16_t>>>("nested");
   auto flags = model->MakeField<std::vector<bool>>("flags");
   auto rvec = model->MakeField<ROOT::RVec<double>>("rvec");
   auto words = model->MakeField<std::vector<std::string>>("words");
   auto fixed = model->MakeField<std::array<float, 3>>("fixed");
   auto matrix = model->MakeField<std::array<std::array<std::int32_t, 2>, 2>>("matrix");
   auto lists = model->MakeField<std::array<std::vector<std::int32_t>, 2>>("lists");
   auto bits = model->MakeField<std::bitset<70>>("bits");
   auto atomic = model->MakeField<std::atomic<std::int32_t>>("atomic");
   auto colour = model->MakeField<Colour>("colour");
   auto pair = model->MakeField<std::pair<std::int32_t, std::string>>("pair");
   auto tuple = model->MakeField<std::tuple<float, std::int32_t, bool>>("tuple");
   auto maybe = model->MakeField<std::optional<float>>("maybe");
   auto pointer = model->MakeField<std::unique_ptr<std::int32_t>>("pointer");
   auto maybes = model->MakeField<std::vector<std::optional<std::int32_t>>>("maybes");
   auto variant = model->MakeField<std::variant<std::int32_t, std::string, std::vector<float>>>("variant");
   auto variants = model->MakeField<std::vector<std::variant<double, bool>>>("variants");
   auto set = model->MakeField<std::set<std::int32_t>>("set");
   auto map = model->MakeField<std::map<std::string, float>>("map");
   auto hit = model->MakeField<Hit>("hit");
   auto hits = model->MakeField<std::vector<Hit>>("hits");
   auto both = model->MakeField<Both>("both");

   auto file = std::unique_ptr<TFile>(TFile::Open(path, "RECREATE"));
   file->mkdir("dir");
   auto writer = RNTupleWriter::Append(std::move(model), "events", *file, options(compression, checksums));
   std::shared_ptr<std::int64_t> late;
   std::shared_ptr<std::vector<float>> later;
   for (int n = 0; n < 200; ++n) {
      if (n == 60) {
         auto updater = writer->CreateModelUpdater();
         updater->BeginUpdate();
         updater->AddField(ROOT::RFieldBase::Create("late", "std::int64_t").Unwrap());
         updater->AddField(ROOT::RFieldBase::Create("later", "std::vector<float>").Unwrap());
         updater->CommitUpdate();
         late = writer->GetModel().GetDefaultEntry().GetPtr<std::int64_t>("late");
         later = writer->GetModel().GetDefaultEntry().GetPtr<std::vector<float>>("later");
      }
      *flag = n % 3 == 0;
      *letter = 'a' + n % 26;
      *byte = std::byte(n);
      *i8 = n - 100;
      *u8 = n + 50;
      *i16 = 300 * (n - 100);
      *u16 = 300 * n;
      *i32 = 10000019 * (n - 100);
      *u32 = 20000003u * n;
      *i64 = 90000000000000007LL * (n - 100);
      *u64 = 90000000000000009ULL * n;
      *f32 = n / 7.f;
      *f64 = -n / 7.;
      *text = std::string(n % 5, 'a' + n % 26);
      numbers->clear();
      nested->clear();
      flags->clear();
      rvec->clear();
      words->clear();
      maybes->clear();
      variants->clear();
      set->clear();
      map->clear();
      hits->clear();
      both->track.hits.clear();
      for (int k = 0; k < n % 4; ++k) {
         numbers->push_back(n + k / 8.f);
         nested->push_back(std::vector<std::int16_t>(k, n));
         flags->push_back((n + k) % 2);
         words->push_back(std::to_string(n * k));
         set->insert(n - k);
         (*map)[std::to_string(k)] = n;
         hits->push_back({n + 0.5f, k});
         if (k % 2) maybes->push_back(n); else maybes->push_back(std::nullopt);
         if (k % 2) variants->push_back(n % 3 == 1); else variants->push_back(n + 0.25);
      }
      for (int k = 0; k < n % 3; ++k) {
         rvec->push_back(k - n);
         (*lists)[1] = std::vector<std::int32_t>(n % 3, n);
         both->track.hits.push_back({-1.f * n, k});
      }
      (*lists)[0] = std::vector<std::int32_t>((n + 1) % 2, -n);
      *fixed = {n + 0.f, n + 1.f, n + 2.f};
      *matrix = {{{n, -n}, {2 * n, -2 * n}}};
      *bits = std::bitset<70>(n);
      (*bits)[69] = n % 2;
      *atomic = -n;
      *colour = n % 2 ? Colour::kBlue : Colour::kRed;
      *pair = {n, std::to_string(n)};
      *tuple = {n * 2.f, n, n % 5 == 0};
      if (n % 3) *maybe = n; else maybe->reset();
      if (n % 4) *pointer = std::make_unique<std::int32_t>(n); else pointer->reset();
      if (n % 3 == 0) *variant = n;
      else if (n % 3 == 1) *variant = std::to_string(n);
      else *variant = std::vector<float>(n % 4, n);
      *hit = {n * 1.5f, -n};
      static_cast<Base &>(both->track).number = n;
      both->track.weight = n / 3.;
      both->track.number = -n;
      both->two.number = 2 * n;
      both->two.weight = 1. / (n + 1);
      both->two.name = "n" + std::to_string(n);
      if (late) {
         *late = n;
         later->assign(n % 2, n);
      }
      writer->Fill();
      if (n % 80 == 79) writer->CommitCluster(true);
      else if (n % 40 == 39) writer->CommitCluster();
   }
}

template <typename T>
void add(RNTupleModel &model, const char *name, std::initializer_list<Type> types) {
   auto field = std::make_unique<ROOT::RField<T>>(name);
   field->SetColumnRepresentatives({std::vector<Type>(types)});
   model.AddField(std::move(field));
}

/// Every way to store a column, and projected fields.
void columns(const char *path, int compression) {
   auto model = RNTupleModel::Create();
   add<std::int16_t>(*model, "Int16", {Type::kInt16});
   add<std::int16_t>(*model, "SplitInt16", {Type::kSplitInt16});
   add<std::uint16_t>(*model, "UInt16", {Type::kUInt16});
   add<std::uint16_t>(*model, "SplitUInt16", {Type::kSplitUInt16});
   add<std::int32_t>(*model, "Int32", {Type::kInt32});
   add<std::int32_t>(*model, "SplitInt32", {Type::kSplitInt32});
   add<std::uint32_t>(*model, "UInt32", {Type::kUInt32});
   add<std::uint32_t>(*model, "SplitUInt32", {Type::kSplitUInt32});
   add<std::int64_t>(*model, "Int64", {Type::kInt64});
   add<std::int64_t>(*model, "SplitInt64", {Type::kSplitInt64});
   add<std::uint64_t>(*model, "UInt64", {Type::kUInt64});
   add<std::uint64_t>(*model, "SplitUInt64", {Type::kSplitUInt64});
   add<float>(*model, "Real16", {Type::kReal16});
   add<float>(*model, "Real32", {Type::kReal32});
   add<float>(*model, "SplitReal32", {Type::kSplitReal32});
   add<double>(*model, "Real64", {Type::kReal64});
   add<double>(*model, "SplitReal64", {Type::kSplitReal64});
   add<double>(*model, "double32", {Type::kSplitReal32});
   for (int bits : {10, 17, 24, 31}) {
      auto field = std::make_unique<ROOT::RField<float>>("Trunc" + std::to_string(bits));
      field->SetTruncated(bits);
      model->AddField(std::move(field));
   }
   for (int bits : {1, 7, 16, 29, 32}) {
      auto field = std::make_unique<ROOT::RField<float>>("Quant" + std::to_string(bits));
      field->SetQuantized(bits, {-200.f, 200.f});
      model->AddField(std::move(field));
   }
   auto quantised = std::make_unique<ROOT::RField<double>>("Quant20");
   quantised->SetQuantized(20, {-200., 200.});
   model->AddField(std::move(quantised));
   const std::initializer_list<std::pair<const char *, Type>> indexes = {
      {"Index32", Type::kIndex32}, {"SplitIndex32", Type::kSplitIndex32},
      {"Index64", Type::kIndex64}, {"SplitIndex64", Type::kSplitIndex64}};
   for (const auto &[name, type] : indexes) {
      auto field = ROOT::RFieldBase::Create(name, "std::vector<float>").Unwrap();
      field->SetColumnRepresentatives({{type}});
      model->AddField(std::move(field));
   }
   add<std::string>(*model, "string", {Type::kIndex32, Type::kChar});
   model->MakeField<std::vector<Hit>>("hits");
   auto mapping = [](const std::string &name) {
      if (name == "n") return std::string("hits");
      if (name == "xs") return std::string("hits");
      return std::string("hits._0.x");
   };
   model->AddProjectedField(ROOT::RFieldBase::Create("n", "ROOT::RNTupleCardinality<std::uint32_t>").Unwrap(), mapping);
   model->AddProjectedField(ROOT::RFieldBase::Create("xs", "std::vector<float>").Unwrap(), mapping);
   model->Freeze();
   auto writer = RNTupleWriter::Recreate(std::move(model), "events", path, options(compression));
   auto &entry = writer->GetModel().GetDefaultEntry();
   for (int n = 0; n < 100; ++n) {
      for (const char *name : {"Int16", "SplitInt16"}) *entry.GetPtr<std::int16_t>(name) = 301 * (n - 50);
      for (const char *name : {"UInt16", "SplitUInt16"}) *entry.GetPtr<std::uint16_t>(name) = 601 * n;
      for (const char *name : {"Int32", "SplitInt32"}) *entry.GetPtr<std::int32_t>(name) = 40000019 * (n - 50);
      for (const char *name : {"UInt32", "SplitUInt32"}) *entry.GetPtr<std::uint32_t>(name) = 40000019u * n;
      for (const char *name : {"Int64", "SplitInt64"}) *entry.GetPtr<std::int64_t>(name) = 100000000000000007LL * (n - 50);
      for (const char *name : {"UInt64", "SplitUInt64"}) *entry.GetPtr<std::uint64_t>(name) = 180000000000000009ULL * n;
      for (const char *name : {"Real16", "Real32", "SplitReal32", "Trunc10", "Trunc17", "Trunc24", "Trunc31", "Quant1",
                               "Quant7", "Quant16", "Quant29", "Quant32"})
         *entry.GetPtr<float>(name) = (n - 50) * 3.7f;
      for (const char *name : {"Real64", "SplitReal64", "double32", "Quant20"})
         *entry.GetPtr<double>(name) = (n - 50) * 3.7;
      for (const auto &each : indexes)
         entry.GetPtr<std::vector<float>>(each.first)->assign(n % 3, n);
      *entry.GetPtr<std::string>("string") = std::to_string(n);
      entry.GetPtr<std::vector<Hit>>("hits")->assign(n % 4, Hit{n * 0.5f, n});
      writer->Fill();
      if (n == 49) writer->CommitCluster();
   }
}

/// A streamed field, and one beside it that can be read.
void streamed(const char *path) {
   auto model = RNTupleModel::Create();
   auto number = model->MakeField<std::int32_t>("number");
   model->AddField(std::make_unique<ROOT::RStreamerField>("object", "TNamed"));
   auto writer = RNTupleWriter::Recreate(std::move(model), "events", path, options(0));
   for (int n = 0; n < 5; ++n) {
      *number = n;
      writer->Fill();
   }
}

/// Header, footer and page lists in several records each.
void records(const char *path) {
   auto model = RNTupleModel::Create();
   auto x = model->MakeField<double>("x");
   auto lists = model->MakeField<std::vector<int>>("lists");
   for (int i = 0; i < 12; ++i)
      model->MakeField<float>("one_of_many_fields_" + std::to_string(i));
   auto small = options(0);
   small.SetInitialUnzippedPageSize(64);
   small.SetMaxUnzippedPageSize(256);
   ROOT::Internal::RNTupleWriteOptionsManip::SetMaxKeySize(small, 600);
   auto writer = RNTupleWriter::Recreate(std::move(model), "events", path, small);
   for (int n = 0; n < 100; ++n) {
      *x = n;
      lists->clear();
      for (int k = 0; k < n % 4; ++k) lists->push_back(n + k);
      writer->Fill();
      if (n % 25 == 24) writer->CommitCluster(n == 49);
   }
}

} // namespace make
""")

ROOT.make.fields(str(FOLDER / "ntuple_fields.root"), 505, True)
ROOT.make.fields(str(FOLDER / "ntuple_plain.root"), 0, False)
ROOT.make.columns(str(FOLDER / "ntuple_columns.root"), 404)
ROOT.make.streamed(str(FOLDER / "ntuple_streamed.root"))
ROOT.make.records(str(FOLDER / "ntuple_records.root"))
