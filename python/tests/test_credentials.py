"""What is found of credentials, and what one call names of them."""

import pickle
from pathlib import Path

import pytest

import farroot
from farroot import _core


@pytest.fixture
def token_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "token"
    path.write_text("marker-token\n")
    path.chmod(0o600)
    for name in ("BEARER_TOKEN", "XrdSecPROTOCOL"):
        monkeypatch.delenv(name, raising=False)
    return path


def test_credentials_are_plain_data_without_secrets(token_file, monkeypatch):
    monkeypatch.setenv("BEARER_TOKEN_FILE", str(token_file))
    found = next(one for one in farroot.credentials() if one.kind == "token")
    assert (found.state, found.path, found.mode) == ("used", token_file, "600")
    assert found.remedy is None
    assert pickle.loads(pickle.dumps(found)) == found
    assert "marker" not in repr(farroot.credentials())
    token_file.chmod(0o644)
    found = next(one for one in farroot.credentials() if one.kind == "token")
    assert (found.state, found.remedy) == ("unusable", f"chmod 600 {token_file}")


def test_an_address_says_where_to_look_and_not_the_secret(token_file):
    address = farroot.with_credentials(
        "https://host/f.root:Events", token=token_file, auth="token", insecure=True
    )
    url, tree = _core.split_tree(address)
    assert tree == "Events"
    assert str(token_file) in url
    secret = farroot.with_credentials("root://h//f.root", token="marker-token")
    assert "marker" not in secret
    assert farroot.with_credentials("/tmp/f.root", token="marker-token") == "/tmp/f.root"


def test_wrong_arguments_are_refused():
    with pytest.raises(farroot.InvalidArgumentError, match="no credential is called"):
        farroot.with_credentials("https://h/f", auth="password")
    with pytest.raises(TypeError, match="path of a file"):
        farroot.with_credentials("https://h/f", token=7)


def test_a_token_of_another_process_is_not_guessed():
    with pytest.raises(farroot.InvalidArgumentError, match="another process"):
        farroot.open("https://host.invalid/f.root?farroot.given=999999")
