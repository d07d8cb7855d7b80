"""ROOT: from the address to the names of all branches, gone over in C++."""

import clock
import ROOT
import root_warm

args = clock.arguments()

ROOT.gInterpreter.Declare("""
long long count_names(TTree* tree) {
  long long names = 0;
  for (TObject* branch : *tree->GetListOfBranches()) names += branch->GetName()[0] != 0;
  return names;
}
""")


def job():
    file = ROOT.TFile.Open(args.url)
    tree = file.Get(args.tree)
    return file, tree, ROOT.count_names(tree)


root_warm.warm_up(ROOT.count_names)
clock.run(job, lambda read: {"branches": int(read[2])})
