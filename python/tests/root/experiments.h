// Classes of the shapes in which experiments write: what their frameworks wrap products in, how
// these refer to each other, and how objects hold others.
#include "members.h"

#include <THashList.h>
#include <THashTable.h>
#include <TList.h>
#include <TMap.h>
#include <TOrdCollection.h>

// CMS: products in wrappers, and what refers to them.
namespace edm {
struct WrapperBase {
  virtual ~WrapperBase() {}
  ClassDefNV(WrapperBase, 3)
};
template <class T> struct Wrapper : public WrapperBase {
  bool present = true;
  T obj{};
  MEMBERS(present, obj)
  ClassDefNV(Wrapper, 4)
};
template <int I> struct Hash {
  std::string hash_;
  MEMBERS(hash_)
  ClassDefNV(Hash, 3)
};
struct ProductID {
  unsigned short processIndex_ = 0, productIndex_ = 0;
  MEMBERS(processIndex_, productIndex_)
  ClassDefNV(ProductID, 3)
};
struct RefCore {
  const void *cachePtr_ = nullptr; //!
  unsigned short processIndex_ = 0, productIndex_ = 0;
  MEMBERS(processIndex_, productIndex_)
  ClassDefNV(RefCore, 10)
};
template <class C> struct Finder {};
template <class C, class T = typename C::value_type, class F = Finder<C>> struct Ref {
  RefCore product_;
  unsigned int index_ = 0;
  MEMBERS(product_, index_)
};
template <class C> struct RefProd {
  RefCore product_;
  MEMBERS(product_)
};
template <class K> struct RefVectorBase {
  RefCore product_;
  std::vector<K> keys_;
  MEMBERS(product_, keys_)
};
template <class C> struct RefVector {
  RefVectorBase<unsigned int> refVector_;
  MEMBERS(refVector_)
};
struct PtrVectorBase {
  RefCore core_;
  std::vector<unsigned long> indicies_;
  COPIED(PtrVectorBase)
  MEMBERS(core_, indicies_)
};
// Without members of its own.
template <class T> struct PtrVector : public PtrVectorBase {};
template <class T> struct Ptr {
  RefCore core_;
  unsigned long key_ = 0;
  MEMBERS(core_, key_)
};
template <class K, class V> struct KeyVal {
  K key;
  V val;
  MEMBERS(key, val)
};
template <class A, class B> struct AssociationMap {
  KeyVal<RefProd<A>, RefProd<B>> ref_;
  std::map<unsigned int, std::vector<std::pair<unsigned int, float>>> map_;
  mutable std::map<int, int> transientMap_; //!
  MEMBERS(ref_, map_)
};
template <class T> struct ValueMap {
  std::vector<T> values_;
  std::vector<std::pair<ProductID, unsigned int>> ids_;
  COPIED(ValueMap)
  MEMBERS(values_, ids_)
};
template <class T> struct OwnVector {
  std::vector<T *> data_;
  MEMBERS(data_)
};
template <class T> struct DetSet {
  unsigned int id = 0;
  std::vector<T> data;
  MEMBERS(id, data)
};
template <class T> struct SortedCollection {
  std::vector<T> obj;
  MEMBERS(obj)
};
struct EventID {
  unsigned int run_ = 0, luminosityBlock_ = 0;
  unsigned long long event_ = 0;
  MEMBERS(run_, luminosityBlock_, event_)
};
struct Timestamp {
  unsigned int timeLow_ = 0, timeHigh_ = 0;
  MEMBERS(timeLow_, timeHigh_)
};
struct EventAuxiliary {
  enum ExperimentType { Undefined, Cosmics, GeneratedDAQ };
  Hash<1> processHistoryID_;
  EventID id_;
  std::string processGUID_;
  Timestamp time_;
  bool isRealData_ = false;
  ExperimentType experimentType_ = Cosmics;
  int bunchCrossing_ = 0;
  MEMBERS(processHistoryID_, id_, processGUID_, time_, isRealData_, experimentType_, bunchCrossing_)
};
struct ProcessConfiguration {
  std::string processName_;
  Hash<2> parameterSetID_;
  MEMBERS(processName_, parameterSetID_)
};
struct ProcessHistory {
  std::vector<ProcessConfiguration> data_;
  MEMBERS(data_)
};
struct HLTPathStatus {
  unsigned short status_ = 0;
  MEMBERS(status_)
};
struct HLTGlobalStatus {
  std::vector<HLTPathStatus> paths_;
  MEMBERS(paths_)
};
struct TriggerResults : public HLTGlobalStatus {
  Hash<2> psetid_;
  std::vector<std::string> names_;
  COPIED(TriggerResults)
  BEHIND(HLTGlobalStatus, psetid_, names_)
};
} // namespace edm

