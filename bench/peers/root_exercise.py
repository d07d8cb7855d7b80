"""ROOT: the event loop in C++, some branches of each event and all of every so many.

The branches are those that farroot's exercise chooses: smallest, largest, next smallest, and so
on, until they make up the fraction of the stored bytes. `default`: ROOT's cache as it comes, which
learns from the first entries. `trained`: it gets the branches of each event beforehand.
"""

import clock
import ROOT
import root_warm

args = clock.arguments(
    ("--fraction", {"type": float, "default": 0.3}),
    ("--prescale", {"type": int, "default": 50}),
    ("--cache", {"choices": ["default", "trained"], "default": "default"}),
    ("--cache-bytes", {"type": int, "default": 20_000_000}),
    ("--sample", {"type": int, "help": "so many of the events stand for all"}),
)
events = args.sample or args.entry_stop

ROOT.gInterpreter.Declare("""
#include <algorithm>
#include <deque>
#include <vector>
std::vector<TBranch*> chosen(TTree* tree, double fraction) {
  std::vector<std::pair<long long, TBranch*>> sizes;
  long long total = 0, taken = 0;
  for (TObject* object : *tree->GetListOfBranches()) {
    TBranch* branch = static_cast<TBranch*>(object);
    long long bytes = 0;
    for (int i = 0; i < branch->GetWriteBasket(); i++) bytes += branch->GetBasketBytes()[i];
    sizes.push_back({bytes, branch});
    total += bytes;
  }
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::deque<std::pair<long long, TBranch*>> left(sizes.begin(), sizes.end());
  std::vector<TBranch*> each;
  while (taken < total * fraction && !left.empty()) {
    bool below = each.size() % 2 == 0;
    auto next = below ? left.front() : left.back();
    below ? left.pop_front() : left.pop_back();
    taken += next.first;
    each.push_back(next.second);
  }
  return each;
}
long long event_loop(TTree* tree, const std::vector<TBranch*>& each, long long stop,
                     long long prescale) {
  long long bytes = 0;
  for (long long entry = 0; entry < stop; entry++) {
    tree->LoadTree(entry);
    if (prescale > 0 && (entry + 1) % prescale == 0) {
      bytes += tree->GetEntry(entry);
    } else {
      for (TBranch* branch : each) bytes += branch->GetEntry(entry);
    }
  }
  return bytes;
}
""")


def job():
    file = ROOT.TFile.Open(args.url)
    tree = file.Get(args.tree)
    stop = tree.GetEntries() if events is None else min(events, tree.GetEntries())
    each = ROOT.chosen(tree, args.fraction)
    if args.cache == "trained":
        tree.SetCacheSize(args.cache_bytes)
        for branch in each:
            tree.AddBranchToCache(branch, True)
        tree.StopCacheLearningPhase()
    return file, stop, ROOT.event_loop(tree, each, stop, args.prescale)


root_warm.warm_up(lambda tree: ROOT.event_loop(tree, ROOT.chosen(tree, 1.0), 1, 1))

if args.sample:
    scale = args.entry_stop / args.sample
    clock.run(job, lambda result: {"entries": round(result[1] * scale)}, scale)
clock.run(job, lambda result: {"entries": result[1], "payload_bytes": result[2]})
