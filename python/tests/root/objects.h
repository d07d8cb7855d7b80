// One object of every kind at a key of its own, and what ROOT says is in it.
#include <algorithm>
#include <fstream>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <Math/SMatrix.h>
#include <Math/Vector4D.h>
#include <TArrayC.h>
#include <TArrayD.h>
#include <TArrayF.h>
#include <TArrayI.h>
#include <TArrayL.h>
#include <TArrayL64.h>
#include <TArrayS.h>
#include <TArrow.h>
#include <TBits.h>
#include <TBox.h>
#include <TBufferJSON.h>
#include <TCanvas.h>
#include <TClonesArray.h>
#include <TColor.h>
#include <TCut.h>
#include <TCutG.h>
#include <TDatime.h>
#include <TEfficiency.h>
#include <TEllipse.h>
#include <TF1.h>
#include <TF2.h>
#include <TF3.h>
#include <TFile.h>
#include <TFitResult.h>
#include <TFormula.h>
#include <TGraph2DAsymmErrors.h>
#include <TGraph2DErrors.h>
#include <TGraphAsymmErrors.h>
#include <TGraphBentErrors.h>
#include <TGraphErrors.h>
#include <TGraphMultiErrors.h>
#include <TH1.h>
#include <TH2.h>
#include <TH2Poly.h>
#include <TH3.h>
#include <THStack.h>
#include <THashList.h>
#include <THn.h>
#include <THnSparse.h>
#include <TLatex.h>
#include <TLegend.h>
#include <TLine.h>
#include <TLorentzVector.h>
#include <TMap.h>
#include <TMarker.h>
#include <TMatrixT.h>
#include <TMatrixTSparse.h>
#include <TMatrixTSym.h>
#include <TMultiGraph.h>
#include <TObjString.h>
#include <TOrdCollection.h>
#include <TParameter.h>
#include <TPaveStats.h>
#include <TPaveText.h>
#include <TPolyLine.h>
#include <TPrincipal.h>
#include <TProfile.h>
#include <TProfile2D.h>
#include <TProfile2Poly.h>
#include <TProfile3D.h>
#include <TROOT.h>
#include <TRandom1.h>
#include <TRandom2.h>
#include <TRandom3.h>
#include <TRotation.h>
#include <TSortedList.h>
#include <TSpline.h>
#include <TStyle.h>
#include <TText.h>
#include <TTimeStamp.h>
#include <TTree.h>
#include <TUUID.h>
#include <TUrl.h>
#include <TVectorT.h>

