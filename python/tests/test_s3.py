"""Reading from and writing to a server of S3 that verifies signatures; no secret is seen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import farroot

from .leaks import MARKER, secret_file
from .skips import need_versitygw
from .test_remote import _free_port, _wait_for

KEY = "AKIDMARKER"
SECRET = f"{MARKER}-key"
# Parts of a signature, and the key: no output of a program may have them.
MARKERS = (MARKER, KEY, "AWS4-HMAC", "Signature=", "aws4_request")

SCRIPT = """
import logging, pickle, sys
import farroot

logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
logging.getLogger("farroot").setLevel(logging.DEBUG)
url, picture = sys.argv[1:]
file = farroot.open(url)
tree = file["events"]
print("SUM", int(tree["int32"].array(library="np").sum()), tree.num_entries)
print(repr(file), repr(tree), tree.report(), farroot.config)
tree.timeline(picture)
print(pickle.dumps(file))
for batch in farroot.iterate(url.rsplit("/", 1)[0] + "/*.root:events", ["int32"]):
    print("BATCH", len(batch))
for wrong in (url + "x", url.replace("bucket", "elsewhere")):
    try:
        farroot.open(wrong)
    except farroot.NotFoundError as error:
        print("ERROR", type(error).__name__, error)
"""


@pytest.fixture(scope="module")
def gateway(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which ``s3://bucket/d/a.root`` is the file of the other tests."""
    program = need_versitygw()
    folder = tmp_path_factory.mktemp("s3")
    (folder / "bucket" / "d").mkdir(parents=True)
    shutil.copy(made, folder / "bucket" / "d" / "a.root")
    port = _free_port()
    command = [program, "--quiet", "--access", KEY, "--secret", SECRET]
    # Its metadata of objects, which --nometa would not keep.
    known = tmp_path_factory.mktemp("known")
    command += ["--port", f"127.0.0.1:{port}", "posix", "--sidecar", str(known), str(folder)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as process:
        try:
            _wait_for(port, process)
            kept = {name: value for name, value in os.environ.items() if "AWS" not in name}
            yield kept | {
                "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}",
                "AWS_ACCESS_KEY_ID": KEY,
                "AWS_SECRET_ACCESS_KEY": SECRET,
            }
        finally:
            process.kill()


def run(environment: dict[str, str], *command: str) -> str:
    """The output of a command, and its errors."""
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=120
    )
    return done.stdout + done.stderr


def test_a_tree_is_read_and_no_secret_is_seen(
    gateway: dict[str, str], made: Path, tmp_path: Path
) -> None:
    picture, store = tmp_path / "read.svg", tmp_path / "store"
    environment = gateway | {"FARROOT_STORE": "10 MB", "FARROOT_STORE_FOLDER": str(store)}
    said = run(environment, "-c", SCRIPT, "s3://bucket/d/a.root", str(picture))
    with farroot.open(made) as file:
        values = file["events"]["int32"].array(library="np")
    assert f"SUM {values.sum()} {len(values)}" in said, said
    assert "BATCH" in said, said
    assert "ERROR NotFoundError" in said, said
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert picture in kept
    assert len(kept) > 1, "nothing was remembered"
    seen = [("what is said", said.encode())] + [(path.name, path.read_bytes()) for path in kept]
    for where, content in seen:
        for marker in MARKERS:
            assert marker.encode() not in content, f"{marker} in {where}"


def test_a_shell_lists_and_copies(gateway: dict[str, str], made: Path, tmp_path: Path) -> None:
    assert "d/" in run(gateway, "-m", "farroot", "ls", "s3://bucket").split()
    assert "a.root" in run(gateway, "-m", "farroot", "ls", "s3://bucket/d/")
    said = run(gateway, "-m", "farroot", "cp", "s3://bucket/d/*.root", str(tmp_path))
    assert (tmp_path / "a.root").read_bytes() == made.read_bytes(), said
    wrong = gateway | {"AWS_SECRET_ACCESS_KEY": f"{MARKER}-of-another"}
    for verb in ("ls", "doctor"):
        said = run(wrong, "-m", "farroot", verb, "s3://bucket/d/a.root")
        assert "the secret key of the variable AWS_ACCESS_KEY_ID" in said
        for marker in MARKERS:
            assert marker not in said, said


WRITING = """
import sys
import farroot

url, source = sys.argv[1:]
with farroot.recreate(url) as file:
    tree = file.mktree("events", {"x": "float64"})
    tree.extend({"x": [1.0, 2.0, 3.0]})
with farroot.open(url) as file:
    print("READ", file["events"]["x"].array(library="np").tolist())
farroot.copy(source, "s3://bucket/copied/", overwrite=True)
try:
    farroot.copy(source, "s3://bucket/copied/")
except farroot.InvalidArgumentError as error:
    print("ERROR", error)
"""


