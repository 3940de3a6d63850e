"""How the predictions of a model moved between reference and current, by one exact test."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.moved import moved_columns
from rdiv.drivers.moved_column import MovedColumn
from rdiv.inference.engine import PermutationSettings
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples

__all__ = ["moved_predictions"]

MOST_CLASSES = 20
"""Classes whose predictions are looked at: those that are predicted most."""


def moved_predictions(
    predicted: NDArray[np.float64], samples: PooledSamples, settings: PermutationSettings
) -> tuple[MovedColumn, ...]:
    """The predictions as columns, with what changed in each and an adjusted p-value.

    Parameters
    ----------
    predicted : (n, K) array
        Probabilities of all classes, 0 and 1 for predicted classes, or ``(n, 1)`` values.
    samples : PooledSamples
        The rows that they belong to; no target is read.
    settings : PermutationSettings

    Examples
    --------
    >>> from rdiv.samples.pooling import pool_samples
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 1)) + (np.arange(300) >= 150)[:, None]
    >>> samples = pool_samples((x[:150], x[:150, 0]), (x[150:], x[150:, 0]), rng=0)
    >>> found = moved_predictions(samples.pool.x, samples, PermutationSettings())
    >>> print(found[0].name, found[0].pvalue)
    prediction 0.001
    """
    pool = samples.pool
    names = _names(pool, predicted.shape[1])
    places = np.arange(predicted.shape[1])
    if pool.task == "classification" and len(places) == 2:
        places = places[1:]  # the other one is one minus this
    often = np.argsort(-predicted[:, places].mean(axis=0), kind="stable")[:MOST_CLASSES]
    places = places[np.sort(often)]
    columns = Pool(
        predicted[:, places], groups=pool.groups, strata=pool.strata, known_keys=pool.keys
    )
    found = moved_columns(replace(samples, pool=columns, apart=None), settings)
    called = {f"column {j}": names[place] for j, place in enumerate(places.tolist())}
    return tuple(replace(column, name=called[column.name]) for column in found)


def _names(pool: Pool, width: int) -> list[str]:
    if pool.task != "classification" or pool.classes is None:
        return ["prediction"] if width == 1 else [f"prediction {j}" for j in range(width)]
    return [f"predicted probability of {label}" for label in pool.classes.tolist()]
