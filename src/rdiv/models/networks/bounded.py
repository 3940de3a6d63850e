"""A neural network with a bounded loss, for any task: a hypothesis whose risks lie in [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.models.networks.classifier import class_logits, network_width
from rdiv.models.networks.inputs import NetworkInputs, fit_inputs
from rdiv.models.networks.modules import evaluate, perceptron, require_torch, seeded_torch, tensor
from rdiv.models.networks.training import Training, train
from rdiv.models.scaling import Scaling, fit_scaling
from rdiv.samples.pool import Pool
from rdiv.threads import one_thread

__all__ = ["BoundedNetwork", "FittedBoundedNetwork"]

TRAINING = Training(epochs=200, steps=2000, batch_size=128, learning_rate=3e-3)
MOST_CODES = 16


@dataclass(frozen=True)
class BoundedNetwork:
    """A torch network whose loss is ``1 - exp(-loss)`` of the ordinary one, between 0 and 1.

    Parameters
    ----------
    module : torch.nn.Module, optional
        From rows to one logit a class, to a prediction of the standardised target, or, without a
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
    training: Training = TRAINING

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedBoundedNetwork:
        """Minimise the ordinary loss of the pool."""
        inputs = fit_inputs(pool, keep_shape=self.module is not None, who="a network")
        module = self.module
        if module is None:
            with seeded_torch(rng, self.training.device):
                module = perceptron(_widths(pool))
        target = None
        if pool.task == "regression":
            assert pool.y is not None
            target = fit_scaling(pool.y[:, None].astype(np.float64))
        start = FittedBoundedNetwork(module, inputs, target, pool.task, self.training.device)

        def loss(net: Any, x: Any, y: Any) -> Any:
            return start.ordinary_losses(net(x), x, y).mean()

        trained = train(module, loss, start.tensors(pool), self.training, rng)
        return start.with_module(trained.module)


@dataclass(frozen=True, eq=False)
class FittedBoundedNetwork:
    """A trained network, how rows are fed to it, and its loss."""

    module: Any
    inputs: NetworkInputs
    target: Scaling | None
    task: str
    device: str = "auto"

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Bounded loss of every row, ``(n,)``."""
        torch = require_torch()
        x = self.inputs(pool)
        outputs = torch.as_tensor(evaluate(self.module, x, self.device))
        targets = self._targets(pool, outputs)
        with one_thread():
            bounded = self.bounded_losses(outputs, torch.as_tensor(x), targets)
        losses: NDArray[np.float64] = bounded.numpy()
        return losses

    def with_module(self, module: Any) -> FittedBoundedNetwork:
        """The same with another module."""
        return FittedBoundedNetwork(module, self.inputs, self.target, self.task, self.device)

    def tensors(self, pool: Pool) -> list[Any]:
        """Inputs and targets of the rows, as the module wants them."""
        x = tensor(self.inputs(pool), self.module)
        return [x, self._targets(pool, x)]

    def _targets(self, pool: Pool, like: Any) -> Any:
        """Class codes, standardised targets, or zeros where there are none."""
        torch = require_torch()
        if pool.task != self.task:
            raise InputError(
                f"the network was trained for {self.task}, got a pool for {pool.task}."
            )
        if pool.y is None:
            return torch.zeros(len(pool))
        if self.target is None:
            return torch.as_tensor(pool.y.astype(np.int64))
        standardised = self.target.apply(pool.y[:, None].astype(np.float64))[:, 0]
        return torch.as_tensor(standardised).to(like.dtype)

    def bounded_losses(self, outputs: Any, x: Any, y: Any) -> Any:
        """``1 - exp(-loss)`` of every row, a tensor ``(n,)``."""
        return -(-self.ordinary_losses(outputs, x, y)).expm1()

    def ordinary_losses(self, outputs: Any, x: Any, y: Any) -> Any:
        """Log loss, squared error or reconstruction error of every row, a tensor ``(n,)``."""
        functional = require_torch().nn.functional
        flat = outputs.reshape(len(outputs), -1)
        if self.task == "classification":
            n_classes = max(int(flat.shape[1]), 2)
            return functional.cross_entropy(class_logits(flat, n_classes), y, reduction="none")
        wanted = x.reshape(len(x), -1) if self.task == "density" else y[:, None]
        if flat.shape != wanted.shape:
            raise InputError(
                f"a network for {self.task} must give {wanted.shape[1]} numbers a row, got outputs "
                f"of shape {tuple(outputs.shape)}; change its last layer."
            )
        return (flat - wanted).square().mean(dim=1)


def _widths(pool: Pool) -> list[int]:
    d = pool.matrix().shape[1]
    width = network_width(d)
    if pool.task == "classification":
        assert pool.classes is not None
        return [d, width, width, max(len(pool.classes), 2)]
    if pool.task == "regression":
        return [d, width, width, 1]
    return [d, width, min(max(d // 2, 1), MOST_CODES), width, d]
