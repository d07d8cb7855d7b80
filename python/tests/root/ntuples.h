// What the interop tests of RNTuples write: classes with every kind of member, and whatever a
// program can do while it writes.

#include <ROOT/REntry.hxx>
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <ROOT/RVec.hxx>
#include <TFile.h>
#include <TNamed.h>
#include <TObjArray.h>
#include <TString.h>
#include <TTree.h>

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

struct Spot {
   float x = 0;
   std::int32_t id = 0;
};
enum class Small : unsigned char { kOne = 1, kMany = 200 };
enum class Large : long long { kLess = -5000000000LL, kMore = 5000000000LL };

struct Empty {};

struct First {
   std::int32_t one = 0;
   Double32_t reduced = 0;
};
struct Second {
   std::vector<Spot> spots;
   char letter = 0;
};
template <typename T>
struct Box {
   T value{};
};
struct Whole : First, Second {
   std::int32_t numbers[3] = {0, 0, 0};
   float grid[2][2] = {{0, 0}, {0, 0}};
   std::string text;
   Small small = Small::kOne;
   Box<std::vector<std::string>> box;
   std::map<std::int32_t, Spot> by_number;
   std::int32_t forgotten = 7; //! not written
};
struct Identified : TObject {
   std::int32_t number = 0;
   ClassDef(Identified, 2)
};
struct StreamedBase {
   std::int64_t base = 0;
   virtual ~StreamedBase() = default;
};
// Written by ROOT's streamer, whatever its members are.
struct Streamed : StreamedBase {
   std::int32_t number = 0;
   std::string text;
   TString name;
   std::vector<std::vector<float>> lists;
   std::map<std::string, std::int32_t> by_text;
   std::vector<Spot> spots;
   TNamed named;
   Spot *pointed = nullptr;
   Int_t n = 0;
   Float_t *counted = nullptr; //[n]
   Streamed() = default;
   Streamed(const Streamed &other) { *this = other; }
   Streamed &operator=(const Streamed &other) {
      fill(other.number);
      return *this;
   }
   ~Streamed() override { clear(); }
   void clear() {
      delete pointed;
      delete[] counted;
      pointed = nullptr;
      counted = nullptr;
   }
   void fill(std::int32_t i) {
      clear();
      base = -i;
      number = i;
      text = std::string(i % 4, 's');
      name = TString('t', i % 3);
      lists.assign(i % 3, std::vector<float>(i % 2, 0.5f * i));
      by_text.clear();
      for (int k = 0; k < i % 3; ++k) by_text[std::string(k + 1, 'm')] = i + k;
      spots.assign(i % 4, Spot{1.f * i, -i});
      named.SetNameTitle(std::string(i % 5, 'n').c_str(), "title");
      if (i % 2) pointed = new Spot{2.f * i, i};
      n = i % 4;
      counted = new Float_t[n];
      for (int k = 0; k < n; ++k) counted[k] = i + 0.25f * k;
   }
};
struct Holder {
   std::int32_t before = 0;
   Streamed streamed;
   std::int32_t after = 0;
};
// Only the bytes say of what classes its objects are.
struct Unruly {
   TObjArray objects;
};

/// Spots, and these as structure of arrays.
struct SpotRecord {
   float x = 0;
   int id = 0;
   ClassDefNV(SpotRecord, 2);
};
struct SpotArrays {
   ROOT::RVec<float> x;
   ROOT::RVec<int> id;
   ClassDefNV(SpotArrays, 2);
};