namespace objects {

TFile *file;
std::ofstream *json;
TRandom3 chance(7);

double between(double low, double high) { return chance.Uniform(low, high); }

template <class T> void put(const T &object, const std::string &name) {
  file->WriteObject(&object, name.c_str());
  *json << name << "\t" << TBufferJSON::ToJSON(&object, TBufferJSON::kNoSpaces).Data() << "\n";
}

template <class T> void put(const T &object) { put(object, std::string(object.GetName())); }

template <class H1, class H2, class H3> void of_type(const std::string &letter, double step) {
  H1 one(("h1" + letter).c_str(), "one;x;y", 5, 0, 5);
  for (int i = 0; i < 50; i++)
    one.Fill(between(-1, 6));
  put(one);
  double edges[] = {0, 1, 2, 4, 8, 16};
  H1 weighted(("h1w" + letter).c_str(), "weighted", 5, edges);
  weighted.Sumw2();
  for (int i = 0; i < 50; i++)
    weighted.Fill(between(-1, 20), 1 + i % 3 * step);
  put(weighted);
  H2 two(("h2" + letter).c_str(), "two", 3, 0, 3, 4, -2, 2);
  for (int i = 0; i < 90; i++)
    two.Fill(between(-1, 4), between(-3, 3));
  put(two);
  H3 three(("h3" + letter).c_str(), "three", 3, 0, 3, 4, -2, 2, 2, 0, 1);
  three.Sumw2();
  for (int i = 0; i < 200; i++)
    three.Fill(between(-1, 4), between(-3, 3), between(-.5, 1.5), 3);
  put(three);
}

void labelled() {
  TH1D all("labels", "", 3, 0, 3), some("labels_some", "", 4, 0, 4), grown("labels_grown", "", 1, 0, 1);
  for (auto name : {"a", "b", "a", "see"})
    all.Fill(name, 1);
  put(all);
  some.GetXaxis()->SetBinLabel(2, "only");
  some.Fill(1.5);
  put(some);
  grown.SetCanExtend(TH1::kAllAxes);
  for (auto name : {"q", "w", "e", "r", "t"})
    grown.Fill(name, 1);
  put(grown);
  grown.LabelsDeflate();
  put(grown, "labels_deflated");
  TH1D numbered("labels_numbers", "", 3, 0, 3);
  for (auto number : {"7", "5", "9"})
    numbered.Fill(number, 1);
  put(numbered);
  TH2D two("labels_two", "", 2, 0, 2, 2, 0, 2);
  two.Fill("a", "u", 1);
  two.Fill("b", "v", 2);
  put(two);
}

void profiles() {
  for (std::string mode : {"", "s", "i", "g"}) {
    TProfile one(("profile" + mode).c_str(), "", 5, 0, 5, mode.c_str());
    TProfile weighted(("profile_weighted" + mode).c_str(), "", 5, 0, 5, mode.c_str());
    TProfile few(("profile_few" + mode).c_str(), "", 3, 0, 3, mode.c_str());
    TProfile2D two(("profile2" + mode).c_str(), "", 3, 0, 3, 2, 0, 2, mode.c_str());
    TProfile3D three(("profile3" + mode).c_str(), "", 3, 0, 3, 2, 0, 2, 2, 0, 2, mode.c_str());
    weighted.Sumw2();
    for (int i = 0; i < 60; i++) {
      double x = between(-1, 6), y = between(-1, 3), z = between(-1, 3), t = chance.Gaus(3, 1);
      one.Fill(x, t);
      weighted.Fill(x, t, between(.5, 3));
      two.Fill(x, y, t);
      three.Fill(x, y, z, t);
    }
    few.Fill(.5, 3);
    few.Fill(1.5, 2);
    few.Fill(1.5, 2);
    put(one);
    put(weighted);
    put(few);
    put(two);
    put(three);
  }
}

template <class T> void many_dimensions(const char *name) {
  int bins[] = {3, 4, 2};
  double low[] = {0, 0, 0}, high[] = {3, 4, 2};
  T histogram(name, "", 3, bins, low, high);
  for (int i = 0; i < 20; i++) {
    double x[] = {between(-1, 4), between(-1, 5), between(-1, 3)};
    histogram.Fill(x, 2);
  }
  put(histogram);
}

void histograms() {
  of_type<TH1C, TH2C, TH3C>("c", 1);
  of_type<TH1S, TH2S, TH3S>("s", 1);
  of_type<TH1I, TH2I, TH3I>("i", 1);
  of_type<TH1L, TH2L, TH3L>("l", 1);
  of_type<TH1F, TH2F, TH3F>("f", .25);
  of_type<TH1D, TH2D, TH3D>("d", .3);
  labelled();
  profiles();
  TH1D fitted("fitted", "with functions", 10, -3, 3), buffered("buffered", "", 10, 1, 0);
  fitted.FillRandom("gaus", 300);
  fitted.Fit("gaus", "Q0");
  put(fitted);
  for (int i = 0; i < 20; i++)
    buffered.Fill(i);
  put(buffered);
  TH2F contours("contours", "", 2, 0, 1, 2, 0, 1);
  double levels[] = {1, 2, 3};
  contours.SetContour(3, levels);
  put(contours);
  TEfficiency one("efficiency", "", 5, 0, 5), two("efficiency2", "", 5, 0, 5, 3, 0, 3);
  for (int i = 0; i < 40; i++) {
    one.Fill(i % 3 > 0, i % 5);
    two.Fill(i % 3 > 0, i % 5, i % 3);
  }
  put(one);
  put(two);
  TH2Poly polygons("polygons", "", 0, 4, 0, 4);
  TProfile2Poly means("polygon_means", "", 0, 4, 0, 4);
  for (int i = 0; i < 3; i++) {
    polygons.AddBin(i, 0, i + 1, 1);
    means.AddBin(i, 0, i + 1, 1);
  }
  for (int i = 0; i < 30; i++) {
    polygons.Fill(between(0, 4), between(0, 3));
    means.Fill(between(0, 4), between(0, 3), between(0, 1));
  }
  put(polygons);
  put(means);
  many_dimensions<THnSparseS>("sparse_s");
  many_dimensions<THnSparseI>("sparse_i");
  many_dimensions<THnSparseL>("sparse_l");
  many_dimensions<THnSparseF>("sparse_f");
  many_dimensions<THnSparseD>("sparse_d");
  many_dimensions<THnS>("dense_s");
  many_dimensions<THnI>("dense_i");
  many_dimensions<THnL>("dense_l");
  many_dimensions<THnF>("dense_f");
  many_dimensions<THnD>("dense_d");
  THStack stack("stack", "stack;a;b");
  auto first = new TH1F("first", "", 3, 0, 3);
  first->Fill(1);
  stack.Add(first);
  stack.Add((TH1F *)first->Clone("second"), "hist");
  put(stack);
}

double linear(double *x, double *parameters) { return parameters[0] * x[0]; }

const int N = 4;
double X[] = {1, 2, 3, 4}, Y[] = {1, 4, 9, 16}, E[] = {.1, .2, .3, .4};

void graphs() {
  put(TGraph(N, X, Y), "graph");
  put(TGraph(), "graph_empty");
  put(TGraphErrors(N, X, Y, E, E), "graph_errors");
  put(TGraphAsymmErrors(N, X, Y, E, X, E, Y), "graph_asymm");
  put(TGraphBentErrors(N, X, Y, E, X, E, Y, E, E, E, E), "graph_bent");
  TGraphMultiErrors several("graph_multi", "", N, X, Y, E, E, E, E);
  several.AddYError(N, X, Y);
  put(several);
  put(TGraph2D(N, X, Y, E), "graph2d");
  put(TGraph2DErrors(N, X, Y, E, X, Y, E), "graph2d_errors");
  put(TGraph2DAsymmErrors(N, X, Y, E, X, Y, E, X, Y, E), "graph2d_asymm");
  TGraph fitted(N, X, Y);
  fitted.Fit("pol1", "Q0");
  put(fitted, "graph_fitted");
  TMultiGraph together("graphs", "");
  together.Add(new TGraph(N, X, Y));
  together.Add(new TGraphErrors(N, X, Y, E, E), "lp");
  put(together);
  put(TF1("f1", "[0]*x+[1]*sin(x)", 0, 3));
  put(TF1("f1_named", "gaus(0)+pol2(3)", 0, 3));
  TF1 compiled("f1_compiled", linear, 0, 3, 1);
  compiled.SetParameter(0, 2);
  put(compiled);
  put(TF2("f2", "x*y+[0]", 0, 1, 0, 2));
  put(TF3("f3", "x*y*z", 0, 1, 0, 2, 0, 3));
  put(TFormula("formula", "[0]*x+y"));
  put(TCutG("cut_polygon", N, X, Y));
  put(TCut("x>3 && y<2"), "cut");
  put(TSpline3("spline", X, Y, N), "spline3");
  put(TSpline5("spline", X, Y, N), "spline5");
}

template <class T> void matrices(const std::string &type) {
  TMatrixT<T> matrix(2, 3);
  TMatrixTSym<T> symmetric(3);
  TMatrixTSparse<T> sparse(3, 3);
  TVectorT<T> vector(4);
  for (int i = 0; i < 6; i++)
    matrix(i / 3, i % 3) = i;
  for (int i = 0; i < 9; i++)
    symmetric(i / 3, i % 3) = std::min(i / 3, i % 3) * 3 + std::max(i / 3, i % 3);
  sparse(1, 2) = 4;
  for (int i = 0; i < 4; i++)
    vector(i) = i * i;
  put(matrix, "matrix_" + type);
  put(symmetric, "matrix_symmetric_" + type);
  put(sparse, "matrix_sparse_" + type);
  put(vector, "vector_" + type);
}

template <class T> void collection(const char *name) {
  T all;
  all.Add(new TObjString("s"));
  all.Add(new TNamed("n", "t"));
  all.SetName("of its own");
  put(all, name);
}

template <class T> void array(const char *name) {
  T numbers(3);
  for (int i = 0; i < 3; i++)
    numbers[i] = i;
  put(numbers, name);
}

void containers() {
  collection<TList>("list");
  collection<THashList>("hash_list");
  collection<TObjArray>("obj_array");
  collection<TOrdCollection>("ord_collection");
  TSortedList sorted;
  sorted.Add(new TNamed("b", ""));
  sorted.Add(new TNamed("a", ""));
  put(sorted, "sorted_list");
  TMap map;
  map.Add(new TObjString("one"), new TObjString("value"));
  map.Add(new TObjString("two"), new TNamed("v", "t"));
  put(map, "map");
  TClonesArray clones("TNamed");
  for (int i = 0; i < 3; i++)
    ((TNamed *)clones.ConstructedAt(i))->SetName(Form("c%d", i));
  put(clones, "clones");
  clones.BypassStreamer(false);
  put(clones, "clones_one_by_one");
  array<TArrayC>("array_c");
  array<TArrayS>("array_s");
  array<TArrayI>("array_i");
  array<TArrayL>("array_l");
  array<TArrayL64>("array_l64");
  array<TArrayF>("array_f");
  array<TArrayD>("array_d");
}

void standard() {
  using std::map, std::pair, std::string, std::vector;
  auto named = new TNamed("n", "t");
  put(vector<int>{1, 2}, "std_ints");
  put(vector<double>{1.5}, "std_doubles");
  put(vector<double>{}, "std_none");
  put(vector<bool>{true, false}, "std_bools");
  put(vector<unsigned short>{65535}, "std_shorts");
  put(vector<Long64_t>{1LL << 60}, "std_longs");
  put(vector<string>{"a", "bc"}, "std_strings");
  put(vector<TString>{"a", "bc"}, "std_tstrings");
  put(vector<vector<double>>{{}, {1}, {1, 2}}, "std_nested");
  put(vector<pair<int, double>>{{1, 2.}}, "std_pairs");
  put(vector<TLorentzVector>{TLorentzVector(1, 2, 3, 4)}, "std_objects");
  put(vector<TNamed *>{named, nullptr, named}, "std_pointers");
  put(std::set<int>{4}, "std_set");
  put(std::set<string>{"u", "v"}, "std_string_set");
  put(std::list<int>{4}, "std_list");
  put(string("hello"), "std_string");
  put(pair<int, double>{1, 2.}, "std_pair");
  put(map<string, int>{{"a", 1}, {"b", 2}}, "std_map");
  put(map<string, vector<double>>{{"a", {1, 2}}}, "std_map_of_vectors");
  put(map<int, string>{{3, "x"}}, "std_map_by_number");
  put(map<string, map<string, double>>{{"k", {{"v", 2}}}}, "std_map_of_maps");
  put(map<string, TNamed *>{{"one", named}}, "std_map_of_pointers");
}

void single() {
  put(TNamed("named", "a title"));
  put(TObject(), "object");
  put(TObjString("a string"), "string");
  put(TObjString(std::string(300, 's').c_str()), "string_long");
  put(TString("tstring"), "tstring");
  put(TParameter<double>("parameter_double", 3.5));
  put(TParameter<float>("parameter_float", 3.5));
  put(TParameter<int>("parameter_int", -3));
  put(TParameter<long>("parameter_long", -3));
  put(TParameter<Long64_t>("parameter_long64", 1LL << 60));
  put(TParameter<bool>("parameter_bool", true));
  matrices<float>("float");
  matrices<double>("double");
  put(TLorentzVector(1, 2, 3, 4), "lorentz");
  put(TVector3(1, 2, 3), "vector3");
  put(TVector2(1, 2), "vector2");
  put(TRotation(), "rotation");
  put(ROOT::Math::PtEtaPhiMVector(1, 2, 3, 4), "pt_eta_phi_m");
  put(ROOT::Math::SMatrix<double, 2, 2>(), "smatrix");
  put(TDatime(2020, 1, 2, 3, 4, 5), "datime");
  put(TTimeStamp(2020, 1, 2, 3, 4, 5), "timestamp");
  put(TUUID("00000000-0000-0001-0203-040506070809"), "uuid");
  TBits bits(20);
  bits.SetBitNumber(3);
  put(bits, "bits");
  put(TUrl("http://user@host:80/file?options#anchor"), "url");
  put(TRandom(5), "random");
  put(TRandom1(5), "random1");
  put(TRandom2(5), "random2");
  put(TRandom3(5), "random3");
  TH1D histogram("histogram", "", 20, -3, 3);
  histogram.FillRandom("gaus", 500);
  put(*histogram.Fit("gaus", "QS0"), "fit_result");
}

void graphics() {
  TCanvas canvas("canvas", "title", 400, 300), divided("canvas_divided", "", 400, 300);
  canvas.cd();
  auto histogram = new TH1F("drawn", "", 3, 0, 3);
  auto legend = new TLegend(.1, .2, .3, .4, "header");
  auto text = new TPaveText(.1, .1, .4, .4);
  legend->AddEntry(histogram, "entry", "l");
  text->AddText("line");
  for (TObject *each : std::initializer_list<TObject *>{
           histogram, legend, text, new TText(.1, .1, "text"), new TLatex(.2, .2, "#alpha"),
           new TArrow(0, 0, 1, 1), new TEllipse(.5, .5, .1, .2), new TLine(0, 0, 1, 1),
           new TBox(0, 0, 1, 1), new TPolyLine(N, X, Y), new TMarker(.5, .5, 20)})
    each->Draw();
  canvas.Update();
  put(canvas);
  divided.Divide(2, 1);
  divided.cd(1);
  histogram->Draw();
  divided.cd(2);
  (new TGraph(N, X, Y))->Draw("ALP");
  divided.Update();
  put(divided);
  put(*legend, "legend");
  put(TPaveStats(.1, .1, .2, .2), "statistics");
  put(TText(.1, .2, "text"), "text");
  put(TArrow(0, 0, 1, 1), "arrow");
  put(TColor(1200, .1, .2, .3), "color");
  put(*gStyle, "style");
}

void tree() {
  TTree tree("tree", "with user info");
  double x = 0;
  tree.Branch("x", &x);
  tree.GetUserInfo()->Add(new TNamed("info", "user info"));
  tree.GetUserInfo()->Add(new TParameter<double>("luminosity", 3.5));
  tree.SetAlias("twice", "x*2");
  tree.SetAlias("thrice", "twice+x");
  for (int i = 0; i < 5; i++) {
    x = i;
    tree.Fill();
  }
  file->WriteObject(&tree, "tree");
}

void write(const char *path, const char *values) {
  TH1::AddDirectory(false);
  gROOT->SetBatch(true);
  file = new TFile(path, "RECREATE");
  json = new std::ofstream(values);
  histograms();
  graphs();
  containers();
  standard();
  single();
  graphics();
  tree();
  file->Close();
  json->close();
}

} // namespace objects

#ifdef __CLING__
#pragma link C++ class map<string, vector<double>> + ;
#pragma link C++ class map<int, string> + ;
#pragma link C++ class map<string, map<string, double>> + ;
#pragma link C++ class map<string, TNamed *> + ;
#pragma link C++ class vector<pair<int, double>> + ;
#pragma link C++ class vector<TLorentzVector> + ;
#pragma link C++ class vector<TNamed *> + ;
#endif
