"""The site of soak.py: three nodes of a cluster, two origins, a mount, and their credentials, in
namespaces of their own, where the addresses are no loopback: proxies are stricter there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import sites_bed
from sites_bed import TOKENS, make_authority, make_issuer, private, signed, signed_token

NODES = ("n1.soak", "n2.soak", "n3.soak")
#: All nodes.
CACHE = "cache.soak"
OPEN, CLOSED = "open.soak", "closed.soak"
ADDRESSES = {
    "10.9.2.1": (NODES[0], CACHE),
    "10.9.2.2": (NODES[1], CACHE),
    "10.9.2.3": (NODES[2], CACHE),
    "10.9.3.1": (OPEN,),
    "10.9.3.2": (CLOSED,),
}
PORT, OPEN_PORT, CLOSED_PORT, HTTP_PORT = 1094, 2094, 2095, 8080
OPEN_ROOT, CLOSED_ROOT = f"root://{OPEN}:{OPEN_PORT}", f"roots://{CLOSED}:{CLOSED_PORT}"
OPEN_HTTP = f"http://{OPEN}:{HTTP_PORT}"
ISSUER = "https://issuer.soak/"
AUDIENCE = "https://wlcg.cern.ch/jwt/v1/any"
DISKS, DISK_BYTES = 2, 160_000_000
START_S = 20.0
MEMORY_BYTES = 256_000_000

OPEN_XROOTD = f"""\
all.export / r/o
oss.localroot {{at}}/open
all.adminpath {{at}}/server/open
all.pidpath {{at}}/server/open
xrd.port {OPEN_PORT}
xrd.protocol http:{HTTP_PORT} libXrdHttp.so
"""
CLOSED_XROOTD = (
    f"""\
all.export / r/o
oss.localroot {{at}}/closed
all.adminpath {{at}}/server/closed
all.pidpath {{at}}/server/closed
xrd.port {CLOSED_PORT}
xrd.tls {{at}}/host.pem {{at}}/server/host.key
xrd.tlsca certdir {{at}}/certificates
xrootd.tls all
"""
    + TOKENS
)
NODE = """\
address = "{address}"
port = {port}
select = true
log = "text"
drain = 20
access-log = "{at}/node/{name}.jsonl"

[tls]
certificate = "{at}/host.pem"
key = "{at}/host.key"

[cluster]
nodes = [{nodes}]
own = "{name}:{port}"

[[issuer]]
name = "soak"
url = "{issuer}"
audience = ["{audience}"]
keys = "{at}/issuer.jwks"
base = ["{closed_root}"]

[[origin]]
server = "{open_root}"

[[origin]]
server = "{open_http}"

[[origin]]
server = "file://{at}/mount"

[[origin]]
server = "{closed_root}"
credential = {{ token = "{at}/node.token" }}

[[rule]]
path = "{closed_root}"
read = ["scope:soak"]

[[rule]]
path = "*"
read = ["anyone"]

[[rule]]
path = "file://{at}/mount"
read = ["anyone"]

