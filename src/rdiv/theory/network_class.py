"""Rademacher complexity of networks, by gradient ascent inside the norm balls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdiv.theory.arguments import check_norms
from rdiv.threads import one_thread

__all__ = ["NetworkClass"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NetworkClass:
    """ReLU networks without biases, with one output and bounded Frobenius norms.

    The supremum over networks has no closed form. Ascent with restarts finds large values: a lower
    bound, to be held against the upper bound `network_complexity`.

    Parameters
    ----------
    inputs : (n, d) array
    norms : sequence of float
        Bound of the Frobenius norm of each weight matrix; their number is the depth.
    width : int
        Units in each hidden layer.
    steps : int
        Steps of the ascent.
    restarts : int
        Random starts a sign vector, of which the best counts.
    seed : int
        Of the random starts.

    Examples
    --------
    >>> from rdiv.theory import rademacher_complexity
    >>> inputs = np.random.default_rng(0).normal(size=(20, 3))
    >>> network = NetworkClass(inputs, norms=[1.0, 1.0], width=8, steps=30)
    >>> found = rademacher_complexity(network, draws=5, rng=0)
    >>> print(found.exact, bool(found.value > 0))
    False True
    """

    inputs: ArrayLike
    norms: Sequence[float]
    width: int = 32
    steps: int = 200
    restarts: int = 3
    seed: int = 0

    exact = False

    def __post_init__(self) -> None:
        check_norms(self.norms)
        inputs = np.asarray(self.inputs, dtype=np.float64)
        if inputs.ndim != 2 or 0 in inputs.shape or not np.isfinite(inputs).all():
            raise ValueError(
                f"networks need finite inputs of shape (rows, columns), got {inputs.shape}."
            )
        for name in ("width", "steps", "restarts"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}.")
        object.__setattr__(self, "inputs", inputs)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(np.asarray(self.inputs))

    def suprema(self, signs: Floats) -> Floats:
        """The largest mean that ascent found for each sign vector, and at least 0."""
        import torch

        with one_thread():
            x = torch.as_tensor(np.asarray(self.inputs))
            sign = torch.as_tensor(signs).repeat_interleave(self.restarts, dim=0)
            best = torch.zeros(len(sign), dtype=x.dtype)
            weights = self._starts(torch, len(sign), x.shape[1])
            for step in range(self.steps + 1):
                means = (sign * _outputs(torch, weights, x)).mean(dim=1)
                best = torch.maximum(best, means.detach())
                slopes = torch.autograd.grad(means.sum(), weights)
                size = 1 - step / (self.steps + 1)
                weights = [
                    _on_sphere(w.detach() + size * norm * _direction(g), norm).requires_grad_()
                    for w, g, norm in zip(weights, slopes, self.norms, strict=True)
                ]
            found: Floats = best.reshape(-1, self.restarts).max(dim=1).values.numpy()
        return found

    def _starts(self, torch: Any, copies: int, columns: int) -> list[Any]:
        generator = torch.Generator().manual_seed(self.seed)
        widths = [columns, *[self.width] * (len(self.norms) - 1), 1]
        shapes = [(copies, out, into) for into, out in pairwise(widths)]
        return [
            _on_sphere(
                torch.randn(shape, generator=generator, dtype=torch.float64), norm
            ).requires_grad_()
            for shape, norm in zip(shapes, self.norms, strict=True)
        ]


def _outputs(torch: Any, weights: list[Any], x: Any) -> Any:
    """Outputs of all networks on all rows, ``(networks, n)``."""
    hidden = x.T.expand(len(weights[0]), -1, -1)
    for weight in weights[:-1]:
        hidden = torch.relu(weight @ hidden)
    return (weights[-1] @ hidden)[:, 0]


def _direction(slope: Any) -> Any:
    """A slope as a direction of norm 1 for each network."""
    return slope / slope.norm(dim=(1, 2), keepdim=True).clamp_min(1e-300)


def _on_sphere(weight: Any, norm: float) -> Any:
    """Weights scaled to the norm allowed: means grow with every norm, so the best lie there."""
    return weight * (norm / weight.norm(dim=(1, 2), keepdim=True).clamp_min(1e-300))
