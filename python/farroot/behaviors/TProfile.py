"""Profiles along one axis."""

from farroot.histograms import Profile, TProfile

__all__ = ["Profile", "TProfile"]
