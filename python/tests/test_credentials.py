"""Credentials that are found, and those that one call names."""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot
from farroot import _core

from .certificates import certify
from .leaks import MARKER, secret_file
from .test_remote import serving

TOKEN = f"{MARKER}.token"

#: Reads with a token and shows all that there is to be shown.
EVERYTHING = """
import logging, pathlib, pickle, sys
import farroot

logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
logging.getLogger("farroot").setLevel(logging.DEBUG)
url, folder = sys.argv[1], pathlib.Path(sys.argv[2])
print(farroot.config, farroot.credentials())
file = farroot.open(url)
tree = file["t"]
print("SUM", tree["x"].array(library="np").sum())
print(repr(file), repr(tree), file.url, tree.report(), pickle.dumps(file), vars(tree.report()))
tree.timeline(folder / "read.svg")
(folder / "read.html").write_text(tree.report()._repr_html_() + tree._repr_html_())
try:
    farroot.open(url + "x")
except farroot.Error as error:
    print(error, repr(error), error.url, error.source, vars(error))
"""


@pytest.fixture
def token_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = secret_file(tmp_path / "token", f"{TOKEN}\n")
    for name in ("BEARER_TOKEN", "XrdSecPROTOCOL"):
        monkeypatch.delenv(name, raising=False)
    return path


