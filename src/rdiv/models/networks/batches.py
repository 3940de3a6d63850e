"""Which rows an update looks at: batches of equal size, with rows of both samples on demand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.models.networks.modules import require_torch

if TYPE_CHECKING:
    from rdiv.models.networks.training import Training

__all__ = ["batch_count", "batchable_rows", "epochs_of_batches", "total_steps"]


def batchable_rows(
    is_p: NDArray[np.bool_], training: Training, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Rows that fill batches with two rows of either side or more, and need no larger batches.

    All rows, unless one side is so rare that some of the other must be left out.

    Examples
    --------
    >>> from rdiv.models.networks.training import Training
    >>> is_p = np.arange(1000) < 4
    >>> rows = batchable_rows(is_p, Training(batch_size=100), np.random.default_rng(0))
    >>> print(len(rows), is_p[rows].sum())
    200 4
    """
    n, n_p = len(is_p), int(is_p.sum())
    few = min(n_p, n - n_p)
    most = n if training.batch_size is None else training.batch_size * max(few // 2, 1)
    larger = rng.permutation(np.flatnonzero(is_p == (2 * n_p > n)))
    surplus = larger[max(most - few, few) :]
    return np.setdiff1d(np.arange(n), surplus)


def batch_count(n: int, training: Training, strata: NDArray[Any] | None) -> int:
    """Batches per epoch; with strata few enough that each holds two rows of every value.

    Examples
    --------
    >>> from rdiv.models.networks.training import Training
    >>> print(batch_count(13, Training(batch_size=4), None))
    4
    """
    count = 1 if training.batch_size is None else -(-n // training.batch_size)
    if strata is None:
        return count
    rarest = int(np.unique(strata, return_counts=True)[1].min())
    return max(min(count, rarest // 2), 1)


def total_steps(count: int, training: Training) -> int:
    """Updates that the settings allow, with so many batches per epoch.

    Examples
    --------
    >>> from rdiv.models.networks.training import Training
    >>> print(total_steps(4, Training(epochs=10)), total_steps(4, Training(epochs=10, steps=7)))
    40 7
    """
    whole = training.epochs * count
    return whole if training.steps is None else min(whole, training.steps)


def epochs_of_batches(
    n: int, training: Training, strata: NDArray[Any] | None, rng: np.random.Generator
) -> Iterator[list[Any]]:
    """Lists of batches of row numbers, one list per epoch, until epochs or steps run out."""
    torch = require_torch()
    generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
    codes = torch.as_tensor(
        np.zeros(n) if strata is None else np.unique(strata, return_inverse=True)[1]
    )
    count = batch_count(n, training, strata)
    left = total_steps(count, training)
    while left > 0:
        order = torch.randperm(n, generator=generator)
        parts = [order[codes[order] == code].tensor_split(count) for code in codes.unique()]
        yield [torch.cat(batch) for batch in zip(*parts, strict=True)][:left]
        left -= count