[settings]
cache = "{cache}"
cache_folder = [{disks}]
cache_free = "2 MB"
memory = "{memory}"
"""


@dataclass
class Server:
    """A process that faults end and start again."""

    name: str
    command: list[str]
    log: Path
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen | None = None
    peak_bytes: int = 0

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, env={**os.environ, **self.environment}
            )

    def send(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def end(self, number: int = signal.SIGTERM, wait_s: float = 30.0) -> None:
        """Ends it, also where it has been stopped."""
        if self.process is None:
            return
        self.process.send_signal(number)
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process = None

    def has_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def look_at_memory(self) -> None:
        if self.process is None:
            return
        try:
            lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        except OSError:
            return
        sizes = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS")]
        self.peak_bytes = max([self.peak_bytes, *sizes])


class Site:
    def __init__(self, at: Path, farroot: str) -> None:
        self.at, self.farroot = at, farroot
        self.servers: dict[str, Server] = {}

    def disk(self, name: str, number: int) -> Path:
        return self.at / "disks" / f"{name}-{number}"

    def make(self) -> None:
        """Names, certificates, issuers, disks and configurations."""
        folders = ("open", "closed", "mount", "certificates", "cache/scitokens", "node", "tokens")
        for name in folders:
            (self.at / name).mkdir(parents=True, exist_ok=True)
        self.make_names()
        self.make_certificates()
        self.make_issuers()
        for node in NODES:
            for number in range(DISKS):
                self.disk(node, number).mkdir(parents=True)
                self.mount_disk(node, number)
        self.make_origins()
        self.make_nodes()

    def make_names(self) -> None:
        """Only the processes of this mount namespace see these."""
        hosts = self.at / "hosts"
        lines = [f"{address} {' '.join(names)}" for address, names in ADDRESSES.items()]
        # xrootd asks for the machine's name.
        first = f"127.0.0.1 localhost {socket.gethostname()}\n"
        hosts.write_text(first + "".join(f"{line}\n" for line in lines))
        subprocess.run(["mount", "--bind", str(hosts), "/etc/hosts"], check=True)

    def make_certificates(self) -> None:
        subject = "/C=XX/O=Soak/CN="
        make_authority(self.at, subject)
        names = sorted({name for names in ADDRESSES.values() for name in names})
        alternative = ",".join(f"DNS:{name}" for name in names)
        signed(self.at, "host", f"{subject}{CACHE}", f"subjectAltName={alternative}", issuer="ca")

    def make_issuers(self) -> None:
        keys = {"keys": [make_issuer(self.at)]}
        (self.at / "issuer.jwks").write_text(json.dumps(keys))
        self.renew_node_token(86_400)
        for name, seconds in (("good", 86_400), ("expired", -100)):
            self.write_token(self.at / "tokens" / name, ISSUER, AUDIENCE, "storage.read:/", seconds)

    def renew_node_token(self, seconds: int) -> None:
        """The token that nodes show to the origin."""
        self.write_token(self.at / "node.token", sites_bed.ISSUER, "ANY", "read:/", seconds)

    def write_token(self, at: Path, issuer: str, audience: str, scope: str, seconds: int) -> None:
        now = int(time.time())
        claims = {"iss": issuer, "sub": "ada", "aud": audience, "jti": "1", "scope": scope}
        claims |= {"iat": now - 3600, "nbf": now - 3600, "exp": now + seconds}
        claims |= {"ver": "scitoken:2.0"} if audience == "ANY" else {"wlcg.ver": "1.0"}
        fresh = at.with_suffix(".fresh")
        private(fresh, signed_token(self.at, claims))
        fresh.rename(at)

    def mount_disk(self, node: str, number: int) -> None:
        options = ["-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs"]
        subprocess.run(["mount", *options, str(self.disk(node, number))], check=True)

    def unmount_disk(self, node: str, number: int) -> None:
        subprocess.run(["umount", "-l", str(self.disk(node, number))], check=True)

    def make_origins(self) -> None:
        user = ["-R", "xrootd"] if os.geteuid() == 0 else []
        environment = {"XDG_CACHE_HOME": str(self.at / "cache")}
        for name, words in (("open", OPEN_XROOTD), ("closed", CLOSED_XROOTD)):
            (self.at / "server" / name).mkdir(parents=True)
            config = self.at / f"{name}.cfg"
            config.write_text(words.format(at=self.at))
            log = self.at / "server" / f"{name}.log"
            command = ["xrootd", *user, "-n", name, "-c", str(config), "-l", str(log)]
            self.servers[name] = Server(name, command, self.at / f"{name}.out", environment)
        shutil.copy(self.at / "host.key", self.at / "server" / "host.key")
        (self.at / "server" / "host.key").chmod(0o400)
        if user:
            owned = [self.at / "cache", self.at / "server"]
            for path in [*owned, *(p for folder in owned for p in folder.glob("**/*"))]:
                shutil.chown(path, "xrootd")

    def make_nodes(self) -> None:
        nodes = ", ".join(f'"{name}:{PORT}"' for name in NODES)
        for address, names in list(ADDRESSES.items())[: len(NODES)]:
            name = names[0]
            disks = ", ".join(f'"{self.disk(name, number)}"' for number in range(DISKS))
            words = NODE.format(
                address=address,
                port=PORT,
                open_root=OPEN_ROOT,
                open_http=OPEN_HTTP,
                closed_root=CLOSED_ROOT,
                at=self.at,
                name=name,
                nodes=nodes,
                issuer=ISSUER,
                audience=AUDIENCE,
                cache="200 MB",
                disks=disks,
                memory=f"{MEMORY_BYTES // 1_000_000} MB",
            )
            config = self.at / "node" / f"{name}.toml"
            config.write_text(words)
            command = [self.farroot, "proxy", "--config", str(config)]
            environment = {"X509_CERT_DIR": str(self.at / "certificates")}
            environment["HOME"] = str(self.at / "node" / name)
            self.servers[name] = Server(name, command, self.at / f"{name}.log", environment)

    def start(self) -> None:
        for server in self.servers.values():
            server.start()
        for server in self.servers.values():
            self.wait_for(server)

    def wait_for(self, server: Server) -> None:
        """Until it takes connections."""
        port = {"open": OPEN_PORT, "closed": CLOSED_PORT}.get(server.name, PORT)
        name = {"open": OPEN, "closed": CLOSED}.get(server.name, server.name)
        end = time.time() + START_S
        while time.time() < end:
            try:
                with socket.create_connection((name, port), timeout=1):
                    return
            except OSError:
                if server.has_ended():
                    break
                time.sleep(0.05)
        sys.exit(f"{server.name} does not start: {server.log.read_text()[-2000:]}")

    def end(self) -> None:
        for server in self.servers.values():
            if server.process is not None:
                server.kill()
        for node in NODES:
            for number in range(DISKS):
                if self.disk(node, number).is_mount():
                    self.unmount_disk(node, number)
