// Fills objects of any type with seeded values, and tells them as JSON, in the form in which
// farroot gives them: `seeded.py` generates the classes, `write_seeded.py` the files.
#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <complex>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <fstream>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ROOT/RVec.hxx>
#include <TArrayD.h>
#include <TArrayI.h>
#include <TBranch.h>
#include <TClonesArray.h>
#include <TDatime.h>
#include <TFile.h>
#include <TLorentzVector.h>
#include <TNamed.h>
#include <TObjArray.h>
#include <TObjString.h>
#include <TObject.h>
#include <TRef.h>
#include <TRefArray.h>
#include <TString.h>
#include <TTimeStamp.h>
#include <TTree.h>
#include <TVector2.h>
#include <TVector3.h>
#include <TVirtualStreamerInfo.h>

namespace seeded {

struct Random {
  std::mt19937_64 engine;
  explicit Random(unsigned long long seed) : engine(seed) {}
  unsigned long long below(unsigned long long end) { return engine() % end; }
  // Mostly short, often empty.
  size_t length() {
    static const size_t lengths[] = {0, 0, 1, 1, 2, 2, 3, 5};
    return lengths[below(8)];
  }
};

using Out = std::string;
// Whether what a pointer owns is a list of one at most, as in RNTuples.
inline bool pointers_are_lists = false;

template <class T, class = void> struct Value;

template <class T> void fill(T &value, Random &random) { Value<T>::fill(value, random); }
template <class T> void tell(const T &value, Out &out) { Value<T>::tell(value, out); }

inline void tell_text(const char *text, size_t length, Out &out) {
  out += '"';
  for (size_t i = 0; i < length; i++) {
    unsigned char c = text[i];
    char escaped[8];
    if (c < 0x20 || c == '"' || c == '\\') {
      snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else
      out += c;
  }
  out += '"';
}

inline std::string any_text(Random &random) {
  static const size_t lengths[] = {0, 1, 2, 7, 30, 254, 255, 256, 300};
  size_t length = lengths[random.below(random.below(4) ? 5 : 9)];
  std::string text;
  for (size_t i = 0; i < length; i++)
    text += random.below(40) ? char('a' + random.below(26)) : '"';
  if (!random.below(5))
    text += "\xc3\xa9";
  return text;
}

template <class T> T any_number(Random &random) {
  using Limits = std::numeric_limits<T>;
  switch (random.below(12)) {
  case 0: return T(0);
  case 1: return Limits::max();
  case 2: return Limits::lowest();
  case 3: return std::is_floating_point<T>::value ? Limits::infinity() : T(1);
  case 4: return std::is_floating_point<T>::value ? -Limits::denorm_min() : T(16);
  case 5: return std::is_floating_point<T>::value ? Limits::quiet_NaN() : T(-1);
  case 6:
  case 7: return T((long long)random.below(100));
  }
  if (std::is_floating_point<T>::value)
    return T((double(random.below(1ull << 52)) - double(1ull << 51)) / double(1ull << random.below(60)));
  return T(random.engine());
}

template <class T> struct Value<T, std::enable_if_t<std::is_arithmetic<T>::value>> {
  static void fill(T &value, Random &random) { value = any_number<T>(random); }
  static void tell(T value, Out &out) {
    if (std::is_floating_point<T>::value) {
      char text[40];
      double wide = value;
      if (std::isnan(wide))
        out += "NaN";
      else if (std::isinf(wide))
        out += wide < 0 ? "-Infinity" : "Infinity";
      else {
        snprintf(text, sizeof text, "%.17g", wide);
        out += text;
      }
    } else
      out += std::to_string(value);
  }
};

template <> struct Value<bool> {
  static void fill(bool &value, Random &random) { value = random.below(2); }
  static void tell(bool value, Out &out) { out += value ? "true" : "false"; }
};

template <class T> struct Value<T, std::enable_if_t<std::is_enum<T>::value>> {
  static void fill(T &value, Random &random) { value = T(random.below(3)); }
  static void tell(T value, Out &out) { out += std::to_string((long long)value); }
};

template <> struct Value<std::string> {
  static void fill(std::string &value, Random &random) { value = any_text(random); }
  static void tell(const std::string &value, Out &out) { tell_text(value.data(), value.size(), out); }
};

template <> struct Value<TString> {
  static void fill(TString &value, Random &random) { value = any_text(random).c_str(); }
  static void tell(const TString &value, Out &out) { tell_text(value.Data(), value.Length(), out); }
};

template <> struct Value<TObjString> {
  static void fill(TObjString &value, Random &random) { value.SetString(any_text(random).c_str()); }
  static void tell(const TObjString &value, Out &out) { tell_text(value.GetString().Data(), value.GetString().Length(), out); }
};

struct Tuple {
  Out &out;
  bool first = true;
  explicit Tuple(Out &to, char open = '[') : out(to) { out += open; }
  void next() {
    if (!first)
      out += ',';
    first = false;
  }
  void key(const char *name) {
    next();
    out += '"';
    out += name;
    out += "\":";
  }
};

template <class C> void tell_items(const C &items, Out &out) {
  Tuple list(out);
  for (const auto &item : items) {
    list.next();
    tell<std::decay_t<decltype(item)>>(item, out);
  }
  out += ']';
}

template <class A, class B> struct Value<std::pair<A, B>> {
  static void fill(std::pair<A, B> &value, Random &random) {
    seeded::fill(const_cast<std::remove_const_t<A> &>(value.first), random);
    seeded::fill(value.second, random);
  }
  static void tell(const std::pair<A, B> &value, Out &out) {
    Tuple members(out, '{');
    members.key("first");
    seeded::tell<std::remove_const_t<A>>(value.first, out);
    members.key("second");
    seeded::tell(value.second, out);
    out += '}';
  }
};

template <class... T> struct Value<std::tuple<T...>> {
  static void fill(std::tuple<T...> &value, Random &random) {
    std::apply([&](auto &...each) { (seeded::fill(each, random), ...); }, value);
  }
  static void tell(const std::tuple<T...> &value, Out &out) {
    Tuple members(out, '{');
    int n = 0;
    auto one = [&](const auto &each) {
      members.key(("_" + std::to_string(n++)).c_str());
      seeded::tell(each, out);
    };
    std::apply([&](const auto &...each) { (one(each), ...); }, value);
    out += '}';
  }
};

template <class T> struct Value<std::complex<T>> {
  static void fill(std::complex<T> &value, Random &random) {
    T real, imag;
    seeded::fill(real, random);
    seeded::fill(imag, random);
    value = {real, imag};
  }
  static void tell(const std::complex<T> &value, Out &out) {
    Tuple members(out, '{');
    members.key("_real");
    seeded::tell(value.real(), out);
    members.key("_imag");
    seeded::tell(value.imag(), out);
    out += '}';
  }
};

template <size_t N> struct Value<std::bitset<N>> {
  static void fill(std::bitset<N> &value, Random &random) {
    for (size_t i = 0; i < N; i++)
      value[i] = random.below(2);
  }
  static void tell(const std::bitset<N> &value, Out &out) {
    Tuple list(out);
    for (size_t i = 0; i < N; i++) {
      list.next();
      out += value[i] ? "true" : "false";
    }
    out += ']';
  }
};

template <class T, size_t N> struct Value<std::array<T, N>> {
  static void fill(std::array<T, N> &value, Random &random) {
    for (auto &item : value)
      seeded::fill(item, random);
  }
  static void tell(const std::array<T, N> &value, Out &out) { tell_items(value, out); }
};

template <class C> struct Sequence {
  static void fill(C &value, Random &random) {
    value.clear();
    value.resize(random.length());
    for (auto &&item : value)
      seeded::fill<std::decay_t<decltype(item)>>(item, random);
  }
  static void tell(const C &value, Out &out) { tell_items(value, out); }
};
template <class T> struct Value<std::vector<T>> : Sequence<std::vector<T>> {};
template <class T> struct Value<std::list<T>> : Sequence<std::list<T>> {};
template <class T> struct Value<std::deque<T>> : Sequence<std::deque<T>> {};
template <class T> struct Value<std::forward_list<T>> : Sequence<std::forward_list<T>> {};
template <class T> struct Value<ROOT::VecOps::RVec<T>> : Sequence<ROOT::VecOps::RVec<T>> {};

template <> struct Value<std::vector<bool>> {
  static void fill(std::vector<bool> &value, Random &random) {
    value.clear();
    for (size_t n = random.length(); n > 0; n--)
      value.push_back(random.below(2));
  }
  static void tell(const std::vector<bool> &value, Out &out) {
    Tuple list(out);
    for (bool item : value) {
      list.next();
      out += item ? "true" : "false";
    }
    out += ']';
  }
};

// Pointers in a container: to objects of just this class, some of them null.
template <class T> struct Value<std::vector<T *>> {
  static void fill(std::vector<T *> &value, Random &random) {
    value.clear();
    value.resize(random.length());
    for (auto &item : value)
      if (random.below(6)) {
        item = new T;
        seeded::fill(*item, random);
      }
  }
  static void tell(const std::vector<T *> &value, Out &out) {
    Tuple list(out);
    for (auto item : value) {
      list.next();
      if (item)
        seeded::tell(*item, out);
      else
        out += "null";
    }
    out += ']';
  }
};

template <class T> struct Value<std::unique_ptr<T>> {
  static void fill(std::unique_ptr<T> &value, Random &random) {
    value.reset(random.below(4) ? new T : nullptr);
    if (value)
      seeded::fill(*value, random);
  }
  static void tell(const std::unique_ptr<T> &value, Out &out) {
    if (pointers_are_lists)
      out += '[';
    if (value)
      seeded::tell(*value, out);
    else if (!pointers_are_lists)
      out += "null";
    if (pointers_are_lists)
      out += ']';
  }
};

template <class C> struct Ordered {
  static void fill(C &value, Random &random) {
    value.clear();
    for (size_t n = random.length(); n > 0; n--) {
      typename C::key_type key;
      seeded::fill(key, random);
      if (key == key)
        value.insert(key);
    }
  }
  static void tell(const C &value, Out &out) { tell_items(value, out); }
};
template <class T> struct Value<std::set<T>> : Ordered<std::set<T>> {};
template <class T> struct Value<std::multiset<T>> : Ordered<std::multiset<T>> {};
template <class T> struct Value<std::unordered_set<T>> : Ordered<std::unordered_set<T>> {};
template <class T> struct Value<std::unordered_multiset<T>> : Ordered<std::unordered_multiset<T>> {};

template <class C> struct Mapped {
  static void fill(C &value, Random &random) {
    value.clear();
    for (size_t n = random.length(); n > 0; n--) {
      std::remove_const_t<typename C::key_type> key;
      seeded::fill(key, random);
      if (!(key == key))
        continue;
      // In place: the mapped type need not be copied well.
      value.insert(typename C::value_type(key, typename C::mapped_type()));
    }
    for (auto &each : value)
      seeded::fill(each.second, random);
  }
  static void tell(const C &value, Out &out) {
    Tuple list(out);
    for (const auto &each : value) {
      list.next();
      Tuple pair(out);
      pair.next();
      seeded::tell<std::remove_const_t<typename C::key_type>>(each.first, out);
      pair.next();
      seeded::tell(each.second, out);
      out += ']';
    }
    out += ']';
  }
};
template <class K, class T> struct Value<std::map<K, T>> : Mapped<std::map<K, T>> {};
template <class K, class T> struct Value<std::multimap<K, T>> : Mapped<std::multimap<K, T>> {};
template <class K, class T> struct Value<std::unordered_map<K, T>> : Mapped<std::unordered_map<K, T>> {};
template <class K, class T> struct Value<std::unordered_multimap<K, T>> : Mapped<std::unordered_multimap<K, T>> {};

template <class T, size_t N> struct Value<T[N]> {
  static void fill(T (&value)[N], Random &random) {
    for (auto &item : value)
      seeded::fill(item, random);
  }
  static void tell(const T (&value)[N], Out &out) {
    Tuple list(out);
    for (const auto &item : value) {
      list.next();
      seeded::tell(item, out);
    }
    out += ']';
  }
};

// Classes that are generated.
template <class T> struct Value<T, std::void_t<decltype(&T::fill_seeded)>> {
  static void fill(T &value, Random &random) { value.fill_seeded(random); }
  static void tell(const T &value, Out &out) {
    Tuple members(out, '{');
    value.tell_seeded(members);
    out += '}';
  }
};

template <> struct Value<TVector3> {
  static void fill(TVector3 &value, Random &random) {
    value.SetXYZ(any_number<int>(random), 0.5 * any_number<short>(random), any_number<double>(random));
  }
  static void members(const TVector3 &value, Tuple &to) {
    const char *names[] = {"fX", "fY", "fZ"};
    for (int i = 0; i < 3; i++) {
      to.key(names[i]);
      seeded::tell(value[i], to.out);
    }
  }
  static void tell(const TVector3 &value, Out &out) {
    Tuple to(out, '{');
    members(value, to);
    out += '}';
  }
};

template <> struct Value<TVector2> {
  static void fill(TVector2 &value, Random &random) { value.Set(1. * any_number<short>(random), 0.25); }
  static void tell(const TVector2 &value, Out &out) {
    Tuple to(out, '{');
    to.key("fX");
    seeded::tell(value.X(), out);
    to.key("fY");
    seeded::tell(value.Y(), out);
    out += '}';
  }
};

template <> struct Value<TLorentzVector> {
  static void fill(TLorentzVector &value, Random &random) {
    TVector3 momentum;
    seeded::fill(momentum, random);
    value.SetVectM(momentum, 1);
    value.SetE(any_number<float>(random));
  }
  static void tell(const TLorentzVector &value, Out &out) {
    Tuple to(out, '{');
    to.key("fP");
    seeded::tell(value.Vect(), out);
    to.key("fE");
    seeded::tell(value.E(), out);
    out += '}';
  }
};

template <> struct Value<TDatime> {
  static void fill(TDatime &value, Random &random) { value.Set(unsigned(random.below(1u << 31))); }
  static void tell(const TDatime &value, Out &out) {
    Tuple to(out, '{');
    to.key("fDatime");
    out += std::to_string(value.Get());
    out += '}';
  }
};

template <> struct Value<TTimeStamp> {
  static void fill(TTimeStamp &value, Random &random) {
    value.SetSec(int(random.below(1u << 31)));
    value.SetNanoSec(int(random.below(1000000000)));
  }
  static void tell(const TTimeStamp &value, Out &out) {
    Tuple to(out, '{');
    to.key("fSec");
    out += std::to_string(value.GetSec());
    to.key("fNanoSec");
    out += std::to_string(value.GetNanoSec());
    out += '}';
  }
};

template <> struct Value<TNamed> {
  static void fill(TNamed &value, Random &random) {
    value.SetNameTitle(any_text(random).c_str(), any_text(random).c_str());
  }
  static void members(const TNamed &value, Tuple &to) {
    to.key("fName");
    tell_text(value.GetName(), strlen(value.GetName()), to.out);
    to.key("fTitle");
    tell_text(value.GetTitle(), strlen(value.GetTitle()), to.out);
  }
  static void tell(const TNamed &value, Out &out) {
    Tuple to(out, '{');
    members(value, to);
    out += '}';
  }
};

template <class A, class T> struct OfNumbers {
  static void fill(A &value, Random &random) {
    value.Set(int(random.length()));
    for (int i = 0; i < value.GetSize(); i++)
      seeded::fill(value[i], random);
  }
  static void tell(const A &value, Out &out) {
    Tuple list(out);
    for (int i = 0; i < value.GetSize(); i++) {
      list.next();
      seeded::tell(T(value.At(i)), out);
    }
    out += ']';
  }
};
template <> struct Value<TArrayI> : OfNumbers<TArrayI, int> {};
template <> struct Value<TArrayD> : OfNumbers<TArrayD, double> {};

template <> struct Value<TRef> {
  static void tell(const TRef &value, Out &out) {
    Tuple to(out, '{');
    to.key("ref");
    out += std::to_string(value.GetUniqueID() & 0xffffff);
    out += '}';
  }
};
template <> struct Value<TRefArray> {
  static void tell(const TRefArray &value, Out &out) {
    Tuple to(out, '{');
    to.key("fName");
    out += "\"\"";
    to.key("fSize");
    out += std::to_string(value.GetLast() + 1);
    to.key("refs");
    Tuple list(out);
    for (int i = 0; i <= value.GetLast(); i++) {
      list.next();
      out += std::to_string(value.GetUID(i) & 0xffffff);
    }
    out += "]}";
  }
};
inline TClonesArray &array_of(TClonesArray &array) { return array; }
inline TClonesArray &array_of(TClonesArray *array) { return *array; }

// Objects of one class in ROOT's containers.
template <class T> void fill_clones(TClonesArray &array, Random &random) {
  array.Clear("C");
  for (int i = 0, n = int(random.length()); i < n; i++)
    seeded::fill(*(T *)array.ConstructedAt(i), random);
}
template <class T> void fill_objects(TObjArray &array, Random &random) {
  array.Clear();
  for (int i = 0, n = int(random.length()); i < n; i++) {
    auto object = new T;
    seeded::fill(*object, random);
    array.Add(object);
  }
}
template <class T, class A> void tell_objects(const A &array, Out &out) {
  Tuple list(out);
  for (int i = 0; i < array.GetEntriesFast(); i++) {
    list.next();
    seeded::tell(*(const T *)array.At(i), out);
  }
  out += ']';
}

// Arrays behind a pointer. What was there before stays: shallow copies may point to it.
template <class T> void fill_counted(T *&values, size_t count, Random &random) {
  values = count ? new T[count]() : nullptr;
  for (size_t i = 0; i < count; i++)
    seeded::fill(values[i], random);
}
template <class T> void fill_pointers(T **&values, size_t count, Random &random) {
  values = count ? new T *[count]() : nullptr;
  for (size_t i = 0; i < count; i++)
    if (random.below(4)) {
      values[i] = new T;
      seeded::fill(*values[i], random);
    }
}
template <class T> void tell_counted(const T *values, size_t count, Out &out) {
  Tuple list(out);
  for (size_t i = 0; i < count; i++) {
    list.next();
    seeded::tell(values[i], out);
  }
  out += ']';
}
template <class T> void tell_pointers(T *const *values, size_t count, Out &out) {
  Tuple list(out);
  for (size_t i = 0; i < count; i++) {
    list.next();
    if (values[i])
      seeded::tell(*values[i], out);
    else
      out += "null";
  }
  out += ']';
}

// Numbers that a `Double32_t` or `Float16_t` of that many steps between two whole numbers can hold.
template <class T> void fill_steps(T &value, double low, double high, int bits, Random &random) {
  unsigned long long steps = 1ull << std::min(bits, 20);
  value = T(low + (high - low) * double(random.below(steps)) / double(steps));
}
// With that few bits of mantissa, or none at all.
template <class T> void fill_short(T &value, Random &random) {
  value = T((double(random.below(32)) - 16) / double(1 << random.below(4)));
}

struct Options {
  int split = 99, basket = 32000, entries = 20, flush = 0, compression = 101;
  bool memberwise = false;
};

// A tree that is filled entry by entry, and what was filled as lines of JSON.
struct Writer {
  TFile file;
  TTree *tree;
  std::ofstream lines;
  Random random;
  Writer(const std::string &path, const Options &options, unsigned long long seed)
      : file((path + ".root").c_str(), "RECREATE", "", options.compression), lines(path + ".jsonl"), random(seed) {
    TVirtualStreamerInfo::SetStreamMemberWise(options.memberwise);
    tree = new TTree("tree", "seeded");
    if (options.flush)
      tree->SetAutoFlush(options.flush);
  }
  void entry(const Out &told) {
    tree->Fill();
    lines << told << "\n";
  }
  void end() {
    tree->Write();
    file.Close();
    TVirtualStreamerInfo::SetStreamMemberWise(true);
  }
};

} // namespace seeded
