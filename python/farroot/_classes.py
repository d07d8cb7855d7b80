"""Classes of Python that have the methods of classes of ROOT."""

from __future__ import annotations

import functools
import re

from . import objects
from ._registry import is_opaque
from .objects import Filling, Object


def make(classname: str, version: int | None, source: Filling | None) -> Object:
    """An object of a class, to be filled by its source; at once where there is none."""
    kind = objects.Registered if is_opaque(classname) else _kind(classname)
    return kind(classname, version, source)


@functools.cache
def _kind(classname: str) -> type[Object]:
    """The Python class with the methods of a class; of those that derive from others, see
    `_kinded`."""
    from . import algebra, efficiencies, graphs, histograms, histograms_nd, roofit

    for pattern, kind in (
        (r"TH1[CSIFDLK]", histograms.TH1),
        (r"TH2[CSIFDL]", histograms.TH2),
        (r"TH3[CSIFDL]", histograms.TH3),
        (r"TProfile", histograms.TProfile),
        (r"TProfile2D", histograms.TProfile2D),
        (r"TProfile3D", histograms.TProfile3D),
        (r"TAxis", histograms.Axis),
        (r"TEfficiency", efficiencies.Efficiency),
        (r"THnSparseT?(<.*>)?", histograms_nd.Sparse),
        (r"THnT(<.*>)?", histograms_nd.Dense),
        (r"TH2Poly|TProfile2Poly", histograms_nd.Polygons),
        (r"RooCurve", roofit.Curve),
        (r"RooHist", roofit.Points),
        (r"TGraphErrors", graphs.TGraphErrors),
        (r"TGraphAsymmErrors", graphs.TGraphAsymmErrors),
        (r"TGraph(BentErrors|Polar|QQ)?|TCutG", objects.Graph),
        (r"TGraphMultiErrors", graphs.MultiErrors),
        (r"TGraph2D(Errors|AsymmErrors)?", graphs.Graph2D),
        (r"TMatrixT(Sym|Sparse)?<(float|double)>", algebra.Matrix),
        (r"TVectorT<(float|double)>", algebra.Vector),
        (r"TBits", algebra.Bits),
        (r"TTimeStamp", objects.TimeStamp),
        (r"TParameter<.*>", objects.Parameter),
        (r"TDatime", objects.Datime),
        (r"TTable", objects.Table),
        (r"TRefArray", objects.RefArray),
        (r"TArray(C|S|I|L|L64|F|D)", objects.Numbers),
        (
            r"T(Hash|Sorted)?List|TObjArray|TOrdCollection|TClonesArray|TMap",
            objects.Counted,
        ),
    ):
        if re.fullmatch(pattern, classname):
            return kind
    return Object
