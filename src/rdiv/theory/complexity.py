"""Rademacher complexity by drawing sign vectors: how well a class follows pure noise.

A hypothesis class is an object with ``rows`` and ``suprema(signs)``, so that a class of your own
needs two members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rdiv.samples.pooling import resolve_seed

__all__ = ["Complexity", "FiniteClass", "HypothesisClass", "LinearClass", "rademacher_complexity"]

Floats = NDArray[np.float64]

_BLOCK = 2**22  # signs drawn at a time


class HypothesisClass(Protocol):
    """What `rademacher_complexity` needs to know of a class and its rows."""

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
        One row a hypothesis.
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
        values = np.asarray(self.values, dtype=np.float64)
        if values.ndim != 2 or 0 in values.shape or not np.isfinite(values).all():
            raise ValueError(
                "a finite class needs finite numbers of shape (hypotheses, rows), got shape "
                f"{values.shape}."
            )
        if self.c is not None and np.abs(values).max() > self.c:
            raise ValueError(
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
            raise ValueError(
                f"a linear class needs finite inputs of shape (rows, columns), got {inputs.shape}."
            )
        if not 0 <= self.norm < np.inf:
            raise ValueError(f"norm must be a finite number of at least 0, got {self.norm!r}.")
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
    """A complexity found by drawing signs.

    Parameters
    ----------
    value, low, high : float
        Mean over the draws and its confidence interval, for chance in the signs alone.
    confidence : float
    draws : int
    exact : bool
        Every supremum was exact. If not (ascent over networks) the suprema found are lower
        bounds, and so is the value.
    """

    value: float
    low: float
    high: float
    confidence: float
    draws: int
    exact: bool


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
        Of the interval, which is Student's, for the mean over sign vectors.
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
        raise ValueError(f"draws must be a whole number of at least 2, got {draws!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}.")
    chosen: Any = hypotheses if hasattr(hypotheses, "suprema") else FiniteClass(hypotheses)
    stream = np.random.default_rng(resolve_seed(rng))
    block = max(1, _BLOCK // chosen.rows)
    sizes = [min(block, draws - start) for start in range(0, draws, block)]
    found = [chosen.suprema(stream.choice((-1.0, 1.0), (size, chosen.rows))) for size in sizes]
    value, half = _mean_and_half(np.concatenate(found), confidence)
    exact = bool(getattr(chosen, "exact", True))
    return Complexity(value, value - half, value + half, confidence, int(draws), exact)


def _mean_and_half(values: Floats, confidence: float) -> tuple[float, float]:
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(values) - 1, (1 + confidence) / 2))
    return float(values.mean()), quantile * float(values.std(ddof=1)) / len(values) ** 0.5
