"""Labels flipped on purpose, by a matrix of flipping probabilities."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.samples.arguments import check_settings
from rdiv.samples.sample import target_values

__all__ = ["check_rate", "flip_labels", "transition_matrix"]

Kind = Literal["symmetric", "pair"]


def transition_matrix(kind: Kind, rate: float, n_classes: int) -> NDArray[np.float64]:
    """Probability of every given label (column) for every true one (row), ``(K, K)``.

    Parameters
    ----------
    kind : {"symmetric", "pair"}
        ``"symmetric"`` flips a label to any other with the same probability, ``"pair"`` to the
        next class, and the last class to the first.
    rate : float
        Share of labels that flip, at least 0 and below 1.
    n_classes : int

    Examples
    --------
    >>> print(transition_matrix("pair", 0.2, 3))
    [[0.8 0.2 0. ]
     [0.  0.8 0.2]
     [0.2 0.  0.8]]
    """
    check_rate(rate)
    if isinstance(n_classes, bool) or not isinstance(n_classes, int | np.integer) or n_classes < 2:
        raise InputError(f"n_classes must be a whole number of at least 2, got {n_classes!r}.")
    same = np.eye(n_classes)
    if kind == "symmetric":
        return (1 - rate) * same + rate / (n_classes - 1) * (1 - same)
    if kind == "pair":
        return (1 - rate) * same + rate * np.roll(same, 1, axis=1)
    raise InputError(f"kind must be 'symmetric' or 'pair', got {kind!r}.")


def flip_labels(
    y: Any,
    kind: Kind = "symmetric",
    rate: float = 0.2,
    rng: int | np.random.Generator | None = None,
) -> NDArray[Any]:
    """A copy of the labels, some of them flipped.

    Parameters
    ----------
    y : (n,) labels
        Numbers or text; their sorted values are the classes, in that order for ``"pair"``.
    kind : {"symmetric", "pair"}
        See `transition_matrix`.
    rate : float
        Probability with which each label flips, independently.
    rng : int or Generator, optional

    Returns
    -------
    (n,) labels of the same type.

    Examples
    --------
    >>> print(flip_labels(["cat", "dog", "owl"] * 3, "pair", 0.4, rng=1))
    ['cat' 'owl' 'cat' 'dog' 'dog' 'owl' 'dog' 'dog' 'owl']
    """
    check_settings(kind=kind, rng=rng)
    labels = target_values(y)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InputError(
            f"flipping needs at least two classes, got {len(classes)} in {len(labels)} labels."
        )
    chances = transition_matrix(kind, rate, len(classes)).cumsum(axis=1)
    drawn = np.random.default_rng(rng).random(len(codes))
    flipped = (drawn[:, None] >= chances[codes]).sum(axis=1)
    chosen: NDArray[Any] = classes[np.minimum(flipped, len(classes) - 1)]
    return chosen


def check_rate(rate: Any, name: str = "rate") -> None:
    """Refuse a number that is not a share of labels.

    Examples
    --------
    >>> check_rate(1.0)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: rate must be a share of at least 0 and below 1, got 1.0.
    """
    number = isinstance(rate, float | int | np.floating | np.integer) and not isinstance(rate, bool)
    if not number or not 0 <= rate < 1:
        raise InputError(f"{name} must be a share of at least 0 and below 1, got {rate!r}.")
