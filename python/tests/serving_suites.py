"""Other projects' tests of servers, against ``farroot serve --writable``.

    python -m tests.serving_suites FOLDER [HOST:PORT TOP]

FOLDER is a copy of XRootD's repository, of which nothing is kept here: its ``python/tests`` run,
and the calls of ``tests/XRootD/noauth.sh`` and ``http.sh``, one by one. Beside them runs Debian's
``litmus``. With the address of another server, and the folder that it serves, that one is tested.
The exit status is 1 where anything fails that is not in :data:`OTHERWISE`.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .test_remote import serving
from .uproots_writing import reason

#: Calls that end otherwise here, and why; `docs/serve.md` has the same table.
OTHERWISE = {
    r"litmus (basic|locks) options": "there is no PROPFIND, so no class of WebDAV is claimed",
    r"litmus basic put_no_parent": "PUT makes folders, as xrootd does",
    r"litmus copymove (copy|move_coll).*": "there is no COPY",
    r"litmus copymove move": "a file does not take the place of a folder",
    r"litmus props .*": "there are no properties",
    r"python test_filesystem\.py::test_(filesystem|query_.*)": "space is not told",
    r"noauth\.sh (spaceinfo|query checksum zcrc32|xattr|chmod) ?.*": "not offered",
    r"http\.sh .*(Digest|trailer|OPTIONS|PROPFIND).*": "not offered",
    r"http\.sh PUT on a folder: 409": "405, as RFC 4918 has it",
}

#: Tests that read from CERN.
ELSEWHERE = (
    *("glob_remote", "glob_remote_with_url_params", "multiple_glob_with_url_params"),
    "folder_glob_with_url_params",
)
ALPHABET = b"abcdefghijklmnopqrstuvw987"

#: The name of a call, whether it went well, and the words that were said.
Outcome = tuple[str, bool, str]


def litmus(host: str, top: Path) -> Iterator[Outcome]:
    """Debian's tests of WebDAV."""
    program = shutil.which("litmus")
    if program is None:
        sys.exit("THERE IS NO litmus (apt install litmus)")
    for group in ("basic", "copymove", "props", "locks", "http"):
        shutil.rmtree(top / "litmus", ignore_errors=True)
        with tempfile.TemporaryDirectory() as place:
            done = subprocess.run(
                [program, "-k", f"http://{host}/"],
                cwd=place,
                env=os.environ | {"TESTS": group},
                capture_output=True,
                text=True,
                check=False,
            )
        said = re.split(r"^ *\d+\. (\w+)\.* ", done.stdout, flags=re.MULTILINE)[1:]
        # Each test is named twice: before it, and with its outcome.
        for name, text in dict(zip(said[::2], said[1::2], strict=True)).items():
            if "SKIPPED" not in text:
                yield f"litmus {group} {name}", "FAIL" not in text, text.partition("\n")[0]


class _Outcomes:
    def __init__(self) -> None:
        self.reports: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome == "failed":
            self.reports.append(report)


def bindings(folder: Path, host: str) -> Iterator[Outcome]:
    """The tests of XRootD's Python package."""
    with tempfile.TemporaryDirectory() as place:
        tests = Path(place) / "tests"
        shutil.copytree(folder / "python" / "tests", tests)
        environment = (tests / "env.py").read_text()
        (tests / "env.py").write_text(environment.replace("//localhost/", f"//{host}/"))
        outcomes = _Outcomes()
        options = ["-q", "--no-header", "--tb=no", "-c", "/dev/null", f"--rootdir={tests}"]
        away = [f"--deselect=test_glob.py::test_{name}" for name in ELSEWHERE]
        pytest.main([*options, *away, "-p", "no:cacheprovider", str(tests)], [outcomes])
        for report in outcomes.reports:
            yield f"python {report.nodeid}", report.passed, reason(report)


def _run(*words: str) -> tuple[bool, str]:
    # With the times of XRootD's `test.sh`.
    times = {"XRD_REQUESTTIMEOUT": "15", "XRD_STREAMTIMEOUT": "10", "XRD_TIMEOUTRESOLUTION": "1"}
    done = subprocess.run(words, env=os.environ | times, capture_output=True, check=False)
    return done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace").strip()


