"""What is found of credentials, and what one call names of them."""

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import uproot

import farroot
from farroot import _core

from .test_remote import serving


@pytest.fixture
def token_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "token"
    path.write_text("marker-token\n")
    path.chmod(0o600)
    for name in ("BEARER_TOKEN", "XrdSecPROTOCOL"):
        monkeypatch.delenv(name, raising=False)
    return path


def test_credentials_are_plain_data_without_secrets(
    token_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEARER_TOKEN_FILE", str(token_file))
    found = next(one for one in farroot.credentials() if one.kind == "token")
    assert (found.state, found.path, found.mode) == ("used", token_file, "600")
    assert found.remedy is None
    assert pickle.loads(pickle.dumps(found)) == found
    assert "marker" not in repr(farroot.credentials())
    token_file.chmod(0o644)
    found = next(one for one in farroot.credentials() if one.kind == "token")
    assert (found.state, found.remedy) == ("unusable", f"chmod 600 {token_file}")


def test_an_address_says_where_to_look_and_not_the_secret(token_file: Path) -> None:
    address = farroot.with_credentials(
        "https://host/f.root:Events", token=token_file, auth="token", insecure=True
    )
    url, tree = _core.split_tree(address)
    assert tree == "Events"
    assert str(token_file) in url
    secret = farroot.with_credentials("root://h//f.root", token="marker-token")
    assert "marker" not in secret
    assert farroot.with_credentials("/tmp/f.root", token="marker-token") == "/tmp/f.root"


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(farroot.InvalidArgumentError, match="no credential is called"):
        farroot.with_credentials("https://h/f", auth="password")
    with pytest.raises(TypeError, match="path of a file"):
        farroot.with_credentials("https://h/f", token=7)  # type: ignore[arg-type]


def test_a_token_of_another_process_is_not_guessed() -> None:
    with pytest.raises(farroot.InvalidArgumentError, match="another process"):
        farroot.open("https://host.invalid/f.root?farroot.given=999999")


@pytest.fixture
def protected(tmp_path: Path) -> Iterator[str]:
    """``farroot serve`` within TLS, to those who show a token; gives ``host:port``."""
    if shutil.which("openssl") is None:
        pytest.skip("THERE IS NO openssl: the certificate of a protected server is made by it")
    (tmp_path / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for command in (
        "req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.pem -subj /CN=Tests",
        "req -newkey rsa:2048 -nodes -keyout key -out request -subj /CN=localhost",
        "x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names"
        " -out cert",
    ):
        run = ["openssl", *command.split()]
        subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "tokens").write_text("marker-token\n")
    for name in ("tokens", "key"):
        (tmp_path / name).chmod(0o600)
    folder = tmp_path / "files"
    folder.mkdir()
    with uproot.recreate(folder / "f.root") as file:
        file["t"] = {"x": np.arange(10)}
    options = ["--tls", str(tmp_path / "cert"), str(tmp_path / "key")]
    with serving(folder, *options, "--token", str(tmp_path / "tokens")) as host:
        yield host


@pytest.mark.parametrize("scheme", ["https://{}/", "roots://{}//"])
def test_a_call_shows_what_it_names_and_its_pickle_does_not(
    protected: str, token_file: Path, scheme: str
) -> None:
    url = scheme.format(protected) + "f.root"
    with pytest.raises(farroot.Error):
        farroot.open(url, token="another", insecure=True)
    by_text = farroot.open(f"{url}:t", token="marker-token", insecure=True)
    assert by_text.arrays(library="np")["x"].tolist() == list(range(10))
    assert b"marker" not in pickle.dumps(by_text)
    # Of a path the other process reads the file itself; that it may believe any server is not
    # passed on, and so the authority is named to it.
    address = farroot.with_credentials(url, token=token_file)
    command = f"import farroot; print(farroot.open({address!r})['t'].num_entries)"
    other = subprocess.run(
        [sys.executable, "-c", command],
        env={**os.environ, "X509_CERT_FILE": str(token_file.parent / "ca.pem")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert other.stdout == "10\n", other.stderr
    assert "marker" not in other.stderr
