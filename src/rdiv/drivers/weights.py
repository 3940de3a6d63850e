"""Columns that would get another weight: where the gradients of the shared model differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.result import WeightDriver
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.mean_gaps import mean_gaps
from rdiv.inference.packed import KeptMasks
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
    gradients: Floats,
    owners: Sequence[str | None],
    is_p: NDArray[np.bool_],
    settings: PermutationSettings,
    *,
    rng: np.random.Generator,
    known: KeptMasks | None = None,
) -> tuple[WeightDriver, ...]:
    """The largest studentised gap of each column's gradients, with adjusted p-values.

    Parameters
    ----------
    pool, is_p
        Of the same rows.
    gradients : (n, m) array
    owners : sequence of m str or None
        The input column that each gradient belongs to; one without a column is left out.
    known : KeptMasks, optional
        Permutations of these rows that were drawn already.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pool, is_p = Pool(np.zeros((60, 1))), np.arange(60) < 30
    >>> own, owners = rng.normal(size=(60, 3)), ("b", "a", "b")
    >>> own[:, 1] += 2 * is_p
    >>> found = driving_weights(pool, own, owners, is_p, PermutationSettings(), rng=rng)
    >>> print([(column.name, column.pvalue <= 0.05) for column in found])
    [('a', True), ('b', False)]
    """
    places = places_of(owners)
    if not places:
        return ()
    names, order = list(places), np.concatenate(list(places.values()))
    starts = np.cumsum([0, *(len(own) for own in places.values())], dtype=np.intp)[:-1]
    ratios = mean_gaps(gradients, studentize=True, groups=pool.groups, strata=pool.strata)

    def largest(ratios: Floats) -> Floats:
        found: Floats = np.maximum.reduceat(np.abs(ratios[:, order]), starts, axis=1)
        return found

    prepared = Prepared(
        lambda masks: largest(ratios(masks)), sums=ratios.sums(largest),
        combine=lambda parts: parts[:, 0], width=len(names),
    )  # fmt: skip
    null = permute(
        prepared, is_p, settings, rng=rng, groups=pool.groups, strata=pool.strata, known=known
    )
    pvalues = step_down(null.parts)
    found = [
        WeightDriver(name, float(null.parts[0, j]), float(pvalues[j]))
        for j, name in enumerate(names)
    ]
    return tuple(sorted(found, key=lambda column: (column.pvalue, -column.score)))


def places_of(owners: Sequence[str | None]) -> dict[str, NDArray[np.intp]]:
    """The gradients of every input column that has any."""
    places: dict[str, list[int]] = {}
    for place, owner in enumerate(owners):
        if owner is not None:
            places.setdefault(owner, []).append(place)
    return {name: np.array(own, dtype=np.intp) for name, own in places.items()}