namespace reco {
typedef ROOT::Math::PositionVector3D<ROOT::Math::Cartesian3D<Double32_t>, ROOT::Math::DefaultCoordinateSystemTag> Point;
typedef ROOT::Math::LorentzVector<ROOT::Math::PtEtaPhiM4D<Double32_t>> PolarVector;
struct Candidate {
  COPIED(Candidate)
  NO_MEMBERS
};
struct ParticleState {
  Point vertex_;
  PolarVector p4Polar_;
  int qx3_ = 0, pdgId_ = 0;
  MEMBERS(vertex_, p4Polar_, qx3_, pdgId_)
};
struct LeafCandidate : public Candidate {
  ParticleState m_state;
  MEMBERS(m_state)
};
struct TrackBase {
  enum Algorithm : unsigned char { undefined, ctf, cosmics };
  float chi2_ = 0, covariance_[15];
  Point vertex_;
  Double32_t packed_[3]; //[-32,32,16]
  char charge_ = 0;
  Algorithm algorithm_ = ctf;
  std::bitset<47> algoMask_;
  unsigned short hits_[3][2];
  COPIED(TrackBase)
  ROUNDED(packed_)
  MEMBERS(chi2_, covariance_, vertex_, packed_, charge_, algorithm_, algoMask_, hits_)
};
struct TrackExtra {
  int hits = 0;
  MEMBERS(hits)
};
struct Track : public TrackBase {
  edm::Ref<std::vector<TrackExtra>> extra_;
  BEHIND(TrackBase, extra_)
};
struct Jet : public LeafCandidate {
  edm::PtrVector<Candidate> daughters_;
  std::vector<std::pair<std::string, std::vector<float>>> discriminators_;
  std::vector<std::pair<std::string, edm::Ptr<Candidate>>> candidates_;
  std::map<std::string, float> user_;
  std::vector<edm::RefVector<std::vector<Track>>> tracks_;
  BEHIND(LeafCandidate, daughters_, discriminators_, candidates_, user_, tracks_)
};
} // namespace reco

// ATLAS: stores of vectors, links, and collections without members.
template <class T> struct ElementLink {
  unsigned int m_persKey = 0, m_persIndex = 0;
  MEMBERS(m_persKey, m_persIndex)
};
template <class T> struct DataVector {
  virtual ~DataVector() {}
  int transient = 0; //!
  NO_MEMBERS
};
namespace xAOD {
struct IAuxStore {
  COPIED(IAuxStore)
  NO_MEMBERS
};
struct AuxContainerBase : public IAuxStore {
  int size = 0; //!
};
struct Muon_v1 {};
typedef ElementLink<DataVector<Muon_v1>> MuonLink;
struct MuonAuxContainer_v4 : public AuxContainerBase {
  std::vector<float> pt;
  std::vector<unsigned char> quality;
  std::vector<MuonLink> link;
  std::vector<std::vector<MuonLink>> segments;
  std::vector<std::vector<std::vector<float>>> deep;
  std::vector<std::string> names;
  std::vector<bool> flags;
  std::vector<std::vector<std::string>> texts;
  MEMBERS(pt, quality, link, segments, deep, names, flags, texts)
};
struct EventAuxInfo_v1 : public AuxContainerBase {
  unsigned int runNumber = 0;
  unsigned long long eventNumber = 0;
  std::vector<std::string> streamTagNames;
  std::vector<char> obeys;
  std::set<unsigned int> robs;
  MEMBERS(runNumber, eventNumber, streamTagNames, obeys, robs)
};
} // namespace xAOD

