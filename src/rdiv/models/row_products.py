"""Products of rows and a matrix whose bits do not depend on which rows are multiplied together.

A BLAS product of two matrices rounds a row differently in blocks of other sizes. A row's loss must
not change with the block that it is computed in, so losses are made from these products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_full_blocks", "row_products"]

Floats = NDArray[np.float64]


def row_products(x: Floats, matrix: Floats) -> Floats:
    """``x @ matrix``, one row of ``x`` at a time.

    Parameters
    ----------
    x : (n, d) array
    matrix : (d, k) array

    Examples
    --------
    >>> x, matrix = np.random.default_rng(0).normal(size=(2, 30, 30))
    >>> alone = [row_products(x[[i]], matrix)[0].tobytes() for i in range(30)]
    >>> print(b"".join(alone) == row_products(x, matrix).tobytes())
    True
    """
    rows = np.ascontiguousarray(x)[:, None, :]
    products: Floats = np.matmul(rows, np.ascontiguousarray(matrix))
    return products[:, 0]


def in_full_blocks(values: Any, step: int) -> Any:
    """Rows followed by copies of the first one, up to the next whole number of blocks.

    Parameters
    ----------
    values : (n, ...) array
        At least one row.
    step : int
        Rows of a block.

    Examples
    --------
    >>> print(in_full_blocks(np.array([1, 2, 3]), 2))
    [1 2 3 1]
    """
    lacking = -len(values) % step
    if not lacking:
        return values
    return np.concatenate([values, np.broadcast_to(values[:1], (lacking, *values.shape[1:]))])
