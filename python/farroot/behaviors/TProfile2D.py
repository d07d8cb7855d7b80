"""Profiles along two axes."""

from farroot.histograms import TProfile2D

__all__ = ["TProfile2D"]
