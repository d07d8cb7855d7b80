"""Axes of histograms."""

from farroot.histograms import Axis as TAxis
from farroot.histograms import Traits as AxisTraits

__all__ = ["AxisTraits", "TAxis"]
