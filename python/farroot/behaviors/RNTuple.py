"""RNTuples and their fields, and reads of many files."""

from farroot.dataset import concatenate, iterate
from farroot.ntuple import HasFields, RNTuple

__all__ = ["HasFields", "RNTuple", "concatenate", "iterate"]
