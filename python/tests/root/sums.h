/// Objects that merges add up, and what they hold.
#include <TEfficiency.h>
#include <TFile.h>
#include <TGraph.h>
#include <TGraphAsymmErrors.h>
#include <TGraphBentErrors.h>
#include <TGraphErrors.h>
#include <TH1.h>
#include <TH2.h>
#include <TH2Poly.h>
#include <THn.h>
#include <THnSparse.h>
#include <TKey.h>
#include <TParameter.h>
#include <TProfile.h>

#include <set>
#include <string>
#include <vector>

void labels(TFile &file, std::vector<const char *> names, double weight) {
   TH1D one("one", "one", 3, 0, 3), weighted("weighted", "weighted", 3, 0, 3), set("set", "set", names.size(), 0, names.size());
   TH2F two("two", "two", 2, 0, 2, 2, 0, 2);
   TProfile profile("profile", "profile", 2, 0, 2);
   one.SetCanExtend(TH1::kAllAxes);
   weighted.SetCanExtend(TH1::kAllAxes);
   two.SetCanExtend(TH1::kXaxis);
   profile.SetCanExtend(TH1::kXaxis);
   weighted.Sumw2();
   int at = 0;
   for (auto name : names) {
      one.Fill(name, ++at);
      weighted.Fill(name, weight * at);
      two.Fill(name, 0.5, weight * at);
      two.Fill(name, 1.5, 10 * at);
      profile.Fill(name, at + weight);
      profile.Fill(name, 2 * at + weight);
      set.GetXaxis()->SetBinLabel(at, name);
      set.SetBinContent(at, at * weight);
   }
   one.Fill("under?", 0.);
   for (TH1 *histogram : std::initializer_list<TH1 *>{&one, &weighted, &two, &profile, &set}) {
      histogram->SetDirectory(nullptr);
      file.WriteObject(histogram, histogram->GetName());
   }
}

template <class T> void points(TFile &file, T &graph, int s) {
   for (int i = 0; i < 3 * s; ++i) graph.SetPoint(i, i * s, i * i + s);
   file.WriteObject(&graph, T::Class()->GetName());
}

template <class T> void many(TFile &file, const char *name, int s, bool errors) {
   int bins[] = {3, 2};
   double low[] = {0, 0}, high[] = {3, 2};
   T sum(name, name, 2, bins, low, high);
   if (errors) sum.Sumw2();
   for (int i = 0; i < 7 * s; ++i) {
      double x[] = {i % (2 + s) + .5, i * s % 2 + .5};
      sum.Fill(x, s);
   }
   file.WriteObject(&sum, name);
}

void others(TFile &file, int s) {
   TGraph plain;
   points(file, plain, s);
   TGraphErrors errors;
   for (int i = 0; i < 3 * s; ++i) errors.SetPointError(i, .1 * s, .2 * i);
   points(file, errors, s);
   TGraphAsymmErrors two;
   points(file, two, s);
   for (int i = 0; i < 3 * s; ++i) two.SetPointError(i, .1 * s, .2 * i, .3, .4 * s);
   file.WriteObject(&two, "two_sides");
   TGraphBentErrors bent;
   for (int i = 0; i < 3 * s; ++i) bent.SetPoint(i, i, s), bent.SetPointError(i, 1, 2, 3, s, .1, .2, .3, i);
   file.WriteObject(&bent, "bent");
   TEfficiency efficiency("efficiency", "", 4, 0, 4);
   efficiency.SetDirectory(nullptr);
   for (int i = 0; i < 20 * s; ++i) efficiency.Fill(i % 3 != s, i % 4);
   file.WriteObject(&efficiency, "efficiency");
   many<THnSparseD>(file, "sparse_d", s, false);
   many<THnSparseF>(file, "sparse_f", s, true);
   many<THnSparseI>(file, "sparse_i", s, s == 2);
   many<THnD>(file, "dense_d", s, false);
   many<THnF>(file, "dense_f", s, true);
   TH2Poly poly("poly", "poly", 0, 2, 0, 2);
   poly.SetDirectory(nullptr);
   poly.AddBin(0., 0., 1., 1.);
   poly.AddBin(1., 1., 2., 2.);
   for (int i = 0; i < 5 * s; ++i) poly.Fill(.5 + i % 2, .5 + i % 2);
   poly.Fill(5, 5);
   file.WriteObject(&poly, "poly");
   TParameter<double> parameter("parameter", 1.5 * s);
   TParameter<int> product("product", 3 * s, '*'), most("most", 4 - s, 'M'), last("last", s, 'l');
   TParameter<bool> either("either", s == 2);
   file.WriteObject(&parameter, "parameter");
   file.WriteObject(&product, "product");
   file.WriteObject(&most, "most");
   file.WriteObject(&last, "last");
   file.WriteObject(&either, "either");
   TH1D mixed("mixed", "mixed", 4, 0, 4);
   mixed.SetDirectory(nullptr);
   for (int i = 0; i < 4; ++i)
      if (s == 1) mixed.Fill(i, i); else mixed.SetBinContent(i + 1, i * s);
   file.WriteObject(&mixed, "mixed");
}

