"""Classes of objects that are read, by uproot's names of them: for ``isinstance``.

A module a class of ROOT: ``isinstance(obj, farroot.behaviors.TH1.TH1)``.
"""

import importlib
from types import ModuleType

_MODULES = frozenset(
    (
        "RNTuple",
        "RooCurve",
        "RooHist",
        "TAxis",
        "TBranch",
        "TDatime",
        "TGraph",
        "TGraphAsymmErrors",
        "TGraphErrors",
        "TH1",
        "TH2",
        "TH3",
        "TParameter",
        "TProfile",
        "TProfile2D",
        "TProfile3D",
        "TTree",
    )
)


def __getattr__(name: str) -> ModuleType:
    """Each is imported when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"farroot.behaviors has no {name!r}; it has {', '.join(__dir__())}")
    return importlib.import_module(f"farroot.behaviors.{name}")


def __dir__() -> list[str]:
    return sorted(_MODULES)
