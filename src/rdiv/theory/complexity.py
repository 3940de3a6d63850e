"""Rademacher complexity by drawing sign vectors: how well a class fits pure noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.parallel.threads import one_thread
from rdiv.results import short_block
from rdiv.row_blocks import cut_sizes, rows_within
from rdiv.samples.arguments import check_settings, described
from rdiv.samples.pooling import resolve_seed
from rdiv.theory.paper_bounds import check_norms

__all__ = [
    "Complexity",
    "FiniteClass",
    "HypothesisClass",
    "LinearClass",
    "NetworkClass",
    "rademacher_complexity",
]


Floats = NDArray[np.float64]

_BLOCK = 2**22  # signs drawn at a time


@runtime_checkable
class HypothesisClass(Protocol):
    """What `rademacher_complexity` needs of a class and its rows."""

    @property
    def rows(self) -> int:
        """Number of rows, ``n``."""
        ...

    def suprema(self, signs: Floats) -> Floats:
        """For signs ``(b, n)`` the largest mean of sign times value over the class, ``(b,)``."""
        ...


@dataclass(frozen=True, eq=False)
class FiniteClass:
    """A list of hypotheses, by the loss (or the prediction) of each on every row.

    Parameters
    ----------
    values : (k, n) array
        One row per hypothesis.
    c : float, optional
        Bound of the absolute loss; a value above it is refused.

    Examples
    --------
    >>> print(FiniteClass([[1.0, -1.0], [-1.0, 1.0]]).suprema(np.array([[1.0, -1.0], [1.0, 1.0]])))
    [1. 0.]
    """

    values: ArrayLike
    c: float | None = None

    def __post_init__(self) -> None:
        try:
            values = np.asarray(self.values, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputTypeError(
                f"a finite class needs numbers of shape (hypotheses, rows), got "
                f"{described(self.values)}."
            ) from None
        if values.ndim != 2 or 0 in values.shape or not np.isfinite(values).all():
            raise InputError(
                "a finite class needs finite numbers of shape (hypotheses, rows), got shape "
                f"{values.shape}."
            )
        if self.c is not None and np.abs(values).max() > self.c:
            raise InputError(
                f"no loss may exceed c = {self.c:g}, got {np.abs(values).max():g}; raise c or clip "
                "the loss."
            )
        object.__setattr__(self, "values", values)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(np.asarray(self.values).shape[1])

    def suprema(self, signs: Floats) -> Floats:
        """The exact maximum over the list."""
        means: Floats = signs @ np.asarray(self.values).T / self.rows
        return np.asarray(means.max(axis=1))


@dataclass(frozen=True, eq=False)
class LinearClass:
    """Linear functions ``x -> w . x`` with coefficients of bounded Euclidean norm.

    Parameters
    ----------
    inputs : (n, d) array
    norm : float
        Largest norm of the coefficients.

    Examples
    --------
    >>> print(LinearClass([[3.0, 4.0]], norm=2.0).suprema(np.array([[1.0], [-1.0]])))
    [10. 10.]
    """

    inputs: ArrayLike
    norm: float = 1.0

    def __post_init__(self) -> None:
        inputs = np.asarray(self.inputs, dtype=np.float64)
        if inputs.ndim != 2 or 0 in inputs.shape or not np.isfinite(inputs).all():
            raise InputError(
                f"a linear class needs finite inputs of shape (rows, columns), got {inputs.shape}."
            )
        if not 0 <= self.norm < np.inf:
            raise InputError(f"norm must be a finite number of at least 0, got {self.norm!r}.")
        object.__setattr__(self, "inputs", inputs)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(np.asarray(self.inputs))

    def suprema(self, signs: Floats) -> Floats:
        """The exact supremum, by Cauchy and Schwarz: ``norm * |sum of sign times x| / n``."""
        sums = signs @ np.asarray(self.inputs)
        return np.asarray(self.norm * np.linalg.norm(sums, axis=1) / self.rows)


@dataclass(frozen=True)
class Complexity:
    """A complexity estimated by drawing signs.

    Parameters
    ----------
    value, low, high : float
        Mean over the draws and its confidence interval, for the randomness of the signs alone.
    confidence : float
    draws : int
    exact : bool
        Whether every supremum is exact. If not (ascent over networks), the suprema are lower
        bounds, and so is the value.

    Examples
    --------
    >>> print(Complexity(0.5, 0.49, 0.51, 0.95, 1000, True))
    complexity 0.5, 95 % interval 0.49 to 0.51
    1000 draws of signs
    """

    value: float
    low: float
    high: float
    confidence: float
    draws: int
    exact: bool

    def __str__(self) -> str:
        kind = "" if self.exact else " at least"
        return (
            f"complexity{kind} {self.value:.4g}, {100 * self.confidence:g} % interval "
            f"{self.low:.4g} to {self.high:.4g}\n{self.draws} draws of signs"
        )

    def _repr_html_(self) -> str:
        headline, *lines = str(self).splitlines()
        return short_block("Rademacher complexity", headline, lines)


def rademacher_complexity(
    hypotheses: Any,
    *,
    draws: int = 1000,
    confidence: float = 0.95,
    rng: int | np.random.Generator | None = None,
) -> Complexity:
    """Empirical Rademacher complexity of a class on given rows, with its interval.

    Parameters
    ----------
    hypotheses : (k, n) array or hypothesis class
        An array is a `FiniteClass`: the losses of k hypotheses on n rows. `LinearClass` and
        `NetworkClass` are others.
    draws : int
        Sign vectors drawn.
    confidence : float
        Coverage of Student's interval for the mean over sign vectors.
    rng : int or Generator, optional

    Returns
    -------
    Complexity

    Notes
    -----
    ``E sup_h (1 / n) sum sigma_i l(h(x_i), a(x_i))`` with no absolute value: the definition before
    Theorem 4.1 of the paper, there with 2 N rows.

    Examples
    --------
    >>> found = rademacher_complexity(LinearClass(np.eye(4)), rng=0)
    >>> print(found.value, found.exact)  # every sign vector gives sqrt(4) / 4
    0.5 True
    """
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 2:
        raise InputError(f"draws must be a whole number of at least 2, got {draws!r}.")
    check_settings(confidence=confidence)
    known = isinstance(hypotheses, HypothesisClass)
    chosen: HypothesisClass = hypotheses if known else FiniteClass(hypotheses)
    stream = np.random.default_rng(resolve_seed(rng))
    sizes = cut_sizes(int(draws), rows_within(_BLOCK, chosen.rows))
    found = [chosen.suprema(stream.choice((-1.0, 1.0), (size, chosen.rows))) for size in sizes]
    value, half = _mean_and_half(np.concatenate(found), confidence)
    exact = bool(getattr(chosen, "exact", True))
    return Complexity(value, value - half, value + half, confidence, int(draws), exact)


def _mean_and_half(values: Floats, confidence: float) -> tuple[float, float]:
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(values) - 1, (1 + confidence) / 2))
    return float(values.mean()), quantile * float(values.std(ddof=1)) / len(values) ** 0.5


@dataclass(frozen=True, eq=False)
class NetworkClass:
    """ReLU networks without biases, with one output and bounded Frobenius norms.

    The supremum over networks has no closed form. Ascent with restarts finds large values: a lower
    bound, to compare with the upper bound `network_complexity`.

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
        Random starts per sign vector; the best one counts.
    seed : int
        Seed of the random starts.

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
            raise InputError(
                f"networks need finite inputs of shape (rows, columns), got {inputs.shape}."
            )
        for name in ("width", "steps", "restarts"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)!r}.")
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
    """Weights scaled to the largest norm allowed: means grow with the norm, so the best have it."""
    return weight * (norm / weight.norm(dim=(1, 2), keepdim=True).clamp_min(1e-300))
