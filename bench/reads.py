"""Experiments whose peers do one job each, in processes of their own: over links, or locally."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from urllib.parse import urlsplit

import commands
import data
import machine
import record
import served
import slow_mount
from model import CannotRunError, Cell, Experiment, Link, Peer, Place, Run
from xcache import XCaches

BENCH = Path(__file__).resolve().parent
CACHE = data.DATA.parent / "cache"
#: Port of the xrootd to which peers upload.
UPLOAD_PORT = 1094
#: Folders of uploads, which the server of the lab may write.
UPLOADS = "farroot-bench-uploads-"


class Reads:
    """An :class:`Experiment`, for run.py."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.about = experiment.about
        self.runs = experiment.runs
        self.facts = {"figure": experiment.figure}
        self.peers = {peer.name: peer for peer in experiment.peers}
        where = (*experiment.links, *experiment.places)
        self.where: dict[str, Link | Place] = {one.label: one for one in where}
        self.xcaches = XCaches()
        self.warmed: set[Cell] = set()
        #: Of a server on this machine, by scheme.
        self.here: dict[str, str] = {}

    def cells(self) -> list[Cell]:
        return [
            Cell(label, peer.name)
            for label, where in (self.where or {"": None}).items()
            for peer in self.peers.values()
            if not isinstance(where, Link) or peer.rtt_min_ms <= where.rtt_ms <= peer.rtt_max_ms
        ]

    def prepare(self) -> None:
        if self.experiment.file:
            data.path_of(self.experiment.file)
        if self.experiment.copies:
            data.copies_of(self.experiment.file, self.experiment.copies)

    @contextmanager
    def lab(self) -> Iterator[list[str] | None]:
        if not self.experiment.links:
            yield None
        elif self.experiment.uploads:
            with taking_files() as words:
                yield ["--rtt", "0", *words]
        elif self.experiment.served:
            yield ["--rtt", "0", "--serve", str(data.DATA), *served.far(self.experiment.served)]
        else:
            yield ["--rtt", "0", "--serve", str(data.DATA)]

    @contextmanager
    def opened(self) -> Iterator[Run]:
        shutil.rmtree(CACHE, ignore_errors=True)
        is_here = self.experiment.served and not self.experiment.links
        try:
            options = self.experiment.served
            server = served.here(data.DATA, options) if is_here else nullcontext({})
            with server as self.here:
                yield self.run
        finally:
            self.xcaches.stop()

    def run(self, number: int, cell: Cell) -> list[dict]:
        peer, where = self.peers[cell.peer], self.where.get(cell.link)
        if peer.runs_max is not None and number >= peer.runs_max:
            return []
        if isinstance(where, Link):
            commands.set_link("far", where.settings)
        if (peer.is_cached or peer.is_known) and cell not in self.warmed:
            self.warmed.add(cell)
            self.answer(peer, where)
        row = {"run": number, "link": cell.link, "peer": peer.name}
        return [row | self.answer(peer, where)]

    def table(self, rows: list[dict]) -> list[dict]:
        return record.table(self.experiment, list(self.experiment.peers), rows, self.needed_bytes())

    def text(self, lines: list[dict]) -> str:
        return record.as_text(self.experiment, lines)

    def needed_bytes(self) -> int | None:
        """Bytes of the baskets of whole columns; None for a part of the entries."""
        one = self.experiment
        if not self.where or not one.columns or one.entry_stop or one.cut:
            return None
        columns = data.facts_of(one.file)["columns"]
        return sum(columns[name]["bytes"] for name in one.columns)

    def answer(self, peer: Peer, where: Link | Place | None) -> dict:
        """One cold run of one peer: its line of JSON, or why there is none; a failure is a row."""
        if isinstance(where, Place):
            return self.answer_from(where, peer)
        if not peer.is_behind_xcache:
            return self.by_script(peer, where, os.environ.get("FARLAB_ROOT_URL"))
        origin = urlsplit(os.environ["FARLAB_ROOT_URL"]).netloc
        try:
            cache = self.xcaches.before(origin, peer.name, peer.is_cached)
        except (OSError, RuntimeError) as error:
            return {"failed": str(error)}
        try:
            return self.by_script(peer, where, cache.url)
        finally:
            self.xcaches.after(cache)

    def answer_from(self, place: Place, peer: Peer) -> dict:
        """The same of a local file that is not in memory, with the bytes that its disk has read."""
        path = data.path_of(self.experiment.file)
        try:
            with in_place(place, path) as (there, counted):
                answer = self.by_script(peer, None, None, there)
                return answer | ({"disk_bytes": counted()} if counted else {})
        except OSError as error:
            return {"failed": f"{place.label}: {error}"}

    def by_script(
        self, peer: Peer, link: Link | None, root_url: str | None, path: Path | None = None
    ) -> dict:
        led_by = [commands.python(), "-m", "farroot", "run", "--quiet", "--"]
        script = BENCH / "peers" / f"{peer.script}.py"
        words = self.words(peer, link, root_url, path)
        command = [*(led_by if peer.is_led else []), commands.python(), str(script), *words]
        if not self.where:
            machine.take_memory()
        environment = {**memory(peer), **peer.environment}
        return commands.answer_of(command, environment, self.experiment.timeout_s)

    def words(
        self, peer: Peer, link: Link | None, root_url: str | None, path: Path | None
    ) -> list[str]:
        """Arguments of the peer's script."""
        one = self.experiment
        if peer.scheme == "none":
            return list(peer.options)
        if one.uploads:
            return [f"{os.environ['FARLAB_ROOT_URL']}/{peer.script}.root", *peer.options]
        local = data.DATA / f"{one.file}.root"
        base = {
            "local": str(data.DATA),
            "root": root_url,
            "http": os.environ.get("FARLAB_HTTP_URL"),
            **self.here,
        }[peer.scheme]
        name = one.file if one.copies else f"{one.file}.root"
        words = [str(path or f"{base}/{name}"), *peer.options]
        if one.copies:
            words += ["--files", str(one.copies)]
        if tree := data.FILES[one.file][1]:
            words += ["--tree", tree]
        if one.columns:
            words += ["--columns", ",".join(one.columns)]
        if one.cut:
            words += ["--cut", one.cut]
        if one.entry_stop:
            words += ["--entry-stop", str(one.entry_stop)]
        if peer.script == "floor":
            words += ["--local", str(local)]
            if link:
                words += ["--pipe-bytes", str(link.pipe_bytes)]
        return words