// DUNE and others of LArSoft: the same in other words, and base classes in a chain.
namespace art {
struct EDProduct {
  COPIED(EDProduct)
};
template <class T> struct Wrapper : public EDProduct {
  bool present = false;
  unsigned int rangeSetID = 0;
  T obj;
  MEMBERS(present, rangeSetID, obj)
};
struct RefCore {
  unsigned int id_ = 0;
  MEMBERS(id_)
};
template <class A, class B, class D> struct Assns {
  std::vector<std::pair<RefCore, unsigned long>> ptr_data_1_, ptr_data_2_;
  std::vector<D> data_;
  COPIED(Assns)
  MEMBERS(ptr_data_1_, ptr_data_2_, data_)
};
template <class A, class B> struct Assns<A, B, void> {
  std::vector<std::pair<RefCore, unsigned long>> ptr_data_1_, ptr_data_2_;
  COPIED(Assns)
  MEMBERS(ptr_data_1_, ptr_data_2_)
};
} // namespace art
namespace geo {
enum Signal { kInduction, kCollection, kMystery };
struct CryostatID {
  bool isValid = false;
  unsigned int Cryostat = 0;
  MEMBERS(isValid, Cryostat)
};
struct TPCID : public CryostatID {
  unsigned int TPC = 0;
  BEHIND(CryostatID, TPC)
};
struct PlaneID : public TPCID {
  unsigned int Plane = 0;
  BEHIND(TPCID, Plane)
};
} // namespace geo
namespace lar {
template <class T> struct range {
  unsigned long offset = 0;
  std::vector<T> values;
  MEMBERS(offset, values)
};
template <class T> struct sparse_vector {
  unsigned long nominal_size = 0;
  std::vector<range<T>> ranges;
  MEMBERS(nominal_size, ranges)
};
} // namespace lar
namespace recob {
struct Hit {
  unsigned int fChannel = 0;
  float fPeakTime = 0;
  geo::PlaneID fPlane;
  geo::Signal fSignal = geo::kInduction;
  lar::sparse_vector<float> fSignalROI;
  MEMBERS(fChannel, fPeakTime, fPlane, fSignal, fSignalROI)
};
struct Flags {
  std::bitset<32> fFlags;
  MEMBERS(fFlags)
};
struct Trajectory {
  std::vector<reco::Point> fPositions;
  std::vector<TVector3> fMomenta;
  MEMBERS(fPositions, fMomenta)
};
struct Track : private Trajectory {
  std::vector<Flags> fFlags;
  std::vector<std::vector<double>> fdQdx;
  BEHIND(Trajectory, fFlags, fdQdx)
};
} // namespace recob

// NOvA, MINOS: one record of records, lists and lists in these.
namespace caf {
struct SRVector3D {
  float x = 0, y = 0, z = 0;
  MEMBERS(x, y, z)
};
struct SRHeader {
  unsigned int run = 0;
  bool ismc = false;
  std::vector<std::string> cfg;
  MEMBERS(run, ismc, cfg)
};
struct SRProng {
  SRVector3D dir, start;
  unsigned short nhit = 0;
  std::vector<double> weights;
  MEMBERS(dir, start, nhit, weights)
};
struct SRShower : public SRProng {
  float energy = 0;
  std::vector<SRVector3D> points;
  BEHIND(SRProng, energy, points)
};
struct SRFuzzyK {
  std::vector<SRProng> png;
  unsigned long npng = 0;
  SRShower longest;
  MEMBERS(png, npng, longest)
};
struct SRElastic {
  SRVector3D vtx;
  SRFuzzyK fuzzyk;
  MEMBERS(vtx, fuzzyk)
};
struct SRVertexBranch {
  std::vector<SRElastic> elastic;
  SRElastic best;
  std::vector<SRShower> shw;
  MEMBERS(elastic, best, shw)
};
struct StandardRecord {
  SRHeader hdr;
  SRVertexBranch vtx;
  std::map<std::string, SRVector3D> named;
  std::array<SRVector3D, 2> both;
  float fixed[3][2];
  std::vector<float> syst[2];
  MEMBERS(hdr, vtx, named, both, fixed, syst)
};
} // namespace caf

