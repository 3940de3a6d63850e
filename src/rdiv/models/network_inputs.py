"""Rows as a network wants them: scaled columns, or images in their shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.models.scaling import Scaling, fit_scaling, fit_scaling_in_blocks
from rdiv.samples.pool import Pool, require_finite

__all__ = ["NetworkInputs", "fit_inputs"]

_FAR = 1e4  # in standard deviations of the training rows; single precision squares it safely


@dataclass(frozen=True, eq=False)
class NetworkInputs:
    """How rows become the inputs of a network, settled on the rows that it is trained on.

    Parameters
    ----------
    scaling : Scaling, optional
        Centre and scale of every column; without it rows keep their shape and their values.
    who : str
        Who asks, for messages.
    """

    scaling: Scaling | None
    who: str

    def __call__(self, pool: Pool) -> NDArray[np.float64]:
        """Inputs of every row, ``(n, d)`` or in the shape of an image."""
        if self.scaling is None:
            images = pool.numbers().astype(np.float64)
            require_finite(images, who=self.who)
            return images / 255 if getattr(pool.x, "dtype", None) == np.uint8 else images
        x = pool.matrix()
        require_finite(x, who=self.who)
        return np.clip(self.scaling.apply(x), -_FAR, _FAR)


def fit_inputs(pool: Pool, *, keep_shape: bool, who: str) -> NetworkInputs:
    """Settle the scaling on a pool; images keep their shape if asked for, tables never do.

    Columns are centred, scaled and held within 10000 standard deviations. Bytes of images become
    numbers in [0, 1].

    Examples
    --------
    >>> table = Pool(np.array([[1.0], [3.0]]))
    >>> print(fit_inputs(table, keep_shape=True, who="mlp")(table).ravel())
    [-1.  1.]
    """
    if keep_shape and pool.table is None and pool.x.ndim > 2:
        return NetworkInputs(None, who)
    if pool.unread:
        return NetworkInputs(fit_scaling_in_blocks(lambda: _finite_blocks(pool, who)), who)
    x = pool.matrix()
    require_finite(x, who=who)
    return NetworkInputs(fit_scaling(x), who)


def _finite_blocks(pool: Pool, who: str) -> Iterator[NDArray[np.float64]]:
    for block in pool.blocks():
        x = block.matrix()
        require_finite(x, who=who)
        yield x
