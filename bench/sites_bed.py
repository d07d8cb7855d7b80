"""Servers that want credentials, and a user who has them, for sites.py: files and programs."""

from __future__ import annotations

import base64
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The lab's name of the far host.
HOST = "far.farlab"
PLAIN, TOKEN, HTTPS, GSI, KRB5, KDC = 1094, 1095, 1096, 1097, 1098, 10088
ISSUER = "https://localhost:9443/issuer"
REALM = "BENCH.REALM"

COMMON = """\
all.export / r/o
oss.localroot {at}/data
all.adminpath {at}/server/{name}
all.pidpath {at}/server/{name}
xrd.port {port}
"""
TLS = """\
xrd.tls {at}/host.pem {at}/server/host.key
xrd.tlsca certdir {at}/certificates
xrootd.tls all
"""
#: Of a server that reads with tokens of the issuer.
TOKENS = """\
xrootd.seclib libXrdSec.so
sec.protocol ztn
sec.protbind * only ztn
ofs.authorize 1
ofs.authlib ++ libXrdAccSciTokens.so config={at}/scitokens.conf
acc.authdb {at}/authdb
"""
SERVERS = {
    "plain": (PLAIN, ""),
    "token": (
        TOKEN,
        TLS
        + TOKENS
        + f"""\
http.header2cgi Authorization authz
xrd.protocol http:{HTTPS} libXrdHttp.so
""",
    ),
    "gsi": (
        GSI,
        """\
xrootd.seclib libXrdSec.so
sec.protparm gsi -certdir:{at}/certificates -cert:{at}/host.pem -key:{at}/server/host.key
sec.protparm gsi -crl:0 -ca:1 -gridmap:{at}/gridmap -gmapopt:trymap,usedn
sec.protocol gsi
sec.protbind * only gsi
""",
    ),
    "krb5": (
        KRB5,
        f"""\
xrootd.seclib libXrdSec.so
sec.protocol krb5 {{at}}/server/keytab xrootd/{HOST}@{REALM}
sec.protbind * only krb5
""",
    ),
}


def servers(at: Path) -> str:
    """The command of all servers, for a shell; they end with it."""
    user = "-R xrootd" if os.geteuid() == 0 else ""
    export = f"export XDG_CACHE_HOME={at}/cache KRB5_CONFIG={at}/krb5.conf"
    each = [
        f"xrootd {user} -n {name} -c {at}/{name}.cfg -l {at}/server/{name}.log"
        for name in SERVERS
        if name != "krb5" or (at / "server" / "keytab").exists()
    ]
    waits = " & ".join(each)
    return f"{export}; trap 'kill $(jobs -p)' EXIT TERM INT; {waits} & wait"


def environment(at: Path) -> dict[str, str]:
    """Of the user."""
    return {
        "X509_CERT_DIR": str(at / "certificates"),
        "KRB5_CONFIG": str(at / "krb5.conf"),
        "KRB5CCNAME": f"FILE:{at}/tickets",
    }


def make(at: Path) -> None:
    """Certificates, a token, the servers' folders, which their user can read."""
    at.chmod(0o755)
    for name in ("data", "certificates", "cache/scitokens"):
        (at / name).mkdir(parents=True)
    (at / "data" / "a.bin").write_bytes(bytes(1_000_000))
    make_certificates(at)
    make_token(at)
    for name, (port, more) in SERVERS.items():
        (at / "server" / name).mkdir(parents=True)
        (at / f"{name}.cfg").write_text((COMMON + more).format(at=at, name=name, port=port))
    (at / "server" / "host.key").write_text((at / "host.key").read_text())
    (at / "server" / "host.key").chmod(0o400)
    make_realm(at)
    if os.geteuid() == 0:
        for path in [at / "cache", at / "server", *at.glob("cache/**/*"), *at.glob("server/**/*")]:
            shutil.chown(path, "xrootd")


def make_certificates(at: Path) -> None:
    subject = "/C=XX/O=Bench/CN="
    make_authority(at, subject)
    signed(at, "host", f"{subject}{HOST}", f"subjectAltName=DNS:{HOST}", issuer="ca")
    usage = "keyUsage=critical,digitalSignature,keyEncipherment"
    signed(at, "user", f"{subject}Ada", usage, issuer="ca")
    info = f"{usage}\nproxyCertInfo=critical,language:id-ppl-inheritAll"
    signed(at, "proxy", f"{subject}Ada/CN=1234567", info, issuer="user")
    parts = ("proxy.pem", "proxy.key", "user.pem")
    private(at / "x509up", "".join((at / name).read_text() for name in parts))
    (at / "gridmap").write_text(f'"{subject}Ada" ada\n')


def make_authority(at: Path, subject: str) -> None:
    """A CA, which is also in the folder of certificates, by the hashes of its name."""
    ca = ("basicConstraints=critical,CA:TRUE", "keyUsage=keyCertSign,cRLSign")
    more = [word for extension in ca for word in ("-addext", extension)]
    made = ("-out", at / "ca.pem", "-subj", f"{subject}CA")
    openssl("req", "-x509", *key(at / "ca.key"), *made, *more)
    for option in ("-subject_hash", "-subject_hash_old"):
        name = openssl("x509", "-noout", option, "-in", at / "ca.pem").decode().strip()
        shutil.copy(at / "ca.pem", at / "certificates" / f"{name}.0")


def key(path: Path) -> tuple[str | Path, ...]:
    return ("-newkey", "rsa:2048", "-nodes", "-keyout", path)