// BES III and JUNO: TObjects in a TObjArray and in maps, and what refers to an entry elsewhere.
class TMdcTrack : public TObject {
public:
  int m_trackId = 0;
  double m_helix[5] = {};
  std::vector<int> m_hits;
  MEMBERS(m_trackId, m_helix, m_hits)
  ClassDef(TMdcTrack, 2)
};
class TDstEvent : public TObject {
public:
  TObjArray m_mdcTrackCol;
  std::map<int, TMdcTrack> m_byId;
  std::map<int, std::vector<double>> m_numbers;
  unsigned int m_tag = 0;
  void fill_seeded(seeded::Random &random) {
    seeded::fill_objects<TMdcTrack>(m_mdcTrackCol, random);
    seeded::fill_all(random, m_byId, m_numbers, m_tag);
  }
  void tell_seeded(seeded::Tuple &to) const {
    seeded::tell_list<TMdcTrack>("m_mdcTrackCol", m_mdcTrackCol, to);
    seeded::tell_all(to, "m_byId,m_numbers,m_tag", m_byId, m_numbers, m_tag);
  }
  ClassDef(TDstEvent, 4)
};
namespace JM {
class SmartRef {
public:
  std::string m_branchID;
  Long64_t m_entry = -1;
  COPIED(SmartRef)
  MEMBERS(m_branchID, m_entry)
  ClassDef(SmartRef, 1)
};
class EventObject : public TObject {
public:
  NO_MEMBERS
  ClassDef(EventObject, 1)
};
class SimTrack : public EventObject {
public:
  float edep = 0;
  std::vector<int> ancestors;
  MEMBERS(edep, ancestors)
  ClassDef(SimTrack, 1)
};
class SimEvent : public EventObject {
public:
  TTimeStamp m_time;
  SmartRef m_header;
  std::vector<SimTrack *> m_tracks;
  std::vector<SimTrack> m_hits;
  MEMBERS(m_time, m_header, m_tracks, m_hits)
  ClassDef(SimEvent, 2)
};
} // namespace JM

// ALICE: abstract classes that have version 0, and arrays with lengths.
class AliVTrack : public TObject {
public:
  NO_MEMBERS
  ClassDef(AliVTrack, 0)
};
class AliTrackParam : public AliVTrack {
public:
  Double32_t fX = 0, fP[5] = {};
  ROUNDED(fX, fP)
  MEMBERS(fX, fP)
  ClassDef(AliTrackParam, 8)
};
class AliESDtrack : public AliTrackParam {
public:
  ULong_t fFlags = 0;
  Int_t fITSModule[12] = {};
  TBits fTPCFitMap;
  Double32_t fR[5] = {}; //[0.,0.,8]
  Short_t fLabels[2][3] = {};
  AliTrackParam fInner[2];
  ROUNDED(fR)
  BEHIND(AliTrackParam, fFlags, fITSModule, fTPCFitMap, fR, fLabels, fInner)
  ClassDef(AliESDtrack, 74)
};
class AliAODTracklets : public TNamed {
public:
  Int_t fNTracks = 0;
  Double32_t *fTheta = nullptr; //[fNTracks]
  UInt_t *fCodes = nullptr;      //[fNTracks]
  void fill_seeded(seeded::Random &random) {
    seeded::Value<TNamed>::fill(*this, random);
    fNTracks = int(random.length());
    seeded::fill_counted(fCodes, fNTracks, random);
    fTheta = new Double32_t[fNTracks];
    for (int i = 0; i < fNTracks; i++)
      seeded::fill_short(fTheta[i], random);
  }
  void tell_seeded(seeded::Tuple &to) const {
    seeded::Value<TNamed>::members(*this, to);
    seeded::tell_all(to, "fNTracks", fNTracks);
    to.key("fTheta");
    seeded::tell_counted(fTheta, fNTracks, to.out);
    to.key("fCodes");
    seeded::tell_counted(fCodes, fNTracks, to.out);
  }
  ClassDef(AliAODTracklets, 5)
};

