"""Another user of the machine, who may do all that the system lets a user do: put links, pipes and
files where a folder is shared, take ports of loopback, connect to them, and look at processes."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import farroot

from .test_remote import _free_port, serving

VICTIM, ATTACKER = 1001, 1002
PRECIOUS = b"precious"
#: Longer than anything here takes: what lasts so long waits for ever.
HANGS = 30


#: Becomes a user, in a mount namespace where the system knows the users, and where the folder is
#: open that leads to Python: `/root` for one that root has installed. Words: user, list of users,
#: closed folder, what is needed below it.
BECOME = """
set -e
user=$1 users=$2 closed=$3 needed=$4; shift 4
mount --bind "$users" /etc/passwd
if [ -n "$closed" ]; then
    kept=$(mktemp -d)
    mount --bind "$needed" "$kept"
    mount -t tmpfs -o mode=755 none "$closed"
    mkdir -p "$needed"
    mount --bind "$kept" "$needed"
    umount "$kept"
    rmdir "$kept"
fi
exec setpriv --reuid "$user" --regid "$user" --clear-groups -- "$@"
"""


@functools.cache
def closed() -> tuple[str, str]:
    """The folder that keeps other users from this Python, and what they need below it."""
    python = Path(sys.base_prefix).resolve()
    above = [each for each in reversed(python.parents) if not each.stat().st_mode & 0o001]
    return (str(above[0]), str(python)) if above else ("", "")


class Place(NamedTuple):
    """Folders of two users: a home of each, and one where both may write, as in /tmp."""

    shared: Path
    homes: dict[int, Path]

    @property
    def precious(self) -> Path:
        return self.homes[VICTIM] / "precious"

    def as_user(self, user: int, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(user, *words),
            **self.options(user, variables),
            capture_output=True,
            text=True,
            check=False,
            timeout=HANGS,
        )

    def words(self, user: int, *words: str) -> list[str]:
        """A command of a user, which may not do more than other users."""
        users = str(self.shared.parent / "passwd")
        become = ["sh", "-c", BECOME, "become", str(user), users, *closed(), *words]
        return ["unshare", "--mount", "--propagation", "private", *become]

    def options(self, user: int, variables: dict[str, str]) -> dict[str, Any]:
        home = str(self.homes[user])
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        known = {"HOME": home, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        paths = {"TMPDIR": str(self.shared), "FARROOT_STORE": "0"}
        environment = kept | known | paths | variables
        return {"cwd": home, "env": environment, "umask": 0o022}

    @contextmanager
    def running(self, user: int, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A process of a user that the test speaks with."""
        options = self.options(user, {})
        with subprocess.Popen(
            self.words(user, *words),
            **options,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def farroot(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return self.as_user(VICTIM, sys.executable, "-m", "farroot", *words, **variables)

    def python(self, script: str, *words: str, **variables: str) -> str:
        """What a script of the victim's prints."""
        script = f"import sys, farroot\n{script}"
        done = self.as_user(VICTIM, sys.executable, "-c", script, *words, **variables)
        return done.stdout + done.stderr

    def attack(self, script: str, *words: str, cwd: Path | None = None, **variables: str) -> None:
        """Does something as the attacker, which the system lets it do."""
        script = f"import os, sys\n{'' if cwd is None else f'os.chdir({str(cwd)!r})'}\n{script}"
        done = self.as_user(ATTACKER, sys.executable, "-c", script, *words, **variables)
        assert done.returncode == 0, done.stderr

    def is_intact(self) -> bool:
        there = self.precious.lstat()
        return self.precious.read_bytes() == PRECIOUS and there.st_mode & 0o777 == 0o644


@pytest.fixture
def place() -> Iterator[Place]:
    if os.geteuid() != 0 or shutil.which("setpriv") is None or shutil.which("unshare") is None:
        pytest.skip("NOT ROOT, or without util-linux: not tested against another user")
    # The folders of pytest are root's alone.
    top = Path(tempfile.mkdtemp(prefix="two-users-", dir="/tmp"))
    try:
        top.chmod(0o755)
        place = Place(top / "shared", {user: top / str(user) for user in (VICTIM, ATTACKER)})
        place.shared.mkdir()
        place.shared.chmod(0o1777)
        for user, home in place.homes.items():
            home.mkdir()
            os.chown(home, user, user)
        known = Path("/etc/passwd").read_text()
        lines = (f"u{user}:x:{user}:{user}::{home}:/bin/sh\n" for user, home in place.homes.items())
        (top / "passwd").write_text(known + "".join(lines))
        place.precious.write_bytes(PRECIOUS)
        os.chown(place.precious, VICTIM, VICTIM)
        if place.as_user(VICTIM, sys.executable, "-c", "import farroot").returncode:
            pytest.skip("OTHER USERS CANNOT RUN THIS PYTHON: not tested against one of them")
        yield place
    finally:
        shutil.rmtree(top)


@pytest.fixture
def source(place: Place) -> Path:
    """A ROOT file that all can read."""
    path = place.shared.parent / "source.root"
    with farroot.recreate(path) as file:
        file.mktree("t", {"x": np.arange(1000.0)})
        file["h"] = np.histogram([1, 2, 3], bins=3)
    return path


#: Everything that writes a file that the user names: words of the command, or a script.
WRITERS: dict[str, list[str] | str] = {
    "cp": ["cp", "-f", "SOURCE", "TARGET"],
    "cp --in-place": ["cp", "-f", "--in-place", "SOURCE", "TARGET"],
    "cp --update": ["cp", "--update", "SOURCE", "TARGET"],
    "merge": ["merge", "-f", "TARGET", "SOURCE", "SOURCE"],
    "skim": ["skim", "-f", "SOURCE:t", "TARGET"],
    "skim to RNTuple": ["skim", "-f", "--format", "rntuple", "SOURCE:t", "TARGET"],
    "skim to Parquet": ["skim", "-f", "SOURCE:t", "TARGET.parquet"],
    "cat --parquet": ["cat", "SOURCE:t", "--parquet", "TARGET"],
    "map --svg": ["map", "SOURCE:t", "--svg", "TARGET"],
    "cat --timeline": ["cat", "SOURCE:t", "--csv", "--timeline", "TARGET"],
    "run --access-log": ["run", "--quiet", "--access-log", "TARGET", "true"],
    "recreate": "with farroot.recreate('TARGET') as f: f['a'] = {'x': [1, 2]}",
    "update": "with farroot.update('TARGET') as f: f['a'] = {'x': [1, 2]}",
    "copy in place": "farroot.copy('SOURCE', 'TARGET', overwrite=True, in_place=True)",
    "copy": "farroot.copy('SOURCE', 'TARGET', overwrite=True)",
    "timeline": "t = farroot.open('SOURCE:t'); t.arrays(); t.timeline('TARGET')",
    "fsspec, wb": (
        "import farroot.fsspec\n"
        "with farroot.fsspec.FileSystem().open('TARGET', 'wb') as f: f.write(b'x')"
    ),
    "fsspec, ab": (
        "import farroot.fsspec\n"
        "with farroot.fsspec.FileSystem().open('TARGET', 'ab') as f: f.write(b'x')"
    ),
    "fsspec, put": "import farroot.fsspec; farroot.fsspec.FileSystem().put('SOURCE', 'TARGET')",
}


def written(place: Place, how: str, source: Path, target: Path) -> str:
    """What a writer says of a target."""
    words = WRITERS[how]

    def named(text: str) -> str:
        return text.replace("SOURCE", str(source)).replace("TARGET", str(target))

    if isinstance(words, str):
        return place.python(named(words))
    done = place.farroot(*map(named, words))
    assert "panicked" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("how", WRITERS)
def test_a_link_of_another_user_leads_no_writer(how: str, place: Place, source: Path) -> None:
    """In a folder like /tmp another user has put a link to a file of the writer's own under the
    name: what is written through it, the user has not named."""
    target = place.shared / "out"
    for name in ("out", "out.parquet"):
        place.attack("os.symlink(*sys.argv[1:])", str(place.precious), str(place.shared / name))
    said = written(place, how, source, target)
    assert place.is_intact(), said
    assert "another user's symbolic link" in said


@pytest.mark.parametrize("how", WRITERS)
def test_a_pipe_of_another_user_blocks_no_writer(how: str, place: Place, source: Path) -> None:
    """Without a reader, an open of a pipe waits for ever."""
    for name in ("out", "out.parquet"):
        place.attack(PIPE, str(place.shared / name))
    said = written(place, how, source, place.shared / "out")
    assert "a pipe" in said


PIPE = "os.mkfifo(sys.argv[1]); os.chmod(sys.argv[1], 0o666)"
#: What may stand where the part of a copy would be.
PARTS = {
    "link": "os.symlink(sys.argv[2], sys.argv[1])",
    "pipe": PIPE,
    "folder": "os.mkdir(sys.argv[1])",
    "file": (
        "import shutil; shutil.copy(sys.argv[3], sys.argv[1]); os.chmod(sys.argv[1], 0o666)\n"
        "open(sys.argv[1] + '.json', 'w').write(sys.argv[4])"
    ),
}


@pytest.mark.parametrize("scheme", ["root", "http"])
@pytest.mark.parametrize("what", PARTS)
def test_no_part_of_another_user_is_gone_on_with(what: str, scheme: str, place: Place) -> None:
    """A copy that has broken off goes on with its part: one of another user says that all is there,
    and has other bytes."""
    folder = place.shared.parent / "served"
    folder.mkdir()
    content, other = bytes(range(256)) * 8000, bytes(256 * 8000)
    (folder / "f.bin").write_bytes(content)
    (place.homes[ATTACKER] / "other").write_bytes(other)
    with serving(folder) as host:
        url = f"{scheme}://{host}/{'/' if scheme == 'root' else ''}f.bin"
        # Of which version a record has to be, the attacker learns from one of its own.
        record = _record_of(url, place)
        for name in ("f.bin.farroot-part", "f.bin.farroot-part.json")[: 1 if what == "file" else 2]:
            place.attack(
                PARTS[what],
                str(place.shared / name),
                str(place.precious),
                str(place.homes[ATTACKER] / "other"),
                record,
            )
        done = place.farroot("cp", url, str(place.shared / "f.bin"))
    assert done.returncode == 0, done.stderr
    assert (place.shared / "f.bin").read_bytes() == content
    assert (place.shared / "f.bin").stat().st_uid == VICTIM
    assert place.is_intact()


def _record_of(url: str, place: Place) -> str:
    """A record that says of a file of a server that all of it is there."""
    with farroot.open_bytes(url) as file:
        modified = None if file.modified is None else int(file.modified)
        of = {"size": file.size, "modified": modified, "version": file.version}
    return json.dumps({"of": of, "done": [{"start": 0, "end": of["size"]}]})


READ = """
tree = farroot.open(sys.argv[1])
values = tree["x"].array(library="np")
print(values.min(), values.max(), tree.report()["bytes_cached"])
"""


KEPT = [
    f"farroot-{kind}"
    for kind in ("cache", "names", "metadata", "profiles", "servers", "connections")
]
#: How another user may be the first in the folder that a user names.
KEEPERS = {
    "folders": "for name in sys.argv[3:]: os.mkdir(name); os.chmod(name, 0o777)",
    "links": "for name in sys.argv[3:]: os.symlink(sys.argv[1], name)",
    "pipes": "for name in sys.argv[3:]: os.mkfifo(name)",
    "its own": (
        f"import farroot\nsys.argv[1] = sys.argv[2]\n{READ}\n"
        "for folder, _, names in os.walk('.'):\n"
        "    if folder != '.':\n"
        "        os.chmod(folder, 0o777)\n"
        "    for name in names:\n"
        "        os.chmod(os.path.join(folder, name), 0o666)\n"
    ),
}


@pytest.mark.parametrize("how", KEEPERS)
@pytest.mark.parametrize("kind", ["CACHE", "STORE"])
def test_nothing_is_believed_that_another_user_keeps(how: str, kind: str, place: Place) -> None:
    """The folder that a user names may be one that others fill first."""
    folder = place.shared.parent / "served"
    folder.mkdir()
    with farroot.recreate(folder / "f.root", compression=None) as file:
        file.mktree("t", {"x": np.arange(20_000.0)})
    kept = {f"FARROOT_{kind}": "100 MB", f"FARROOT_{kind}_FOLDER": str(place.shared)}
    with serving(folder) as host:
        url = f"root://{host}//f.root:t"
        place.attack(KEEPERS[how], str(place.homes[VICTIM]), url, *KEPT, cwd=place.shared, **kept)
        filled = _listed(place.shared)
        for _ in range(2):
            said = place.python(READ, url, **kept).splitlines()
            assert said[-1] == "0.0 19999.0 0", said
    assert _listed(place.shared) == filled
    assert sorted(place.homes[VICTIM].iterdir()) == [place.precious]
    assert place.is_intact()


def _listed(folder: Path) -> list[tuple[str, int]]:
    """All that is in the folders, and whose it is."""
    paths = [path for name in KEPT for path in (folder / name, *(folder / name).rglob("*"))]
    return sorted((str(path), path.lstat().st_uid) for path in paths if os.path.lexists(path))


# --- Loopback

SPEAK = """
import socket
for path in (sys.argv[2], "/metrics"):
    try:
        with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10) as there:
            there.sendall(f"GET {path} HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n".encode())
            print(there.recv(100))
    except OSError as error:
        print(type(error).__name__)
"""
#: All that other users see of processes: their arguments, and what is in open folders.
LOOK = """
import pathlib
secret = sys.stdin.read().strip()
seen = []
for place in pathlib.Path("/proc").glob("[0-9]*"):
    for name in ("cmdline", "environ"):
        try:
            if secret.encode() in (place / name).read_bytes():
                seen.append(str(place / name))
        except OSError:
            pass
for folder, folders, names in os.walk(sys.argv[1]):
    for name in folders + names:
        path = os.path.join(folder, name)
        try:
            if secret in name or (name in names and secret.encode() in open(path, "rb").read()):
                seen.append(path)
        except OSError:
            pass
print(seen)
"""


def test_a_proxy_is_for_its_user_alone(place: Place) -> None:
    """Not even who has learnt the secret of `farroot run` reads through its proxy; and nobody
    learns it from the list of processes, or from a folder that all can enter."""
    served = place.shared.parent / "served"
    served.mkdir()
    (served / "f").write_bytes(b"private")
    with serving(served) as host:
        script = 'cat "$FARROOT_PROXY"; echo; read line'
        words = (sys.executable, "-m", "farroot", "run", "--quiet", "sh", "-c", script)
        with place.running(VICTIM, *words) as running:
            assert running.stdout is not None
            address = running.stdout.readline().strip()
            found = re.fullmatch(r"http://[^/]*:(\d+)/k-([^/]+)/", address)
            assert found is not None, address
            port, secret = found.groups()
            path = f"/k-{secret}/http://{host}/f"
            speak = (sys.executable, "-c", f"import os, sys\n{SPEAK}", port, path)
            assert "200 OK" in place.as_user(VICTIM, *speak).stdout
            others = place.as_user(ATTACKER, *speak).stdout
            assert "200 OK" not in others, others
            assert "private" not in others
            look = (sys.executable, "-c", f"import os, sys\n{LOOK}", str(place.shared))
            seen = subprocess.run(
                place.words(ATTACKER, *look),
                **place.options(ATTACKER, {}),
                input=secret,
                capture_output=True,
                text=True,
                check=True,
            )
            assert seen.stdout == "[]\n"
            running.communicate("over\n")


def test_the_folder_of_sockets_is_the_users_own(place: Place) -> None:
    """Another user who makes it first would be asked for a proxy, and lead the reads elsewhere."""
    place.attack(
        "import socket\nos.mkdir(sys.argv[1]); os.chmod(sys.argv[1], 0o777)",
        f"{place.shared}/farroot-{VICTIM}",
    )
    done = place.farroot("run", "--quiet", "sh", "-c", 'cat "$FARROOT_PROXY"')
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("http://127.0.0.1:")
    assert not list((place.shared / f"farroot-{VICTIM}").iterdir())


LISTEN = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
"""


def test_a_port_in_other_hands_is_said_to_be(place: Place) -> None:
    """Programs would show the secret to whoever listens there."""
    words = (sys.executable, "-c", LISTEN)
    with place.running(ATTACKER, *words) as running:
        assert running.stdout is not None
        port = running.stdout.readline().strip()
        refused = place.farroot("setup", "--port", port)
        assert refused.returncode == 1
        assert f"another user (number {ATTACKER})" in refused.stderr
        assert not (place.homes[VICTIM] / ".xrootd").exists()
        # One that was free when it was chosen.
        free = _free_port()
        assert place.farroot("setup", "--port", str(free)).returncode == 0
        written = next((place.homes[VICTIM] / ".xrootd/client.plugins.d").iterdir())
        assert written.stat().st_mode & 0o077 == 0
        written.write_text(written.read_text().replace(f":{free}/", f":{port}/"))
        told = place.farroot("doctor", f"root://127.0.0.1:{free}//f")
        assert f"another user (number {ATTACKER})" in told.stdout + told.stderr
        mine = place.farroot("proxy", "--mine")
        assert mine.returncode == 1
        running.communicate("")


# --- Folders where others may rename


REPLACED = """
with farroot.update(sys.argv[1]) as file:
    file["b"] = {"x": [1, 2]}
    print("begun", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("by", ["file", "link", "pipe", "nothing"])
def test_an_update_ends_with_an_error_where_another_user_takes_the_name(
    by: str, place: Place, source: Path
) -> None:
    """A folder of a group, where each may rename the files of the others."""
    folder = place.shared.parent / "group"
    folder.mkdir()
    folder.chmod(0o777)
    path = folder / "f.root"
    shutil.copy(source, path)
    os.chown(path, VICTIM, VICTIM)
    words = (sys.executable, "-c", f"import sys, farroot\n{REPLACED}", str(path))
    with place.running(VICTIM, *words) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        take = {
            "file": "open('other', 'w').write('another'); os.rename('other', 'f.root')",
            "link": "os.unlink('f.root'); os.symlink(sys.argv[1], 'f.root')",
            "pipe": "os.unlink('f.root'); os.mkfifo('f.root')",
            "nothing": "os.unlink('f.root')",
        }
        place.attack(take[by], str(place.precious), cwd=folder)
        _, errors = running.communicate("go on\n", timeout=HANGS)
    assert running.returncode == 1
    assert "another program has removed, replaced" in errors or "symbolic link" in errors, errors
    assert place.is_intact()
    if by == "file":
        assert path.read_text() == "another"


# --- Ways to a name


def _below(folder: Path) -> list[tuple[str, int, int]]:
    """All that is below a folder, whose it is, and how long."""
    found = ((str(path.relative_to(folder)), path.lstat()) for path in folder.rglob("*"))
    return sorted((name, there.st_uid, there.st_size) for name, there in found)


@pytest.mark.parametrize("how", ["cp", "merge", "skim to Parquet", "run --access-log", "recreate"])
def test_a_link_of_another_user_leads_no_writer_on_its_way(
    how: str, place: Place, source: Path
) -> None:
    """A link in the place of a folder: /tmp/results, which leads to the home."""
    home = place.homes[VICTIM]
    place.attack("os.symlink(*sys.argv[1:])", str(home), str(place.shared / "sub"))
    before = _below(home)
    said = written(place, how, source, place.shared / "sub" / "out")
    assert _below(home) == before, said


def test_a_tree_is_copied_through_no_link_of_another_user(place: Place) -> None:
    """The target has been made before, with a link in the place of one of its folders."""
    folder = place.shared.parent / "served"
    (folder / "tree" / "sub").mkdir(parents=True)
    (folder / "tree" / "sub" / "precious").write_bytes(b"another")
    make = "os.makedirs('all/tree'); os.symlink(sys.argv[1], 'all/tree/sub')\n"
    open_to_all = "for name in ('all', 'all/tree'): os.chmod(name, 0o1777)"
    place.attack(make + open_to_all, str(place.homes[VICTIM]), cwd=place.shared)
    place.attack("os.symlink(sys.argv[1], 'tree')", str(place.homes[VICTIM]), cwd=place.shared)
    with serving(folder) as host:
        # The last one is the link itself: a folder below it would be made.
        for target in (place.shared / "all", place.shared, place.shared / "tree"):
            place.farroot("cp", "-r", "-f", f"root://{host}//tree", str(target))
            assert place.is_intact()
            assert _below(place.homes[VICTIM]) == [("precious", VICTIM, len(PRECIOUS))]


WRITTEN_SLOWLY = """
with farroot.recreate(sys.argv[1]) as file:
    file["a"] = {"x": [1, 2]}
    print("begun", flush=True)
    sys.stdin.readline()
    file["b"] = {"x": [1, 2]}
"""


def test_a_folder_that_is_swapped_takes_nothing_elsewhere(place: Place) -> None:
    """The attacker's own folder gives its place to a link while a file is written in it."""
    place.attack("os.mkdir('sub'); os.chmod('sub', 0o777)", cwd=place.shared)
    script = f"import sys, farroot\n{WRITTEN_SLOWLY}"
    target = place.shared / "sub" / "precious"
    with place.running(VICTIM, sys.executable, "-c", script, str(target)) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        swap = "os.rename('sub', 'other'); os.symlink(sys.argv[1], 'sub')"
        place.attack(swap, str(place.homes[VICTIM]), cwd=place.shared)
        running.communicate("go on\n", timeout=HANGS)
    assert place.is_intact()
    assert _below(place.homes[VICTIM]) == [("precious", VICTIM, len(PRECIOUS))]


def test_no_part_is_another_name_of_a_file(place: Place) -> None:
    """A hard link to the user's own file stands where the part of a copy would be."""
    folder = place.shared.parent / "served"
    folder.mkdir()
    (folder / "f.bin").write_bytes(bytes(100_000))
    # Where `protected_hardlinks` is off, the attacker makes it.
    os.link(place.precious, place.shared / "f.bin.farroot-part")
    with serving(folder) as host:
        done = place.farroot("cp", f"root://{host}//f.bin", str(place.shared / "f.bin"))
    assert done.returncode == 0, done.stderr
    assert place.is_intact()
    assert (place.shared / "f.bin").stat().st_size == 100_000


@pytest.mark.parametrize("what", ["a link", "a file", "a pipe", "a socket"])
def test_what_stands_for_the_folder_of_sockets_is_left_alone(what: str, place: Place) -> None:
    make = {
        "a link": "os.symlink(sys.argv[2], sys.argv[1])",
        "a file": "open(sys.argv[1], 'w')",
        "a pipe": PIPE,
        "a socket": "import socket; socket.socket(socket.AF_UNIX).bind(sys.argv[1])",
    }
    place.attack(make[what], f"farroot-{VICTIM}", str(place.homes[VICTIM]), cwd=place.shared)
    done = place.farroot("run", "--quiet", "sh", "-c", 'cat "$FARROOT_PROXY"')
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("http://127.0.0.1:")
    assert _below(place.homes[VICTIM]) == [("precious", VICTIM, len(PRECIOUS))]


# --- Credentials in /tmp, where other users may be the first

#: Files that another user may put there.
PLANTED = {
    "bt_u link": "os.symlink(sys.argv[2], sys.argv[1])",
    "bt_u pipe": PIPE,
    "bt_u folder": "os.mkdir(sys.argv[1])",
    "x509up_u link": "os.symlink('/dev/zero', sys.argv[1])",
    "x509up_u pipe": PIPE,
    "krb5cc_ pipe": PIPE,
    "krb5cc_ folder": "os.mkdir(sys.argv[1])",
    "krb5cc_ link": "os.symlink(sys.argv[2], sys.argv[1])",
}


@pytest.mark.parametrize("what", PLANTED)
def test_no_credential_is_one_that_another_user_has_put_there(what: str, place: Place) -> None:
    name = Path(f"/tmp/{what.split()[0]}{VICTIM}")
    if os.path.lexists(name):
        pytest.skip(f"{name} IS THERE: not tested with another user's")
    private = place.homes[VICTIM] / "private"
    private.write_text("a-password-of-the-user\n")
    os.chown(private, VICTIM, VICTIM)
    private.chmod(0o600)
    place.attack(PLANTED[what], str(name), str(private))
    try:
        # One run of several crashes.
        for _ in range(6):
            said = place.as_user(VICTIM, "timeout", "5", *FARROOT, "auth")
            assert said.returncode in {0, 1}, said
            line = next(line for line in said.stdout.splitlines() if str(VICTIM) in line)
            assert not line.endswith("used"), line
    finally:
        name.rmdir() if name.is_dir() and not name.is_symlink() else name.unlink()


FARROOT = (sys.executable, "-m", "farroot")
