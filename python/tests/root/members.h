// Classes that say their members once: these are then filled with seeded values and told as JSON
// by what `seeded.h` has, and branches of them compared with that by `seeded.py` of the tests.
#pragma once
#include "seeded.h"

#include <Math/Point3D.h>
#include <Math/Vector4D.h>
#include <TBits.h>

namespace seeded {

template <class... T> void fill_all(Random &random, T &...each) { (fill(each, random), ...); }

// `names` are those of the values, with commas between them.
template <class... T> void tell_all(Tuple &to, const std::string &names, const T &...each) {
  size_t begin = 0;
  auto one = [&](const auto &value) {
    size_t end = std::min(names.find(',', begin), names.size());
    to.key(names.substr(begin, end - begin).c_str());
    begin = names.find_first_not_of(", ", end);
    tell(value, to.out);
  };
  (one(each), ...);
}

// To what a `Double32_t` or `Float16_t` can hold: the multiples of an eighth below 16.
template <class T> void shorten(T &value, Random &random) {
  if constexpr (std::is_arithmetic<T>::value)
    fill_short(value, random);
  else
    for (auto &each : value)
      shorten(each, random);
}
template <class K, class T> void shorten(std::pair<const K, T> &pair, Random &random) {
  shorten(pair.second, random);
}
template <class T, class = void> struct Rounded {
  static void round(T &, Random &) {}
};
template <class T> struct Rounded<T, std::void_t<decltype(&T::round_seeded)>> {
  static void round(T &value, Random &random) { value.round_seeded(random); }
};
template <class T> void round(T &value, Random &random) { Rounded<T>::round(value, random); }

template <> struct Value<TBits> {
  static void fill(TBits &value, Random &random) {
    value.Clear();
    for (auto n = random.length(); n > 0; n--)
      value.SetBitNumber(unsigned(random.below(40)));
  }
  static void tell(const TBits &value, Out &out) {
    std::vector<unsigned char> bytes(value.GetNbytes());
    value.Get(reinterpret_cast<char *>(bytes.data()));
    Tuple to(out, '{');
    tell_all(to, "fNbits,fNbytes,fAllBits", value.GetNbits(), value.GetNbytes(), bytes);
    out += '}';
  }
};

template <class T> struct Value<ROOT::Math::PositionVector3D<ROOT::Math::Cartesian3D<T>, ROOT::Math::DefaultCoordinateSystemTag>> {
  using Point = ROOT::Math::PositionVector3D<ROOT::Math::Cartesian3D<T>, ROOT::Math::DefaultCoordinateSystemTag>;
  static void fill(Point &value, Random &random) {
    T x[3];
    shorten(x, random);
    value.SetXYZ(x[0], x[1], x[2]);
  }
  static void tell(const Point &value, Out &out) {
    Tuple to(out, '{');
    to.key("fCoordinates");
    Tuple inner(out, '{');
    tell_all(inner, "fX,fY,fZ", value.X(), value.Y(), value.Z());
    out += "}}";
  }
};

template <class T> struct Value<ROOT::Math::LorentzVector<ROOT::Math::PtEtaPhiM4D<T>>> {
  using Vector = ROOT::Math::LorentzVector<ROOT::Math::PtEtaPhiM4D<T>>;
  static void fill(Vector &value, Random &random) {
    T x[4];
    shorten(x, random);
    // Angles are brought between -pi and pi.
    value.SetCoordinates(std::abs(x[0]), x[1], x[2] / 8, std::abs(x[3]));
  }
  static void tell(const Vector &value, Out &out) {
    Tuple to(out, '{');
    to.key("fCoordinates");
    Tuple inner(out, '{');
    tell_all(inner, "fPt,fEta,fPhi,fM", value.Pt(), value.Eta(), value.Phi(), value.M());
    out += "}}";
  }
};

// Objects of one class in a container that is not numbered.
template <class T, class L> void fill_list(L &list, Random &random) {
  list.Clear();
  for (auto n = random.length(); n > 0; n--) {
    auto object = new T;
    seeded::fill(*object, random);
    list.Add(object);
  }
}
template <class T, class L> void tell_list(const char *name, const L &list, Tuple &to) {
  to.key(name);
  Tuple items(to.out);
  for (auto each : list) {
    items.next();
    seeded::tell(*static_cast<T *>(each), to.out);
  }
  to.out += ']';
}

// Fills a tree of branches, and tells it; `names` are those of the branches.
template <class... T> void run(Writer &writer, int entries, const std::string &names, T *...each) {
  while (entries-- > 0) {
    (seeded::fill(*each, writer.random), ...);
    Out out;
    Tuple to(out, '{');
    tell_all(to, names, *each...);
    out += '}';
    writer.entry(out);
  }
  writer.end();
}

} // namespace seeded

// The members of a class, none of its bases having any.
#define MEMBERS(...)                                                                               \
  void fill_seeded(seeded::Random &random) {                                                       \
    seeded::fill_all(random, __VA_ARGS__);                                                         \
    seeded::round(*this, random);                                                                  \
  }                                                                                                \
  void tell_seeded(seeded::Tuple &to) const { seeded::tell_all(to, #__VA_ARGS__, __VA_ARGS__); }
// Those behind the members of a base class.
#define BEHIND(BASE, ...)                                                                          \
  void fill_seeded(seeded::Random &random) {                                                       \
    BASE::fill_seeded(random);                                                                     \
    seeded::fill_all(random, __VA_ARGS__);                                                         \
    seeded::round(*this, random);                                                                  \
  }                                                                                                \
  void tell_seeded(seeded::Tuple &to) const {                                                      \
    BASE::tell_seeded(to);                                                                         \
    seeded::tell_all(to, #__VA_ARGS__, __VA_ARGS__);                                               \
  }
#define NO_MEMBERS                                                                                 \
  void fill_seeded(seeded::Random &) {}                                                            \
  void tell_seeded(seeded::Tuple &) const {}
// Members of few bits.
#define ROUNDED(...)                                                                               \
  void round_seeded(seeded::Random &random) {                                                      \
    [&](auto &...each) { (seeded::shorten(each, random), ...); }(__VA_ARGS__);                     \
  }
#define COPIED(NAME)                                                                               \
  NAME() = default;                                                                                \
  NAME(const NAME &) = default;                                                                    \
  NAME &operator=(const NAME &) = default;                                                         \
  virtual ~NAME() {}

#define BRANCH(NAME, ...)                                                                          \
  auto NAME = new __VA_ARGS__;                                                                     \
  writer.tree->Branch(#NAME, &NAME, options.basket, options.split);
// With a dot behind the name, so that those of the members are behind it.
#define DOTTED(NAME, ...)                                                                          \
  auto NAME = new __VA_ARGS__;                                                                     \
  writer.tree->Branch(#NAME ".", &NAME, options.basket, options.split);
#define RUN(...) seeded::run(writer, options.entries, #__VA_ARGS__, __VA_ARGS__);
