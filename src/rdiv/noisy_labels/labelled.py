"""One sample with labels: checked, and in an order that does not depend on the file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.samples.arguments import check_settings, described
from rdiv.samples.frames import refuse_infinite
from rdiv.samples.pool import Pool, content_keys
from rdiv.samples.pooling import resolve_seed
from rdiv.samples.row_keys import Keys, digest
from rdiv.samples.rows import Rows, as_rows
from rdiv.samples.sample import as_sample, encode_labels, plain_array, target_values

__all__ = ["LabelledRows", "check_labels", "pool_labelled", "with_labels"]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """A pool of labelled rows, the place of each row in the sample, and the random streams.

    Parameters
    ----------
    pool : Pool
    places : (n,) integers
        Each row's place in the sample as given.
    labels : (n,) array
        The labels as given, in the order of the sample.
    seed : int
    entropy : tuple of int
        The seed and the digest of the rows.
    """

    pool: Pool
    places: NDArray[np.intp]
    labels: NDArray[Any]
    seed: int
    entropy: tuple[int, int]

    def stream(self) -> np.random.Generator:
        """A new generator for fits; the shuffle has its own."""
        return np.random.default_rng(np.random.SeedSequence(self.entropy).spawn(2)[1])

    def as_given(self, values: NDArray[Any]) -> NDArray[Any]:
        """Numbers per row of the pool, in the order of the sample."""
        ordered = np.empty_like(values)
        ordered[self.places] = values
        return ordered


def pool_labelled(
    x: Any,
    y: Any = None,
    *,
    target: str | None = None,
    rng: int | np.random.Generator | None = None,
) -> LabelledRows:
    """Check rows and their labels and put them in an order that depends on their content alone.

    Parameters
    ----------
    x : array, frame, tensor, torch dataset or pair ``(X, y)``
    y : labels, optional
        Where they are not in ``x``.
    target : str, optional
        Name of the column of a frame that holds the labels.
    rng : int, Generator or None

    Examples
    --------
    >>> rows = pool_labelled([[1.0], [2.0], [3.0]], ["a", "b", "a"], rng=0)
    >>> print(rows.pool.classes, rows.as_given(rows.pool.y))
    ['a' 'b'] [0 1 0]
    """
    check_settings(target=target, rng=rng)
    rows, labels = _parts(x, y, target)
    labels = check_labels(labels)
    _check_rows(rows, labels)
    codes, classes = encode_labels(labels)
    seed = resolve_seed(rng)
    all_rows = as_rows(rows)
    keys, order, entropy = _canonical_order(all_rows, labels, seed)
    pool = Pool(
        all_rows.anew(order),
        y=codes[order],
        task="classification",
        columns=None if isinstance(rows, np.ndarray) else tuple(rows.columns),
        classes=classes,
        known_keys=keys[order],
    )
    return LabelledRows(pool, order, labels, seed, entropy)


def _canonical_order(
    rows: Rows, labels: NDArray[Any], seed: int
) -> tuple[Keys, NDArray[np.intp], tuple[int, int]]:
    """Keys of the rows, an order that depends on them and the seed alone, and their entropy."""
    keys = content_keys(rows, (labels,))
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    entropy = (seed, digest(keys[order]))
    shuffle = np.random.default_rng(np.random.SeedSequence(entropy).spawn(2)[0])
    return keys, order[shuffle.permutation(len(order))], entropy


def _check_rows(rows: Any, labels: NDArray[Any]) -> None:
    if len(labels) != len(rows):
        raise InputError(f"X and y must have equally many rows, got {len(rows)} and {len(labels)}.")
    if not isinstance(rows, np.ndarray):
        if not rows.columns:
            raise InputError("rows need at least one input column besides the labels.")
        refuse_infinite(rows)
    if len(labels) == 0 or (labels == labels[0]).all():
        raise InputError(
            f"labels must be of two classes or more, got one class in {len(labels)} rows; choose "
            "another column or more rows."
        )


def _parts(x: Any, y: Any, target: str | None) -> tuple[Any, Any]:
    """Rows and labels, wherever the labels are."""
    sample = as_sample(x, "X")
    if y is not None:
        if target is not None or sample.y is not None:
            raise InputError("labels were given twice; pass y, a pair (X, y) or target=, one only.")
        return sample.x, plain_array(y)
    if target is None:
        if sample.y is None:
            raise InputError("labels are missing; pass y, a pair (X, y) or the name of a column.")
        return sample.x, sample.y
    if sample.y is not None or isinstance(sample.x, np.ndarray):
        raise InputError(
            f"target names a column of a table, got arrays and target={target!r}; pass the labels "
            "as y."
        )
    if target not in sample.x.columns:
        near = get_close_matches(target, list(sample.x.columns), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "check the name."
        raise InputError(f"there is no column {target!r}; {hint}")
    return sample.x.drop(target), sample.x[target]


def check_labels(y: Any) -> NDArray[Any]:
    """Labels as an array: classes, none missing, no continuous numbers.

    Examples
    --------
    >>> check_labels([0.5, 1.25])
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: labels must be classes, got continuous numbers such as 0.5; ...
    """
    labels = target_values(y)
    if labels.dtype.kind == "f":
        broken = labels[~np.isfinite(labels) | (labels != np.round(labels))]
        if len(broken):
            raise InputError(
                f"labels must be classes, got continuous numbers such as {broken[0]:g}; choose a "
                "column of labels, or turn the numbers into classes first."
            )
    return labels


def check_pair(pair: object, name: str) -> None:
    """Refuse what is no pair of rows and as many labels.

    Examples
    --------
    >>> check_pair(3, "train")
    Traceback (most recent call last):
    ...
    rdiv.errors.InputTypeError: train must be a pair (X, y) of rows and their labels, got 3.
    """
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputTypeError(
            f"{name} must be a pair (X, y) of rows and their labels, got {described(pair)}."
        )
    rows, labels = as_sample(pair[0], name).x, check_labels(plain_array(pair[1]))
    if len(rows) != len(labels):
        raise InputError(
            f"X and y must have as many rows, got {len(rows)} and {len(labels)} in {name}."
        )


def with_labels(pool: Pool, codes: NDArray[np.intp]) -> Pool:
    """The same rows with other labels."""
    return replace(pool, y=codes, known_keys=None)
