"""Columns that are standardised as they are read, beside those that are standardised once."""

from __future__ import annotations

import numpy as np
import pytest

from rdiv.discrepancies.score import Score, ridge_squares
from rdiv.inference import masked_sums as standard
from rdiv.inference.masked_sums import StandardColumns, squared, standardized, tiles
from rdiv.inference.masks import random_subsets
from rdiv.inference.mean_gaps import gaps_and_errors, mean_gaps
from rdiv.samples import Pool

RNG = np.random.default_rng


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standard, "MOST_HELD", 0)
    monkeypatch.setattr(standard, "_TILE_ROWS", 7)


def numbers() -> np.ndarray:
    values = RNG(0).normal(size=(50, 4)) * [1.0, 1e200, 1e-200, 0.0] + [5.0, 0.0, 0.0, 3.0]
    return np.asarray(values)


def test_as_they_are_read(small: None) -> None:
    columns, scale = standardized(numbers())
    assert isinstance(columns, StandardColumns)
    assert columns.shape == (50, 4)
    expected = (numbers() - numbers().mean(axis=0)) / np.where(scale > 0, scale, np.inf)
    np.testing.assert_allclose(np.asarray(columns), expected, atol=1e-12)
    np.testing.assert_allclose(np.vstack(list(tiles(columns))), expected, atol=1e-12)
    np.testing.assert_allclose(squared(columns)[10:20], expected[10:20] ** 2, atol=1e-12)
    assert (np.asarray(columns)[:, 3] == 0).all()
    assert scale[3] == 0


@pytest.mark.parametrize("n_p", [25, 13])
@pytest.mark.parametrize("design", ["rows", "groups", "strata"])
def test_gaps_are_the_same(monkeypatch: pytest.MonkeyPatch, n_p: int, design: str) -> None:
    masks = random_subsets(RNG(1), 20, 50, n_p)
    codes = {"groups": np.arange(50), "strata": np.arange(50) % 2}
    more = {design: codes[design]} if design in codes else {}
    held = gaps_and_errors(numbers(), **more)(masks)
    monkeypatch.setattr(standard, "MOST_HELD", 0)
    monkeypatch.setattr(standard, "_TILE_ROWS", 7)
    read = gaps_and_errors(numbers(), **more)(masks)
    for one, other in zip(held, read, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-220)


def test_a_view_of_them_is_refused(small: None) -> None:
    with pytest.raises(ValueError, match="a copy is needed"):
        np.array(standardized(numbers())[0], copy=False)


def test_one_column_is_one_column(small: None) -> None:
    masks = random_subsets(RNG(1), 5, 50, 20)
    column = numbers()[:, :1]
    expected = [column[~m].mean() - column[m].mean() for m in masks]
    found = mean_gaps(column, studentize=False)(masks)[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("width", [5, 80])
def test_the_ridge_is_the_same(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    values, t = RNG(2).normal(size=(50, width)), RNG(3).normal(size=(4, width))
    expected = ridge_squares(standardized(values)[0], 0.1)(t)
    monkeypatch.setattr(standard, "MOST_HELD", 0)
    monkeypatch.setattr(standard, "_TILE_ROWS", 7)
    np.testing.assert_allclose(ridge_squares(standardized(values)[0], 0.1)(t), expected)


def test_score_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(RNG(4).normal(size=(60, 3)))
    masks = random_subsets(RNG(5), 30, 60, 24)
    score = Score("gmm")
    expected = score.prepare(pool, RNG(0)).statistic(masks)
    monkeypatch.setattr(standard, "MOST_HELD", 0)
    monkeypatch.setattr(standard, "_TILE_ROWS", 7)
    np.testing.assert_allclose(score.prepare(pool, RNG(0)).statistic(masks), expected, rtol=1e-8)
