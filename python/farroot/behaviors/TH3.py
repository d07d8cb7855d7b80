"""Histograms of three dimensions."""

from farroot.histograms import TH3

__all__ = ["TH3"]
