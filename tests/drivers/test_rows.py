"""Rows that carry the gap: found by their place in the file, whatever order the pool has."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rdiv
from rdiv.drivers.rows import row_shares

N_P, N_Q = 60, 90


def planted(sample: str, index: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A table in which one row of one file has a target that no model expects."""
    rng = np.random.default_rng(3)
    frames = {}
    for name, n in (("reference", N_P), ("current", N_Q)):
        x = rng.normal(size=n)
        y = x + 0.1 * rng.normal(size=n)
        if name == sample:
            y[index] = 40.0
        frames[name] = pl.DataFrame({"x": x, "kind": ["a", "b", "c"] * (n // 3), "y": y})
    return frames["reference"], frames["current"]


def compared(reference: Any, current: Any, **how: Any) -> rdiv.Comparison:
    return rdiv.compare(reference, current, **({"n_resamples": 39, "rng": 0} | how))


@pytest.mark.parametrize(("sample", "index"), [("current", 0), ("current", 77), ("reference", 59)])
@pytest.mark.parametrize("seed", [0, 5])
def test_a_planted_row(sample: str, index: int, seed: int) -> None:
    reference, current = planted(sample, index)
    found = compared(reference, current, target="y", model="ridge", rng=seed)
    first = next(row for row in found.drivers.rows if row.sample == sample)
    assert first.index == index
    assert first.target == 40.0
    assert first.loss > 1000
    assert first.share == pytest.approx(1.0, abs=0.1)  # it alone makes the gap
    frame = current if sample == "current" else reference
    assert dict(first.cells) == frame.drop("y").row(index, named=True)


def test_arrays_and_images() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 20))
    x[71] += 30
    found = compared(x[:40], x[40:], model="gmm", folds=None)
    first = found.drivers.rows[0]
    assert (first.sample, first.index, first.target) == ("current", 31, None)
    assert list(first.cells) == [f"column {j}" for j in range(12)]
    assert first.cells["column 3"] == x[71, 3]
    images = rng.random(size=(40, 1, 4, 4))
    pictures = compared(images[:20], images[20:], model="pca", folds=None).drivers
    assert pictures.columns is None
    assert pictures.slices == pictures.relation_slices == pictures.weights == ()
    assert "not a table" in pictures.notes["columns"]
    assert all(row.cells == {} for row in pictures.rows)


def test_long_cells_are_cut() -> None:
    reference, current = planted("current", 4)
    long = pl.lit("x" * 5000).alias("kind")
    found = compared(
        reference.with_columns(long), current.with_columns(long), target="y", model="ridge"
    )
    assert len(found.drivers.rows[0].cells["kind"]) == 80


@pytest.mark.parametrize("strata", [None, 3])
def test_shares_of_a_sample_sum_to_1(strata: int | None) -> None:
    rng = np.random.default_rng(1)
    losses, is_p = rng.exponential(size=200), rng.random(200) < 0.3
    codes = None if strata is None else rng.integers(strata, size=200)
    shares = row_shares(losses, is_p, codes)
    assert shares[is_p].sum() == pytest.approx(1)
    assert shares[~is_p].sum() == pytest.approx(1)
    if strata is None:  # taking a row out changes the sum of current by what it is said to add
        gap = losses[~is_p].mean() - losses[is_p].mean()
        row = np.flatnonzero(~is_p)[0]
        moved = losses.copy()
        moved[row] = losses[is_p].mean()
        less = moved[~is_p].mean() - losses[is_p].mean()
        assert shares[row] == pytest.approx((gap - less) / gap)


def test_without_a_gap_there_are_no_shares() -> None:
    losses = np.array([1.0, 2.0, 2.0, 1.0])
    assert row_shares(losses, np.array([True, True, False, False])) is None


def test_left_out() -> None:
    drivers = compared(*planted("current", 7), target="y", model="ridge").drivers
    assert drivers.rows
    assert drivers.without_rows().rows == ()
    assert drivers.without_rows().columns == drivers.columns
