"""Small tables: plain ones, and ones with the cells that real files hold."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

__all__ = ["COLUMNS", "NAMES", "Recipe", "made", "recipes"]

Rng = np.random.Generator


def _texts(rng: Rng, n: int, words: list[str]) -> pl.Series:
    return pl.Series([words[i] for i in rng.integers(len(words), size=n)], dtype=pl.String)


def _holes(series: pl.Series, rng: Rng, share: float = 0.3) -> pl.Series:
    kept = pl.Series(rng.random(len(series)) >= share)
    return pl.select(pl.when(kept).then(series)).to_series()


def _dates(rng: Rng, n: int) -> pl.Series:
    days = rng.integers(0, 2000, size=n)
    return pl.Series([dt.date(2020, 1, 1) + dt.timedelta(int(day)) for day in days])


COLUMNS: dict[str, Callable[[Rng, int], pl.Series]] = {
    "normal": lambda rng, n: pl.Series(rng.normal(size=n)),
    "whole": lambda rng, n: pl.Series(rng.integers(0, 9, size=n)),
    "two": lambda rng, n: pl.Series(rng.integers(0, 2, size=n)),
    "constant": lambda rng, n: pl.Series(np.full(n, 3.5)),
    "huge": lambda rng, n: pl.Series(rng.normal(size=n) * 1e300),
    "tiny": lambda rng, n: pl.Series(rng.normal(size=n) * 1e-310),
    "wild": lambda rng, n: pl.Series(rng.choice([0.0, 1e308, -1e308, 5e-324, 1.0], size=n)),
    "nan": lambda rng, n: pl.Series(np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n))),
    "infinite": lambda rng, n: pl.Series(np.where(rng.random(n) < 0.1, np.inf, 1.0)),
    "big integers": lambda rng, n: pl.Series(rng.integers(-(2**63), 2**63 - 1, size=n)),
    "unsigned": lambda rng, n: pl.Series(rng.integers(0, 2**64, size=n, dtype=np.uint64)),
    "holes": lambda rng, n: _holes(pl.Series(rng.normal(size=n)), rng),
    "empty": lambda rng, n: pl.Series([None] * n, dtype=pl.Float64),
    "nothing": lambda rng, n: pl.Series([None] * n, dtype=pl.Null),
    "classes": lambda rng, n: _texts(rng, n, ["no", "yes"]),
    "many classes": lambda rng, n: _texts(rng, n, [f"c{i}" for i in range(9)]),
    "odd texts": lambda rng, n: _texts(
        rng, n, ["", " ", "NA", "nan", "1e5", "ä\u202eö", "a,b", 'say "x"', "l1\nl2", "\x00", "💥"]
    ),
    "text with holes": lambda rng, n: _holes(_texts(rng, n, ["a", "b", "c"]), rng),
    "names": lambda rng, n: pl.Series([f"name {i} {rng.integers(1e9)}" for i in range(n)]),
    "truth": lambda rng, n: pl.Series(rng.random(n) < 0.5),
    "dates": _dates,
    "times": lambda rng, n: pl.Series(rng.integers(0, 2**40, size=n)).cast(pl.Datetime("us")),
    "durations": lambda rng, n: pl.Series(rng.integers(-(2**40), 2**40, size=n)).cast(
        pl.Duration("us")
    ),
    "category": lambda rng, n: _texts(rng, n, ["a", "b", "c"]).cast(pl.Categorical),
    "float32": lambda rng, n: pl.Series(rng.normal(size=n).astype(np.float32)),
    "lists": lambda rng, n: pl.Series([[1.0, 2.0]] * n),
    "structs": lambda rng, n: pl.Series([{"a": 1}] * n),
    "bytes": lambda rng, n: pl.Series([b"\x00\xff"] * n),
    "decimals": lambda rng, n: pl.Series(rng.integers(0, 999, size=n)).cast(pl.Decimal(9, 2)),
}
"""Ways to fill a column of n rows."""

NAMES = st.one_of(
    st.sampled_from(["a", "b", "x 1", "target", "größe", "", " ", "a,b", "=cmd()", "__row__", "0"]),
    st.text(max_size=6),
)


@dataclass(frozen=True)
class Recipe:
    """A table by its parts, so that a found case is a line of a test."""

    columns: tuple[tuple[str, str], ...]
    rows: int = 30
    seed: int = 0
    copies: int = 1


def made(recipe: Recipe) -> pl.DataFrame:
    """The table of a recipe; of columns with one name the last one stays."""
    rng = np.random.default_rng(recipe.seed)
    columns: dict[str, Any] = {
        name: COLUMNS[kind](rng, recipe.rows) for name, kind in recipe.columns
    }
    return pl.concat([pl.DataFrame(columns)] * recipe.copies)


@st.composite
def recipes(draw: st.DrawFn, rows: st.SearchStrategy[int] | None = None) -> Recipe:
    """Tables of a few columns, half of them plain enough to be compared."""
    plain = ["normal", "whole", "two", "classes", "truth", "holes"]
    simple = draw(st.booleans())
    named = draw(st.lists(st.tuples(NAMES, st.sampled_from([*COLUMNS])), max_size=4))
    target = draw(st.sampled_from(plain[:4] if simple else list(COLUMNS)))
    sizes = rows or (st.integers(24, 40) if simple else st.integers(0, 60))
    return Recipe(
        (("a", "normal"), ("y", target), *named),
        draw(sizes),
        draw(st.integers(0, 2**16)),
        draw(st.sampled_from([1, 1, 1, 2])),
    )
