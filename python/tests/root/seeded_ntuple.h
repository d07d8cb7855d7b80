// Fills and tells what RNTuples can hold beyond trees, and writes them in many ways:
// `seeded_ntuple.py` generates the types, `write_seeded_ntuple.py` the files.
#include "seeded.h"

#include <ROOT/REntry.hxx>
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <variant>

namespace seeded {

// As farroot and uproot have characters: without a sign.
template <> struct Value<char> {
  static void fill(char &value, Random &random) { value = any_number<char>(random); }
  static void tell(char value, Out &out) { out += std::to_string((unsigned char)value); }
};

template <> struct Value<std::byte> {
  static void fill(std::byte &value, Random &random) { value = std::byte(any_number<unsigned char>(random)); }
  static void tell(std::byte value, Out &out) { out += std::to_string(int(value)); }
};

template <class T> struct Value<std::atomic<T>> {
  static void fill(std::atomic<T> &value, Random &random) {
    T own;
    seeded::fill(own, random);
    value.store(own);
  }
  static void tell(const std::atomic<T> &value, Out &out) { seeded::tell(value.load(), out); }
};

template <class T> struct Value<std::optional<T>> {
  static void fill(std::optional<T> &value, Random &random) {
    value.reset();
    if (random.below(4)) {
      value.emplace();
      seeded::fill(*value, random);
    }
  }
  static void tell(const std::optional<T> &value, Out &out) {
    if (value)
      seeded::tell(*value, out);
    else
      out += "null";
  }
};

template <class... T> struct Value<std::variant<T...>> {
  template <size_t N = 0> static void choose(std::variant<T...> &value, size_t chosen, Random &random) {
    if constexpr (N < sizeof...(T)) {
      if (N == chosen)
        seeded::fill(value.template emplace<N>(), random);
      else
        choose<N + 1>(value, chosen, random);
    }
  }
  static void fill(std::variant<T...> &value, Random &random) { choose(value, random.below(sizeof...(T)), random); }
  static void tell(const std::variant<T...> &value, Out &out) {
    std::visit([&](const auto &each) { seeded::tell(each, out); }, value);
  }
};

struct NtupleOptions {
  int entries = 20, late = -1, cluster = 0, group = 0, representations = 1;
  unsigned long long seed = 0;
  bool any_columns = false, append = false, folder = false;
  ROOT::RNTupleWriteOptions write;
};

// An RNTuple that is filled entry by entry, and what was filled as lines of JSON.
struct NtupleWriter {
  using Type = ROOT::ENTupleColumnType;
  using Fields = std::initializer_list<std::pair<const char *, const char *>>;
  std::string path;
  NtupleOptions options;
  Random random, choices;
  std::unique_ptr<ROOT::RNTupleModel> model = ROOT::RNTupleModel::Create();
  std::unique_ptr<TFile> file;
  std::unique_ptr<ROOT::RNTupleWriter> writer;
  std::ofstream lines, projections;
  std::set<std::string> names;
  int clusters = 0;

  NtupleWriter(const std::string &to, const NtupleOptions &how)
      : path(to), options(how), random(how.seed), choices(how.seed + 1), lines(to + ".jsonl"), projections(to + ".projected") {
    pointers_are_lists = true;
  }

  void field(const char *name, const char *type) {
    if (auto field = made(name, type))
      model->AddField(std::move(field));
  }

  // A field whose columns are stored in one way of many, or in several; none where ROOT refuses the type.
  std::unique_ptr<ROOT::RFieldBase> made(const char *name, const char *type) {
    std::unique_ptr<ROOT::RFieldBase> field;
    try {
      field = ROOT::RFieldBase::Create(name, type).Unwrap();
    } catch (const ROOT::RException &) {
      return field;
    }
    names.insert(name);
    if (options.any_columns) {
      vary(*field);
      for (auto &each : *field)
        vary(each);
    }
    return field;
  }

  void vary(ROOT::RFieldBase &field) {
    auto all = ways(field);
    if (all.empty())
      return;
    std::shuffle(all.begin(), all.end(), choices.engine);
    all.resize(1 + choices.below(std::min<size_t>(all.size(), options.representations)));
    field.SetColumnRepresentatives(all);
  }