// Belle II: relations between the objects of other branches.
class RelationElement : public TObject {
public:
  unsigned int m_from = 0;
  std::vector<unsigned int> m_to;
  std::vector<float> m_weights;
  MEMBERS(m_from, m_to, m_weights)
  ClassDef(RelationElement, 4)
};
class RelationContainer : public TObject {
public:
  TClonesArray m_elements{"RelationElement"};
  std::string m_fromName;
  int m_fromDurability = 0;
  bool m_modified = false; //!
  void fill_seeded(seeded::Random &random) {
    seeded::fill_clones<RelationElement>(m_elements, random);
    seeded::fill_all(random, m_fromName, m_fromDurability);
  }
  void tell_seeded(seeded::Tuple &to) const {
    seeded::tell_list<RelationElement>("m_elements", m_elements, to);
    seeded::tell_all(to, "m_fromName,m_fromDurability", m_fromName, m_fromDurability);
  }
  ClassDef(RelationContainer, 4)
};

// The event of ROOT's own examples, and ROOT's containers in one object.
class Header {
public:
  int fEvtNum = 0, fRun = 0;
  COPIED(Header)
  MEMBERS(fEvtNum, fRun)
  ClassDef(Header, 1)
};
class Part : public TObject {
public:
  Float16_t fMass2 = 0; //[-32,32,12]
  Float16_t fBx = 0;    //[0,0,10]
  Double32_t fXlast = 0;
  Double32_t fVertex[3] = {}; //[-32,32,16]
  Int_t fNsp = 0;
  Double32_t *fPointValue = nullptr; //[fNsp][0,4,16]
  TBits fTriggerBits;
  void fill_seeded(seeded::Random &random) {
    for (auto short_one : {&fMass2, &fBx})
      seeded::shorten(*short_one, random);
    seeded::shorten(fXlast, random);
    seeded::shorten(fVertex, random);
    seeded::fill(fTriggerBits, random);
    fNsp = int(random.length());
    fPointValue = new Double32_t[fNsp];
    for (int i = 0; i < fNsp; i++)
      fPointValue[i] = double(random.below(4));
  }
  void tell_seeded(seeded::Tuple &to) const {
    seeded::tell_all(to, "fMass2,fBx,fXlast,fVertex,fNsp,fTriggerBits", fMass2, fBx, fXlast,
                     fVertex, fNsp, fTriggerBits);
    to.key("fPointValue");
    seeded::tell_counted(fPointValue, fNsp, to.out);
  }
  ClassDef(Part, 2)
};
class Happening : public TObject {
public:
  enum Kind { kA, kB, kC };
  char fType[20] = {}, *fEventName = nullptr;
  Double32_t fMatrix[4][4] = {};
  Header fEvtHdr;
  TClonesArray *fParts = new TClonesArray("Part"); //->
  TRefArray fHighPt;
  TRef fLast, fNothing, fPair[2];
  std::vector<TRef> fSeveral;
  TList fList, *fPointed = new TList; //->
  THashList fHashList;
  THashTable fHashTable;
  TOrdCollection fOrdered;
  TMap fMap;
  Kind fKind = kA;
  void fill_seeded(seeded::Random &random);
  void tell_seeded(seeded::Tuple &to) const;
  ClassDef(Happening, 1)
};

void Happening::fill_seeded(seeded::Random &random) {
  TProcessID::SetObjectCount(0);
  seeded::fill_all(random, fType, fEvtHdr, fKind);
  seeded::shorten(fMatrix, random);
  fEventName = strdup(random.below(2) ? "event" : "");
  seeded::fill_clones<Part>(*fParts, random);
  fHighPt.Clear();
  fSeveral.clear();
  for (auto part : *fParts) {
    fHighPt.Add(part);
    fSeveral.push_back(part);
  }
  fLast = fParts->Last();
  fPair[1] = fParts->Last();
  for (auto list : {&fList, fPointed})
    seeded::fill_list<TMdcTrack>(*list, random);
  seeded::fill_list<TNamed>(fHashList, random);
  seeded::fill_list<TNamed>(fHashTable, random);
  seeded::fill_list<TMdcTrack>(fOrdered, random);
  fMap.Clear();
  for (auto key : fHashList)
    fMap.Add(key->Clone(), new TObjString(key->GetTitle()));
}

