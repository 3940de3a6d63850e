"""Columns that would get another weight: where the gradients of the shared model differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.result import WeightDriver
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.mean_gaps import mean_gaps
from rdiv.inference.prepared import Prepared
from rdiv.inference.step_down import step_down
from rdiv.samples.pool import Pool

__all__ = ["NULL", "driving_weights"]

Floats = NDArray[np.float64]

NULL = (
    "the null of a column is equal mean gradients in both samples; step-down studentised max-T "
    "over all columns is exact when both samples come from one distribution, otherwise asymptotic "
    "for each column and approximate for the family when sizes and correlations both differ"
)


def driving_weights(
    pool: Pool,
    gradients: dict[str, Floats],
    is_p: NDArray[np.bool_],
    settings: PermutationSettings,
    *,
    rng: np.random.Generator,
) -> tuple[WeightDriver, ...]:
    """The largest studentised gap of each column's gradients, with adjusted p-values.

    Parameters
    ----------
    pool, is_p
        Of the same rows.
    gradients : dict of (n, m) arrays
        By the input column that they belong to.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pool, is_p = Pool(np.zeros((60, 1))), np.arange(60) < 30
    >>> own = {"a": rng.normal(size=(60, 1)) + 2 * is_p[:, None], "b": rng.normal(size=(60, 2))}
    >>> found = driving_weights(pool, own, is_p, PermutationSettings(), rng=rng)
    >>> print([(column.name, column.pvalue <= 0.05) for column in found])
    [('a', True), ('b', False)]
    """
    names = [name for name, own in gradients.items() if own.shape[1]]
    if not names:
        return ()
    starts = np.cumsum([0, *(gradients[name].shape[1] for name in names[:-1])], dtype=np.intp)
    stacked = np.concatenate([gradients[name] for name in names], axis=1)
    ratios = mean_gaps(stacked, studentize=True, groups=pool.groups, strata=pool.strata)

    def largest(ratios: Floats) -> Floats:
        found: Floats = np.maximum.reduceat(np.abs(ratios), starts, axis=1)
        return found

    prepared = Prepared(
        lambda masks: largest(ratios(masks)), sums=ratios.sums(largest),
        combine=lambda parts: parts[:, 0], width=len(names),
    )  # fmt: skip
    null = permute(prepared, is_p, settings, rng=rng, groups=pool.groups, strata=pool.strata)
    pvalues = step_down(null.parts)
    found = [
        WeightDriver(name, float(null.parts[0, j]), float(pvalues[j]))
        for j, name in enumerate(names)
    ]
    return tuple(sorted(found, key=lambda column: (column.pvalue, -column.score)))