def test_credentials_are_plain_data_without_secrets(
    token_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEARER_TOKEN_FILE", str(token_file))
    found = next(one for one in farroot.credentials() if one.kind == "token")
    assert (found.state, found.path, found.mode) == ("used", token_file, "600")
    assert found.advice is None
    assert pickle.loads(pickle.dumps(found)) == found
    print(farroot.credentials())
    token_file.chmod(0o644)
    found = next(one for one in farroot.credentials() if one.kind == "token")
    assert (found.state, found.advice) == ("unusable", f"chmod 600 {token_file}")


def test_an_address_says_where_to_look_and_not_the_secret(token_file: Path) -> None:
    address = farroot.with_credentials(
        "https://host/f.root:Events", token=token_file, auth="token", insecure=True
    )
    url, tree = _core.split_object(address)
    assert tree == "Events"
    assert str(token_file) in url
    secret = farroot.with_credentials("root://h//f.root", token=TOKEN)
    assert MARKER not in secret
    assert farroot.with_credentials("/tmp/f.root", token=TOKEN) == "/tmp/f.root"


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(farroot.InvalidArgumentError, match="no credential is called"):
        farroot.with_credentials("https://h/f", auth="password")
    with pytest.raises(TypeError, match="path of a file"):
        farroot.with_credentials("https://h/f", token=7)  # type: ignore[arg-type]


def test_a_token_of_another_process_is_not_guessed() -> None:
    # That of another process means nothing here, and is no error of its own.
    with pytest.raises(farroot.ReadError, match="look"):
        farroot.open("https://host.invalid/f.root?farroot.given=999999")


@pytest.fixture
def protected(tmp_path: Path) -> Iterator[str]:
    """``farroot serve`` within TLS, to those who show a token; gives ``host:port``."""
    files = certify(tmp_path)
    secret_file(tmp_path / "tokens", f"{TOKEN}\n")
    folder = tmp_path / "files"
    folder.mkdir()
    with uproot.recreate(folder / "f.root") as file:
        file["t"] = {"x": np.arange(10)}
    options = ["--tls", str(files.certificate), str(files.key)]
    with serving(folder, *options, "--token", str(tmp_path / "tokens")) as host:
        yield host


@pytest.mark.parametrize("scheme", ["https://{}/", "roots://{}//"])
def test_a_call_shows_what_it_names_and_its_pickle_does_not(
    protected: str, token_file: Path, scheme: str
) -> None:
    url = scheme.format(protected) + "f.root"
    with pytest.raises(farroot.Error):
        farroot.open(url, token="another", insecure=True)
    by_text = farroot.open(f"{url}:t", token=TOKEN, insecure=True)
    assert by_text.arrays(library="np")["x"].tolist() == list(range(10))
    # Pickles and output are searched for the token.
    pickle.dumps(by_text)
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


@pytest.mark.parametrize("scheme", ["https://{}/f", "roots://{}//*"])
def test_calls_for_many_files_name_credentials_as_open_does(
    protected: str, token_file: Path, tmp_path: Path, scheme: str
) -> None:
    files = {scheme.format(protected) + ".root": "t"}
    for token in (TOKEN, token_file):
        batches = [*farroot.iterate(files, library="np", token=token, insecure=True)]
        assert [batch["x"].sum() for batch in batches] == [45]
        whole = farroot.concatenate(files, library="np", token=token, insecure=True)
        assert whole["x"].sum() == 45
        chained = farroot.chain([files, files], token=token, insecure=True)
        assert chained.num_entries == 20
        # Pickles are searched for the token.
        pickle.dumps(chained)
    [copied] = farroot.copy([*files], tmp_path / "copy", token=TOKEN, insecure=True)
    assert copied.target.read_bytes() == (tmp_path / "files" / "f.root").read_bytes()
    print(copied)
    given: dict[str, Any] = {"token": TOKEN, "insecure": True}
    assert [entries for *_, entries in farroot.num_entries(files, **given)] == [10]
    merged = farroot.merge([*files], tmp_path / "merged.root", **given)
    skimmed = farroot.skim(files, tmp_path / "few.root", cut="x > 6", **given)
    assert (merged.tables, skimmed.entries) == ({"t": 10}, 3)
    print(merged, skimmed)

    def merge(files: dict[str, str], **credentials: Any) -> list[farroot.Merged]:
        return [farroot.merge([*files], tmp_path / "none.root", **credentials)]

    for call in (farroot.iterate, farroot.concatenate, farroot.chain, farroot.num_entries, merge):
        with pytest.raises(farroot.Error):
            print([*call(files, token=f"{TOKEN}-that-is-wrong", insecure=True)])


def test_an_open_tree_and_a_local_file_need_no_credential(made: Path) -> None:
    opened = farroot.open(f"{made}:events")
    name = opened.keys()[0]
    whole = farroot.concatenate([opened, {made: "events"}], [name], token=TOKEN, library="np")
    assert len(whole[name]) == 2 * opened.num_entries


def test_friends_are_read_with_what_the_call_names(protected: str) -> None:
    files = {f"https://{protected}/f.root": "t"}
    given: dict[str, Any] = {"token": TOKEN, "insecure": True}
    both = farroot.concatenate(files, ["x", "g.x"], friends={"g": files}, library="np", **given)
    assert both["g.x"].tolist() == both["x"].tolist()


@pytest.mark.parametrize("scheme", ["https://{}/", "roots://{}//"])
def test_what_a_protected_read_leaves_behind_has_no_secret(
    protected: str, tmp_path: Path, scheme: str
) -> None:
    # All of it is searched: the output, the pictures, farroot's store.
    url = scheme.format(protected) + "f.root"
    (tmp_path / "read.py").write_text(EVERYTHING)
    store = {"FARROOT_STORE": "10 MB", "FARROOT_STORE_FOLDER": str(tmp_path / "store")}
    trust = {"X509_CERT_FILE": str(tmp_path / "ca.pem")}
    for token in (TOKEN, f"{TOKEN}-that-is-wrong"):
        done = subprocess.run(
            [sys.executable, str(tmp_path / "read.py"), url, str(tmp_path)],
            env=os.environ | store | trust | {"BEARER_TOKEN": token},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ("SUM 45" in done.stdout) == (token == TOKEN), done.stdout + done.stderr
        for verb in ("auth", "doctor", "ls"):
            command = [sys.executable, "-m", "farroot", verb, *[url] * (verb != "auth")]
            environment = os.environ | trust | {"BEARER_TOKEN": token}
            subprocess.run(command, env=environment, capture_output=True, check=False)
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert {"read.svg", "read.html"} <= left
    assert len(list((tmp_path / "store").rglob("*"))) > 1
