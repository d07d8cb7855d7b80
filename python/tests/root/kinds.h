// Classes of a user that derive from ROOT's, each as an object of its own.
#include <vector>

#include <TFile.h>
#include <TGraphErrors.h>
#include <TH1.h>
#include <TH2.h>
#include <THn.h>
#include <THnSparse.h>
#include <TList.h>
#include <TNtuple.h>
#include <TObjArray.h>
#include <TParameter.h>
#include <TProfile.h>
#include <TProfile2D.h>
#include <TRandom3.h>
#include <TTree.h>

namespace kinds {

class Histogram : public TH1F {
public:
  double extra = 7;
  Histogram() {}
  Histogram(const char *name) : TH1F(name, "title", 3, 0, 3) {}
  ClassDef(Histogram, 1)
};

class Deeper : public Histogram {
public:
  int more = 8;
  Deeper() {}
  Deeper(const char *name) : Histogram(name) {}
  ClassDef(Deeper, 2)
};

class Plane : public TH2D {
public:
  Plane() {}
  Plane(const char *name) : TH2D(name, "title", 3, 0, 3, 2, 0, 2) {}
  ClassDef(Plane, 1)
};

class Mean : public TProfile {
public:
  Mean() {}
  Mean(const char *name) : TProfile(name, "title", 3, 0, 3) {}
  ClassDef(Mean, 1)
};

class MeanPlane : public TProfile2D {
public:
  MeanPlane() {}
  MeanPlane(const char *name) : TProfile2D(name, "title", 3, 0, 3, 2, 0, 2) {}
  ClassDef(MeanPlane, 1)
};

class Graph : public TGraphErrors {
public:
  int extra = 3;
  Graph() {}
  Graph(int n, const double *x, const double *y) : TGraphErrors(n, x, y, x, y) {}
  ClassDef(Graph, 1)
};

class Tree : public TTree {
public:
  int run = 42;
  Tree() {}
  Tree(const char *name) : TTree(name, "title") {}
  ClassDef(Tree, 1)
};

class Ntuple : public TNtuple {
public:
  int run = 42;
  Ntuple() {}
  Ntuple(const char *name) : TNtuple(name, "title", "a:b") {}
  ClassDef(Ntuple, 1)
};

class List : public TList {
public:
  int run = 42;
  ClassDef(List, 1)
};

class Parameter : public TParameter<double> {
public:
  Parameter() {}
  Parameter(const char *name, double value) : TParameter<double>(name, value) {}
  ClassDef(Parameter, 1)
};

class Holder : public TObject {
public:
  TH1F *pointed = nullptr;
  TObjArray array;
  Histogram own;
  std::vector<TH1F> several;
  ClassDef(Holder, 1)
};

void write_users(TFile &file) {
  auto put = [&](TObject &object, const char *name) { file.WriteObject(&object, name); };
  Histogram histogram("h");
  histogram.Fill(1);
  put(histogram, "histogram");
  Deeper deeper("d");
  deeper.Fill(2, 3);
  put(deeper, "deeper");
  Plane plane("p");
  plane.Fill(1, 1);
  put(plane, "plane");
  Mean mean("m");
  MeanPlane means("mp");
  mean.Fill(1, 3);
  means.Fill(1, 1, 3);
  put(mean, "mean");
  put(means, "means");
  double x[] = {1, 2}, y[] = {3, 4};
  Graph graph(2, x, y);
  put(graph, "graph");
  List list;
  list.Add(new TNamed("in", "list"));
  put(list, "list");
  Parameter parameter("q", 2.5);
  put(parameter, "parameter");
  Holder holder;
  holder.pointed = new TH1F("pointed", "", 2, 0, 2);
  holder.pointed->Fill(1);
  holder.array.Add(holder.pointed);
  holder.several.push_back(*holder.pointed);
  put(holder, "holder");
  file.cd();
  Tree tree("tree");
  int i = 0;
  tree.Branch("i", &i);
  for (; i < 5; i++)
    tree.Fill();
  tree.Write();
  Ntuple ntuple("ntuple");
  ntuple.Fill(1, 2);
  ntuple.Fill(3, 4);
  ntuple.Write();
}

// The same entries into every one of them.
template <class T> void many(TFile &file, const char *name, bool weighted) {
  int bins[] = {3, 40, 2, 5};
  double low[] = {0, 0, 0, 0}, high[] = {3, 4, 2, 5};
  T histogram(name, "title", 4, bins, low, high);
  if (weighted)
    histogram.Sumw2();
  double edges[] = {0, 1, 4, 5};
  histogram.GetAxis(0)->Set(3, edges);
  TRandom3 chance(5);
  for (int i = 0; i < 400; i++) {
    double x[4];
    for (int d = 0; d < 4; d++)
      x[d] = chance.Uniform(-1, high[d] + 1);
    histogram.Fill(x, 1 + i % 3);
  }
  file.WriteObject(&histogram, name);
}

void write_many(TFile &file) {
  many<THnD>(file, "dense", false);
  many<THnI>(file, "dense_whole", false);
  many<THnF>(file, "dense_weighted", true);
  many<THnSparseD>(file, "sparse", false);
  many<THnSparseI>(file, "sparse_whole", false);
  many<THnSparseF>(file, "sparse_weighted", true);
  int bins[] = {1000, 1000, 1000, 3};
  THnSparseF large("large", "", 4, bins, nullptr, nullptr);
  for (int d = 0; d < 4; d++)
    large.GetAxis(d)->Set(bins[d], 0, bins[d]);
  // More than one chunk.
  for (int i = 0; i < 20000; i++) {
    double x[] = {double(i % 1000), double(i / 1000), 999, -1};
    large.Fill(x, i % 7);
  }
  file.WriteObject(&large, "large");
}

} // namespace kinds

#ifdef __CLING__
#pragma link C++ namespace kinds;
#pragma link C++ class kinds::Histogram + ;
#pragma link C++ class kinds::Deeper + ;
#pragma link C++ class kinds::Plane + ;
#pragma link C++ class kinds::Mean + ;
#pragma link C++ class kinds::MeanPlane + ;
#pragma link C++ class kinds::Graph + ;
#pragma link C++ class kinds::Tree + ;
#pragma link C++ class kinds::Ntuple + ;
#pragma link C++ class kinds::List + ;
#pragma link C++ class kinds::Parameter + ;
#pragma link C++ class kinds::Holder + ;
#endif