def signed(at: Path, name: str, subject: str, extensions: str, issuer: str) -> None:
    (at / "extensions").write_text(f"{extensions}\n")
    openssl("req", *key(at / f"{name}.key"), "-out", at / "request", "-subj", subject)
    by = ("-CA", at / f"{issuer}.pem", "-CAkey", at / f"{issuer}.key", "-CAcreateserial")
    words = ("-req", "-in", at / "request", *by, "-days", "30", "-out", at / f"{name}.pem")
    openssl("x509", *words, "-extfile", at / "extensions")


def openssl(*words: str | Path, given: bytes = b"") -> bytes:
    command = ["openssl", *map(str, words)]
    done = subprocess.run(command, capture_output=True, input=given, check=False)
    if done.returncode:
        sys.exit(f"openssl {words[0]}: {done.stderr.decode().strip()}")
    return done.stdout


def private(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o600)


def make_issuer(at: Path) -> dict[str, str]:
    """An issuer whose keys libscitokens finds in its cache, and does not ask for. Returns its key
    as a JWK."""
    openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", at / "issuer.key")
    point = openssl("ec", "-in", at / "issuer.key", "-pubout", "-outform", "DER")[-64:]
    known = {"kty": "EC", "crv": "P-256", "kid": "1", "alg": "ES256", "use": "sig"}
    known |= {"x": text(point[:32]), "y": text(point[32:])}
    keys = {"jwks": {"keys": [known]}, "expires": 4_000_000_000, "next_update": 4_000_000_000}
    with sqlite3.connect(at / "cache" / "scitokens" / "scitokens_cpp.sqllite") as cache:
        cache.execute(
            "CREATE TABLE keycache (issuer text UNIQUE PRIMARY KEY NOT NULL, keys text NOT NULL)"
        )
        cache.execute("INSERT INTO keycache VALUES (?, ?)", (ISSUER, json.dumps(keys)))
    (at / "scitokens.conf").write_text(
        f"[Global]\naudience = ANY\n[Issuer local]\nissuer = {ISSUER}\nbase_path = /\n"
        "default_user = xrootd\n"
    )
    (at / "authdb").write_text("")
    return known


def make_token(at: Path) -> None:
    make_issuer(at)
    now = int(time.time())
    claims = {"iss": ISSUER, "sub": "ada", "aud": "ANY", "ver": "scitoken:2.0", "jti": "1"}
    claims |= {"scope": "read:/", "iat": now, "nbf": now - 60, "exp": now + 86_400}
    private(at / "token", signed_token(at, claims))


def signed_token(at: Path, claims: dict) -> str:
    """A token with these claims, signed by the issuer, and a newline."""
    head = {"alg": "ES256", "typ": "JWT", "kid": "1"}
    body = ".".join(text(json.dumps(part).encode()) for part in (head, claims))
    signature = openssl("dgst", "-sha256", "-sign", at / "issuer.key", given=body.encode())
    return f"{body}.{text(two_numbers(signature))}\n"


def two_numbers(der: bytes) -> bytes:
    """Both numbers of a signature, 32 bytes each (RFC 7518, section 3.4), out of their DER."""
    raw, rest = b"", der[2:]
    for _ in range(2):
        length = rest[1]
        raw += rest[2 : 2 + length][-32:].rjust(32, b"\0")
        rest = rest[2 + length :]
    return raw


def text(binary: bytes) -> str:
    return base64.urlsafe_b64encode(binary).decode().rstrip("=")


def make_realm(at: Path) -> None:
    """A realm with a server and a user, where krb5-kdc is installed."""
    (at / "krb5.conf").write_text(
        f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n rdns = false\n"
        " dns_lookup_realm = false\n dns_canonicalize_hostname = false\n"
        f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{KDC}\n }}\n"
        f"[domain_realm]\n {HOST} = {REALM}\n"
    )
    (at / "kdc.conf").write_text(
        f"[realms]\n {REALM} = {{\n  database_name = {at}/principal\n"
        f"  key_stash_file = {at}/stash\n"
        f"  kdc_listen = 127.0.0.1:{KDC}\n  kdc_tcp_listen = 127.0.0.1:{KDC}\n }}\n"
        f"[logging]\n kdc = FILE:{at}/kdc.log\n"
    )
    service = f"xrootd/{HOST}"
    commands = [
        ["kdb5_util", "create", "-s", "-r", REALM, "-P", "master"],
        *(["kadmin.local", "-q", f"addprinc -randkey {name}"] for name in (service, "ada")),
        ["kadmin.local", "-q", f"ktadd -k {at}/server/keytab {service}"],
        ["kadmin.local", "-q", f"ktadd -k {at}/ada.keytab ada"],
    ]
    if not shutil.which("kdb5_util"):
        print("SKIPPED: krb5-kdc is not installed; no tickets", file=sys.stderr)
        return
    for command in commands:
        subprocess.run(command, check=True, capture_output=True, env=within(at))


def within(at: Path) -> dict[str, str]:
    return {**os.environ, **environment(at), "KRB5_KDC_PROFILE": str(at / "kdc.conf")}


@contextmanager
def kdc(at: Path) -> Iterator[bool]:
    """Runs the KDC beside the client, who has a ticket for the server. False: there is no KDC."""
    if not (at / "ada.keytab").exists():
        yield False
        return
    running = subprocess.Popen(["krb5kdc", "-n"], env=within(at))
    try:
        time.sleep(0.5)
        for command in (
            ["kinit", "-k", "-t", str(at / "ada.keytab"), "ada"],
            ["kvno", f"xrootd/{HOST}"],
        ):
            subprocess.run(command, check=True, capture_output=True, env=within(at))
        yield True
    finally:
        running.terminate()
        running.wait()
