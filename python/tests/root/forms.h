// Types of members in the forms that ROOT takes them in: arguments of templates, base classes
// beside each other, arrays in classes in collections, collections in each other.
#include "members.h"

enum class Level : unsigned char { low, middle, high };
enum Stage : unsigned int { kFirst, kSecond, kThird };
typedef std::vector<float> Floats;
typedef Floats Energies;
using Identifier = unsigned int;

namespace outer {
namespace inner {
template <class T, int N, bool B> struct Several {
  T fixed[N];
  std::deque<T> more;
  MEMBERS(fixed, more)
};
template <Stage S> struct Staged {
  short at = 0;
  MEMBERS(at)
};
} // namespace inner
} // namespace outer

struct Arrays {
  Long64_t cube[2][3][2];
  char letters[5];
  unsigned char bytes[3];
  bool flags[2][2];
  std::string texts[2];
  MEMBERS(cube, letters, bytes, flags, texts)
};
struct Left {
  int left = 0;
  COPIED(Left)
  MEMBERS(left)
};
struct Right {
  double right = 0;
  std::vector<int> list;
  COPIED(Right)
  MEMBERS(right, list)
};
struct Both : public Left, public Right {
  short both = 0;
  void fill_seeded(seeded::Random &random) {
    Left::fill_seeded(random);
    Right::fill_seeded(random);
    seeded::fill(both, random);
  }
  void tell_seeded(seeded::Tuple &to) const {
    Left::tell_seeded(to);
    Right::tell_seeded(to);
    seeded::tell_all(to, "both", both);
  }
};
struct Object : public TObject, public Right {
  short own = 0;
  BEHIND(Right, own)
  ClassDef(Object, 1)
};

struct Numbers {
  outer::inner::Several<float, 3, true> threes;
  std::vector<outer::inner::Several<std::string, 2, false>> texts;
  outer::inner::Staged<kSecond> staged;
  Level level = Level::low;
  Stage stage = kFirst;
  Energies energies;
  Identifier id = 0;
  Double32_t single = 0;       //[-32,32,16]
  Float16_t halves[2] = {};    // without a range
  std::list<Double32_t> widened;
  std::map<int, Double32_t> mapped;
  Arrays arrays;
  std::vector<Arrays> several;
  std::vector<std::pair<std::string, Arrays>> named;
  Both both;
  std::vector<Both> boths;
  Object object;
  std::vector<Object> objects;
  ROUNDED(single, halves, widened, mapped)
  MEMBERS(threes, texts, staged, level, stage, energies, id, single, halves, widened, mapped,
          arrays, several, named, both, boths, object, objects)
};
struct Nested {
  std::map<std::string, std::map<int, std::vector<float>>> maps;
  std::map<std::string, std::vector<std::pair<int, std::string>>> pairs;
  std::tuple<int, float, std::vector<short>> tuple;
  std::vector<std::tuple<int, std::string>> tuples;
  std::array<Left, 2> two;
  std::vector<std::array<float, 3>> triples;
  std::vector<std::array<Left, 2>> twos;
  std::vector<std::vector<bool>> flags;
  std::map<int, std::vector<bool>> flags_of;
  std::bitset<12> bits;
  std::vector<std::bitset<9>> bitsets;
  ROOT::RVec<Left> lefts;
  ROOT::RVec<ROOT::RVec<int>> rvecs;
  std::set<std::pair<int, int>> ordered;
  std::map<std::pair<int, int>, float> by_pair;
  std::vector<std::set<std::string>> sets;
  std::list<std::map<short, std::string>> list;
  MEMBERS(maps, pairs, tuple, tuples, two, triples, twos, flags, flags_of, bits, bitsets, lefts,
          rvecs, ordered, by_pair, sets, list)
};

#ifdef __CLING__
#pragma link C++ class outer::inner::Several<float,3,true>+;
#pragma link C++ class std::vector<outer::inner::Several<std::string,2,false>>+;
#pragma link C++ class outer::inner::Staged<kSecond>+;
#pragma link C++ class std::list<Double32_t>+;
#pragma link C++ class std::map<int, Double32_t>+;
#pragma link C++ class std::vector<std::pair<std::string, Arrays>>+;
#pragma link C++ class std::map<std::string, std::map<int, std::vector<float>>>+;
#pragma link C++ class std::map<std::string, std::vector<std::pair<int, std::string>>>+;
#pragma link C++ class std::tuple<int, float, std::vector<short>>+;
#pragma link C++ class std::vector<std::tuple<int, std::string>>+;
#pragma link C++ class std::vector<std::array<float, 3>>+;
#pragma link C++ class std::vector<std::array<Left, 2>>+;
#pragma link C++ class std::vector<std::vector<bool>>+;
#pragma link C++ class std::map<int, std::vector<bool>>+;
#pragma link C++ class std::vector<std::bitset<9>>+;
#pragma link C++ class ROOT::RVec<Left>+;
#pragma link C++ class ROOT::RVec<ROOT::RVec<int>>+;
#pragma link C++ class std::set<std::pair<int, int>>+;
#pragma link C++ class std::map<std::pair<int, int>, float>+;
#pragma link C++ class std::vector<std::set<std::string>>+;
#pragma link C++ class std::list<std::map<short, std::string>>+;
#endif

void write_forms(const char *path, const seeded::Options &options, int seed) {
  seeded::Writer writer(path, options, seed);
  DOTTED(numbers, Numbers)
  BRANCH(bare, Numbers)
  DOTTED(nested, Nested)
  RUN(numbers, bare, nested)
}
