"""`farroot cp -r`, `--update`, `--checksum`, and the same in Python."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import farroot

from .test_odd_servers import answering
from .test_remote import running_xrootd, serving

FILES = {
    "a.bin": b"a" * 1000,
    "empty": b"",
    "sub/b c.bin": b"b" * 70_000,
    "sub/deep/100%.bin": b"%",
    "sub/deep/#x?.txt": b"odd",
    "sub/.hidden": b"h",
}
#: XRootD ends names at a question mark.
OVER_ROOT = {name: content for name, content in FILES.items() if "?" not in name}


def make(folder: Path, files: dict[str, bytes] = FILES) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "void").mkdir()
    return folder


def found(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def shell(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "farroot", "cp", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@contextmanager
def places(kind: str, folder: Path, run: Path) -> Iterator[str]:
    """The address of a folder, in which may be written."""
    run.mkdir()
    if kind == "disk":
        yield str(folder)
    elif kind == "xrootd":
        for path in (folder, *folder.rglob("*")):
            path.chmod(path.stat().st_mode | 0o777)
        with running_xrootd(folder, run) as host:
            yield f"root://{host}/"
    else:
        with serving(folder, "--writable") as host:
            yield f"{kind}://{host}/"


@pytest.mark.parametrize("kind", ["disk", "root", "http", "xrootd"])
def test_directories_come_with_all_that_is_below_them(kind: str, tmp_path: Path) -> None:
    files = FILES if kind in ("disk", "http") else OVER_ROOT
    # `farroot serve` does not list the files that it hides.
    if kind in ("root", "http"):
        files = {name: content for name, content in files.items() if "hidden" not in name}
    source = make(tmp_path / "top" / "data", files)
    with places(kind, tmp_path / "top", tmp_path / "run") as top:
        done = shell("-r", f"{top}/data", str(tmp_path / "copy"))
        assert done.returncode == 0, done.stderr
        assert found(tmp_path / "copy") == found(source)
        assert (tmp_path / "copy/void").is_dir()
        # Into a directory that is there, under its own name.
        copied = farroot.copy(f"{top}/data", tmp_path / "copy", recursive=True)
        assert found(tmp_path / "copy/data") == found(source)
        assert sum(file.size for file in copied) == sum(map(len, files.values()))
        # A server of HTTP answers with a page, as of a file.
        if kind != "http":
            with pytest.raises(farroot.Error):
                farroot.copy(f"{top}/data", tmp_path / "other")


@pytest.mark.parametrize("kind", ["root", "http", "xrootd"])
def test_directories_go_to_servers(kind: str, tmp_path: Path) -> None:
    files = {name: content for name, content in OVER_ROOT.items() if "hidden" not in name}
    if kind == "http":
        files["sub/deep/#x?.txt"] = b"odd"
    source, target = make(tmp_path / "data", files), tmp_path / "top"
    target.mkdir()
    with places(kind, target, tmp_path / "run") as top:
        done = shell("-r", str(source), f"{top}/copy")
        assert done.returncode == 0, done.stderr
        assert found(target / "copy") == files
        assert (target / "copy/void").is_dir()
        done = shell("-r", str(source), f"{top}/copy/")
        assert done.returncode == 0, done.stderr
        assert found(target / "copy/data") == files
        # Back, and from server to server.
        done = shell("-r", f"{top}/copy/data", f"{top}/again")
        assert done.returncode == 0, done.stderr
        assert found(target / "again") == files


def test_what_exists_is_an_error_or_replaced_or_compared(tmp_path: Path) -> None:
    source = make(tmp_path / "data")
    assert shell("-r", str(source), str(tmp_path / "copy")).returncode == 0
    (source / "a.bin").write_bytes(b"A" * 1000)
    (source / "new").write_bytes(b"new")
    into = str(tmp_path / "copy") + "/../copy"
    again = ["-r", *(str(source / name) for name in ("a.bin", "new", "sub")), into]
    done = shell(*again)
    assert done.returncode == 1
    assert "there already" in done.stderr
    assert (tmp_path / "copy/a.bin").read_bytes() == b"a" * 1000
    assert (tmp_path / "copy/new").read_bytes() == b"new"
    done = shell("--update", *again)
    assert done.returncode == 0, done.stderr
    assert "and the same" in done.stdout
    assert found(tmp_path / "copy") == found(source)
    assert shell("--force", *again).returncode == 0


@pytest.mark.parametrize("kind", ["root", "http", "xrootd"])
def test_an_update_copies_what_differs(kind: str, tmp_path: Path) -> None:
    """Of files of one length and one second the checksum decides where the server has one."""
    files = {"same": b"s" * 5000, "changed": b"c" * 5000, "longer": b"l", "old": b"o" * 10}
    source = make(tmp_path / "top", files)
    with places(kind, source, tmp_path / "run") as top:
        copy = tmp_path / "copy"
        farroot.copy(f"{top}/", f"{copy}/", recursive=True)
        assert found(copy) == files
        for name, content in {"changed": b"C" * 5000, "longer": b"ll", "new": b"n"}.items():
            (source / name).write_bytes(content)
        os.utime(source / "same", (1, 1))
        copied = farroot.copy(f"{top}/", f"{copy}/", recursive=True, update=True)
        assert found(copy) == found(source)
        state = {Path(file.target).name: file.is_same for file in copied}
        assert not any(state[name] for name in ("changed", "longer", "new"))
        assert state["same"]
        # And up again.
        (copy / "changed").write_bytes(b"X" * 5000)
        farroot.copy(str(copy), f"{top}/up", recursive=True)
        (copy / "same").write_bytes(b"S" * 5000)
        farroot.copy(f"{copy}/.", f"{top}/up", recursive=True, update=True)
        up = source / "up" / "copy"
        assert found(up if up.exists() else source / "up")["same"] == b"S" * 5000


def test_links_are_followed_and_not_for_ever(tmp_path: Path) -> None:
    source = make(tmp_path / "data", {"f": b"f"})
    (source / "link").symlink_to("f")
    (source / "up").symlink_to(source)
    (source / "dangling").symlink_to("nowhere")
    done = shell("-r", str(source), str(tmp_path / "copy"))
    assert done.returncode == 1
    assert "a directory that it is in" in done.stderr
    assert "dangling" in done.stderr
    assert found(tmp_path / "copy") == {"f": b"f", "link": b"f"}
    done = shell("-r", str(source), str(source / "inside"))
    assert done.returncode == 1
    assert "into itself" in done.stderr
    # A link in place of a directory of the target could lead anywhere.
    (tmp_path / "victim").mkdir()
    (tmp_path / "copy/sub").symlink_to(tmp_path / "victim")
    make(tmp_path / "more/copy", {"sub/g": b"g"})
    done = shell("-r", str(tmp_path / "more/copy"), str(tmp_path))
    assert done.returncode == 1
    assert not (tmp_path / "victim/g").exists()


def test_names_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    """A server may list any name."""
    names = ["..", "../evil", "/etc/evil", "a/b", "%2e%2e", "..%2fevil", "good"]

    def answers(request: Any) -> None:
        if request.command == "PROPFIND":
            responses = [("/d/", "<D:resourcetype><D:collection/></D:resourcetype>")]
            responses += [
                (f"/d/{name}", "<D:getcontentlength>1</D:getcontentlength>") for name in names
            ]
            body = "".join(
                f"<D:response><D:href>{href}</D:href><D:propstat><D:prop>{prop}</D:prop>"
                "</D:propstat></D:response>"
                for href, prop in responses
            )
            body = f'<D:multistatus xmlns:D="DAV:">{body}</D:multistatus>'
            request.send(207, body.encode(), Content_Type="application/xml")
        else:
            request.send(200, b"x")

    with answering(answers) as top:
        done = shell("-r", f"{top}/d", str(tmp_path / "in" / "copy"))
    assert done.returncode == 1, done.stdout
    everything = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert everything == [tmp_path / "in/copy/good"]


@pytest.mark.parametrize("far", [False, True])
def test_a_checksum_is_compared_while_copying(far: bool, tmp_path: Path) -> None:
    import hashlib

    content = bytes(range(256)) * 300
    folder = tmp_path / "top"
    folder.mkdir()
    (folder / "f").write_bytes(content)
    right = {
        "adler32": f"{zlib.adler32(content):08x}",
        "crc32": f"{zlib.crc32(content):08x}",
        "md5": hashlib.md5(content).hexdigest(),
        "sha1": hashlib.sha1(content).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
        "sha512": hashlib.sha512(content).hexdigest(),
    }
    with serving(folder, "--writable") as host:
        source = f"root://{host}//f"
        for kind, digits in right.items():
            target = f"http://{host}/{kind}" if far else str(tmp_path / kind)
            made = (folder if far else tmp_path) / kind
            wrong = digits[:-1] + ("0" if digits[-1] != "0" else "1")
            done = shell("--checksum", f"{kind}:{wrong}", source, target)
            assert done.returncode == 1, done.stdout
            assert wrong in done.stderr
            assert not made.exists()
            done = shell("--checksum", f"{kind.upper()}:{digits.upper()}", source, target)
            assert done.returncode == 0, done.stderr
            assert made.read_bytes() == content
        assert not list(tmp_path.rglob("*part*"))
        with pytest.raises(farroot.CorruptError):
            farroot.copy(source, tmp_path / "g", checksum="adler32:00000000")
        for bad in ("adler32", "adler32:1", "what:00", "md5:zz"):
            with pytest.raises(farroot.InvalidArgumentError):
                farroot.copy(source, tmp_path / "g", checksum=bad)
        with pytest.raises(farroot.InvalidArgumentError, match="one file"):
            farroot.copy(
                [source, f"root://{host}//md5"], f"{tmp_path}/two/", checksum=f"md5:{right['md5']}"
            )
        words = [sys.executable, "-m", "farroot", "cp", "--checksum", "adler32:00000001"]
        poured = subprocess.run([*words, source, "-"], capture_output=True, check=False)
        assert poured.returncode == 1
        assert b"adler32" in poured.stderr
