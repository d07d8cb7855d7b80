"""Errors of efficiencies and profiles, with every option that ROOT has for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import farroot

from .root import written_by

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_by("errors", tmp_path_factory.mktemp("errors"))


@pytest.fixture(scope="module")
def told(written: Path) -> Any:
    return json.loads((written / "errors.json").read_text())


def test_efficiencies_have_the_errors_of_their_own_option(written: Path, told: Any) -> None:
    """All had those of the normal approximation, at one standard deviation, whatever they said."""
    file = farroot.open(written / "errors.root")
    assert len(told["efficiencies"]) == 26
    for name, expected in told["efficiencies"].items():
        one = file[name]
        # ROOT's search for the shortest interval ends at about 1e-5 of the right one.
        near = 1e-4 if "_True_False" in name or "_True_True" in name else 1e-8
        values, low, high = np.array(expected).T.reshape(3, 5, 5)
        np.testing.assert_allclose(one.values(flow=True).T, values, atol=1e-14, err_msg=name)
        for which, bound in (("low", low), ("high", high)):
            ours = one.errors(flow=True, which=which).T
            np.testing.assert_allclose(ours, bound, atol=near, err_msg=f"{name} {which}")
        assert one.errors().shape == (3, 3)
        np.testing.assert_array_equal(one.errors() ** 2, one.variances())
    with pytest.raises(farroot.InvalidArgumentError, match="low, high"):
        one.errors(which="upper")


def test_profiles_have_the_errors_of_their_own_option(written: Path, told: Any) -> None:
    """A profile with the option "s" or "g" had the errors of the mean, as in uproot."""
    file = farroot.open(written / "errors.root")
    for name, expected in told["profiles"].items():
        one = file[name]
        values, errors = np.array(expected).T
        np.testing.assert_allclose(one.values(flow=True), values, rtol=1e-14, err_msg=name)
        np.testing.assert_allclose(one.errors(flow=True), errors, rtol=1e-14, err_msg=name)
        np.testing.assert_allclose(one.variances(flow=True), errors**2, rtol=1e-13)
        option = name.split("_")[1]
        np.testing.assert_array_equal(one.errors(error_mode=option), one.errors())
    plain, spread = file["profile__False"], file["profile_s_False"]
    np.testing.assert_array_equal(plain.errors(error_mode="s"), spread.errors())
    np.testing.assert_array_equal(plain.errors(), spread.errors(error_mode=""))
