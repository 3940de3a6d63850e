"""Predictions that moved: the columns by name, one of two classes, and no target read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rdiv.drivers.moved_predictions import MOST_CLASSES, moved_predictions
from rdiv.inference.engine import PermutationSettings
from rdiv.samples.pooling import PooledSamples, pool_unlabelled

SETTINGS = PermutationSettings(0.05, 99)


def samples(classes: int) -> PooledSamples:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 1))
    return pool_unlabelled((x[:200], np.arange(200) % classes), x[200:], rng=0)


def test_two_classes_are_one_column() -> None:
    pooled = samples(2)
    one = np.where(pooled.is_p, 0.3, 0.6) + 0.05 * pooled.pool.x[:, 0]
    found = moved_predictions(np.stack([1 - one, one], axis=1), pooled, SETTINGS)
    assert [column.name for column in found] == ["predicted probability of 1"]
    assert found[0].pvalue == 0.01
    assert found[0].distribution is not None


def test_the_classes_that_are_predicted_most() -> None:
    pooled = samples(MOST_CLASSES)
    classes = np.arange(MOST_CLASSES + 5)
    more = replace(pooled, pool=replace(pooled.pool, classes=classes))
    shares = np.tile(np.linspace(0.01, 0.1, len(classes)), (300, 1))
    found = moved_predictions(shares, more, SETTINGS)
    assert len(found) == MOST_CLASSES
    assert {column.name for column in found} == {
        f"predicted probability of {label}" for label in classes[5:]
    }
    assert all(column.pvalue == 1.0 for column in found)
