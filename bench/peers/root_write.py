"""ROOT: writes the entries of write100.root, from memory, in a loop compiled with -O2.

`--as`: `tree` or `ntuple`, one after the other (with `--threads`, baskets or pages are compressed
by ROOT's own threads); `merger`: TBufferMerger, `parallel`: RNTupleParallelWriter, one writer a
thread, which hand over after each `--every` entries (TBufferMerger; with 0, when a buffer has more
than `--flush` bytes) or cluster.
`--flush` and `--basket` are the tree's, in bytes, as in CMS's experiment.
"""

import sys
from pathlib import Path

import clock
import ROOT

args = clock.arguments(
    ("--as", {"dest": "form", "choices": ("tree", "ntuple", "merger", "parallel")}),
    ("--compression", {"type": int, "default": 505}),
    ("--threads", {"type": int, "default": 1}),
    ("--every", {"type": int, "default": 25_000}),
    ("--flush", {"type": int, "default": 0}),
    ("--basket", {"type": int, "default": 32_000}),
)

SOURCE = r"""
#include <memory>
#include <string>
#include <thread>
#include <vector>
#include "ROOT/RNTupleFillContext.hxx"
#include "ROOT/RNTupleModel.hxx"
#include "ROOT/RNTupleParallelWriter.hxx"
#include "ROOT/RNTupleWriteOptions.hxx"
#include "ROOT/RNTupleWriter.hxx"
#include "ROOT/TBufferMerger.hxx"
#include "TFile.h"
#include "TROOT.h"
#include "TTree.h"

using Lists = std::vector<std::vector<std::vector<float>>>;
Lists lists;
std::vector<std::vector<float>> flat;
long entries = 0;

std::string name(const char* kind, std::size_t i) { return kind + std::to_string(i); }

void load(const char* path, const char* which) {
  TFile file(path);
  auto tree = file.Get<TTree>(which);
  entries = tree->GetEntries();
  lists.assign(60, {});
  flat.assign(40, {});
  for (std::size_t i = 0; i < 60; i++) {
    auto item = new std::vector<float>();
    TBranch* branch = nullptr;
    tree->SetBranchAddress(name("v", i).c_str(), &item, &branch);
    for (long e = 0; e < entries; e++) { branch->GetEntry(e); lists[i].push_back(*item); }
    tree->ResetBranchAddresses();
    delete item;
  }
  for (std::size_t i = 0; i < 40; i++) {
    float item = 0;
    TBranch* branch = nullptr;
    tree->SetBranchAddress(name("f", i).c_str(), &item, &branch);
    for (long e = 0; e < entries; e++) { branch->GetEntry(e); flat[i].push_back(item); }
    tree->ResetBranchAddresses();
  }
}

struct Event {
  std::vector<std::vector<float>*> v;
  std::vector<std::vector<float>> own;
  std::vector<float> f;
  Event() : own(60), f(40) {}
};

void fill_tree(TTree& tree, long begin, long end, long flush, int basket, TFile* each, long every) {
  Event event;
  for (std::size_t i = 0; i < 60; i++) tree.Branch(name("v", i).c_str(), &event.own[i], basket, 99);
  for (std::size_t i = 0; i < 40; i++)
    tree.Branch(name("f", i).c_str(), &event.f[i], (name("f", i) + "/F").c_str(), basket);
  if (flush) tree.SetAutoFlush(-flush);
  for (long e = begin; e < end; e++) {
    for (std::size_t i = 0; i < 60; i++) event.own[i] = lists[i][e];
    for (std::size_t i = 0; i < 40; i++) event.f[i] = flat[i][e];
    tree.Fill();
    if (!each || e + 1 == end) continue;
    if (every ? (e - begin + 1) % every == 0 : each->GetEND() > flush) each->Write();
  }
  if (each) each->Write();
}

void as_tree(const char* path, int compression, int threads, long flush, int basket) {
  if (threads > 1) ROOT::EnableImplicitMT(threads);
  TFile file(path, "RECREATE", "", compression);
  auto tree = new TTree("Events", "Events");
  fill_tree(*tree, 0, entries, flush, basket, nullptr, 0);
  tree->Write();
  file.Close();
}

template <class Run> void shared_out(int threads, Run run) {
  std::vector<std::thread> all;
  for (int t = 0; t < threads; t++)
    all.emplace_back([=] { run(entries * t / threads, entries * (t + 1) / threads); });
  for (auto& one : all) one.join();
}

void as_merger(const char* path, int compression, int threads, long every, long flush, int basket) {
  ROOT::EnableThreadSafety();
  ROOT::TBufferMerger merger(path, "RECREATE", compression);
  shared_out(threads, [&](long begin, long end) {
    auto file = merger.GetFile();
    auto tree = new TTree("Events", "Events", 99, file.get());
    tree->ResetBit(kMustCleanup);
    fill_tree(*tree, begin, end, flush, basket, (TFile*)file.get(), every);
  });
}

struct Fields {
  std::unique_ptr<ROOT::RNTupleModel> model = ROOT::RNTupleModel::CreateBare();
  Fields() {
    for (std::size_t i = 0; i < 60; i++)
      model->MakeField<std::vector<float>>(name("v", i));
    for (std::size_t i = 0; i < 40; i++) model->MakeField<float>(name("f", i));
  }
};

template <class Writer> void fill_ntuple(Writer& writer, long begin, long end) {
  auto entry = writer.CreateEntry();
  std::vector<ROOT::RFieldToken> v, f;
  for (std::size_t i = 0; i < 60; i++) v.push_back(entry->GetToken(name("v", i)));
  for (std::size_t i = 0; i < 40; i++) f.push_back(entry->GetToken(name("f", i)));
  for (long e = begin; e < end; e++) {
    for (std::size_t i = 0; i < 60; i++) entry->BindRawPtr(v[i], (void*)&lists[i][e]);
    for (std::size_t i = 0; i < 40; i++) entry->BindRawPtr(f[i], (void*)&flat[i][e]);
    writer.Fill(*entry);
  }
}

ROOT::RNTupleWriteOptions options(int compression) {
  ROOT::RNTupleWriteOptions chosen;
  chosen.SetCompression(compression);
  return chosen;
}

void as_ntuple(const char* path, int compression, int threads) {
  if (threads > 1) ROOT::EnableImplicitMT(threads);
  Fields fields;
  auto chosen = options(compression);
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(fields.model), "Events", path, chosen);
  fill_ntuple(*writer, 0, entries);
}

void as_parallel(const char* path, int compression, int threads) {
  ROOT::EnableThreadSafety();
  Fields fields;
  auto chosen = options(compression);
  auto writer =
      ROOT::RNTupleParallelWriter::Recreate(std::move(fields.model), "Events", path, chosen);
  shared_out(threads, [&](long begin, long end) {
    auto context = writer->CreateFillContext();
    fill_ntuple(*context, begin, end);
  });
}
"""

ROOT.gROOT.SetBatch(True)
ROOT.gSystem.Load("libROOTNTuple")
build = Path(__file__).resolve().parents[1] / "out" / "data" / "build" / "root_write"
build.mkdir(parents=True, exist_ok=True)
source = build / "writers.C"
if not source.exists() or source.read_text() != SOURCE:
    source.write_text(SOURCE)
ROOT.gSystem.SetBuildDir(str(build), True)
if not ROOT.gSystem.CompileMacro(str(source), "kO"):
    sys.exit("ROOT does not take it")
ROOT.load(args.url, args.tree)
target = clock.target("written.root")


def job():
    path, compression = str(target), args.compression
    if args.form == "tree":
        ROOT.as_tree(path, compression, args.threads, args.flush, args.basket)
    elif args.form == "merger":
        tuning = (args.every, args.flush, args.basket)
        ROOT.as_merger(path, compression, args.threads, *tuning)
    elif args.form == "ntuple":
        ROOT.as_ntuple(path, compression, args.threads)
    else:
        ROOT.as_parallel(path, compression, args.threads)


clock.run(job, lambda _: clock.written(target), threads=args.threads)
