"""Branches, and what is read of many files."""

from farroot.branches import HasBranches
from farroot.dataset import Report, concatenate, iterate
from farroot.tree import Branch as TBranch

__all__ = ["HasBranches", "Report", "TBranch", "concatenate", "iterate"]
