"""The files in `deploy` and the page about them agree with the command."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import farroot

from .test_remote import serving, started

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MONITORING = DEPLOY / "monitoring"

#: Labels that Prometheus adds.
ADDED = {"instance", "job"}


def site(folder: Path) -> str:
    """The configuration of a site, with folders of this user."""
    text = (DEPLOY / "site.toml").read_text()
    for name in ("/var/log/farroot", "/var/cache/farroot"):
        assert name in text
        own = folder / name.split("/")[2]
        own.mkdir(exist_ok=True)
        text = text.replace(name, str(own))
    return text


def check(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "farroot", "proxy", "--check", "--config", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# --- The configuration


def names_of_the_page() -> set[str]:
    """The names of the table of docs/site-cache.md."""
    _, _, text = (ROOT / "docs/site-cache.md").read_text().partition("## Configuration\n")
    rows = re.findall(r"^\| (`.*?) \|", text.partition("\n## ")[0], re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def names_of_the_file() -> set[str]:
    """The names of site.toml, also those in a comment."""
    lines = (DEPLOY / "site.toml").read_text().splitlines()
    names: set[str] = set()
    table = ""
    for line in lines:
        if found := re.fullmatch(r"(?:# )?\[\[(\w+)\]\]", line):
            # One of several tables, whose names are in a section of their own.
            names.add(found.group(1))
            table = "settings"
        elif found := re.fullmatch(r"(?:# )?\[(\w+)\]", line):
            table = found.group(1)
        elif (found := re.match(r"(?:# )?([\w-]+) = ", line)) and table != "settings":
            names.add(f"{table}.{found.group(1)}" if table else found.group(1))
    return names


def test_the_page_has_all_names_of_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text("port = 1094\nnone = 1\n")
    done = check(path)
    assert done.returncode == 1
    assert "line 2" in done.stderr
    _, _, expected = done.stderr.partition("expected one of ")
    known = set(re.findall(r"`([\w-]+)`", expected))
    assert known == {name.partition(".")[0] for name in names_of_the_page()}
    dotted = {name for name in names_of_the_page() if "." in name}
    for table in ("tls", "kerberos", "x509", "cluster"):
        path.write_text(f"[{table}]\nnone = 1\n")
        _, _, expected = check(path).stderr.partition("expected ")
        known = {f"{table}.{name}" for name in re.findall(r"`([\w-]+)`", expected)}
        assert known == {name for name in dotted if name.startswith(f"{table}.")}
        dotted -= known
    assert not dotted


def test_names_of_the_configuration_are_on_the_page(tmp_path: Path) -> None:
    names = names_of_the_file()
    assert {"port", "token", "tls.certificate", "access-log"} <= names
    assert names <= names_of_the_page()


def test_a_proxy_starts_with_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text(site(tmp_path).replace("port = 1094", "port = 0"))
    done = check(path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "a proxy could start on 0.0.0.0, port 0: public files, without credentials, for all who can"
    )
    path.write_text(path.read_text().replace("\nmemory = ", "\nmemroy = "))
    done = check(path)
    assert done.returncode == 1
    assert "memroy" in done.stderr


# --- The monitoring


def expressions() -> list[str]:
    """The expressions of the alerts and of the dashboard."""
    found: list[str] = []

    def look(value: Any) -> None:
        if isinstance(value, dict):
            found.extend(value[key] for key in ("expr", "query") if key in value)
        for each in value.values() if isinstance(value, dict) else value:
            if isinstance(each, (dict, list)):
                look(each)

    look(json.loads((MONITORING / "grafana.json").read_text()))
    # Each `expr:` is on its line, or on the lines below it that are indented further.
    rule = re.compile(r"^( +)expr: (?:>-)?(.*\n(?:\1 +.*\n)*)", re.MULTILINE)
    found += [each.group(2) for each in rule.finditer((MONITORING / "alerts.yaml").read_text())]
    return [each for each in found if "farroot_proxy_" in each]


@pytest.fixture(scope="module")
def metrics(made: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The names that a proxy has after some clients, each with its labels."""
    folder = tmp_path_factory.mktemp("site")
    path = folder / "site.toml"
    path.write_text(site(folder))
    options = ("--config", str(path), "--address", "127.0.0.1", "--origin", "root://127.0.0.1:*")
    with serving(made.parent) as origin, started("proxy", *options) as proxy:
        through = f"root://{proxy}//root://{origin}//"
        farroot.open(f"{through}{made.name}")["events"].arrays("int32")
        with pytest.raises(farroot.NotFoundError):
            farroot.open(f"{through}none.root")
        with urllib.request.urlopen(f"http://{proxy}/metrics") as answer:
            text = answer.read().decode()
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if sample := re.match(r"(\w+)(?:\{(.*)\})? [-\d.e+]+$", line):
            labels = re.findall(r'(\w+)="', sample.group(2) or "")
            found.setdefault(sample.group(1), set()).update(labels)
    return found


def test_alerts_and_dashboard_name_metrics_of_the_proxy(metrics: dict[str, set[str]]) -> None:
    named = expressions()
    assert len(named) >= 15
    for expression in named:
        names = re.findall(r"farroot_proxy_\w+", expression)
        missing = [name for name in names if name not in metrics]
        assert missing == [], expression
        known = ADDED.union(*(metrics[name] for name in names))
        grouped = re.findall(r"by \(([\w, ]+)\)", expression)
        labels = {label for group in grouped for label in group.split(", ")}
        labels.update(re.findall(r"[{,](\w+)=", expression))
        assert labels <= known, expression


def test_the_page_of_the_proxy_lists_the_metrics(metrics: dict[str, set[str]]) -> None:
    _, _, text = (ROOT / "docs/proxy.md").read_text().partition("## Metrics")
    listed = set(re.findall(r"`(\w+)`", text.partition("\n## ")[0]))
    families = {re.sub(r"_(bucket|sum|count|created)$", "", name) for name in metrics}
    assert {name.removeprefix("farroot_proxy_") for name in families} <= listed


# --- The signals


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A proxy with the configuration, on loopback; it ends with the test."""
    path = folder / "site.toml"
    path.write_text(site(folder))
    words = ["proxy", "--config", str(path), "--address", "127.0.0.1", "--port", "0"]
    command = [sys.executable, "-m", "farroot", *words, "--origin", "root://127.0.0.1:*"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_proxy_of_a_site_reads_its_files_again_and_ends(made: Path, tmp_path: Path) -> None:
    log = tmp_path / "log/access.jsonl"
    with serving(made.parent) as origin, running(tmp_path) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        proxy = run.stdout.readline().split("//")[1].strip("/\n")
        for name in ("healthz", "readyz"):
            with urllib.request.urlopen(f"http://{proxy}/{name}") as answer:
                assert answer.status == 200
        log.rename(tmp_path / "rotated")
        run.send_signal(signal.SIGHUP)
        assert any("are read again" in line for line in run.stderr)
        code = f"import farroot; farroot.open('root://{proxy}//root://{origin}//{made.name}')"
        subprocess.run([sys.executable, "-c", code], check=True)
        run.send_signal(signal.SIGTERM)
        assert "all transfers have ended" in run.stderr.read()
        assert run.wait(60) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["file"] for line in lines} == {f"root://{origin}//{made.name}"}
    assert (tmp_path / "rotated").read_text() == ""
