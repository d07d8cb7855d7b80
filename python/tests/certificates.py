"""Certificates of servers that tests start, by openssl."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from .leaks import holds_secrets


class ServerFiles(NamedTuple):
    """The certificate of localhost, its key, and its authority."""

    authority: Path
    certificate: Path
    key: Path


def certify(folder: Path) -> ServerFiles:
    """Makes an authority, and a certificate for localhost, in a folder."""
    if shutil.which("openssl") is None:
        pytest.skip("THERE IS NO openssl: the certificate of a protected server is made by it")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for command in (
        "req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.pem -subj /CN=Tests",
        "req -newkey rsa:2048 -nodes -keyout key -out request -subj /CN=localhost",
        "x509 -req -in request -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names"
        " -out cert",
    ):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    for name in ("ca.key", "key"):
        holds_secrets(folder / name).chmod(0o600)
    return ServerFiles(folder / "ca.pem", folder / "cert", folder / "key")
