"""The list of names that stay after 1.0 (docs/promises.md) is that of the package.

``python -m tests.test_promises`` writes it: a change of a name shows in a commit.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import farroot
from farroot._uproot import HELPERS

PAGE = Path(__file__).parents[2] / "docs" / "promises" / "python.txt"
#: Members that only farroot itself calls, as for the site.
OWN_USE = {*HELPERS, "all_of", "of"}


def parameters(function: Any) -> str:
    """``(columns, cut=, *, overwrite=)``."""
    found: list[str] = []
    kinds = inspect.Parameter
    starred: dict[Any, str] = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}
    for each in inspect.signature(function).parameters.values():
        if each.name in ("self", "cls"):
            continue
        if each.kind is each.KEYWORD_ONLY and not any(name.startswith("*") for name in found):
            found.append("*")
        default = "" if each.default is each.empty else "="
        found.append(f"{starred.get(each.kind, '')}{each.name}{default}")
    return f"({', '.join(found)})"


def bases(one: type) -> str:
    """Public classes and those of Python that a class is one of, as ``(Error, KeyError)``."""
    named = [base for base in one.__mro__[1:-1] if base in public_classes() or is_pythons(base)]
    found = [base.__name__ for base in named if base not in (Exception, BaseException)]
    return f"({', '.join(found)})" if found else ""


def is_pythons(one: type) -> bool:
    """Whether ``except`` and ``isinstance`` know it without an import."""
    return one.__module__ == "builtins"


def public_classes() -> set[type]:
    return {one for name in farroot.__all__ if inspect.isclass(one := getattr(farroot, name))}


def members(name: str, one: type) -> Iterator[str]:
    """Methods and attributes of a class, but for those of another public one that it inherits."""
    public = public_classes() - {one}
    for member in sorted(dir(one)):
        owner = next((base for base in one.__mro__ if member in vars(base)), object)
        is_ours = owner.__module__.startswith("farroot") and owner not in public
        if not is_ours or member.startswith("_") or member in OWN_USE:
            continue
        value = inspect.getattr_static(one, member)
        value = getattr(value, "__func__", value)
        is_method = inspect.isfunction(value)
        yield f"farroot.{name}.{member}{parameters(value) if is_method else ''}"


def promised() -> Iterator[str]:
    """One line a name."""
    for name in farroot.__all__:
        one = getattr(farroot, name)
        other = getattr(one, "__name__", name)
        if other != name and getattr(farroot, other, None) is one:
            yield f"farroot.{name} = {other}"
        elif inspect.isclass(one):
            yield f"farroot.{name}{bases(one)}"
            yield from members(name, one)
        elif inspect.isfunction(one):
            yield f"farroot.{name}{parameters(one)}"
        else:
            yield f"farroot.{name}"


def test_the_names_of_the_package_are_those_that_are_promised() -> None:
    there, now = PAGE.read_text().splitlines(), [*promised()]
    gone = [line for line in there if line not in now]
    new = [line for line in now if line not in there]
    assert (gone, new) == ([], []), "where that is meant: python -m tests.test_promises"


if __name__ == "__main__":
    PAGE.write_text("".join(f"{line}\n" for line in promised()))
