"""Mappings of farroot are those of Python: ``in``, ``get`` and a KeyError."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import farroot


def mappings(made: Path) -> list[Mapping[str, Any]]:
    tree = farroot.open(f"{made}:events")
    return [farroot.report(), tree.report(), tree.friends, farroot.STLMap(["one"], [1])]


@pytest.mark.parametrize("at", range(4))
def test_a_key_that_is_not_there(made: Path, at: int) -> None:
    """Regression: of a report all three were an InvalidArgumentError."""
    mapping = mappings(made)[at]
    assert "nope" not in mapping
    assert mapping.get("nope", 3) == 3
    with pytest.raises(KeyError, match="nope"):
        mapping["nope"]


def test_the_error_is_one_of_farroot() -> None:
    with pytest.raises(farroot.KeyInFileError, match="there is no 'nope'"):
        farroot.report()["nope"]
    assert "requests" in farroot.report()
