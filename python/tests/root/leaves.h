// Leaf lists, old and odd. What is filled is put where ROOT takes it from, which for several counted
// arrays is one place.
#include <cstring>
#include <string>

#include <TTree.h>

struct Buffer {
  char bytes[4096] = {0};
  template <class T> void put(int at, T value) { memcpy(bytes + at, &value, sizeof value); }
};

void fill_leaves(TTree *tree, int entries, int basket) {
  Buffer counted, two, inner, outer, text, first, reduced;
  int n = 0, number = 0;
  float lists[4][2][3] = {};
  char letters[3000] = {0};
  tree->Branch("counted", &counted, "n/I:y/F:x[n]/F", basket);
  tree->Branch("two", &two, "n/I:m/S:x[n]/B:y[m]/B", basket);
  tree->Branch("inner", &inner, "n/I:x[n][3]/F", basket);
  tree->Branch("n", &n, "n/I", basket);
  tree->Branch("outer", &outer, "z/F:x[n]/F", basket);
  tree->Branch("head", &two, "run/I:m/S", basket);
  tree->Branch("tail", &counted, "tail[m]/I", basket);
  tree->Branch("lists", lists, "lists[n][2][3]/F", basket);
  tree->Branch("text", &text, "number/I:text/C", basket);
  tree->Branch("first", &first, "text[6]/C:number/I", basket);
  tree->Branch("letters", letters, "letters/C", basket);
  tree->Branch("reduced", &reduced, "x/d[0,10,16]:y/f[0,0,12]:z/d:i/I", basket);
  for (int i = 0; i < entries; i++) {
    n = i % 3;
    counted.put(0, n);
    counted.put(4, float(i));
    for (int k = 0; k < 3; k++)
      counted.put(8 + 4 * k, float(i + k));
    two.put(0, i % 4);
    two.put(4, short(i % 3));
    for (int k = 0; k < 8; k++)
      two.put(6 + k, char(i + k));
    inner.put(0, n);
    for (int k = 0; k < 9; k++)
      inner.put(4 + 4 * k, float(i + k));
    outer.put(0, float(-i));
    for (int k = 0; k < 3; k++)
      outer.put(4 + 4 * k, float(i * k));
    for (int k = 0; k < 24; k++)
      (&lists[0][0][0])[k] = i + k;
    text.put(0, i);
    strcpy(text.bytes + 4, std::string(i % 5, 't').c_str());
    strcpy(first.bytes, std::string(i % 5, 'f').c_str());
    first.put(6, -i);
    strcpy(letters, std::string(1 + 70 * (i % 40), 'a' + i % 26).c_str());
    reduced.put(0, double(i % 10));
    reduced.put(8, float(i % 8));
    reduced.put(12, 0.5 * i);
    reduced.put(20, i);
    tree->Fill();
  }
}
