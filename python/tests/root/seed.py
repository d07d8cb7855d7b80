"""Seeded chances, and names that nothing else has."""

from __future__ import annotations

import random


class Seed:
    """A seed, its chances and the names given so far."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.count = 0

    def chance(self, part: float) -> bool:
        return self.random.random() < part

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"