def noauth(host: str) -> Iterator[Outcome]:
    """The calls of ``noauth.sh``, in its order."""
    url, top = f"root://{host}", "/calls"

    def call(*words: str, fails: bool = False) -> Outcome:
        is_done, said = _run("xrdfs", url, *words)
        path = re.compile(rf" ?{top}\S*")
        return f"noauth.sh {path.sub('', ' '.join(words))}", is_done != fails, said

    for key in ("version", "sitename", "role", "chksum", "tpc", "window"):
        yield call("query", "config", key)
    for word in ("stat", "statvfs", "spaceinfo"):
        yield call(word, "/")
    yield call("mkdir", "-p", f"{top}/deep/er")
    file = f"{top}/1.ref"
    with tempfile.TemporaryDirectory() as place:
        one, other = Path(place) / "1.ref", Path(place) / "1.dat"
        one.write_bytes(os.urandom(1 << 20))
        copies: tuple[tuple[str, ...], ...] = (
            (str(one), f"{url}/{file}"),
            (f"{url}/{file}", str(other)),
            ("--cksum", "auto:source", f"{url}/{file}", str(other)),
        )
        for words in copies:
            is_done, said = _run("xrdcp", "-f", "-np", *words)
            name = " ".join(word for word in words if "/" not in word)
            way = "from" if words[-1] == str(other) else "to"
            yield f"noauth.sh xrdcp {name} {way} the server", is_done, said
        same = other.read_bytes() == one.read_bytes()
        yield "noauth.sh the copy is the file", same, ""
        adler = f"{zlib.adler32(one.read_bytes()):08x}"
    for kind in ("adler32", "crc32c", "md5", "zcrc32"):
        name, is_done, said = call("query", "checksum", f"{file}?cks.type={kind}")
        right = is_done and (kind != "adler32" or adler in said)
        yield f"{name} {kind}", right, said
    yield call("ls", "-l", top)
    yield call("ls", "-R", "/")
    yield call("stat", file)
    yield call("xattr", file, "list")
    for mode in ("rwxr-xr-x", "rw-r--r--"):
        yield call("chmod", file, mode)
    for option in ((), ("-u",), ("-l",), ("-D",)):
        yield call("ls", *option, file)
    for letter in "rndmip":
        yield call("locate", f"-{letter}", file)
    yield call("truncate", file, "64")
    yield call("cat", file)
    yield call("tail", "-c", "32", file)
    yield call("rm", file)
    yield call("rm", f"{top}/none", fails=True)
    yield call("rmdir", f"{top}/deep", fails=True)
    for path in ("/deep/er", "/deep", ""):
        yield call("rmdir", f"{top}{path}")


