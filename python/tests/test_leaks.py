"""The search for secrets finds them: each test of a made-up file leaks one, and fails."""

import base64
import subprocess
import sys
import urllib.parse
from pathlib import Path

import pytest

from .leaks import MARKER, has_secret
from .skips import REPOSITORY

#: Puts the marker together, so that no failure shows it.
LEAKS = """
import base64, logging, pickle, subprocess, sys, warnings
import farroot, pytest

SECRET = "-".join(["marker", "of", "a", "secret"])

def test_print():
    print("x", SECRET)

def test_log():
    logging.getLogger("farroot").warning("%s", base64.b64encode(b"1" + SECRET.encode()))

def test_error():
    with pytest.raises(farroot.NotFoundError):
        raise farroot.NotFoundError(f"no file {SECRET}")

def test_pickle():
    pickle.dumps({"token": SECRET})

def test_command():
    code = "import sys; sys.stderr.write('-'.join(['marker', 'of', 'a', 'secret']))"
    subprocess.run([sys.executable, "-c", code], capture_output=True)

def test_warning():
    warnings.warn(SECRET.replace("-", "%2D"))

def test_file(tmp_path):
    (tmp_path / "picture.svg").write_text(f"<svg>{SECRET}</svg>")

def test_none():
    print("marker")
"""


@pytest.mark.parametrize("workers", [0, 2])
def test_each_way_of_a_secret_to_the_outside_is_searched(tmp_path: Path, workers: int) -> None:
    (tmp_path / "test_leaking.py").write_text(LEAKS)
    # Without the output of failures, as that is searched here, too.
    options = ["-p", "tests.leaks", "--rootdir", str(tmp_path), "--tb=no", "--show-capture=no"]
    options += ["-c", "/dev/null", "-rA", "--disable-warnings", "--basetemp", str(tmp_path / "t")]
    options += ["-n", str(workers)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path / "test_leaking.py")],
        cwd=REPOSITORY / "python",
        capture_output=True,
        text=True,
        check=False,
    )
    found = [line.partition("ERROR: a secret is in ")[2] for line in done.stdout.splitlines()]
    (picture,) = (tmp_path / "t").rglob("picture.svg")
    expected = [
        "captured stdout call of test_leaking.py::test_print",
        "captured log call of test_leaking.py::test_log",
        "an error (NotFoundError) of test_leaking.py::test_error",
        "a pickle of test_leaking.py::test_pickle",
        "the error output of a command of test_leaking.py::test_command",
        "a warning of test_leaking.py::test_warning",
        str(picture),
    ]
    seen = [line for line in found if line]
    # Workers report in any order.
    assert sorted(seen) == sorted(expected), done.stdout
    assert workers or seen == expected
    assert "5 failed, 3 passed" in done.stdout
    assert done.returncode == 1
    picture.unlink()


@pytest.mark.parametrize("before", range(4))
def test_a_secret_is_found_in_every_form(before: int) -> None:
    secret = b"ab\xffc"[:before] + MARKER.encode() + b" and more"
    for form in (
        secret,
        base64.b64encode(secret),
        base64.urlsafe_b64encode(secret),
        secret.hex().upper(),
        urllib.parse.quote(secret, safe="").encode(),
        "".join(f"%{byte:02X}" for byte in secret),
    ):
        assert has_secret(form), form
    assert not has_secret(base64.b64encode(secret.replace(b"-", b"_")))
