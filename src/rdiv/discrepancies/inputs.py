"""Inputs: whether the input columns changed, without a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rdiv.discrepancies.input_members import input_members
from rdiv.discrepancies.member_weights import FOR_INPUTS, by_weights
from rdiv.inference.prepared import Prepared
from rdiv.samples.pool import Pool

__all__ = ["Inputs"]


@dataclass(frozen=True)
class Inputs:
    """Four looks at the input columns as one test, without a model and without a target.

    The columns are read by their kind: numbers and dates by their values and by the normal scores
    of their ranks in the pool, text by its levels, missing cells as a fact of their own. Then
    *distances* between rows, the largest gap of one *column*, the largest gap of a *pair* of
    columns, and the largest gap of how badly one column fits to all others (*relations*) are ranked
    among the same permutations.

    Notes
    -----
    The four are combined by `rdiv.inference.combining.weighted_p`, and ``statistic`` is what that
    gives: about minus the logarithm of the smallest p-value over its weight. `compare` gives this
    test as ``input_test``, outside its verdict; `Omnibus` adds its members to those of a density
    model.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> p = rng.normal(size=(80, 3))
    >>> q = rng.normal(size=(60, 3))
    >>> q[:9, 1] = np.nan
    >>> result = two_sample_test(p, q, "inputs", rng=0)
    >>> print(result.rejected, list(result.notes["pvalues"]))
    True ['distances of values', 'distances of scores', 'distances by spread', 'columns', ...]
    """

    compares = "input columns by kind: distances of rows, gaps of columns, pairs and relations"
    takes = "none"
    learning = "no"
    cost = "all pairs of up to 3,000 rows; with more, at most 500 distances per row"
    sees = "moved columns, levels and missing cells, columns that no longer go together"
    citation = "Szekely and Rizzo 2004; Westfall and Young 1993; this project"
    directed = False

    task = "density"

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Describe every row by the ranks, levels and missing cells of its columns."""
        del rng
        return by_weights(input_members(pool), FOR_INPUTS)
