"""Groups and strata: which rows move together, and within what they may be exchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, naming
from rdiv.samples.datasets import DatasetRows, plain_array
from rdiv.samples.frames import python_values, quoted

if TYPE_CHECKING:
    from rdiv.samples.frames import Frame

__all__ = ["FEWEST_UNITS", "Design", "check_design", "codes_in_order", "design_labels"]

Design = str | tuple[Any, Any] | None
"""Groups or strata: a column's name, or one array a sample."""

FEWEST_UNITS = 2  # rows, or groups of rows, that each sample needs


def design_labels(
    x: NDArray[Any] | DatasetRows | Frame, design: Design, role: str, n_p: int, n_q: int
) -> NDArray[Any] | None:
    """Labels of groups or strata for the stacked rows."""
    if design is None:
        return None
    if isinstance(design, str):
        if isinstance(x, np.ndarray | DatasetRows):
            raise InputError(
                f"{role}= names a column of a frame, got arrays and {role}={design!r}; "
                "pass a pair of arrays, one per sample."
            )
        if design not in x.columns:
            raise InputError(f"{role}={design!r} is the target column; choose another column.")
        values = python_values(x[design])
    else:
        with naming(f"reading {role}=", "give a pair of arrays of labels, one per sample"):
            pair = [np.asarray(plain_array(part)) for part in design]
        shapes = [part.shape for part in pair]
        if shapes != [(n_p,), (n_q,)]:
            lengths = all(len(shape) == 1 for shape in shapes)
            got = f"lengths {[*map(len, pair)]}" if lengths else f"shapes {shapes}"
            raise InputError(
                f"{role}= must be a column name or a pair of arrays of {n_p} and {n_q} labels, "
                f"got {got}."
            )
        values = [*pair[0].tolist(), *pair[1].tolist()]
    missing = sum(value is None or value != value for value in values)
    if missing:
        raise InputError(f"{role} must have no missing values, got {missing}; fill or drop them.")
    return np.array([_label(value) for value in values])


def _label(value: Any) -> str:
    """One text for a label, also where one file holds 1 and the other 1.0."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def check_design(
    groups: NDArray[Any] | None,
    strata: NDArray[Any] | None,
    is_p: NDArray[np.bool_],
    names: NDArray[Any] | None = None,
) -> None:
    """Refuse groups and strata with which rows could not change sides.

    Parameters
    ----------
    groups, strata : (n,) labels or codes, optional
    is_p : (n,) mask
    names : array, optional
        The labels behind the codes of the groups.
    """
    if strata is not None and not len(_in_both(strata, is_p)):
        raise InputError(
            "strata must hold rows of both samples, got none that does; "
            "rows could never change sides."
        )
    if groups is None:
        return
    both = _in_both(groups, is_p)
    if len(both):
        shown = sorted((both if names is None else names[both]).tolist())
        raise InputError(
            f"a group must lie in one sample, got {quoted(shown, 3)} in both; "
            "if rows of one group are to be compared across samples (a paired design), use strata=."
        )
    counts = len(np.unique(groups[is_p])), len(np.unique(groups[~is_p]))
    if min(counts) < FEWEST_UNITS:
        raise InputError(
            f"each sample needs at least {FEWEST_UNITS} groups, got {counts[0]} in p and "
            f"{counts[1]} in q."
        )
    if strata is not None:
        group, stratum = (np.unique(one, return_inverse=True)[1] for one in (groups, strata))
        pairs = np.unique(group.astype(np.int64) * (int(stratum.max()) + 1) + stratum)
        split = len(pairs) - sum(counts)
        if split:
            raise InputError(
                "with groups= and strata= a group must lie in one stratum, "
                f"got {split} that do not."
            )


def _in_both(labels: NDArray[Any], is_p: NDArray[np.bool_]) -> NDArray[Any]:
    """Labels that both samples hold."""
    return np.intersect1d(np.unique(labels[is_p]), np.unique(labels[~is_p]), assume_unique=True)


def codes_in_order(labels: NDArray[Any] | None, order: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Codes 0, 1, ... in the order of first appearance in the pool."""
    if labels is None:
        return None
    _, first, inverse = np.unique(labels[order], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
