"""A neural network as a classifier: a small one by default, or a torch module of your own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from rdiv.models.networks.inputs import fit_inputs
from rdiv.models.networks.modules import hidden_width, perceptron
from rdiv.models.networks.torch_model import FittedTorchModel, Recipe
from rdiv.models.networks.training import Training
from rdiv.samples.pool import Pool

__all__ = ["NetworkClassifier", "small_perceptron"]

TRAINING = Training(epochs=300, steps=3000, batch_size=128, learning_rate=3e-3, weight_decay=1e-2)


@dataclass(frozen=True)
class NetworkClassifier:
    """A torch network that predicts classes; its loss is the log loss.

    Parameters
    ----------
    module : torch.nn.Module, optional
        From rows to one logit a class, or for two classes to the log odds of the second one. It is
        copied and trained from its present weights. By default a perceptron with two hidden
        layers, each three times as wide as the input but at least 50 and at most 300.
    training : Training
        By default 300 epochs of batches of 128 rows, at most 3000 steps.

    Notes
    -----
    Columns of tables are centred and scaled; images reach a module of your own in their shape.

    Examples
    --------
    >>> pool = Pool(
    ...     np.linspace(-1, 1, 40)[:, None],
    ...     y=np.arange(40) // 20,
    ...     task="classification",
    ...     classes=np.array(["no", "yes"]),
    ... )
    >>> losses = NetworkClassifier().fit(pool, np.random.default_rng(0)).losses(pool)
    >>> print(bool(losses.mean() < 0.1))
    True
    """

    module: Any = None
    training: Training = TRAINING

    task = "classification"

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
        """Minimise the log loss of the pool."""
        recipe = Recipe(
            small_perceptron if self.module is None else self.module,
            self.training,
            partial(fit_inputs, keep_shape=self.module is not None, who="a network"),
            task="classification",
        )
        start = recipe.start(pool, entropy=0)
        return start.fit_anew(pool, rng) if self.module is None else start.refit(pool, rng)


def small_perceptron(shape: tuple[int, ...], n_outputs: int) -> Any:
    """Two hidden layers as wide as `hidden_width` says, for rows of a shape.

    Examples
    --------
    >>> print([layer.out_features for layer in small_perceptron((2,), 3)[::2]])
    [50, 50, 3]
    """
    d = prod(shape)
    return perceptron([d, hidden_width(d), hidden_width(d), n_outputs])
