"""Samples with a known shift, and models whose losses can be computed by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import rdiv
from rdiv.samples import Pool

X = np.random.default_rng(0).normal(size=(200, 2))


@dataclass(frozen=True)
class FirstColumn:
    """A model that rdiv trains, with nothing to learn: its loss is the first input."""

    held_out = True

    def fit(self, pool: Pool, rng: np.random.Generator) -> FirstColumn:
        return self

    def losses(self, pool: Pool) -> np.ndarray:
        return pool.numbers()[:, 0].astype(float)


@dataclass(frozen=True)
class Deployed(FirstColumn):
    """The same as a model in use, which is not trained."""

    given = True


@dataclass(frozen=True)
class Zero:
    """A model that always predicts 0."""

    held_out = True
    row_loss = "squared error"

    def fit(self, pool: Pool, rng: np.random.Generator) -> Zero:
        return self

    def losses(self, pool: Pool) -> np.ndarray:
        return np.square(np.asarray(pool.y, dtype=float))


def regression(noise: float = 1.0, n_p: int = 80) -> tuple[Any, Any]:
    """A target with noise 1 on reference and `noise` on current."""
    rng = np.random.default_rng(1)
    y = X[:, 0] + rng.normal(size=200) * np.where(np.arange(200) < n_p, 1.0, noise)
    return (X[:n_p], y[:n_p]), (X[n_p:], y[n_p:])


def weaker_relation(slope: float = 0.2) -> tuple[Any, Any]:
    """A slope that turns round, with as much less noise as the model in use loses by it."""
    rng = np.random.default_rng(5)
    x, is_p = rng.normal(size=(800, 2)), np.arange(800) < 400
    noise = np.where(is_p, 1.0, np.sqrt(1 - 4 * slope**2)) * rng.normal(size=800)
    y = np.where(is_p, slope, -slope) * x[:, 0] + noise
    return (x[:400], y[:400]), (x[400:], y[400:])


def steeper_relation() -> tuple[Any, Any]:
    """A steeper slope and no noise: the same error for the old line, a smaller one for a new."""
    rng = np.random.default_rng(3)
    x, is_p = rng.normal(size=(800, 2)), np.arange(800) < 400
    noise = rng.normal(size=800)
    y = np.where(is_p, x[:, 0] + noise, 2 * x[:, 0] + 0.1 * noise)
    return (x[:400], y[:400]), (x[400:], y[400:])


def wider_and_narrower() -> tuple[Any, Any]:
    """More noise in one half of the current rows, less in the other: the same on average."""
    rng = np.random.default_rng(2)
    x, is_p = rng.normal(size=(1600, 2)), np.arange(1600) < 800
    spread = np.where(is_p, 1.2, np.where(x[:, 1] > 0, 1.65, 0.4))
    y = x[:, 0] + spread * rng.normal(size=1600)
    return (x[:800], y[:800]), (x[800:], y[800:])


def inverted(rows: int, seed: int, *, day: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Labels that are inverted in half of the current rows; `day` tells the files apart."""
    rng = np.random.default_rng(seed)
    frames = []
    for current in (False, True):
        x = rng.normal(size=(rows, 2))
        y = (x[:, 0] + 0.3 * rng.normal(size=rows) > 0) ^ (current & (x[:, 1] > 0))
        columns = {"a": x[:, 0], "b": x[:, 1], "y": np.where(y, "yes", "no")}
        if day:
            columns["day"] = 2.0 * current + rng.random(rows)
        frames.append(pl.DataFrame(columns))
    return frames[0], frames[1]


def run(reference: Any, current: Any, **how: Any) -> rdiv.Comparison:
    return rdiv.compare(reference, current, **({"n_resamples": 99, "rng": 0} | how))


def quick(reference: Any, current: Any, **how: Any) -> rdiv.Comparison:
    """Without drivers."""
    return run(reference, current, **({"drivers": False} | how))
