"""Keys of a file that is being written."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import Any, NamedTuple

DIRECTORY = "TDirectory"


class Key(NamedTuple):
    """Something in a directory."""

    name: str
    cycle: int
    classname: str
    #: The written object; None of one that the file had before.
    content: Any


class Keys:
    """The keys of one directory, in the order in which they came."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, int], Key] = {}
        #: Of each name, in order.
        self._cycles: dict[str, list[int]] = {}
        self._last: dict[str, int] = {}
        self.below: dict[str, Keys] = {}

    def add(self, name: str, classname: str, content: Any, cycle: int | None = None) -> Key:
        """A key under the next cycle of its name."""
        number = self._last.get(name, 0) + 1 if cycle is None else cycle
        self._last[name] = max(number, self._last.get(name, 0))
        key = Key(name, number, classname, content)
        self._keys[name, number] = key
        bisect.insort(self._cycles.setdefault(name, []), number)
        return key

    def directory(self, name: str) -> Keys:
        """The directory of that name, made where there is none."""
        if name not in self.below:
            self.below[name] = Keys()
            self.add(name, DIRECTORY, None)
        return self.below[name]

    def find(self, name: str) -> Key | None:
        """The key of that name: of several cycles the last, or the one of ``name;cycle``."""
        if cycles := self._cycles.get(name):
            return self._keys[name, cycles[-1]]
        stem, _, cycle = name.rpartition(";")
        return self._keys.get((stem, int(cycle))) if cycle.isdigit() else None

    def is_newest(self, key: Key) -> bool:
        """Whether no other key of its name has a higher cycle."""
        return key.cycle == self._cycles[key.name][-1]

    def set_content(self, key: Key, content: Any) -> None:
        self._keys[key.name, key.cycle] = key._replace(content=content)

    def remove(self, key: Key) -> None:
        del self._keys[key.name, key.cycle]
        cycles = self._cycles[key.name]
        del cycles[bisect.bisect_left(cycles, key.cycle)]

    def walk(self, is_recursive: bool, before: str = "") -> Iterator[tuple[str, Key]]:
        """Paths, without cycles, and keys, each directory's behind its own."""
        for key in self._keys.values():
            yield before + key.name, key
            if is_recursive and key.classname == DIRECTORY:
                yield from self.below[key.name].walk(True, f"{before}{key.name}/")

    def names(self) -> list[str]:
        return [name for name, _ in self._keys]