void Happening::tell_seeded(seeded::Tuple &to) const {
  seeded::tell_all(to, "fType,fMatrix,fEvtHdr,fHighPt,fLast,fNothing,fPair,fSeveral,fKind", fType,
                   fMatrix, fEvtHdr, fHighPt, fLast, fNothing, fPair, fSeveral, fKind);
  to.key("fEventName");
  seeded::tell_text(fEventName, strlen(fEventName), to.out);
  seeded::tell_list<Part>("fParts", *fParts, to);
  seeded::tell_list<TMdcTrack>("fList", fList, to);
  seeded::tell_list<TMdcTrack>("fPointed", *fPointed, to);
  seeded::tell_list<TNamed>("fHashList", fHashList, to);
  seeded::tell_list<TNamed>("fHashTable", fHashTable, to);
  seeded::tell_list<TMdcTrack>("fOrdered", fOrdered, to);
  to.key("fMap");
  seeded::Tuple pairs(to.out);
  for (auto each : *const_cast<TMap &>(fMap).GetTable()) {
    pairs.next();
    seeded::Tuple pair(to.out);
    pair.next();
    seeded::tell(*static_cast<TNamed *>(static_cast<TPair *>(each)->Key()), to.out);
    pair.next();
    seeded::tell(*static_cast<TObjString *>(static_cast<TPair *>(each)->Value()), to.out);
    to.out += ']';
  }
  to.out += ']';
}

#ifdef __CLING__
#pragma link C++ class edm::Ref<std::vector<reco::TrackExtra>>+;
#pragma link C++ class edm::RefVector<std::vector<reco::Track>>+;
#pragma link C++ class edm::Wrapper<std::vector<reco::Track>>+;
#pragma link C++ class edm::Wrapper<std::vector<reco::Jet>>+;
#pragma link C++ class edm::Wrapper<edm::AssociationMap<std::vector<reco::Track>,std::vector<reco::Jet>>>+;
#pragma link C++ class edm::Wrapper<edm::ValueMap<edm::Ptr<reco::Candidate>>>+;
#pragma link C++ class edm::Wrapper<edm::OwnVector<reco::LeafCandidate>>+;
#pragma link C++ class edm::Wrapper<std::vector<edm::DetSet<reco::TrackExtra>>>+;
#pragma link C++ class edm::Wrapper<edm::SortedCollection<reco::TrackBase>>+;
#pragma link C++ class edm::Wrapper<edm::TriggerResults>+;
#pragma link C++ class edm::Wrapper<edm::RefVector<std::vector<reco::Track>>>+;
#pragma link C++ class edm::Wrapper<bool>+;
#pragma link C++ class edm::Wrapper<std::vector<std::vector<bool>>>+;
#pragma link C++ class edm::Wrapper<std::pair<float,std::vector<int>>>+;
#pragma link C++ class std::vector<edm::Hash<2>>+;
#pragma link C++ class std::vector<std::vector<xAOD::MuonLink>>+;
#pragma link C++ class std::vector<std::vector<std::vector<xAOD::MuonLink>>>+;
#pragma link C++ class DataVector<xAOD::Muon_v1>+;
#pragma link C++ class std::vector<std::vector<std::vector<unsigned char>>>+;
#pragma link C++ class std::vector<std::vector<std::string>>+;
#pragma link C++ class art::Wrapper<std::vector<recob::Hit>>+;
#pragma link C++ class art::Wrapper<std::vector<recob::Track>>+;
#pragma link C++ class art::Wrapper<art::Assns<recob::Hit,recob::Track,void>>+;
#pragma link C++ class art::Wrapper<art::Assns<recob::Hit,recob::Track,recob::Flags>>+;
#pragma link C++ class std::map<std::string, caf::SRVector3D>+;
#pragma link C++ class std::map<int, TMdcTrack>+;
#pragma link C++ class std::map<int, std::vector<double>>+;
#pragma link C++ class std::vector<JM::SimTrack>+;
#pragma link C++ class std::vector<JM::SimTrack*>+;
#pragma link C++ class std::vector<TRef>+;
#endif

