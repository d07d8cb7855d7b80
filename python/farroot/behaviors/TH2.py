"""Histograms of two dimensions."""

from farroot.histograms import TH2

__all__ = ["TH2"]
