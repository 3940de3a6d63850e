"""The loss of a torch module per row, and its gradient in the last layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.losses import PROBABILITY_FLOOR
from rdiv.models.networks.modules import require_torch
from rdiv.models.scaling import Scaling, fit_scaling
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool

__all__ = [
    "MOST_FEATURES",
    "Objective",
    "check_columns",
    "class_logits",
    "class_probabilities",
    "fit_objective",
    "last_layer_gradients",
]


@dataclass(frozen=True, eq=False)
class Objective:
    """The loss of a module for one task, settled on the pool that it is fitted to.

    Parameters
    ----------
    task : {"density", "classification", "regression"}
    n_outputs : int
        Default number of outputs per row: the number of classes, 1, or the number of columns.
    loss : callable, optional
        From outputs and targets to losses, one or several per row; those of a row are summed.
        Targets are class codes, numbers, or the inputs themselves; outputs get their shape where
        the sizes agree. By default the log loss, the squared error, or the squared error of the
        reconstructed inputs.
    target : Scaling, optional
        Centre and scale of a numeric target that the module predicts in standard units.
    report : callable, optional
        From the losses that training minimises to those that are reported, both ``(n,)``. By
        default they are in the units of the target, and log losses at most 27.6.
    """

    task: str
    n_outputs: int
    loss: Any = None
    target: Scaling | None = None
    report: Callable[[Any], Any] | None = None

    def targets(self, pool: Pool) -> Any:
        """Codes or numbers of every row, a tensor ``(n,)``; zeros where inputs are the target."""
        torch = require_torch()
        if pool.task != self.task and self.task != "density":
            raise InputError(
                f"the network was trained for {self.task}, got a pool for {pool.task}; "
                "pass samples with the same kind of target."
            )
        if self.task == "density":
            return torch.zeros(len(pool))
        assert pool.y is not None
        if self.task == "classification":
            return torch.as_tensor(pool.y.astype(np.int64))
        y = pool.y[:, None].astype(np.float64)
        return torch.as_tensor((y if self.target is None else self.target.apply(y))[:, 0])

    def row_losses(self, outputs: Any, x: Any, y: Any) -> Any:
        """Losses that training minimises, a tensor ``(n,)``."""
        if self.loss is None:
            return self._default(outputs, x, y)
        if self.task != "classification":
            y = (x if self.task == "density" else y).to(outputs.dtype)
            if y.numel() == outputs.numel():  # never broadcast (n,) against (n, 1)
                outputs = outputs.reshape(y.shape)
        losses = self.loss(outputs, y)
        if losses.ndim == 0 or len(losses) != len(outputs):
            raise InputError(
                f"a loss must give one number per row, got shape {tuple(losses.shape)} for "
                f'{len(outputs)} rows; use reduction="none".'
            )
        return losses.reshape(len(losses), -1).sum(dim=1)

    def reported_losses(self, outputs: Any, x: Any, y: Any) -> Any:
        """Losses as results have them, a tensor ``(n,)``: see ``report``."""
        losses = self.row_losses(outputs, x, y)
        if self.report is not None:
            return self.report(losses)
        if self.loss is None and self.task == "classification":
            return losses.clamp(max=-float(np.log(PROBABILITY_FLOOR)))
        if self.target is None:
            return losses
        return losses * float(self.target.scale[0]) ** 2

    def _default(self, outputs: Any, x: Any, y: Any) -> Any:
        functional = require_torch().nn.functional
        flat = outputs.reshape(len(outputs), -1)
        if self.task == "classification":
            logits = class_logits(flat, self.n_outputs)
            return functional.cross_entropy(logits, y, reduction="none")
        wanted = x.reshape(len(x), -1) if self.task == "density" else y[:, None]
        check_columns(flat, wanted, self.task)
        return (flat - wanted.to(flat.dtype)).square().sum(dim=1)


def fit_objective(
    pool: Pool,
    shape: tuple[int, ...],
    task: str | None,
    loss: Any,
    report: Callable[[Any], Any] | None = None,
) -> Objective:
    """Choose the loss for the task of a pool, or for the given task.

    Examples
    --------
    >>> pool = Pool(np.zeros((2, 3)), y=np.array([1.0, 5.0]), task="regression")
    >>> objective = fit_objective(pool, (3,), None, None)
    >>> print(objective.n_outputs, objective.targets(pool).tolist())
    1 [-1.0, 1.0]
    """
    task = pool.task if task is None else task
    if task == "density":
        return Objective(task, int(np.prod(shape)), loss, report=report)
    if pool.task != task or pool.y is None:
        raise InputError(
            f"a network for {task} needs a target for {task}, got a pool for {pool.task}; name the "
            "column with target= or pass (X, y)."
        )
    if task == "classification":
        assert pool.classes is not None
        return Objective(task, len(pool.classes), loss, report=report)
    y = pool.y[:, None].astype(np.float64)
    return Objective(task, 1, loss, fit_scaling(y) if loss is None else None, report)


def check_columns(outputs: Any, wanted: Any, task: str) -> None:
    """Refuse outputs that have other columns than what they are compared with."""
    if outputs.shape != wanted.shape:
        raise InputError(
            f"a network for {task} must give {wanted.shape[1]} numbers per row, got outputs of "
            f"shape {tuple(outputs.shape)}; change its last layer or pass loss=."
        )


def class_logits(outputs: Any, n_classes: int) -> Any:
    """One logit per class, ``(n, n_classes)``; a single output is the log odds of the second."""
    flat = outputs.reshape(len(outputs), -1)
    if flat.shape[1] == 1 and n_classes == 2:
        return require_torch().nn.functional.pad(flat, (1, 0))
    if flat.shape[1] != n_classes:
        raise InputError(
            f"a network for {n_classes} classes must give {n_classes} logits per row, got outputs "
            f"of shape {tuple(outputs.shape)}; change its last layer."
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


MOST_FEATURES = 64  # of either kind, so that a row has at most 64 x 64 derivatives
_ROWS_AT_ONCE = 64


def last_layer_gradients(
    module: Any, objective: Objective, x: Any, y: Any, entropy: int
) -> NDArray[np.float64]:
    """Derivatives of every row's loss in bias and weights of the last linear layer, ``(n, m)``.

    Parameters
    ----------
    module : torch.nn.Module
        Its last ``Linear`` is the one that runs last. A module without any gives derivatives in
        an offset of each output.
    objective : Objective
    x, y : tensors
        Inputs and targets.
    entropy : int
        Seeds the projection: more than 64 residuals or features (a constant 1 among these) are
        replaced by 64 random combinations, the same for every row.

    Examples
    --------
    >>> import torch
    >>> line = torch.nn.Linear(1, 1)
    >>> _ = torch.nn.init.zeros_(line.weight), torch.nn.init.zeros_(line.bias)
    >>> x, y = torch.tensor([[2.0], [3.0]]), torch.tensor([1.0, -1.0])
    >>> print(last_layer_gradients(line, Objective("regression", 1), x, y, 0))
    [[-2. -4.]
     [ 2.  6.]]
    """
    torch = require_torch()
    net = deepcopy(module).eval().requires_grad_(True)
    parts = []
    with one_thread(), torch.enable_grad(), _last_linear(net) as seen:
        for rows, wanted in zip(x.split(_ROWS_AT_ONCE), y.split(_ROWS_AT_ONCE), strict=True):
            seen.clear()
            outputs = net(rows)
            features, layer = seen or (None, outputs)
            losses = objective.reported_losses(outputs, rows, wanted)
            (residuals,) = torch.autograd.grad(losses.sum(), layer)
            parts.append(_outer(features, residuals, len(rows), entropy))
    gradients: NDArray[np.float64] = torch.cat(parts).numpy()
    return gradients


@contextmanager
def _last_linear(net: Any) -> Iterator[list[Any]]:
    """Input and output of the linear layer that ran last, kept in a list of two."""
    seen: list[Any] = []

    def keep(_: Any, inputs: tuple[Any, ...], output: Any) -> None:
        seen[:] = inputs[0], output

    linear = require_torch().nn.Linear
    hooks = [part.register_forward_hook(keep) for part in net.modules() if isinstance(part, linear)]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def _outer(features: Any, residuals: Any, n: int, entropy: int) -> Any:
    """Residuals times (1, features), added up where a row uses the layer several times."""
    torch = require_torch()
    if features is None:  # no linear layer: an offset of each output
        slopes = residuals.double().reshape(n, 1, -1)
        given = slopes[..., :0]
    else:
        slopes = residuals.double().reshape(n, -1, residuals.shape[-1])
        given = features.detach().double().reshape(n, -1, features.shape[-1])
    given = torch.cat([given.new_ones(n, given.shape[1], 1), given], dim=-1)
    rng = np.random.default_rng(entropy)
    given, slopes = _projected(given, rng), _projected(slopes, rng)
    return torch.einsum("nsr,nsf->nrf", slopes, given).reshape(n, -1)


def _projected(values: Any, rng: np.random.Generator) -> Any:
    """At most 64 numbers: random combinations of more of them."""
    columns = values.shape[-1]
    if columns <= MOST_FEATURES:
        return values
    mixing = rng.normal(size=(columns, MOST_FEATURES)) / np.sqrt(MOST_FEATURES)
    return values @ require_torch().as_tensor(mixing)
