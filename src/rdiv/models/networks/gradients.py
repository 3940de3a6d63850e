"""Gradients of the loss of every row in the last layer of a torch module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.models.networks.modules import require_torch
from rdiv.models.networks.objectives import Objective
from rdiv.threads import one_thread

__all__ = ["MOST_FEATURES", "last_layer_gradients"]

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
