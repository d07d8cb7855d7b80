"""Histograms of one dimension."""

from farroot.histograms import TH1, Histogram

__all__ = ["TH1", "Histogram"]