def web(host: str) -> Iterator[Outcome]:
    """The requests of ``http.sh`` that need no further module of the server."""
    name, _, port = host.rpartition(":")

    def ask(method: str, path: str, body: Any = None, **headers: str) -> tuple[Any, bytes]:
        connection = http.client.HTTPConnection(name, int(port), timeout=20)
        fields = {field.replace("_", "-"): value for field, value in headers.items()}
        chunked = not isinstance(body, bytes | None)
        connection.request(method, path, body, fields, encode_chunked=chunked)
        answer = connection.getresponse()
        return answer, answer.read()

    def outcome(text: str, is_right: bool, answer: Any) -> Outcome:
        return f"http.sh {text}", is_right, f"{answer.status} {answer.reason}"

    file, chunked = "/h/alphabet", {"Transfer_Encoding": "chunked"}
    answer, _ = ask("MKCOL", "/h")
    yield outcome("MKCOL", answer.status == 201, answer)
    for text in ("new", "existing"):
        answer, _ = ask("PUT", file, iter([ALPHABET]), **chunked)
        yield outcome(f"PUT of a {text} file in chunks", answer.status in (200, 201, 204), answer)
    answer, _ = ask("PUT", "/h/deep/er/f", ALPHABET)
    yield outcome("PUT makes folders", answer.status == 201, answer)
    answer, body = ask("GET", file, Range="bytes=0-3,24-26")
    found = re.findall(rb"(?i)content-range: bytes (\S+)\r\n.*?\r\n(\w+)\r\n", body, re.DOTALL)
    expected = [(b"0-3/26", b"abcd"), (b"24-25/26", b"87")]
    yield outcome("GET of two ranges", found == expected, answer)
    answer, _ = ask("HEAD", file)
    yield outcome("HEAD", answer.getheader("Content-Length") == "26", answer)
    for field, value in (
        *(("Want-Digest", kind) for kind in ("adler32", "crc32c", "md5")),
        ("Want-Repr-Digest", "adler=1"),
    ):
        answer, _ = ask("HEAD", file, **{field: value})
        is_there = answer.getheader(field.removeprefix("Want-")) is not None
        yield outcome(f"HEAD with {field}: {value}", is_there, answer)
    answer, _ = ask("HEAD", file, Want_Repr_Digest="adler32")
    yield outcome("HEAD with a malformed field", answer.status == 200, answer)
    answer, _ = ask("GET", file, TE="trailers", X_Transfer_Status="true")
    yield outcome("GET with a trailer", answer.getheader("Trailer") is not None, answer)
    answer, body = ask("GET", "/h")
    yield outcome("names of folders end with /", b"deep/" in body, answer)
    for method, status in (("OPTIONS", 200), ("PROPFIND", 207)):
        answer, _ = ask(method, file, Depth="0")
        yield outcome(method, answer.status == status, answer)
    answer, _ = ask("GET", file, Origin="https://example.org")
    is_there = answer.getheader("Access-Control-Allow-Origin") is not None
    yield outcome("no leave for a foreign origin", not is_there, answer)
    answer, _ = ask("PUT", "/h", ALPHABET)
    yield outcome("PUT on a folder: 409", answer.status == 409, answer)
    answer, _ = ask("GET", "/h/none")
    yield outcome("GET of no file", answer.status == 404, answer)
    for text, fields in SMUGGLED.items():
        said = _first_line(host, f"PUT /h/one HTTP/1.1\r\nHost: localhost\r\n{fields}{SECOND}")
        answer, _ = ask("GET", "/h/two")
        # Of the last, only the second request matters to XRootD's test.
        is_refused = said.startswith("HTTP/1.1 400") or text == "a coding in capitals"
        yield f"http.sh {text} is refused", is_refused and answer.status == 404, said


#: A request within the possible content of another.
SECOND = "PUT /h/two HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nWWWW"
SMUGGLED = {
    "a length before a coding": "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
    "a length after a coding": "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
    "a second length": "Content-Length: 4\r\nContent-Length: 100\r\n\r\nWWWW",
    "a negative length": "Content-Length: -1\r\n\r\n",
    "a coding that only begins as one": "Transfer-Encoding: chunkedX\r\n\r\n",
    "a coding in capitals": "Transfer-Encoding: CHUNKED\r\n\r\n",
}


def _first_line(host: str, sent: str) -> str:
    name, _, port = host.rpartition(":")
    with socket.create_connection((name, int(port)), timeout=5) as there:
        there.sendall(sent.encode())
        try:
            return there.recv(4096).decode(errors="replace").partition("\r\n")[0]
        except TimeoutError:
            return "nothing"


def run(folder: Path, host: str, top: Path) -> int:
    """Runs all of them; the number of calls that fail without a reason."""
    (top / "tmp").mkdir(exist_ok=True)
    (top / "tmp").chmod(0o777)
    unknown = 0
    counts: dict[str, list[int]] = {}
    # That of the package changes the names of modules: it is the last.
    for outcomes in (litmus(host, top), noauth(host), web(host), bindings(folder, host)):
        for name, is_right, said in outcomes:
            count = counts.setdefault(" ".join(name.split()[: 1 + name.startswith("lit")]), [0, 0])
            count[not is_right] += 1
            if is_right:
                continue
            why = next((why for each, why in OTHERWISE.items() if re.fullmatch(each, name)), None)
            unknown += why is None
            print(f"{'FAILED' if why is None else 'otherwise'} {name}: {why or said}")
    for group, (passed, failed) in counts.items():
        print(f"{group}: {passed} of {passed + failed}")
    return unknown


def main(words: list[str]) -> int:
    """Runs the tests."""
    folder, *server = words
    if server:
        host, top = server
        return int(run(Path(folder), host, Path(top)) > 0)
    with tempfile.TemporaryDirectory() as top, serving(Path(top), "--writable") as host:
        return int(run(Path(folder), host, Path(top)) > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
