"""Parameters."""

from farroot.objects import Parameter as TParameter

__all__ = ["TParameter"]