void write_cms(const char *path, const seeded::Options &options, int seed) {
  seeded::Writer writer(path, options, seed);
  DOTTED(recoTracks_general__RECO, edm::Wrapper<std::vector<reco::Track>>)
  DOTTED(patJets_slimmed__PAT, edm::Wrapper<std::vector<reco::Jet>>)
  DOTTED(map_tracks_jets_RECO, edm::Wrapper<edm::AssociationMap<std::vector<reco::Track>, std::vector<reco::Jet>>>)
  DOTTED(values_candidates__RECO, edm::Wrapper<edm::ValueMap<edm::Ptr<reco::Candidate>>>)
  DOTTED(owned_candidates__HLT, edm::Wrapper<edm::OwnVector<reco::LeafCandidate>>)
  DOTTED(sets_hits__HLT, edm::Wrapper<std::vector<edm::DetSet<reco::TrackExtra>>>)
  DOTTED(sorted_hits__RECO, edm::Wrapper<edm::SortedCollection<reco::TrackBase>>)
  DOTTED(edmTriggerResults_TriggerResults__HLT, edm::Wrapper<edm::TriggerResults>)
  DOTTED(refs_tracks__RECO, edm::Wrapper<edm::RefVector<std::vector<reco::Track>>>)
  DOTTED(bool_filter__RECO, edm::Wrapper<bool>)
  DOTTED(bools_filters__RECO, edm::Wrapper<std::vector<std::vector<bool>>>)
  DOTTED(pair_weights__LHE, edm::Wrapper<std::pair<float, std::vector<int>>>)
  BRANCH(EventAuxiliary, edm::EventAuxiliary)
  BRANCH(ProcessHistory, edm::ProcessHistory)
  BRANCH(ParentIDs, std::vector<edm::Hash<2>>)
  RUN(recoTracks_general__RECO, patJets_slimmed__PAT, map_tracks_jets_RECO, values_candidates__RECO,
      owned_candidates__HLT, sets_hits__HLT, sorted_hits__RECO,
      edmTriggerResults_TriggerResults__HLT, refs_tracks__RECO, bool_filter__RECO,
      bools_filters__RECO, pair_weights__LHE, EventAuxiliary, ProcessHistory, ParentIDs)
}

void write_atlas(const char *path, const seeded::Options &options, int seed) {
  seeded::Writer writer(path, options, seed);
  DOTTED(MuonsAux, xAOD::MuonAuxContainer_v4)
  DOTTED(EventInfoAux, xAOD::EventAuxInfo_v1)
  BRANCH(Muons, DataVector<xAOD::Muon_v1>)
  BRANCH(MuonsAuxDyn_link, std::vector<xAOD::MuonLink>)
  BRANCH(MuonsAuxDyn_links, std::vector<std::vector<xAOD::MuonLink>>)
  BRANCH(MuonsAuxDyn_deep, std::vector<std::vector<std::vector<xAOD::MuonLink>>>)
  BRANCH(MuonsAuxDyn_bytes, std::vector<std::vector<std::vector<unsigned char>>>)
  BRANCH(MuonsAuxDyn_texts, std::vector<std::vector<std::string>>)
  BRANCH(index_ref, std::string)
  RUN(MuonsAux, EventInfoAux, Muons, MuonsAuxDyn_link, MuonsAuxDyn_links, MuonsAuxDyn_deep,
      MuonsAuxDyn_bytes, MuonsAuxDyn_texts, index_ref)
}

void write_neutrinos(const char *path, const seeded::Options &options, int seed) {
  seeded::Writer writer(path, options, seed);
  DOTTED(recob_hits, art::Wrapper<std::vector<recob::Hit>>)
  DOTTED(recob_tracks, art::Wrapper<std::vector<recob::Track>>)
  DOTTED(assns, art::Wrapper<art::Assns<recob::Hit, recob::Track, void>>)
  DOTTED(assns_flags, art::Wrapper<art::Assns<recob::Hit, recob::Track, recob::Flags>>)
  BRANCH(rec, caf::StandardRecord)
  RUN(recob_hits, recob_tracks, assns, assns_flags, rec)
}

void write_objects(const char *path, const seeded::Options &options, int seed) {
  seeded::Writer writer(path, options, seed);
  BRANCH(TDstEvent, ::TDstEvent)
  DOTTED(SimEvent, JM::SimEvent)
  DOTTED(track, AliESDtrack)
  BRANCH(tracklets, AliAODTracklets)
  BRANCH(MCParticlesToTracks, RelationContainer)
  BRANCH(event, Happening)
  RUN(TDstEvent, SimEvent, track, tracklets, MCParticlesToTracks, event)
}