  // All ways that lose nothing.
  static std::vector<std::vector<Type>> ways(const ROOT::RFieldBase &field) {
    const std::vector<Type> ends{Type::kIndex32, Type::kIndex64, Type::kSplitIndex32, Type::kSplitIndex64};
    std::vector<std::vector<Type>> all;
    const auto &type = field.GetTypeName();
    if (field.GetTypeAlias() == "Double32_t")
      return {{Type::kReal32}, {Type::kSplitReal32}};
    if (type == "std::string")
      for (auto end : ends)
        all.push_back({end, Type::kChar});
    else if (field.GetStructure() == ROOT::ENTupleStructure::kCollection)
      for (auto end : ends)
        all.push_back({end});
    else if (type == "float")
      all = {{Type::kReal32}, {Type::kSplitReal32}};
    else if (type == "double")
      all = {{Type::kReal64}, {Type::kSplitReal64}};
    else if (type == "std::int16_t")
      all = {{Type::kInt16}, {Type::kSplitInt16}};
    else if (type == "std::uint16_t")
      all = {{Type::kUInt16}, {Type::kSplitUInt16}};
    else if (type == "std::int32_t")
      all = {{Type::kInt32}, {Type::kSplitInt32}};
    else if (type == "std::uint32_t")
      all = {{Type::kUInt32}, {Type::kSplitUInt32}};
    else if (type == "std::int64_t")
      all = {{Type::kInt64}, {Type::kSplitInt64}};
    else if (type == "std::uint64_t")
      all = {{Type::kUInt64}, {Type::kSplitUInt64}};
    return all;
  }

  void project(const char *name, const char *type, std::map<std::string, std::string> mapping, const char *told) {
    if (!names.count(mapping.at(name)))
      return;
    model->AddProjectedField(ROOT::RFieldBase::Create(name, type).Unwrap(),
                             [mapping](const std::string &field) { return mapping.at(field); });
    projections << told << "\n";
  }

  void open() {
    if (!options.append) {
      writer = ROOT::RNTupleWriter::Recreate(std::move(model), "events", path + ".root", options.write);
      return;
    }
    file.reset(TFile::Open((path + ".root").c_str(), "RECREATE"));
    auto *to = options.folder ? file->mkdir("deep/folder") : file.get();
    writer = ROOT::RNTupleWriter::Append(std::move(model), "events", options.folder ? *file->GetDirectory("deep/folder") : *to, options.write);
  }

  template <class T> std::shared_ptr<T> get(const char *name) {
    if (!names.count(name))
      return nullptr;
    return std::static_pointer_cast<T>(writer->GetModel().GetDefaultEntry().GetPtr<void>(name));
  }

  void extend(Fields fields) {
    if (!fields.size())
      return;
    auto updater = writer->CreateModelUpdater();
    updater->BeginUpdate();
    for (auto [name, type] : fields)
      if (auto field = made(name, type)) {
        bool streamed = field->GetStructure() == ROOT::ENTupleStructure::kStreamer;
        for (auto &each : *field)
          streamed |= each.GetStructure() == ROOT::ENTupleStructure::kStreamer;
        if (streamed) // These cannot come late.
          names.erase(name);
        else
          updater->AddField(std::move(field));
      }
    updater->CommitUpdate();
  }

  void entry(const Out &told, int number) {
    writer->Fill();
    lines << told << "\n";
    if (!options.cluster || number % options.cluster != options.cluster - 1)
      return;
    clusters++;
    writer->CommitCluster(options.group && clusters % options.group == 0);
    if (!options.any_columns || options.representations < 2)
      return;
    for (auto &each : const_cast<ROOT::RFieldZero &>(writer->GetModel().GetConstFieldZero())) {
      auto count = each.GetColumnRepresentatives().size();
      if (count > 1 && !ways(each).empty())
        ROOT::Internal::RFieldRepresentationModifier::SetPrimaryColumnRepresentation(each, choices.below(count));
    }
  }

  void end() {
    writer.reset();
    if (file)
      file->Write();
    lines.close();
    projections.close();
  }
};

} // namespace seeded
