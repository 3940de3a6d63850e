"""A neural network as a classifier: a small one by default, or a torch module of your own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.models.adapters import class_losses
from rdiv.models.networks.inputs import NetworkInputs, fit_inputs, training_inputs
from rdiv.models.networks.modules import evaluate, perceptron, require_torch, seeded_torch
from rdiv.models.networks.training import Training, train
from rdiv.samples.pool import Pool

__all__ = [
    "FittedNetworkClassifier",
    "NetworkClassifier",
    "class_logits",
    "class_probabilities",
    "network_width",
]

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

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedNetworkClassifier:
        """Minimise the log loss of the pool."""
        functional = require_torch().nn.functional
        assert pool.y is not None
        assert pool.classes is not None
        n_classes = len(pool.classes)
        inputs = fit_inputs(pool, keep_shape=self.module is not None, who="a network")
        module = self.module
        if module is None:
            with seeded_torch(rng, self.training.device):
                d = inputs(pool.take(np.arange(1))).shape[1]
                width = network_width(d)
                module = perceptron([d, width, width, n_classes])

        def loss(net: Any, rows: Any, labels: Any) -> Any:
            return functional.cross_entropy(class_logits(net(rows), n_classes), labels)

        rows = [
            training_inputs(inputs, pool, module),
            require_torch().as_tensor(pool.y.astype(np.int64)),
        ]
        trained = train(module, loss, rows, self.training, rng)
        return FittedNetworkClassifier(trained.module, inputs, self.training.device)


@dataclass(frozen=True, eq=False)
class FittedNetworkClassifier:
    """A trained network and how rows are fed to it."""

    module: Any
    inputs: NetworkInputs
    device: str = "auto"

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Log loss of every row, ``(n,)``."""
        return np.concatenate([self._losses(block) for block in pool.blocks()])

    def _losses(self, pool: Pool) -> NDArray[np.float64]:
        probabilities = self.probabilities(pool)
        return class_losses(probabilities, np.arange(probabilities.shape[1]), pool)

    def probabilities(self, pool: Pool) -> NDArray[np.float64]:
        """Predicted probability of every class, ``(n, n_classes)``."""
        assert pool.classes is not None
        outputs = evaluate(self.module, self.inputs(pool), self.device)
        return class_probabilities(outputs, len(pool.classes))


def class_logits(outputs: Any, n_classes: int) -> Any:
    """One logit a class, ``(n, n_classes)``; a single output is the log odds of the second."""
    flat = outputs.reshape(len(outputs), -1)
    if flat.shape[1] == 1 and n_classes == 2:
        return require_torch().nn.functional.pad(flat, (1, 0))
    if flat.shape[1] != n_classes:
        raise InputError(
            f"a network for {n_classes} classes must give {n_classes} logits a row, got outputs of "
            f"shape {tuple(outputs.shape)}; change its last layer."
        )
    return flat


def class_probabilities(outputs: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Outputs of a network as probabilities, ``(n, n_classes)``: see `class_logits`.

    Examples
    --------
    >>> print(class_probabilities(np.array([[0.0], [np.log(3.0)]]), 2))
    [[0.5  0.5 ]
     [0.25 0.75]]
    """
    from scipy.special import softmax

    logits = class_logits(require_torch().as_tensor(outputs), n_classes).numpy()
    probabilities: NDArray[np.float64] = softmax(logits, axis=1)
    return probabilities


def network_width(d: int) -> int:
    """Width of hidden layers for ``d`` inputs: ``3 d``, at least 50 and at most 300.

    Examples
    --------
    >>> print(network_width(2), network_width(40), network_width(1000))
    50 120 300
    """
    return min(max(3 * d, 50), 300)
