"""Credentials of a user, and those that one call names."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, Unpack

from . import _core
from ._types import CREDENTIALS
from ._uproot import taken
from .errors import ArgumentTypeError

if TYPE_CHECKING:
    from ._types import Credentials


class Credential(NamedTuple):
    """A place that is searched for a credential, and the credential in it. Nothing secret is
    here.

    Example:
        >>> used = [one.where for one in farroot.credentials() if one.state == "used"]
    """

    #: ``token``, ``x509``, ``kerberos`` or ``s3``.
    kind: str
    #: A variable, a file, a ticket cache.
    where: str
    #: ``used``, ``second`` (another one goes before it), ``unwanted`` (its kind is not among the
    #: chosen), ``absent`` or ``unusable``.
    state: str
    #: The state in words; of one that cannot be used, the cause.
    verdict: str
    #: The command that makes it usable.
    advice: str | None
    #: Whose it is: a subject, a principal, the name of an access key.
    owner: str | None
    #: How long it is still valid.
    left: timedelta | None
    #: The permissions of its file, as ``"600"``.
    mode: str | None
    #: Its file.
    path: Path | None
    #: Its issuer, its scopes, whether it has VOMS attributes.
    notes: tuple[str, ...]


@taken
def credentials() -> list[Credential]:
    """Tokens, proxies, tickets and keys of this user, in the order in which they are looked at.

    No request goes to a server. In a shell: ``farroot auth``.

    Example:
        >>> {one.kind for one in farroot.credentials()} >= {"token", "x509"}
        True
    """
    return [_credential(json.loads(line)) for line in _core.credentials_found()]


def _credential(found: dict[str, Any]) -> Credential:
    left, path = found["seconds_left"], found["path"]
    return Credential(
        kind=found["kind"],
        where=found["where"],
        state=found["state"],
        verdict=found["verdict"],
        advice=found["advice"],
        owner=found["owner"],
        left=None if left is None else timedelta(seconds=left),
        mode=found["mode"],
        path=None if path is None else Path(path),
        notes=tuple(found["notes"]),
    )


@taken
def with_credentials(
    address: str,
    **credentials: Unpack[Credentials],
) -> str:
    """An address that is opened with these credentials, for all that takes addresses.

    It can be pickled and sent to other processes: paths go along, and are read there. A token that
    is given as text, or that the address itself has, stays in this process and those that it
    forks: in another one the address is opened with the credentials that are there, and where the
    server refuses them, the error names the secrets that were left out.

    Args:
        address: A URL, or several with ``|`` between them; a tree may follow. A local path stays
            as it is.
        token: A bearer token; a path-like object is a file that has one, read anew for each
            connection.
        proxy: A file with an X.509 proxy, or with a certificate and its key.
        ticket_cache: A cache of Kerberos tickets, as ``KRB5CCNAME`` names one.
        s3_profile: A profile of the files in ``~/.aws``.
        auth: The kinds that may be used, the first one first: ``token``, ``x509``, ``kerberos``,
            ``s3``, ``unix``. By default those that are named here or, where none is, any.
        insecure: Whether servers are trusted without verification. Others can then read and change
            the data, and have the token that is sent.
        near: Where entries are selected: ``True``, at the file's own server, which runs ``farroot
            serve --select``; ``"auto"``, there if it takes less time; ``"https://HOST:PORT"``, at a
            ``farroot proxy --select``; ``False``, here. By default as :class:`farroot.config` has
            it. What a server cannot do is read here.

    Example:
        >>> address = farroot.with_credentials("root://eos.example//f.root", token="secret")
        >>> "secret" in str(address)
        False
    """
    url, tree = _core.split_object(address)
    url = Access(**credentials).added_to(url)
    return url if tree is None else f"{url}:{tree}"


class Withheld(NamedTuple):
    """Stands for a token, or for servers that are not verified, where an access is pickled."""

    number: str


#: The secret that each placeholder stands for, in this process and those that it forks.
_withheld: dict[Withheld, tuple[Any, bool]] = {}


def _withhold(token: Any, insecure: bool) -> Any:
    if not isinstance(token, str) and not insecure:
        return token
    for known, meant in _withheld.items():
        if meant == (token, insecure):
            return known
    sign = Withheld(secrets.token_hex(16))
    _withheld[sign] = token, insecure
    return sign


def _access(
    token: Any, proxy: Any, ticket_cache: Any, s3_profile: Any, auth: Any, near: Any = None
) -> Access:
    token, insecure = _withheld.get(token, (token, False)) if _is_sign(token) else (token, False)
    return Access(token, proxy, ticket_cache, s3_profile, auth, insecure, near)


def _is_sign(token: Any) -> TypeGuard[Withheld]:
    return isinstance(token, Withheld)


@dataclass(frozen=True, repr=False)
class Access:
    """One call's choice of credentials, in the words of :func:`with_credentials`."""

    token: Any = None
    proxy: str | os.PathLike[str] | None = None
    ticket_cache: str | None = None
    s3_profile: str | None = None
    auth: str | Iterable[str] | None = None
    insecure: bool = False
    near: bool | str | None = None

    @classmethod
    def among(cls, options: Mapping[str, Any]) -> Access:
        """The credentials in the options of a call, which may have other options, too."""
        return cls(**{name: options[name] for name in CREDENTIALS & options.keys()})

    def added_to(self, url: str) -> str:
        """An address, which no tree follows, with it; without secrets, as it may be pickled."""
        if self == ANY_CREDENTIAL:
            return _core.for_others(url)
        secret, token_file = None, None
        if isinstance(self.token, str):
            secret = self.token
        elif isinstance(self.token, os.PathLike):
            token_file = _absolute(self.token)
        elif self.token is not None and not _is_sign(self.token):
            expected = "token is a token or the path of a file that has one"
            raise ArgumentTypeError(f"{expected}, not {type(self.token).__name__}")
        auth = self.auth
        names = auth.replace(",", " ").split() if isinstance(auth, str) else auth
        said = _core.with_access(
            url,
            secret,
            token_file,
            _absolute(self.proxy),
            self.ticket_cache,
            self.s3_profile,
            None if names is None else list(names),
            self.insecure,
            _is_sign(self.token),
            near_text(self.near),
        )
        return _core.for_others(said)

    def __reduce__(self) -> tuple[Any, ...]:
        others = self.proxy, self.ticket_cache, self.s3_profile, self.auth, self.near
        return _access, (_withhold(self.token, self.insecure), *others)


def near_text(near: Any) -> str | None:
    """Where entries are selected, as the settings have it."""
    if near is None or isinstance(near, str):
        return near
    if isinstance(near, bool):
        return "on" if near else "off"
    expected = 'near is True, False, "auto" or the address of a proxy'
    raise ArgumentTypeError(f"{expected}, not {type(near).__name__}")


#: A call without a choice: whatever is in the usual places.
ANY_CREDENTIAL = Access()


def _absolute(path: str | os.PathLike[str] | None) -> str | None:
    """For processes that run elsewhere."""
    return None if path is None else os.path.abspath(os.path.expanduser(os.fspath(path)))