def test_files_are_written_and_copied_to_a_bucket(
    gateway: dict[str, str], made: Path, tmp_path: Path
) -> None:
    said = run(gateway, "-c", WRITING, "s3://bucket/w/new.root", str(made))
    assert "READ [1.0, 2.0, 3.0]" in said, said
    assert "overwrite=True replaces it" in said, said
    for target in ("s3://bucket/copied/a.root", "s3://bucket/copied/b.root"):
        said = run(gateway, "-m", "farroot", "cp", "-f", str(made), target)
        back = tmp_path / "back.root"
        said += run(gateway, "-m", "farroot", "cp", "-f", target, str(back))
        assert back.read_bytes() == made.read_bytes(), said
    for marker in MARKERS:
        assert marker not in said, said


def test_a_profile_is_named_by_the_call(gateway: dict[str, str], tmp_path: Path) -> None:
    endpoint = gateway["AWS_ENDPOINT_URL_S3"]
    (tmp_path / ".aws").mkdir()
    keys = f"[mine]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
    secret_file(tmp_path / ".aws" / "credentials", keys)
    (tmp_path / ".aws" / "config").write_text(f"[profile mine]\nendpoint_url = {endpoint}\n")
    kept = {name: value for name, value in gateway.items() if "AWS" not in name}
    environment = kept | {"HOME": str(tmp_path)}
    script = "import sys, farroot; print(farroot.open(sys.argv[1], s3_profile='mine').keys())"
    said = run(environment, "-c", script, "s3://bucket/d/a.root")
    assert "events" in said, said


def test_an_address_with_keys_in_it_is_refused() -> None:
    with pytest.raises(farroot.InvalidArgumentError, match="AWS_ACCESS_KEY_ID") as caught:
        farroot.open(f"s3://{KEY}:{SECRET}@bucket/f.root")
    assert SECRET not in str(caught.value)
    with pytest.raises(farroot.InvalidArgumentError, match=r"write pelican://fed/f\.root"):
        farroot.open("pelican:///fed/f.root")


#: Names that are written otherwise in addresses.
TREE = {
    "a.bin": b"a" * 1000,
    "empty": b"",
    "sub/b c.bin": b"b" * 70_000,
    "sub/deep/100%.bin": b"%",
    "sub/deep/#x?.txt": b"odd",
    "sub/+plus&amp;.bin": b"plus",
    "sub/.hidden": b"h",
    "é.bin": b"e",
}


def below(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_directories_go_to_a_bucket_and_come_from_it(
    gateway: dict[str, str], tmp_path: Path
) -> None:
    """`cp -r` knew disks, XRootD and HTTP in its tests, and a bucket, which has no directories,
    only by its page."""
    source, top = tmp_path / "data", "s3://bucket/tree"
    for name, content in TREE.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(content)

    def cp(*words: str, failed: bool = False) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "farroot", "cp", "-r", *words],
            env=gateway,
            capture_output=True,
            text=True,
            check=False,
        )
        assert bool(done.returncode) == failed, done.stdout + done.stderr
        return done.stdout + done.stderr

    cp(str(source), f"{top}/new")
    cp(f"{top}/new", str(tmp_path / "back"))
    assert below(tmp_path / "back") == TREE
    # Where there is something below the name, it is a directory, and the copy goes into it.
    cp(str(source), f"{top}/new/")
    cp(f"{top}/new/data", f"{top}/other")
    cp(f"{top}/other/", str(tmp_path / "other"))
    assert below(tmp_path / "other") == TREE
    cp(f"{top}/new", str(tmp_path / "all"))
    assert below(tmp_path / "all") == TREE | {f"data/{name}": it for name, it in TREE.items()}
    # A second time nothing is copied over what is there, and `--update` brings what differs.
    assert "there already" in cp(f"{top}/new/data", str(tmp_path / "all"), failed=True)
    (source / "a.bin").write_bytes(b"A" * 1001)
    (source / "new").write_bytes(b"new")
    assert "and the same" in cp("--update", str(source), f"{top}/new/")
    cp("--update", f"{top}/new/data", str(tmp_path / "all"))
    assert below(tmp_path / "all/data") == below(source)
    # A name that is the beginning of others is no directory.
    for missing in (f"{top}/othe", f"{top}/other/a", "s3://bucket/none"):
        said = cp(missing, str(tmp_path / "none"), failed=True)
        assert "no such" in said
        assert not (tmp_path / "none").exists()
