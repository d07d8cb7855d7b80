"""Branches, and reads of many files."""

from farroot.dataset import Report, concatenate, iterate
from farroot.tree import Branch as TBranch
from farroot.tree import HasBranches

__all__ = ["HasBranches", "Report", "TBranch", "concatenate", "iterate"]
