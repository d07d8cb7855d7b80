// Classes of the shapes in which experiments write: products in wrappers, as CMS has them, and
// objects that refer to others, as Delphes has them.
#include <memory>
#include <string>
#include <vector>

#include <TClonesArray.h>
#include <TLorentzVector.h>
#include <TObject.h>
#include <TRef.h>
#include <TRefArray.h>
#include <TTree.h>

namespace edm {
struct WrapperBase {
  virtual ~WrapperBase() {}
};
template <class T> struct Wrapper : public WrapperBase {
  bool present = true;
  T obj{};
};
struct ProductID {
  unsigned short processIndex_ = 0, productIndex_ = 0;
};
template <class T> struct RefVector {
  ProductID id;
  std::vector<unsigned int> keys;
};
} // namespace edm

namespace reco {
struct Point {
  Double32_t x = 0, y = 0; //[-128,128,16]
};
struct Candidate {
  Point vertex_;
  int pdgId_ = 0;
  virtual ~Candidate() {}
};
struct Track : public Candidate {
  float pt_ = 0;
  Double32_t covariance_[3] = {0, 0, 0};
  std::vector<unsigned char> hits_;
  edm::RefVector<Track> links_;
};
} // namespace reco

// As in Delphes, whose objects are those of `TClonesArray`s that refer to each other.
class GenParticle : public TObject {
public:
  int PID = 0;
  float PT = 0;
  ClassDef(GenParticle, 2)
};
class Tower : public TObject {
public:
  float ET = 0, Edges[4] = {0, 0, 0, 0};
  TRefArray Particles;
  ClassDef(Tower, 2)
};
class Muon : public TObject {
public:
  float PT = 0;
  TRef Particle;
  TLorentzVector Area, Trimmed[2];
  ClassDef(Muon, 4)
};

#ifdef __CLING__
#pragma link C++ class edm::Wrapper<double>+;
#pragma link C++ class edm::Wrapper<std::string>+;
#pragma link C++ class edm::Wrapper<std::vector<float>>+;
#pragma link C++ class edm::Wrapper<std::vector<reco::Track>>+;
#pragma link C++ class edm::RefVector<reco::Track>+;
#pragma link C++ class std::vector<reco::Track>+;
#endif

void fill_products(TTree *tree, int split) {
  auto number = new edm::Wrapper<double>;
  auto text = new edm::Wrapper<std::string>;
  auto numbers = new edm::Wrapper<std::vector<float>>;
  auto tracks = new edm::Wrapper<std::vector<reco::Track>>;
  tree->Branch("double_rho__RECO.", &number, 8000, split);
  tree->Branch("string_label__RECO.", &text, 8000, split);
  tree->Branch("floats_weights__RECO.", &numbers, 8000, split);
  tree->Branch("recoTracks_general__RECO.", &tracks, 2000, split);
  for (int i = 0; i < 60; i++) {
    number->obj = 0.5 * i;
    text->obj = std::string(i % 3, 's');
    numbers->obj.assign(i % 4, i);
    numbers->present = i % 2;
    tracks->obj.resize(i % 3);
    for (auto &track : tracks->obj) {
      track.vertex_.x = i;
      track.vertex_.y = -i / 4.;
      track.pdgId_ = 13;
      track.pt_ = 2 * i;
      track.covariance_[1] = i;
      track.hits_.assign(i % 4, 7);
      track.links_.id.productIndex_ = i;
      track.links_.keys.assign(i % 2, i);
    }
    tree->Fill();
  }
}

void fill_references(TTree *tree, int split) {
  auto particles = new TClonesArray("GenParticle"), towers = new TClonesArray("Tower");
  auto muons = new TClonesArray("Muon");
  tree->Branch("Particle", &particles, 2000, split);
  tree->Branch("Tower", &towers, 2000, split);
  tree->Branch("Muon", &muons, 2000, split);
  for (int i = 0; i < 60; i++) {
    particles->Clear();
    towers->Clear("C");
    muons->Clear();
    TProcessID::SetObjectCount(0);
    for (int k = 0; k < 3; k++)
      ((GenParticle *)particles->ConstructedAt(k))->PID = i + k;
    for (int k = 0; k < i % 3; k++) {
      auto tower = (Tower *)towers->ConstructedAt(k);
      tower->ET = i;
      tower->Edges[3] = k;
      tower->Particles.Clear();
      for (int j = 0; j <= k; j++)
        tower->Particles.Add(particles->At(j));
      auto muon = (Muon *)muons->ConstructedAt(k);
      muon->PT = i;
      muon->Particle = particles->At(k);
      muon->Trimmed[1].SetPxPyPzE(1, 2, 3, i);
    }
    tree->Fill();
  }
}
