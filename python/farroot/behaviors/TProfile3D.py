"""Profiles along three axes."""

from farroot.histograms import TProfile3D

__all__ = ["TProfile3D"]
