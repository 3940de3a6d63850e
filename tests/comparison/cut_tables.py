"""Two tables, and the same in parts, for tests of what cuts may not change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

SETTINGS: dict[str, Any] = {
    "target": "y", "model": "ridge", "rng": 0, "n_resamples": 99, "fit_rows": 300,
    "sample_rows": 400,
}  # fmt: skip


def table(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=rows) + 0.2 * seed
    frame = pl.DataFrame(
        {
            "a": a,
            "b": rng.integers(0, 4, rows),
            "c": [["x", "y", None][k] for k in rng.integers(0, 3, rows)],
            "y": a + (1 + 0.4 * seed) * rng.normal(size=rows),
            "group": rng.integers(0, 40, rows) + 100 * seed,
        }
    )
    return pl.concat([frame, frame[: rows // 20]])  # some rows twice


P, Q = table(700, 0), table(600, 1)


def parts(frame: Any, count: int, seed: int | None = None) -> Callable[[], Iterator[Any]]:
    """A function that gives the rows in so many parts; with a seed in another order."""
    if seed is not None:
        frame = frame[np.random.default_rng(seed).permutation(len(frame))]
    ends = np.linspace(0, len(frame), count + 1).astype(int)
    return lambda: (frame[low:high] for low, high in pairwise(ends) if high > low)


def without_places(found: Any) -> dict[str, Any]:
    """The document without the rows that it lists, whose places depend on the order of files."""
    document: dict[str, Any] = json.loads(found.to_json())
    document["drivers"].pop("rows")
    for row in document["drivers"]["unusual"]:
        row.pop("index")
    return document
