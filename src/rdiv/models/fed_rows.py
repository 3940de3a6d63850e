"""Inputs of rows that are still in a dataset, made a batch at a time while a network trains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.models.torch_modules import require_torch, tensor
from rdiv.samples.pool import Pool

__all__ = ["FedRows", "feed", "some_rows"]


@dataclass(frozen=True, eq=False)
class FedRows:
    """What training asks of a tensor of inputs, read from a dataset when it is asked for.

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

    def to(self, device: Any) -> FedRows:
        """The same, with inputs on a device."""
        return replace(self, device=device)

    def index_select(self, _: int, rows: Any) -> Any:
        """Inputs of some rows, a tensor."""
        return tensor(self.inputs(self.pool.take(_numbers(rows))), self.module).to(self.device)

    def split(self, size: int) -> Iterator[Any]:
        """Tensors of so many rows each, in turn."""
        torch = require_torch()
        return (self.index_select(0, rows) for rows in torch.arange(len(self)).split(size))

    def subset(self, rows: Any) -> FedRows:
        """Some rows, still in the dataset."""
        return replace(self, pool=self.pool.take(_numbers(rows)))


def feed(inputs: Callable[[Pool], NDArray[np.float64]], pool: Pool, module: Any) -> Any:
    """Inputs of a pool for `train`: a tensor, or `FedRows` where the rows are in a dataset.

    Examples
    --------
    >>> print(feed(lambda pool: pool.matrix(), Pool(np.ones((2, 1))), None).tolist())
    [[1.0], [1.0]]
    """
    if pool.unread:
        return FedRows(inputs, pool, module, require_torch().device("cpu"))
    return tensor(inputs(pool), module)


def some_rows(values: Any, rows: NDArray[np.intp]) -> Any:
    """Some rows of a tensor, or of `FedRows` without reading them."""
    if isinstance(values, FedRows):
        return values.subset(rows)
    return values.index_select(0, require_torch().as_tensor(rows).to(values.device))


def _numbers(rows: Any) -> NDArray[np.intp]:
    return np.asarray(rows.cpu() if hasattr(rows, "cpu") else rows, dtype=np.intp)
