"""Rows to fit and folds, as functions of keys."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest, chisquare

from rdiv.samples import Pool
from rdiv.samples.fitting_rows import folds_by_key, prepared_on, rows_to_fit, unit_keys
from rdiv.samples.row_keys import array_keys


def keys_of(values: np.ndarray) -> np.ndarray:
    return array_keys(np.asarray(values, dtype=float)[:, None])[:, 0]


def chosen_values(values: np.ndarray, most: int) -> list[float]:
    return sorted(values[rows_to_fit(keys_of(values), most)].tolist())


def test_the_choice_depends_on_the_set_of_rows_alone() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 60, size=300).astype(float)  # with copies
    first = chosen_values(values, 40)
    assert len(first) == 40
    for _ in range(5):
        assert chosen_values(rng.permutation(values), 40) == first


def test_fewer_rows_are_among_more_and_all_rows_are_kept_below_the_limit() -> None:
    keys = keys_of(np.random.default_rng(1).normal(size=500))
    sizes = [rows_to_fit(keys, most) for most in (50, 100, 499, 500, 501)]
    assert [len(rows) for rows in sizes] == [50, 100, 499, 500, 500]
    for few, more in itertools.pairwise(sizes):
        assert np.isin(few, more).all()
        assert (np.diff(more) > 0).all()


def test_copies_are_chosen_one_by_one() -> None:
    """Half of the rows are one value: about half of the chosen ones are, not all or none."""
    values = np.concatenate([np.zeros(1000), 1 + np.arange(1000.0)])
    zeros = chosen_values(values, 400).count(0.0)
    assert binomtest(zeros, 400, 0.5).pvalue > 1e-4


def test_the_choice_by_key_alone_would_take_all_copies_or_none() -> None:
    """Deliberately broken variant: without copy numbers."""
    values = np.concatenate([np.zeros(1000), 1 + np.arange(1000.0)])
    keys = keys_of(values)
    hashed = keys * np.uint64(0x9E3779B97F4A7C15)
    zeros = int((values[np.argsort(hashed, kind="stable")[:400]] == 0).sum())
    assert binomtest(zeros, 400, 0.5).pvalue < 1e-4


def test_the_choice_says_nothing_about_the_fold() -> None:
    keys = keys_of(np.random.default_rng(2).normal(size=20000))
    fold = folds_by_key(keys[rows_to_fit(keys, 5000)], 5)
    assert chisquare(np.bincount(fold, minlength=5)).pvalue > 1e-4


def test_groups_name_one_fold_by_their_smallest_key() -> None:
    rng = np.random.default_rng(3)
    keys, groups = keys_of(rng.normal(size=60)), rng.integers(0, 12, size=60)
    own = unit_keys(keys, groups)
    for group in np.unique(groups):
        assert set(own[groups == group]) == {keys[groups == group].min()}
    assert unit_keys(keys, None) is keys


@pytest.mark.parametrize("most", [None, 3, 2])
def test_a_preparation_is_learned_from_the_chosen_rows(most: int | None) -> None:
    frame = pl.DataFrame({"a": [0.0, 2.0, 10.0]})
    pool = Pool(frame)
    numbers = prepared_on(pool, most).numbers()[:, 0]
    rows = np.arange(3) if most is None else rows_to_fit(pool.keys[:, 0], most)
    known = frame["a"].to_numpy()
    spread = known[rows].std()
    np.testing.assert_allclose(numbers, (known - known[rows].mean()) / spread)
