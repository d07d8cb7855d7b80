"""Curves of RooFit."""

from farroot.roofit import Curve as RooCurve

__all__ = ["RooCurve"]
