"""Rows as a network wants them: scaled columns or images, in memory or read a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.models.networks.modules import require_torch, tensor
from rdiv.models.scaling import Scaling, fit_scaling, fit_scaling_in_blocks
from rdiv.samples.datasets import plain_array
from rdiv.samples.pool import Pool, require_finite

__all__ = ["NetworkInputs", "StreamedInputs", "fit_inputs", "select_rows", "training_inputs"]


_MOST_DEVIATIONS = 1e4  # of the training rows; single precision squares it safely


@dataclass(frozen=True, eq=False)
class NetworkInputs:
    """How rows become the inputs of a network, settled on the rows that it is trained on.

    Parameters
    ----------
    scaling : Scaling, optional
        Centre and scale of every column; without it rows keep their shape and their values.
    who : str
        Name of the model, for messages.
    """

    scaling: Scaling | None
    who: str

    def __call__(self, pool: Pool) -> NDArray[np.float64]:
        """Inputs of every row, ``(n, d)`` or in the shape of an image."""
        if self.scaling is None:
            images = pool.numbers().astype(np.float64)
            require_finite(images, who=self.who)
            return images / 255 if pool.x.dtype == np.uint8 else images
        x = pool.matrix()
        require_finite(x, who=self.who)
        return np.clip(self.scaling.apply(x), -_MOST_DEVIATIONS, _MOST_DEVIATIONS)


def fit_inputs(pool: Pool, *, keep_shape: bool, who: str) -> NetworkInputs:
    """Fit the scaling to a pool; images keep their shape with ``keep_shape``, tables never do.

    Columns are centred, scaled and held within 10000 standard deviations. Bytes of images become
    numbers in [0, 1].

    Examples
    --------
    >>> table = Pool(np.array([[1.0], [3.0]]))
    >>> print(fit_inputs(table, keep_shape=True, who="mlp")(table).ravel())
    [-1.  1.]
    """
    if keep_shape and pool.is_images:
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


@dataclass(frozen=True, eq=False)
class StreamedInputs:
    """Inputs of rows that stay in a dataset and are read from it when training asks for them.

    It has the methods of a tensor that training calls.

    Parameters
    ----------
    inputs : callable
        From a pool to the inputs of its rows.
    pool : Pool
        Rows that are still in a dataset.
    module : torch.nn.Module
        Whose precision the inputs get.
    device : torch.device
    """

    inputs: Callable[[Pool], NDArray[np.float64]]
    pool: Pool
    module: Any
    device: Any

    def __len__(self) -> int:
        return len(self.pool)

    def to(self, device: Any) -> StreamedInputs:
        """The same, with inputs on a device."""
        return replace(self, device=device)

    def index_select(self, _: int, rows: Any) -> Any:
        """Inputs of some rows, a tensor."""
        chosen = self.inputs(self.pool.take(_row_numbers(rows)))
        return tensor(chosen, self.module).to(self.device)

    def split(self, size: int) -> Iterator[Any]:
        """Tensors of so many rows each, in order."""
        torch = require_torch()
        return (self.index_select(0, rows) for rows in torch.arange(len(self)).split(size))

    def subset(self, rows: Any) -> StreamedInputs:
        """Some rows, still in the dataset."""
        return replace(self, pool=self.pool.take(_row_numbers(rows)))


def training_inputs(inputs: Callable[[Pool], NDArray[np.float64]], pool: Pool, module: Any) -> Any:
    """Inputs of a pool for `train`: a tensor, or `StreamedInputs` where the rows are in a dataset.

    Examples
    --------
    >>> print(training_inputs(lambda pool: pool.matrix(), Pool(np.ones((2, 1))), None).tolist())
    [[1.0], [1.0]]
    """
    if pool.unread:
        return StreamedInputs(inputs, pool, module, require_torch().device("cpu"))
    return tensor(inputs(pool), module)


def select_rows(values: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of a tensor, or of `StreamedInputs` without reading them."""
    if isinstance(values, StreamedInputs):
        return values.subset(rows)
    return values.index_select(0, require_torch().as_tensor(rows).to(values.device))


def _row_numbers(rows: Any) -> NDArray[np.intp]:
    return np.asarray(plain_array(rows), dtype=np.intp)
