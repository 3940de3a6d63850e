"""A perceptron with two hidden layers: the network of the paper for Colored-MNIST, and tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from rdiv.errors import InputError
from rdiv.models.networks.images import with_epochs
from rdiv.models.networks.inputs import fit_inputs
from rdiv.models.networks.modules import perceptron
from rdiv.models.networks.torch_model import FittedTorchModel, Recipe
from rdiv.models.networks.training import Training
from rdiv.samples.pool import Pool

__all__ = ["Mlp", "mlp"]

TRAINING = Training(epochs=50)


@dataclass(frozen=True)
class Mlp:
    """Fully connected layers with ReLU, for classes or numbers, on tables and images.

    Parameters
    ----------
    hidden : tuple of int
        Width of every hidden layer.
    training : Training
    epochs : int, optional
        Instead of those in `training`.
    weights : str or Path, optional
        A state dict saved as ``.safetensors``, to start from.

    Notes
    -----
    Columns and pixels are centred and scaled. The loss is the log loss or the squared error.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(40, 2))
    >>> y = (x[:, 0] > 0).astype(int)
    >>> pool = Pool(x, y=y, task="classification", classes=np.array(["no", "yes"]))
    >>> losses = Mlp(epochs=100).fit(pool, np.random.default_rng(0)).losses(pool)
    >>> print(bool(losses.mean() < 0.3))
    True
    """

    about = "a fully connected network"
    row_loss = "log loss or squared error"
    suits = "tables and small images"
    keep_in_mind = "memorises: use folds or few epochs"

    hidden: tuple[int, ...] = (128, 128)
    training: Training = TRAINING
    epochs: int | None = None
    weights: str | Path | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        with_epochs(self.training, self.epochs)

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
        """Train on the rows of a pool."""
        if pool.task == "density":
            raise InputError(
                "mlp needs a target, got none; name the column with target= or pass (X, y), or use "
                "vae without one."
            )
        return Recipe(
            partial(mlp, hidden=self.hidden),
            with_epochs(self.training, self.epochs),
            partial(fit_inputs, keep_shape=False, who="mlp"),
            weights=self.weights,
        ).fit(pool, rng)


def mlp(shape: tuple[int, ...], n_outputs: int, *, hidden: tuple[int, ...] = (128, 128)) -> Any:
    """A perceptron for rows of a shape, as a torch module.

    Examples
    --------
    >>> print(sum(p.numel() for p in mlp((784,), 10).parameters()))
    118282
    """
    return perceptron([prod(shape), *hidden, n_outputs])
