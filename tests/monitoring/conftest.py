"""Tables and streams for the tests of monitors."""

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def losses():
    """A maker of tables of exponential losses."""

    def make(n: int, seed: int, scale: float = 1.0) -> pl.DataFrame:
        return pl.DataFrame({"loss": scale * np.random.default_rng([7, seed]).exponential(size=n)})

    return make


@pytest.fixture
def table():
    """A maker of tables with two inputs and a target of two classes, some of them flipped."""

    def make(n: int, seed: int, flipped: float = 0.0, moved: float = 0.0) -> pl.DataFrame:
        rng = np.random.default_rng([8, seed])
        x = rng.normal(size=(n, 2)) + moved
        y = rng.random(n) < 1 / (1 + np.exp(-2 * x[:, 0]))
        y ^= rng.random(n) < flipped
        return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": np.where(y, "yes", "no")})

    return make
