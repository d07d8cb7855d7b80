"""Makes the table of this folder: `python classes.py > classes.txt`.

Needs ROOT and uproot: ROOT describes its classes in a file, uproot reads the descriptions.
"""

import os
import pathlib
import sys
import tempfile

import ROOT
import uproot

KINDS = "C S I L F D"
CLASSES = """
TTree TBranch TBranchElement TBranchObject TBranchClones TBranchRef TNtuple TNtupleD
TChain TChainElement TLeafB TLeafS TLeafI TLeafL TLeafG TLeafF TLeafD TLeafO TLeafC TLeafF16
TLeafD32 TLeafElement TLeafObject TFriendElement TTreeIndex TEntryList TEventList ROOT::RNTuple
TProfile TProfile2D TProfile3D TEfficiency THStack
TGraph TGraphErrors TGraphAsymmErrors TGraphBentErrors TGraphMultiErrors TGraph2D
TGraph2DErrors TMultiGraph
TObjString TList TObjArray TClonesArray TMap THashList THashTable TPair TMacro TNamed TProcessID
TUUID TArrayC TArrayS TArrayI TArrayL TArrayL64 TArrayF TArrayD
TParameter<bool> TParameter<int> TParameter<long> TParameter<Long64_t> TParameter<float>
TParameter<double> TVectorT<float> TVectorT<double> TMatrixT<float> TMatrixT<double>
TMatrixTSym<float> TMatrixTSym<double>
"""


def names():
    yield from CLASSES.split()
    yield from (f"TH{axes}{kind}" for axes in "123" for kind in KINDS.split())


def described(path):
    """A file in which ROOT describes the classes, and all that they are made of."""
    file = ROOT.TFile(str(path), "RECREATE")
    for name in names():
        ROOT.TClass.GetClass(name).GetStreamerInfo().ForceWriteInfo(file, True)
    file.Close()


def sizes(path):
    """Sizes in the elements of each class, which ROOT does not report as they are."""
    for versions in uproot.open(path).file.streamers.values():
        for info in versions.values():
            yield [element.member("fSize") for element in info.member("fElements")]


def element(said, size):
    kind = said.IsA().GetName().removeprefix("TStreamer")
    unsigned = [said.GetMaxIndex(at) & 0xFFFFFFFF for at in range(5)]
    extra = ""
    if kind == "Base":
        extra = f"{said.GetBaseVersion()} {unsigned[1]:08x}"
    elif kind in ("BasicPointer", "Loop"):
        extra = f"{said.GetCountVersion()} {said.GetCountClass()} {said.GetCountName()}"
    elif kind == "STL":
        extra = f"{said.GetSTLtype()} {said.GetCtype()}"
    elif said.GetArrayDim():
        extra = " ".join(map(str, unsigned[: said.GetArrayDim()]))
    # ROOT writes collections under this code, whatever it has in memory.
    type_code = 500 if kind == "STL" else said.GetType()
    type_name, title = said.GetTypeName(), said.GetTitle()
    fields = [kind, said.GetName(), type_code, size, type_name, extra, title]
    return "\t".join(map(str, fields)).rstrip("\t")


def main():
    ROOT.gErrorIgnoreLevel = ROOT.kFatal
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "classes.root")
        described(path)
        file = ROOT.TFile(str(path))
        infos = [info for info in file.GetStreamerInfoList() if info.InheritsFrom("TStreamerInfo")]
        paragraphs = {}
        for info, lengths in zip(infos, sizes(path), strict=True):
            version, checksum = info.GetClassVersion(), info.GetCheckSum() & 0xFFFFFFFF
            lines = [f"{info.GetName()}\t{version}\t{checksum:08x}"]
            lines += map(element, info.GetElements(), lengths)
            paragraphs[info.GetName()] = "\n".join(lines)
    print(f"# Of ROOT {ROOT.gROOT.GetVersion()}. Made by classes.py.")
    for _, paragraph in sorted(paragraphs.items()):
        print(f"\n{paragraph}")


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    # ROOT may crash where it tidies up behind us.
    os._exit(0)
