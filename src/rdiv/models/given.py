"""The model in use, known by what it logged: its predictions, or its losses, in every row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.losses import log_loss, squared_error
from rdiv.names import visible
from rdiv.samples.pool import Pool

__all__ = ["LoggedLosses", "LoggedPredictions"]


@dataclass(frozen=True, repr=False)
class LoggedPredictions:
    """A model of which only its predictions are known; the loss follows from the task.

    Probabilities of the classes give the log loss, predicted classes the 0/1 loss, and predicted
    values the squared error. As for `Frozen`, neither sample may have served to train the model.

    Parameters
    ----------
    columns : str
        The columns that hold the predictions, as text.

    Examples
    --------
    >>> pool = Pool(
    ...     np.zeros((2, 1)),
    ...     y=np.array([1.0, 2.0]),
    ...     task="regression",
    ...     prediction=np.array([1.0, 5.0]),
    ... )
    >>> model = LoggedPredictions("forecast")
    >>> print(model, model.losses(pool), model.loss_name(pool))
    predictions in column forecast [0. 9.] squared error
    """

    columns: str = ""

    held_out = True
    given = True
    takes_partitions = True

    def __str__(self) -> str:
        column = "columns" if ", " in self.columns else "column"
        return f"predictions in {column} {visible(self.columns)}"

    __repr__ = __str__

    def fit(self, pool: Pool, rng: np.random.Generator) -> LoggedPredictions:
        """Return the model unchanged: its predictions are in the pool."""
        del pool, rng
        return self

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Loss of every row, ``(n,)``."""
        predicted = _known(pool.prediction, pool)
        assert pool.y is not None
        if pool.task == "regression":
            return squared_error(pool.y, predicted)
        if predicted.ndim == 2:
            return log_loss(pool.y, predicted)
        wrong: NDArray[np.float64] = (predicted != pool.y).astype(np.float64)
        return wrong

    def predictions(self, pool: Pool) -> NDArray[np.float64]:
        """What was predicted: probabilities, 0 and 1 for classes, or values; ``(n, K or 1)``."""
        predicted = _known(pool.prediction, pool)
        if predicted.ndim == 2 or pool.task == "regression":
            return predicted.reshape(len(predicted), -1)
        assert pool.classes is not None
        chosen: NDArray[np.float64] = (predicted[:, None] == np.arange(len(pool.classes))) * 1.0
        return chosen

    def loss_name(self, pool: Pool) -> str:
        """What the losses are."""
        if pool.task == "regression":
            return "squared error"
        return "log loss" if _known(pool.prediction, pool).ndim == 2 else "0/1 loss"


@dataclass(frozen=True, repr=False)
class LoggedLosses:
    """A model of which only its loss on every row is known.

    Parameters
    ----------
    column : str
        The column that holds the losses.

    Examples
    --------
    >>> pool = Pool(np.zeros((2, 0)), loss=np.array([0.5, 1.5]))
    >>> print(LoggedLosses("error").losses(pool), LoggedLosses("error").loss_name(pool))
    [0.5 1.5] error
    """

    column: str = "loss"

    held_out = True
    given = True
    takes_partitions = True

    def __str__(self) -> str:
        return f"losses in column {visible(self.column)}"

    __repr__ = __str__

    def fit(self, pool: Pool, rng: np.random.Generator) -> LoggedLosses:
        """Return the model unchanged: its losses are in the pool."""
        del pool, rng
        return self

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Loss of every row, ``(n,)``."""
        return _known(pool.loss, pool)

    def loss_name(self, pool: Pool) -> str:
        """What the losses are."""
        del pool
        return visible(self.column)


def _known(logged: NDArray[np.float64] | None, pool: Pool) -> NDArray[np.float64]:
    if logged is None:
        raise InputError(
            f"the {len(pool)} rows hold no logged predictions or losses; name their column."
        )
    return logged