void numbers(const char *what, const double *all, int count) {
   printf("%s:", what);
   for (int i = 0; all && i < count; ++i) printf(" %.15g", all[i]);
   puts("");
}

void tell(TH1 &h) {
   double sums[TH1::kNstat] = {};
   h.GetStats(sums);
   numbers("sums", sums, h.GetDimension() == 1 ? 4 : 7);
   printf("entries %g", h.GetEntries());
   for (auto axis : {h.GetXaxis(), h.GetYaxis()}) {
      printf(" axis %d %g %g", axis->GetNbins(), axis->GetXmin(), axis->GetXmax());
      for (int i = 1; i <= axis->GetNbins(); ++i) printf(" [%s]", axis->GetBinLabel(i));
   }
   for (int i = 0; i < h.GetNcells(); ++i) printf(" %.12g~%.9g", h.GetBinContent(i), h.GetBinError(i));
   puts("");
}

void tell_all(const char *path) {
   TFile file(path);
   std::set<std::string> names;
   for (auto key : *file.GetListOfKeys()) names.insert(key->GetName());
   for (auto &name : names) {
      auto object = file.Get(name.c_str());
      printf("%s: %s\n", name.c_str(), object->ClassName());
      if (auto h = dynamic_cast<TH2Poly *>(object)) {
         for (int i = -9; i < 3; ++i) printf(" %g", i ? h->GetBinContent(i) : 0.);
         printf(" entries %g mean %g\n", h->GetEntries(), h->GetMean());
      } else if (auto h = dynamic_cast<TH1 *>(object)) tell(*h);
      else if (auto e = dynamic_cast<TEfficiency *>(object)) {
         printf("weight %g\n", e->GetWeight());
         tell(const_cast<TH1 &>(*e->GetPassedHistogram()));
         tell(const_cast<TH1 &>(*e->GetTotalHistogram()));
      } else if (auto g = dynamic_cast<TGraph *>(object)) {
         auto all = {g->GetX(), g->GetY(), g->GetEX(), g->GetEY(), g->GetEXlow(), g->GetEYhigh(), g->GetEXlowd(), g->GetEYhighd()};
         for (auto each : all) numbers("points", each, g->GetN());
      } else if (auto t = dynamic_cast<THnBase *>(object)) {
         printf("entries %g errors %d", t->GetEntries(), t->GetCalculateErrors());
         // Where one input lacks errors, ROOT takes the -1 that marks absent errors for a sum.
         if (name != "sparse_i") printf(" weights %g %g first %g", t->GetSumw(), t->GetSumw2(), t->GetSumwx(1));
         std::set<std::string> bins;
         int at[2];
         for (Long64_t i = 0; i < t->GetNbins(); ++i)
            if (double content = t->GetBinContent(i, at))
               bins.insert(Form(" [%d,%d]=%g~%g", at[0], at[1], content, t->GetBinError2(i)));
         for (auto &bin : bins) printf("%s", bin.c_str());
         puts("");
      } else if (auto p = dynamic_cast<TParameter<double> *>(object)) printf("%g\n", p->GetVal());
      else if (auto p = dynamic_cast<TParameter<int> *>(object)) printf("%d\n", p->GetVal());
      else if (auto p = dynamic_cast<TParameter<bool> *>(object)) printf("%d\n", p->GetVal());
   }
}
