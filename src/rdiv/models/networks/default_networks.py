"""Networks for tests that need one: a classifier, and any network with a bounded loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from rdiv.models.networks.inputs import fit_inputs
from rdiv.models.networks.modules import hidden_width, perceptron, require_torch
from rdiv.models.networks.objectives import check_columns, class_logits
from rdiv.models.networks.torch_model import FittedTorchModel, Recipe
from rdiv.models.networks.training import Training
from rdiv.samples.pool import Pool

__all__ = ["BoundedNetwork", "NetworkClassifier", "small_perceptron"]


TRAINING = Training(epochs=300, steps=3000, batch_size=128, learning_rate=3e-3, weight_decay=1e-2)


@dataclass(frozen=True)
class NetworkClassifier:
    """A torch network that predicts classes; its loss is the log loss.

    Parameters
    ----------
    module : torch.nn.Module, optional
        From rows to one logit per class, or for two classes to the log odds of the second. It is
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


BOUNDED_TRAINING = Training(epochs=200, steps=2000, batch_size=128, learning_rate=3e-3)
MOST_CODES = 16


@dataclass(frozen=True)
class BoundedNetwork:
    """A torch network whose loss is ``1 - exp(-loss)`` of the ordinary one, between 0 and 1.

    Parameters
    ----------
    module : torch.nn.Module, optional
        From rows to one logit per class, to a prediction of the standardised target, or, without a
        target, back to the rows. It is copied and trained from its present weights. By default a
        perceptron with two hidden layers, each three times as wide as the input but at least 50
        and at most 300; without a target an autoencoder with half as many codes as columns, at
        most 16.
    training : Training
        By default 200 epochs of batches of 128 rows, at most 2000 steps.

    Notes
    -----
    The ordinary loss, which the fit minimises, is the log loss, the squared error of the target in
    units of its standard deviation, or the mean squared error of the scaled columns. For classes
    the bounded loss is the probability of the wrong ones.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> pool = Pool(x, y=np.abs(x[:, 0]), task="regression")
    >>> losses = BoundedNetwork().fit(pool, np.random.default_rng(0)).losses(pool)
    >>> print(bool(losses.mean() < 0.1), bool(losses.max() < 1))
    True True
    """

    module: Any = None
    training: Training = BOUNDED_TRAINING

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedTorchModel:
        """Minimise the ordinary loss of the pool."""
        default = small_autoencoder if pool.task == "density" else small_perceptron
        recipe = Recipe(
            default if self.module is None else self.module,
            self.training,
            partial(fit_inputs, keep_shape=self.module is not None, who="a network"),
            _LOSSES[pool.task],
            report=_bounded,
        )
        start = recipe.start(pool, entropy=0)
        return start.fit_anew(pool, rng) if self.module is None else start.refit(pool, rng)


def small_autoencoder(shape: tuple[int, ...], n_outputs: int) -> Any:
    """From rows of a shape to a few codes and back, with one hidden layer on either side.

    Examples
    --------
    >>> print([layer.out_features for layer in small_autoencoder((8,), 8)[::2]])
    [50, 4, 50, 8]
    """
    d = prod(shape)
    codes = min(max(d // 2, 1), MOST_CODES)
    return perceptron([d, hidden_width(d), codes, hidden_width(d), n_outputs])


def _bounded(losses: Any) -> Any:
    """``1 - exp(-loss)``."""
    return -(-losses).expm1()


def _log_losses(outputs: Any, y: Any) -> Any:
    """Log loss of every row; a module may have logits of more classes than there are."""
    logits = class_logits(outputs, max(int(outputs[0].numel()), 2))
    return require_torch().nn.functional.cross_entropy(logits, y, reduction="none")


def _mean_squares(outputs: Any, x: Any) -> Any:
    """Mean squared error of the columns of every row."""
    flat, wanted = outputs.reshape(len(outputs), -1), x.reshape(len(x), -1)
    check_columns(flat, wanted, "density")
    return (flat - wanted).square().mean(dim=1)


_LOSSES = {"classification": _log_losses, "regression": None, "density": _mean_squares}
