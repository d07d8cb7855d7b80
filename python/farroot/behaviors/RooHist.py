"""Points of RooFit."""

from farroot.roofit import Points as RooHist

__all__ = ["RooHist"]
