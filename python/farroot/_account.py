"""Figures of the engine that are a mapping and, as text, a short account."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ._uproot import public


@public
class Account(Mapping[str, Any]):
    """A mapping of figures; as text, a short account."""

    def __init__(self, json_and_text: tuple[str, str]) -> None:
        figures, self._text = json_and_text
        self._figures: dict[str, Any] = json.loads(figures)

    def __getitem__(self, key: str) -> Any:
        return self._figures[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._figures!r}>"
