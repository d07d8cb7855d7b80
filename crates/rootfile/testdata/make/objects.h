// Classes whose objects `objects.py` writes: every kind of member that columns are read from.
#include <string>
#include <vector>

#include <TClonesArray.h>
#include <TObject.h>
#include <TString.h>
#include <TVector2.h>

// A class without a version: a checksum stands for it.
struct Inner {
  float a = 1;
  int b = 2;
};

// A class without members, used by itself, in containers and as a base class.
struct Nothing {};

struct Something : Nothing {
  Something() {}
  Nothing none;
  float a = 1;
};

class Part : public TObject {
public:
  float p = 0;
  int q[2] = {0, 0};
  ClassDef(Part, 2)
};

class Event {
public:
  int n = 0;
  float *x = nullptr; //[n]
  short y[2] = {1, 2};
  Inner inner;
  std::vector<Inner> inners;
  std::vector<std::vector<Inner>> nested_inners;
  std::vector<float> floats;
  std::vector<bool> bools;
  std::string text;
  TString tstring;
  std::vector<std::string> texts;
  std::vector<std::vector<short>> nested;
  Double32_t widened = 0;
  Double32_t stepped = 0; //[0,10,12]
  Float16_t truncated = 0;
  TVector2 vector;
  std::vector<TVector2> vectors;
  std::vector<Part> parts;
  bool flag = true;
  char letter = 'a';
  unsigned char byte = 200;
  long signed_long = 0;
  unsigned long long unsigned_long = 0;

  void fill(int i) {
    n = i;
    delete[] x;
    x = new float[i];
    for (int k = 0; k < i; k++)
      x[k] = k + 0.5f * i;
    inners.resize(i % 3);
    nested_inners.assign(2, {});
    nested_inners[1].resize(i % 2);
    floats.assign(i, 1.25f * i);
    bools.assign(i, i % 2);
    text = std::string(i * 100, 'q');
    tstring = TString('z', i);
    texts.assign(i, std::string(i, 'a'));
    nested.assign(i % 3, std::vector<short>(i, i));
    widened = i / 4.;
    stepped = i / 5.;
    truncated = i / 8.;
    vector.Set(1. * i, 2. * i);
    vectors.assign(i % 4, vector);
    parts.resize(i);
    for (auto &part : parts)
      part.p = i;
    flag = i % 2;
    letter = 'a' + i;
    signed_long = -i;
    unsigned_long = 10000000000ull * i;
  }
  virtual ~Event() { delete[] x; }
  ClassDef(Event, 3)
};
