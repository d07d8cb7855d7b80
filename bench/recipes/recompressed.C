// The entries of flat100.root, which lies beside the target, with another compression: ROOT's number
// of it, a hundred times the algorithm and the level.

#include "TFile.h"
#include "TString.h"
#include "TSystem.h"
#include "TTree.h"

void make_recompressed(const char* path, int compression, long entries_per_cluster) {
  TString source = gSystem->GetDirName(path) + "/flat100.root";
  TFile from(source);
  auto* tree = from.Get<TTree>("Events");
  TFile to(path, "RECREATE", "", compression);
  // Not fast: that would copy baskets as they are.
  TTree* copy = tree->CloneTree(0);
  copy->SetAutoFlush(entries_per_cluster);
  copy->CopyEntries(tree);
  copy->Write();
  to.Close();
}
