"""The jobs of soak.py: which client reads which files, and the meaning of its answers."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import soak_site
from soak_data import COLUMNS, Files, SoakFile
from soak_faults import Faults

CLIENT = Path(__file__).with_name("soak_client.py")
HTTP = {"farroot-http", "uproot-http", "curl"}
WHOLE = {"farroot-cp", "xrdcp", "curl"}
KINDS = (
    "farroot",
    "farroot-http",
    "farroot-iterate",
    "farroot-near",
    "farroot-cp",
    "uproot",
    "uproot-http",
    "ROOT",
    "xrdcp",
    "curl",
)
#: Kinds that can show a token, and those whose requests end with the connection.
WITH_TOKENS = ("farroot", "farroot-http", "farroot-cp", "xrdcp", "curl")
WITHOUT_RETRIES = {"curl", "uproot", "uproot-http"}
#: Clients have no settings of the person who runs this.
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("FARROOT_")}
FILES_MAX, JOB_S = 6, 180.0
NODE_FAULTS = {"node killed", "node restarted", "node stopped"}
ORIGIN_FAULTS = {"origin killed", "origin stopped"}


@dataclass(frozen=True)
class Job:
    kind: str
    files: tuple[SoakFile, ...]
    urls: tuple[str, ...]
    columns: tuple[str, ...]
    #: The name of the token that it shows.
    token: str | None
    is_refused: bool


@dataclass(frozen=True)
class Outcome:
    """`name`: right, refused (as it should be), expected (an error), unexpected, wrong."""

    name: str
    url: str
    seconds: float
    faults: str
    text: str = ""


class Jobs:
    def __init__(
        self, site: soak_site.Site, files: Files, faults: Faults, chance: random.Random
    ) -> None:
        self.site, self.files, self.faults, self.chance = site, files, faults, chance
        self.count = 0
        self.lock = threading.Lock()

    def next(self) -> Job:
        with self.lock:
            self.count += 1
            folder = self.chance.choice(("open", "open", "open", "mount", "closed"))
            kind = self.chance.choice(WITH_TOKENS if folder == "closed" else KINDS)
            count = self.chance.randint(1, FILES_MAX)
            files = tuple(self.chance.choices(self.files.by_folder[folder], k=count))
            columns = tuple(self.chance.sample(COLUMNS, self.chance.randint(1, len(COLUMNS))))
            token = None
            if folder == "closed":
                token = self.chance.choice(("good", "good", "good", "expired", None))
            urls = tuple(self.url(kind, file) for file in files)
        is_refused = folder == "closed" and token != "good"
        return Job(kind, files, urls, columns, token, is_refused)

    def url(self, kind: str, file: SoakFile) -> str:
        is_http, is_closed = kind in HTTP, file.folder == "closed"
        names = {"open": soak_site.OPEN_ROOT, "closed": soak_site.CLOSED_ROOT}
        # xrootd's answers over HTTP have no version; they mix the size of the new one with bytes of
        # the one that is still open.
        may_be_http = is_http and file.folder == "open" and not file.spare
        if file.folder == "mount":
            origin = f"file://{self.site.at}/mount/{file.name}"
        elif may_be_http and self.chance.random() < 0.4:
            origin = f"{soak_site.OPEN_HTTP}/{file.name}"
        else:
            origin = f"{names[file.folder]}//{file.name}"
        scheme = {(False, False): "root", (False, True): "roots"}.get(
            (is_http, is_closed), "https" if is_closed else "http"
        )
        slash = "/" if is_http else "//"
        return f"{scheme}://{soak_site.CACHE}:{soak_site.PORT}{slash}{origin}"

    def environment(self, job: Job, home: Path) -> dict[str, str]:
        environment = {
            "SOAK_COLUMNS": ",".join(job.columns),
            "SOAK_FARROOT": self.site.farroot,
            "SOAK_CA": str(self.site.at / "ca.pem"),
            "X509_CERT_DIR": str(self.site.at / "certificates"),
            "SSL_CERT_FILE": str(self.site.at / "ca.pem"),
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / ".cache"),
        }
        # A node that is killed is back sooner than XRootD's client connects again by default.
        environment["XRD_CONNECTIONWINDOW"] = "10"
        # The nodes to which the name of all nodes leads.
        environment["FARROOT_REDIRECT_CREDENTIALS"] = ".soak"
        if job.token:
            environment["BEARER_TOKEN_FILE"] = str(self.site.at / "tokens" / job.token)
        return environment

    def run(self, job: Job) -> Iterator[Outcome]:
        home = self.site.at / "homes" / threading.current_thread().name
        home.mkdir(parents=True, exist_ok=True)
        begin = time.time()
        try:
            done = subprocess.run(
                [sys.executable, str(CLIENT), job.kind, *job.urls],
                capture_output=True,
                text=True,
                env={**PLAIN, **self.environment(job, home)},
                timeout=JOB_S,
            )
            output, failed = done.stdout, done.stderr[-600:]
        except subprocess.TimeoutExpired as error:
            out = error.stdout or b""
            output = out.decode() if isinstance(out, bytes) else out
            failed = f"no answer in {JOB_S:g} s"
        answers = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        opened: dict[str, float] = {}
        for file, url, answer in zip(job.files, job.urls, answers, strict=False):
            # fsspec-xrootd keeps the file open: a later read of the process gets the same version.
            first = opened.setdefault(url, answer["begin"])
            answer["opened"] = first if job.kind == "uproot" else answer["begin"]
            yield self.outcome(job, file, url, answer)
        if len(answers) < len(job.urls):
            url, end = job.urls[len(answers)], time.time()
            faults = ", ".join(self.faults.during(begin, end))
            yield Outcome("unexpected", url, end - begin, faults, f"the client ended: {failed}")

    def outcome(self, job: Job, file: SoakFile, url: str, answer: dict) -> Outcome:
        begin, end = answer["begin"], answer["end"]
        during = self.faults.during(begin, end)
        name, text = self.meaning(job, file, answer, set(during))
        return Outcome(name, url, end - begin, ", ".join(during), text)

    def meaning(self, job: Job, file: SoakFile, answer: dict, during: set[str]) -> tuple[str, str]:
        if "error" in answer:
            return self.meaning_of_error(job, answer["error"], during)
        if job.is_refused:
            return "wrong", "a client without a valid token has read the file"
        digests = answer["digests"]
        # xrootd gives all clients of a path one open file: while a client has the old version open,
        # new opens get that, too.
        is_held = file.folder != "mount"
        versions = file.history if is_held else file.versions(answer["opened"], answer["end"])
        if any(version.has(digests) for version in versions):
            return "right", ""
        is_known = any(version.has(digests) for version in file.history)
        text = "a version of another time" if is_known else "bytes of no version"
        return "wrong", f"{text}; columns {sorted(digests)}"

    def meaning_of_error(self, job: Job, error: str, during: set[str]) -> tuple[str, str]:
        if job.is_refused:
            words = ("denied", "authoriz", "401", "403", "permission", "3010", "without proof")
            is_refusal = any(word in error.lower() for word in words)
            return ("refused", "") if is_refusal else self.told(job, error, during)
        return self.told(job, error, during)

    def told(self, job: Job, error: str, during: set[str]) -> tuple[str, str]:
        is_expected = (
            ("file replaced" in during)
            or ("token expired" in during and job.token == "good")
            or (job.kind in WITHOUT_RETRIES and during & (NODE_FAULTS | ORIGIN_FAULTS))
        )
        return ("expected" if is_expected else "unexpected"), error
