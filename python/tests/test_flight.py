"""Arrow Flight: its clients get the entries that ``/select`` and a read here give."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import farroot

from .certificates import certify

flight = pytest.importorskip("pyarrow.flight")

ENTRIES = 30_000


@contextmanager
def flying(*words: str) -> Iterator[tuple[str, str]]:
    """A server of the command's; gives ``host:port`` and the location for Flight."""
    command = [sys.executable, "-m", "farroot", *words, "--select", "--flight", "0", "--port", "0"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            lines = [process.stdout.readline() for _ in range(3)]
            if not lines[2]:
                error = process.stderr.read()
                if "no Arrow Flight" in error:
                    pytest.skip("this build has no Arrow Flight")
                pytest.fail(error)
            address = re.match(r"roots?://([^/]+)//", lines[0])
            assert address is not None
            yield address.group(1), lines[2].strip()
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flight")
    random = np.random.default_rng(3)
    counts = random.integers(0, 4, ENTRIES)
    columns = {
        "i": np.arange(ENTRIES),
        "met": random.exponential(30, ENTRIES).astype(np.float32),
        "pt": ak.unflatten(random.exponential(20, counts.sum()), counts),
        "name": ak.Array([f"ü{number % 7}" for number in range(ENTRIES)]),
    }
    for name in ("one", "two"):
        with farroot.recreate(folder / f"{name}.root") as file:
            file["t"] = columns
    (folder / ".hidden").mkdir()
    (folder / ".hidden/secret.root").write_bytes((folder / "one.root").read_bytes())
    return folder


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[tuple[str, str]]:
    with flying("serve", str(folder)) as found:
        yield found


@pytest.fixture
def client(host: tuple[str, str]) -> Iterator[Any]:
    with flight.connect(host[1]) as client:
        yield client


def command(**request: Any) -> Any:
    return flight.FlightDescriptor.for_command(json.dumps(request))


def read(client: Any, info: Any, options: Any = None) -> ak.Array:
    tables = (client.do_get(end.ticket, options).read_all() for end in info.endpoints)
    return ak.concatenate([ak.from_arrow(table) for table in tables])


def same(one: ak.Array, other: ak.Array) -> None:
    assert one.fields == other.fields
    assert one.to_list() == other.to_list()


@pytest.mark.parametrize("cut", [None, "met > 100", "met < 0"])
def test_entries_are_those_that_are_read_here(folder: Path, client: Any, cut: str | None) -> None:
    request = {"files": ["/one.root", "/two.root"], "table": "t", "columns": ["pt", "i", "name"]}
    info = client.get_flight_info(command(**request, **({"cut": cut} if cut else {})))
    assert info.schema.names == request["columns"]
    assert len(info.endpoints) == 2
    assert info.schema == client.get_schema(command(**request)).schema
    here = [farroot.open(f"{folder}/{name}.root:t") for name in ("one", "two")]
    wanted = ak.concatenate([each.arrays(["pt", "i", "name"], cut=cut) for each in here])
    same(read(client, info), wanted[request["columns"]])


def test_entries_are_compressed_for_those_who_want_that(folder: Path, client: Any) -> None:
    request = {"files": ["/one.root"], "table": "t", "columns": ["i", "pt"]}
    tables = []
    for compression in ({}, {"compression": "none"}, {"compression": "zstd"}):
        info = client.get_flight_info(command(**request, **compression))
        tables.append(client.do_get(info.endpoints[0].ticket).read_all())
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def test_a_path_names_a_file_and_its_table(folder: Path, client: Any) -> None:
    here = farroot.open(f"{folder}/one.root:t").arrays()
    for path in (("/one.root", "t"), ("/one.root",)):
        info = client.get_flight_info(flight.FlightDescriptor.for_path(*path))
        same(read(client, info), here)


def test_counts_and_histograms_are_actions(folder: Path, client: Any) -> None:
    here = farroot.open(f"{folder}/one.root:t")
    assert [each.type for each in client.list_actions()] == ["count", "histogram"]
    request = {"files": ["/one.root"], "table": "t", "cut": "met > 50"}

    def act(name: str, **more: Any) -> Any:
        action = flight.Action(name, json.dumps({**request, **more}).encode())
        (result,) = client.do_action(action)
        return json.loads(result.body.to_pybytes())

    assert act("count")["count"] == len(here.arrays("i", cut="met > 50"))
    axis = {"column": "met", "bins": 20, "start": 0, "stop": 200}
    found = act("histogram", axes=[axis])
    wanted = here.histogram("met", (20, 0, 200), cut="met > 50")
    assert np.array(found["values"]).tolist() == wanted.values(flow=True).tolist()
    with pytest.raises(ValueError, match="count and histogram"):
        list(client.do_action(flight.Action("drop", b"{}")))


def test_errors_name_their_reason(client: Any) -> None:
    file = {"files": ["/one.root"], "table": "t"}
    for request, error, words in (
        ({**file, "columns": ["none"]}, KeyError, "none"),
        ({"files": ["/absent.root"]}, KeyError, "no such file"),
        ({"files": ["/.hidden/secret.root"]}, KeyError, "no such file"),
        ({"files": ["/../one.root"]}, (KeyError, flight.FlightUnauthorizedError), ""),
        ({**file, "cut": "met >"}, ValueError, ""),
        ({**file, "operation": "count"}, ValueError, "counts and histograms"),
        ({**file, "version": 9}, NotImplementedError, "version"),
        ({**file, "files": [{"file": "/one.root", "size": 7}]}, ValueError, "7 at the client"),
        ({"files": ["/one.root"] * 300}, ValueError, "256"),
    ):
        with pytest.raises(error) as caught:
            client.get_flight_info(command(**request))
        assert words in str(caught.value), request
        ticket = flight.Ticket(json.dumps(request).encode())
        with pytest.raises(error):
            client.do_get(ticket).read_all()
    with pytest.raises(ValueError, match="cannot be understood"):
        client.do_get(flight.Ticket(b"\xff" * 100)).read_all()
    with pytest.raises(NotImplementedError):
        list(client.list_flights())
    with pytest.raises(ValueError, match="path of a file"):
        client.get_flight_info(flight.FlightDescriptor.for_path("a", "b", "c"))


def test_a_client_that_goes_leaves_its_place(client: Any, host: tuple[str, str]) -> None:
    """One address has 16 requests at a time: those of clients that have gone do not count."""
    request = {"files": ["/one.root"] * 100, "table": "t"}
    ticket = flight.Ticket(json.dumps(request).encode())
    for _ in range(40):
        with flight.connect(host[1]) as other:
            other.do_get(ticket).read_chunk()
    info = client.get_flight_info(command(files=["/one.root"], table="t", columns=["i"]))
    assert len(read(client, info)) == ENTRIES


def test_a_token_is_needed_where_a_server_wants_one(folder: Path, tmp_path: Path) -> None:
    authority, certificate, key = certify(tmp_path)
    tokens = tmp_path / "tokens"
    tokens.write_text("letmein\n")
    words = ("serve", str(folder), "--tls", str(certificate), str(key), "--token", str(tokens))
    with flying(*words) as (_, location):
        assert location.startswith("grpc+tls://")
        with flight.connect(location, tls_root_certs=authority.read_bytes()) as client:
            wanted = command(files=["/one.root"], table="t", columns=["i"])
            with pytest.raises(flight.FlightUnauthenticatedError, match="prove who you are"):
                client.get_flight_info(wanted)
            for wrong in (b"Bearer wrong", b"Bearer", b"Basic bGV0bWVpbg=="):
                options = flight.FlightCallOptions(headers=[(b"authorization", wrong)])
                with pytest.raises(flight.FlightUnauthenticatedError):
                    client.get_flight_info(wanted, options)
            options = flight.FlightCallOptions(headers=[(b"authorization", b"Bearer letmein")])
            info = client.get_flight_info(wanted, options)
            assert len(read(client, info, options)) == ENTRIES
            with pytest.raises(flight.FlightUnauthenticatedError):
                read(client, info)


def test_a_port_for_flight_needs_selection(folder: Path) -> None:
    command = [sys.executable, "-m", "farroot", "serve", str(folder), "--flight", "0"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2
    assert "--select" in refused.stderr