def memory(peer: Peer) -> dict[str, str]:
    """Settings of farroot's store and cache on disk: off, except for known and cached peers."""
    own = CACHE / peer.name
    if peer.is_known:
        return {"FARROOT_STORE": "100 MB", "FARROOT_STORE_FOLDER": str(own)}
    cache = {"FARROOT_CACHE": "20 GB", "FARROOT_CACHE_FOLDER": str(own)}
    return {"FARROOT_STORE": "0", **(cache if peer.is_cached else {})}


@contextmanager
def in_place(place: Place, path: Path) -> Iterator[tuple[Path, Callable[[], int] | None]]:
    """The file where it is not in memory, and a function that counts the bytes read from a mount.
    On the disk the process itself counts them."""
    if place.delay_s:
        with slow_mount.mounted(path.parent, place.delay_s) as (folder, mount):
            yield folder / path.name, lambda: mount.bytes_read
        return
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    yield path, None


@contextmanager
def taking_files() -> Iterator[list[str]]:
    """Options of the lab for a writable xrootd that serves an empty folder."""
    if not shutil.which("xrootd"):
        raise CannotRunError("there is no xrootd (make xrootd)")
    with tempfile.TemporaryDirectory(prefix=UPLOADS, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        taken, own = folder / "taken", folder / "server"
        taken.mkdir()
        own.mkdir()
        if os.geteuid() == 0:
            for place in (folder, taken, own):
                shutil.chown(place, "xrootd")
        config = folder / "xrootd.cfg"
        config.write_text(
            f"all.export /\noss.localroot {taken}\nall.adminpath {own}\nall.pidpath {own}\n"
            f"xrd.port {UPLOAD_PORT}\nxrootd.chksum max 2 adler32 crc32c\n"
        )
        user = "-R xrootd" if os.geteuid() == 0 else ""
        command = f"exec xrootd {user} -n lab -c {config} -l {own}/log"
        yield ["--serve", str(taken), "--server", command, "--server-port", str(UPLOAD_PORT)]
