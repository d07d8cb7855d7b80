// Classes whose objects `make.py` writes, every member a function of the entry's number.
#include <array>
#include <bitset>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <TDatime.h>
#include <TLorentzVector.h>
#include <TObject.h>
#include <TString.h>
#include <TVector3.h>

struct Hit {
  int id = 0;
  std::string label;
  std::vector<float> times;
  Hit() = default;
  Hit(int i) : id(i), label(i % 5, 'h'), times(i % 3, 0.5f * i) {}
  virtual ~Hit() = default;
  ClassDef(Hit, 2)
};

struct Cluster : public Hit {
  double energy = 0;
  Cluster() = default;
  Cluster(int i) : Hit(i), energy(2. * i) {}
  ClassDef(Cluster, 3)
};

// Neither version nor members with headers of their own.
struct Point {
  short x = 0;
  double y = 0;
};

class Base : public TObject {
public:
  int base = 0;
  ClassDef(Base, 1)
};

class Event : public Base {
public:
  int n = 0;
  float *counted = nullptr; //[n]
  int square[2][2] = {{0, 0}, {0, 0}};
  std::vector<bool> bools;
  std::vector<std::vector<std::string>> texts;
  std::map<int, float> numbers_by_number;
  std::map<std::string, std::vector<int>> lists_by_text;
  std::map<int, Hit> hits_by_number;
  std::multimap<int, short> many_by_number;
  std::unordered_map<std::string, int> unordered;
  std::set<int> set;
  std::unordered_set<int> unordered_set;
  std::list<short> list;
  std::deque<double> deque;
  std::bitset<12> bits;
  std::array<int, 3> array = {0, 0, 0};
  std::pair<int, double> pair;
  std::vector<std::pair<int, std::string>> pairs;
  Hit hit;
  Point point;
  Hit fixed[2];
  std::vector<int> lists[2];
  std::string strings[2];
  TString names[2];
  std::vector<Hit> hits;
  std::vector<Cluster> clusters;
  std::vector<std::vector<Point>> points;
  std::vector<Hit *> pointers;
  std::vector<double> *behind = nullptr;
  Hit *elsewhere = nullptr;
  Double32_t reduced = 0; //[0,100,16]
  Double32_t reduced_list[3] = {0, 0, 0};
  Float16_t half = 0;
  TString name;
  TLorentzVector momentum;
  std::vector<TVector3> vectors;
  TDatime time;
  unsigned long long last = 0;

  void fill(int i);
  void clear();
  ~Event() { clear(); }
  ClassDef(Event, 4)
};

void Event::clear() {
  delete[] counted;
  counted = nullptr;
  for (auto pointer : pointers)
    delete pointer;
  pointers.clear();
  delete behind;
  delete elsewhere;
  behind = nullptr;
  elsewhere = nullptr;
}

void Event::fill(int i) {
  clear();
  base = -i;
  n = i % 4;
  counted = new float[n];
  for (int k = 0; k < n; k++)
    counted[k] = i + 0.5f * k;
  for (int k = 0; k < 4; k++)
    square[k / 2][k % 2] = i * k;
  bools.assign(i % 3, i % 2);
  texts.assign(i % 3, std::vector<std::string>(2, std::string(i % 4 * 100, 'q')));
  numbers_by_number.clear();
  lists_by_text.clear();
  hits_by_number.clear();
  many_by_number.clear();
  unordered.clear();
  set.clear();
  unordered_set.clear();
  for (int k = 0; k < i % 4; k++) {
    numbers_by_number[k] = 0.25f * i;
    lists_by_text[std::string(k + 1, 'k')] = std::vector<int>(k, i);
    hits_by_number[k] = Hit(i + k);
    many_by_number.insert({7, short(i)});
    set.insert(i * k);
  }
  if (i % 2) {
    unordered["one"] = i;
    unordered_set.insert(i);
  }
  list.assign(i % 3, short(-i));
  deque.assign(i % 2, 1.5 * i);
  bits = std::bitset<12>(i);
  array = {i, i + 1, i + 2};
  pair = {i, 3. * i};
  pairs.assign(i % 3, {i, std::string(i % 2, 'p')});
  hit = Hit(i);
  point.x = i;
  point.y = -i;
  for (int k = 0; k < 2; k++) {
    fixed[k] = Hit(i + k);
    lists[k].assign(k + i % 2, i);
    strings[k] = std::string(i % 3 + k, 's');
    names[k] = TString('n', k + 1);
  }
  hits.clear();
  clusters.clear();
  for (int k = 0; k < i % 3; k++) {
    hits.emplace_back(i + k);
    clusters.emplace_back(i * k);
    pointers.push_back(k ? new Cluster(i) : new Hit(i));
  }
  points.assign(2, std::vector<Point>(i % 3, point));
  behind = new std::vector<double>(i % 3, 0.125 * i);
  elsewhere = i % 2 ? new Cluster(i) : nullptr;
  reduced = 100. * (i % 64) / 64;
  for (auto &each : reduced_list)
    each = i / 2.;
  half = i / 8.;
  name = TString('z', i % 7);
  momentum.SetPxPyPzE(i, 1, 2, 3);
  vectors.assign(i % 2, TVector3(i, 0, 1));
  time.Set(2024, 1, 2, 3, 4, 5);
  last = 10000000000ull * i;
}