#ifdef __CLING__
#pragma link C++ class Spot+;
#pragma link C++ class SpotRecord+;
#pragma link C++ options=rntupleSoARecord(SpotRecord) class SpotArrays+;
#pragma link C++ class Empty+;
#pragma link C++ class First+;
#pragma link C++ class Second+;
#pragma link C++ class Box<std::vector<std::string>>+;
#pragma link C++ class Whole+;
#pragma link C++ class Identified+;
#pragma link C++ class StreamedBase+;
#pragma link C++ options=rntupleStreamerMode(true) class Streamed+;
#pragma link C++ class Holder+;
#pragma link C++ options=rntupleStreamerMode(true) class Unruly+;
#pragma link C++ class std::map<int, Spot>+;
#pragma link C++ class std::multiset<int>+;
#pragma link C++ class std::unordered_set<int64_t>+;
#pragma link C++ class std::multimap<int, std::string>+;
#pragma link C++ class std::unordered_map<std::string, float>+;
#pragma link C++ class std::map<int, float>+;
#pragma link C++ class std::map<int, std::map<int, float>>+;
#endif

namespace write_ntuples {

using ROOT::RFieldBase;
using ROOT::RNTupleModel;
using ROOT::RNTupleWriter;
using Type = ROOT::ENTupleColumnType;

inline ROOT::RNTupleWriteOptions options(int compression) {
   ROOT::RNTupleWriteOptions options;
   options.SetCompression(compression);
   options.SetInitialUnzippedPageSize(64);
   options.SetMaxUnzippedPageSize(256);
   return options;
}

/// A cluster every 25 entries, a group every two clusters.
template <typename F>
void fill(RNTupleWriter &writer, int entries, F each) {
   for (int i = 0; i < entries; ++i) {
      each(i);
      writer.Fill();
      if (i % 50 == 49) writer.CommitCluster(true);
      else if (i % 25 == 24) writer.CommitCluster();
   }
}

inline void whole(Whole &all, int i) {
   all.one = i;
   all.reduced = i / 4.;
   all.spots.assign(i % 3, Spot{i + 0.5f, i});
   all.letter = 'a' + i % 26;
   for (int k = 0; k < 3; ++k) all.numbers[k] = i * k;
   for (int k = 0; k < 4; ++k) all.grid[k / 2][k % 2] = i + k / 4.f;
   all.text = std::string(i % 6, 'w');
   all.small = i % 2 ? Small::kMany : Small::kOne;
   all.box.value.assign(i % 3, std::string(i % 4, 'b'));
   all.by_number.clear();
   for (int k = 0; k < i % 3; ++k) all.by_number[k - i] = Spot{1.f * k, i};
}

/// Kinds of fields that are rare.
inline void kinds(const char *path, int compression) {
   auto model = RNTupleModel::Create();
   auto multiset = model->MakeField<std::multiset<int>>("multiset");
   auto unordered_set = model->MakeField<std::unordered_set<std::int64_t>>("unordered_set");
   auto multimap = model->MakeField<std::multimap<int, std::string>>("multimap");
   auto unordered_map = model->MakeField<std::unordered_map<std::string, float>>("unordered_map");
   auto maps = model->MakeField<std::map<int, std::map<int, float>>>("maps");
   auto small = model->MakeField<Small>("small");
   auto large = model->MakeField<std::vector<Large>>("large");
   auto owned = model->MakeField<std::unique_ptr<Spot>>("owned");
   auto maybe_list = model->MakeField<std::optional<std::vector<float>>>("maybe_list");
   auto maybe_text = model->MakeField<std::vector<std::optional<std::string>>>("maybe_text");
   auto either = model->MakeField<std::variant<Spot, std::vector<std::string>, std::int64_t>>("either");
   auto eithers = model->MakeField<std::vector<std::variant<float, std::optional<int>>>>("eithers");
   auto two_either = model->MakeField<std::array<std::variant<int, std::string>, 2>>("two_either");
   auto two_maybe = model->MakeField<std::array<std::optional<float>, 2>>("two_maybe");
   auto spots = model->MakeField<std::array<Spot, 3>>("spots");
   auto words = model->MakeField<std::array<std::string, 2>>("words");
   auto pair = model->MakeField<std::pair<std::string, std::vector<std::pair<int, float>>>>("pair");
   auto tuple = model->MakeField<std::tuple<Spot, std::vector<std::tuple<int, std::string>>>>("tuple");
   auto few_bits = model->MakeField<std::bitset<3>>("few_bits");
   auto bit_lists = model->MakeField<std::vector<std::bitset<9>>>("bit_lists");
   auto atomic = model->MakeField<std::atomic<double>>("atomic");
   auto deep = model->MakeField<std::vector<std::vector<std::vector<std::uint16_t>>>>("deep");
   auto all = model->MakeField<Whole>("all");
   auto alls = model->MakeField<std::vector<Whole>>("alls");
   auto identified = model->MakeField<Identified>("identified");
   std::vector<std::unique_ptr<RFieldBase>> members;
   members.push_back(RFieldBase::Create("x", "float").Unwrap());
   members.push_back(RFieldBase::Create("id", "std::int32_t").Unwrap());
   model->AddField(std::make_unique<ROOT::RRecordField>("record", std::move(members)));
   std::vector<std::unique_ptr<RFieldBase>> items;
   items.push_back(RFieldBase::Create("x", "float").Unwrap());
   items.push_back(RFieldBase::Create("id", "std::int32_t").Unwrap());
   auto item = std::make_unique<ROOT::RRecordField>("_0", std::move(items));
   model->AddField(ROOT::RVectorField::CreateUntyped("collection", std::move(item)));
   auto mapping = [](const std::string &name) {
      if (name == "n_alls" || name == "letters") return std::string("alls");
      if (name == "letters._0") return std::string("alls._0.:_1.letter");
      if (name == "the_text") return std::string("all.text");
      if (name == "the_lists" ) return std::string("deep");
      if (name == "the_lists._0") return std::string("deep._0");
      if (name == "the_lists._0._0") return std::string("deep._0._0");
      return std::string("deep._0._0._0");
   };
   auto project = [&](const char *name, const char *type) {
      model->AddProjectedField(RFieldBase::Create(name, type).Unwrap(), mapping);
   };
   project("n_alls", "ROOT::RNTupleCardinality<std::uint64_t>");
   project("letters", "std::vector<char>");
   project("the_text", "std::string");
   project("the_lists", "std::vector<std::vector<std::vector<std::uint16_t>>>");
   auto file = std::unique_ptr<TFile>(TFile::Open(path, "RECREATE"));
   auto writer = RNTupleWriter::Append(std::move(model), "events", *file, options(compression));
   auto &entry = writer->GetModel().GetDefaultEntry();
   auto record = std::static_pointer_cast<Spot>(entry.GetPtr<void>("record"));
   auto collection = std::static_pointer_cast<std::vector<char>>(entry.GetPtr<void>("collection"));
   fill(*writer, 120, [&](int i) {
      multiset->clear(), unordered_set->clear(), multimap->clear(), unordered_map->clear(), maps->clear();
      large->clear(), maybe_text->clear(), eithers->clear(), deep->clear();
      pair->second.clear(), std::get<1>(*tuple).clear(), bit_lists->clear();
      for (int k = 0; k < i % 4; ++k) {
         multiset->insert(i / (k + 1));
         multiset->insert(i / (k + 1));
         multimap->emplace(k / 2, std::string(k, 'm'));
         (*maps)[k][i] = k + 0.5f;
         large->push_back((i + k) % 2 ? Large::kMore : Large::kLess);
         if (k % 2) maybe_text->push_back(std::string(i % 3, 'o')); else maybe_text->push_back(std::nullopt);
         if (k == 0) eithers->push_back(0.5f * i);
         else if (k == 1) eithers->push_back(std::optional<int>(i));
         else eithers->push_back(std::optional<int>());
         deep->push_back(std::vector<std::vector<std::uint16_t>>(k, std::vector<std::uint16_t>(i % 3, i)));
         pair->second.emplace_back(k, 0.25f * i);
         std::get<1>(*tuple).emplace_back(k, std::string(k, 't'));
         bit_lists->push_back(std::bitset<9>(i + k));
      }
      if (i % 3) unordered_set->insert(i), (*unordered_map)[std::string(i % 5, 'u')] = i;
      *small = i % 2 ? Small::kMany : Small::kOne;
      if (i % 3) *owned = std::make_unique<Spot>(Spot{1.f * i, i}); else owned->reset();
      if (i % 4) *maybe_list = std::vector<float>(i % 3, i); else maybe_list->reset();
      if (i % 3 == 0) *either = Spot{1.f * i, -i};
      else if (i % 3 == 1) *either = std::vector<std::string>(i % 4, std::string(i % 2, 'e'));
      else *either = 5000000000LL * i;
      (*two_either)[0] = i;
      if (i % 2) (*two_either)[1] = std::string(i % 5, 'v'); else (*two_either)[1] = -i;
      (*two_maybe)[0] = i;
      if (i % 2) (*two_maybe)[1] = -i; else (*two_maybe)[1].reset();
      for (int k = 0; k < 3; ++k) (*spots)[k] = Spot{i + k / 2.f, k};
      *words = {std::string(i % 3, 'x'), std::string(i % 4, 'y')};
      pair->first = std::string(i % 3, 'p');
      std::get<0>(*tuple) = Spot{-1.f * i, i};
      *few_bits = std::bitset<3>(i);
      atomic->store(i / 8.);
      whole(*all, i);
      alls->clear();
      for (int k = 0; k < i % 3; ++k) alls->emplace_back(), whole(alls->back(), i + k);
      identified->number = 3 * i;
      identified->SetUniqueID(i);
      *record = Spot{0.5f * i, 2 * i};
      collection->resize((i % 3) * sizeof(Spot));
      for (int k = 0; k < i % 3; ++k) reinterpret_cast<Spot *>(collection->data())[k] = Spot{1.f * k, i};
   });
}

/// Objects in the streamer's form, alone, in collections, and as members.
inline void streamed(const char *path, bool append) {
   auto model = RNTupleModel::Create();
   auto number = model->MakeField<std::int32_t>("number");
   for (auto [name, type] : {std::pair("one", "Streamed"), std::pair("several", "std::vector<Streamed>"),
                             std::pair("pair", "std::array<Streamed, 2>"), std::pair("maybe", "std::unique_ptr<Streamed>"),
                             std::pair("holder", "Holder"), std::pair("unruly", "Unruly")})
      model->AddField(RFieldBase::Create(name, type).Unwrap());
   auto file = append ? std::unique_ptr<TFile>(TFile::Open(path, "RECREATE")) : nullptr;
   auto writer = append ? RNTupleWriter::Append(std::move(model), "events", *file, options(505))
                        : RNTupleWriter::Recreate(std::move(model), "events", path, options(0));
   auto &entry = writer->GetModel().GetDefaultEntry();
   auto one = entry.GetPtr<Streamed>("one");
   auto several = entry.GetPtr<std::vector<Streamed>>("several");
   auto pair = entry.GetPtr<std::array<Streamed, 2>>("pair");
   auto maybe = entry.GetPtr<std::unique_ptr<Streamed>>("maybe");
   auto holder = entry.GetPtr<Holder>("holder");
   fill(*writer, 60, [&](int i) {
      *number = i;
      one->fill(i);
      several->clear();
      for (int k = 0; k < i % 3; ++k) several->emplace_back(), several->back().fill(i + k);
      (*pair)[0].fill(i);
      (*pair)[1].fill(i + 1);
      if (i % 2) *maybe = std::make_unique<Streamed>(), (*maybe)->fill(i); else maybe->reset();
      holder->before = i;
      holder->streamed.fill(2 * i);
      holder->after = -i;
   });
}

/// Reals of every width.
inline void widths(const char *path) {
   auto model = RNTupleModel::Create();
   for (int bits = 1; bits <= 32; ++bits) {
      auto quantised = std::make_unique<ROOT::RField<float>>("quantised" + std::to_string(bits));
      quantised->SetQuantized(bits, {-3.f, 17.f});
      model->AddField(std::move(quantised));
      auto wide = std::make_unique<ROOT::RField<double>>("wide" + std::to_string(bits));
      wide->SetQuantized(bits, {-3., 17.});
      model->AddField(std::move(wide));
      if (bits < 10 || bits > 31) continue;
      auto truncated = std::make_unique<ROOT::RField<float>>("truncated" + std::to_string(bits));
      truncated->SetTruncated(bits);
      model->AddField(std::move(truncated));
   }
   auto half = std::make_unique<ROOT::RField<double>>("half");
   half->SetHalfPrecision();
   model->AddField(std::move(half));
   auto writer = RNTupleWriter::Recreate(std::move(model), "events", path, options(505));
   auto &entry = writer->GetModel().GetDefaultEntry();
   fill(*writer, 120, [&](int i) {
      double value = -3 + 20. * i / 119;
      for (int bits = 1; bits <= 32; ++bits) {
         *entry.GetPtr<float>("quantised" + std::to_string(bits)) = value;
         *entry.GetPtr<double>("wide" + std::to_string(bits)) = value;
         if (bits >= 10 && bits <= 31) *entry.GetPtr<float>("truncated" + std::to_string(bits)) = value * 1e3;
      }
      *entry.GetPtr<double>("half") = value;
   });
}

/// Fields that change in the middle how they are stored.
inline void representations(const char *path) {
   auto model = RNTupleModel::Create();
   auto add = [&](const char *name, const char *type, RFieldBase::RColumnRepresentations::Selection_t all) {
      auto field = RFieldBase::Create(name, type).Unwrap();
      field->SetColumnRepresentatives(all);
      model->AddField(std::move(field));
   };
   add("real", "float", {{Type::kSplitReal32}, {Type::kReal32}, {Type::kReal16}});
   add("wide", "double", {{Type::kReal64}, {Type::kSplitReal32}, {Type::kReal32}});
   add("whole", "std::int64_t", {{Type::kInt64}, {Type::kSplitInt64}});
   add("text", "std::string", {{Type::kIndex32, Type::kChar}, {Type::kSplitIndex64, Type::kChar}});
   add("list", "std::vector<std::int16_t>", {{Type::kSplitIndex64}, {Type::kIndex32}, {Type::kIndex64}});
   auto writer = RNTupleWriter::Recreate(std::move(model), "events", path, options(505));
   auto &entry = writer->GetModel().GetDefaultEntry();
   auto &fields = const_cast<RNTupleModel &>(writer->GetModel());
   for (int i = 0; i < 100; ++i) {
      *entry.GetPtr<float>("real") = i / 4.f;
      *entry.GetPtr<double>("wide") = -i / 4.;
      *entry.GetPtr<std::int64_t>("whole") = 5000000000LL * (i - 50);
      *entry.GetPtr<std::string>("text") = std::string(i % 7, 'r');
      entry.GetPtr<std::vector<std::int16_t>>("list")->assign(i % 4, -i);
      writer->Fill();
      if (i % 20 != 19) continue;
      writer->CommitCluster(i % 40 == 39);
      for (const char *name : {"real", "wide", "whole", "text", "list"}) {
         auto &field = const_cast<RFieldBase &>(fields.GetConstField(name));
         auto count = field.GetColumnRepresentatives().size();
         ROOT::Internal::RFieldRepresentationModifier::SetPrimaryColumnRepresentation(field, (i / 20 + 1) % count);
      }
   }
}

/// Fields that come late, several times, and some behind the last entry.
inline void late(const char *path) {
   auto model = RNTupleModel::Create();
   auto number = model->MakeField<std::int32_t>("number");
   auto spots = model->MakeField<std::vector<Spot>>("spots");
   auto writer = RNTupleWriter::Recreate(std::move(model), "events", path, options(505));
   auto add = [&](std::initializer_list<std::pair<const char *, const char *>> fields) {
      auto updater = writer->CreateModelUpdater();
      updater->BeginUpdate();
      for (auto [name, type] : fields) updater->AddField(RFieldBase::Create(name, type).Unwrap());
      updater->CommitUpdate();
   };
   auto get = [&](const char *name) { return writer->GetModel().GetDefaultEntry().GetPtr<void>(name); };
   fill(*writer, 120, [&](int i) {
      if (i == 10) add({{"flag", "bool"}, {"text", "std::string"}, {"fixed", "std::array<float, 3>"}});
      if (i == 60) {
         add({{"spot", "Spot"}, {"maybe", "std::optional<float>"}, {"lists", "std::vector<std::vector<int>>"},
              {"either", "std::variant<int, std::string>"}, {"bits", "std::bitset<5>"},
              {"pairs", "std::array<std::vector<int>, 2>"}});
         auto updater = writer->CreateModelUpdater();
         updater->BeginUpdate();
         updater->AddProjectedField(RFieldBase::Create("n_spots", "ROOT::RNTupleCardinality<std::uint32_t>").Unwrap(),
                                    [](const std::string &) { return std::string("spots"); });
         updater->CommitUpdate();
      }
      *number = i;
      spots->assign(i % 3, Spot{1.f * i, i});
      if (i >= 10) {
         *static_cast<bool *>(get("flag").get()) = i % 2;
         *static_cast<std::string *>(get("text").get()) = std::string(i % 4, 'l');
         *static_cast<std::array<float, 3> *>(get("fixed").get()) = {1.f * i, 2.f * i, 3.f * i};
      }
      if (i >= 60) {
         *static_cast<Spot *>(get("spot").get()) = Spot{0.5f * i, i};
         auto &maybe = *static_cast<std::optional<float> *>(get("maybe").get());
         if (i % 2) maybe = i; else maybe.reset();
         static_cast<std::vector<std::vector<int>> *>(get("lists").get())->assign(i % 3, std::vector<int>(i % 2, i));
         auto &either = *static_cast<std::variant<int, std::string> *>(get("either").get());
         if (i % 2) either = i; else either = std::string("e");
         *static_cast<std::bitset<5> *>(get("bits").get()) = std::bitset<5>(i);
         auto &pairs = *static_cast<std::array<std::vector<int>, 2> *>(get("pairs").get());
         pairs = {std::vector<int>(i % 3, i), std::vector<int>(i % 2, -i)};
      }
   });
   add({{"never", "std::vector<float>"}, {"nothing", "double"}});
}

/// Spots as structure of arrays, which are a collection of records in the file.
inline void arrays(const char *path) {
   auto model = RNTupleModel::Create();
   model->AddField(RFieldBase::Create("spots", "SpotArrays").Unwrap());
   auto writer = RNTupleWriter::Recreate(std::move(model), "events", path, options(505));
   auto filled = writer->GetModel().GetDefaultEntry().GetPtr<SpotArrays>("spots");
   fill(*writer, 120, [&](int i) {
      filled->x.resize(i % 3);
      filled->id.resize(i % 3);
      for (int k = 0; k < i % 3; ++k) {
         filled->x[k] = i + 0.5f;
         filled->id[k] = k;
      }
   });
}

/// Pages that are longer than what one block of compression holds, which is 16 MB.
inline void pages(const char *path, int compression) {
   auto model = RNTupleModel::Create();
   auto number = model->MakeField<double>("number");
   ROOT::RNTupleWriteOptions large;
   large.SetCompression(compression);
   large.SetMaxUnzippedPageSize(64 << 20);
   large.SetInitialUnzippedPageSize(32 << 20);
   large.SetMaxUnzippedClusterSize(256 << 20);
   auto writer = RNTupleWriter::Recreate(std::move(model), "events", path, large);
   for (int i = 0; i < 5000000; ++i) {
      *number = i % 1000;
      writer->Fill();
   }
}

/// What Awkward has no layout for as it is: unions in options and in unions, and classes without members.
inline void unions(const char *path) {
   using Either = std::variant<float, std::vector<std::int64_t>>;
   auto model = RNTupleModel::Create();
   auto maybes = model->MakeField<std::vector<std::optional<Either>>>("maybes");
   auto nested = model->MakeField<std::variant<std::int32_t, std::variant<float, std::string>>>("nested");
   auto twice = model->MakeField<std::vector<std::optional<std::optional<std::int16_t>>>>("twice");
   model->MakeField<Empty>("empty");
   auto empties = model->MakeField<std::vector<Empty>>("empties");
   auto writer = RNTupleWriter::Recreate(std::move(model), "events", path, options(505));
   fill(*writer, 120, [&](int i) {
      maybes->clear(), twice->clear();
      for (int k = 0; k < i % 4; ++k) {
         if (k == 0) maybes->push_back(Either{std::vector<std::int64_t>(i % 3, 4611686018427387905 + i)});
         else if (k == 1) maybes->push_back(std::nullopt);
         else maybes->push_back(Either{0.5f * i});
         twice->emplace_back();
         if (k > 0) twice->back().emplace();
         if (k > 1) twice->back()->emplace(i);
      }
      if (i % 3 == 0) *nested = i;
      else if (i % 3 == 1) *nested = std::variant<float, std::string>{0.25f * i};
      else *nested = std::variant<float, std::string>{std::string(i % 5, 'n')};
      empties->resize(i % 3);
   });
}

/// Envelopes and pages that are longer than the longest record: the rest is in others.
inline void records(const char *path, int compression) {
   auto model = RNTupleModel::Create();
   auto number = model->MakeField<std::uint64_t>("number");
   auto reals = model->MakeField<std::vector<float>>("reals");
   auto name = std::string(300, 'x');
   for (int i = 0; i < 20; ++i) model->MakeField<std::int32_t>(name + std::to_string(i));
   auto small = options(compression);
   small.SetMaxUnzippedPageSize(40000);
   small.SetInitialUnzippedPageSize(16000);
   ROOT::Internal::RNTupleWriteOptionsManip::SetMaxKeySize(small, 5000);
   auto writer = RNTupleWriter::Recreate(std::move(model), "events", path, small);
   for (std::uint64_t i = 0; i < 20000; ++i) {
      *number = i * 2654435761u * 2654435761u;
      reals->assign(i % 3, 0.7f * i);
      writer->Fill();
      if (i % 7000 == 6999) writer->CommitCluster();
   }
}

/// Each algorithm and level, several RNTuples beside a tree and in directories.
inline void several(const char *path) {
   auto file = std::unique_ptr<TFile>(TFile::Open(path, "RECREATE"));
   TTree tree("tree", "a tree");
   int x = 0;
   tree.Branch("x", &x);
   for (; x < 10; ++x) tree.Fill();
   for (int compression : {0, 101, 109, 207, 301, 404, 409, 501, 505}) {
      auto *folder = file->mkdir(("with_" + std::to_string(compression)).c_str());
      auto model = RNTupleModel::Create();
      auto number = model->MakeField<std::uint64_t>("number");
      auto text = model->MakeField<std::string>("text");
      ROOT::RNTupleWriteOptions large;
      large.SetCompression(compression);
      auto writer = RNTupleWriter::Append(std::move(model), "ntuple", *folder, large);
      for (int i = 0; i < 5000; ++i) {
         *number = i * compression;
         *text = std::string(i % 50, 'a' + i % 26);
         writer->Fill();
      }
   }
   file->Write();
}

} // namespace write_ntuples
