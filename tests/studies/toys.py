"""Small sources and tests for the tests of studies; worker processes import them from here."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rdiv.samples import Pool

SEEN: list[tuple[str, Pool, np.ndarray | None]] = []
"""What the recording toys of this process were given: their name, the pool and the labels."""


def shifted(n: int, rng: np.random.Generator, null: bool) -> tuple[np.ndarray, np.ndarray]:
    """A source: normal rows, moved by one unit in q."""
    return rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + (0.0 if null else 1.0)


@dataclass(frozen=True)
class Travelling:
    """A source that notes in a file which process unpacks it."""

    file: str = field(repr=False)

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> Any:
        return shifted(n, rng, null)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        with open(self.file, "ab", buffering=0) as file:
            file.write(f"{os.getpid()}\n".encode())


def sums(pool: Pool) -> Callable[[np.ndarray], np.ndarray]:
    """A statistic: the absolute sum of one side, about the mean of the pool."""
    x = pool.matrix()[:, 0]
    centred = x - x.mean()
    return lambda masks: np.abs(masks @ centred)


def digest(pool: Pool) -> str:
    """A text for the rows of a pool, whatever their order."""
    rows = sorted(map(bytes, pool.matrix()))
    return hashlib.blake2b(b"".join(rows), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Plain:
    """A quick test; the name tells several of them apart."""

    name: str = "plain"

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
        return sums(pool)


@dataclass(frozen=True)
class Recording:
    """Keeps every pool that it is given."""

    name: str = "one"

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
        SEEN.append((self.name, pool, None))
        return sums(pool)


@dataclass(frozen=True)
class Slow:
    """Takes its time; how long is no part of its name, so that the rows are those of a quick one.

    With a file, every call appends a line to it: the process and a digest of the rows.
    """

    seconds: float = field(default=0.0, repr=False)
    file: str | None = field(default=None, repr=False)

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
        if self.file is not None:
            with open(self.file, "ab", buffering=0) as file:
                file.write(f"{os.getpid()} {digest(pool)}\n".encode())
        time.sleep(self.seconds)
        return sums(pool)


@dataclass(frozen=True)
class Learning:
    """Learns the direction between the means, then tests along it."""

    name: str = "learning"
    learns: bool = field(default=True, repr=False)

    def learn(self, pool: Pool, is_p: np.ndarray, rng: np.random.Generator) -> Any:
        SEEN.append(("learn " + self.name, pool, is_p))
        x = pool.matrix()
        return Along(tuple(x[~is_p].mean(axis=0) - x[is_p].mean(axis=0)))


@dataclass(frozen=True)
class Along:
    """What `Learning` learnt."""

    direction: tuple[float, ...]

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
        SEEN.append(("test", pool, None))
        along = pool.matrix() @ np.array(self.direction)
        return lambda masks: masks @ (along.mean() - along)


@dataclass(frozen=True)
class Killing:
    """Ends the process that runs it, as the system does to one that takes too much memory."""

    parent: int

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
        assert os.getpid() != self.parent
        os._exit(9)


def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in one order and without what may differ from run to run."""
    plain = [{k: v for k, v in row.items() if k not in ("seconds", "checksum")} for row in rows]
    return sorted(plain, key=lambda row: str([*row.values()]))


SLEEPY = Slow(0.1)
"""A test that takes its time, by name."""
