"""Rows, slices and columns that carry a shift, all from one pooled fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers import slices, weights
from rdiv.drivers.bins import InputColumn, input_columns
from rdiv.drivers.contributions import Contributions
from rdiv.drivers.result import Drivers, SliceDriver
from rdiv.drivers.row_choice import choose_rows
from rdiv.drivers.rows import driving_rows
from rdiv.errors import InputError
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.packed import KeptMasks
from rdiv.inference.prepared import Prepared
from rdiv.remarks import IN_SAMPLE
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples

__all__ = ["SearchedRows", "find_drivers", "rows_to_search"]

Floats = NDArray[np.float64]

MOST_ROWS = 100_000  # per sample, in the search for slices and columns
MOST_NUMBERS = 40_000_000  # rows times gradients
MOST_RESAMPLES = 1999
IMAGES = "inputs are not a table, so there are no columns to look at"
NO_INPUTS = "the samples have no inputs, so there are no columns to look at"
STRATA = "slices are not looked for with strata=, where rows are compared within a stratum only"
SAMPLED = "slices and columns were looked for in {} reference and {} current rows, drawn at random"
LEVEL = (
    "the verdict, the slices together and the columns together each have the level alpha of their "
    "own"
)
COLUMNS = (
    "contributions of columns, or of groups of columns that go together, to the part of the gap "
    "that the inputs explain; they sum to it with the correction; a column need not cause what "
    "goes with it"
)
WEIGHTED = (
    "a slice of the relation counts as confirmed only where its gap also excludes 0 with the "
    "reference rows weighted to the inputs of current (asymptotic)"
)
NO_COLUMNS = "the part of the gap that the inputs explain was not measured, so it has no columns"
ROWS = (
    "a row's share is what its loss adds to the gap, over the gap; the shares of all rows of a "
    "sample sum to 1"
)


@dataclass(frozen=True, eq=False)
class SearchedRows:
    """The rows that slices and columns are looked for in, and their gradients.

    Parameters
    ----------
    rows : (m,) integers or None
        Their places; None: all rows.
    gradients : (m, k) array
    owners : tuple of k str or None
        The input columns that the gradients belong to.
    note : str
        About the columns, or why none is looked at for its weight.
    """

    rows: NDArray[np.intp] | None
    gradients: Floats
    owners: tuple[str | None, ...]
    note: str


def rows_to_search(
    pooled: PooledSamples,
    score: Prepared | None = None,
    score_rows: NDArray[np.intp] | None = None,
) -> SearchedRows:
    """Choose rows of large samples, and take what is needed of the score test: their gradients.

    Parameters
    ----------
    pooled : PooledSamples
    score : Prepared, optional
        The score test, with its gradients.
    score_rows : (n,) array, optional
        The places of the rows of `pooled` among those of `score`, where it has more.
    """
    gradients = None if score is None else score.gradients
    width = 0 if gradients is None else gradients.shape[1]
    most = min(MOST_ROWS, max(1000, MOST_NUMBERS // max(2 * width, 1)))
    chosen = choose_rows(pooled, most, pooled.stream("drivers").spawn(1)[0])
    if score_rows is None:
        score_rows = chosen
    elif chosen is not None:
        score_rows = score_rows[chosen]
    owners = None if score is None else score.gradient_owners
    return SearchedRows(chosen, *_owned(gradients, owners, score_rows))


def find_drivers(
    losses: Floats,
    pooled: PooledSamples,
    settings: PermutationSettings,
    *,
    held_out: bool,
    searched: SearchedRows | None = None,
    expected: Floats | None = None,
    row_weights: Floats | None = None,
    columns: Contributions | None = None,
    masks: KeptMasks | None = None,
) -> Drivers:
    """Find what carries a shift, from the losses that were tested and the gradients of a fit.

    Parameters
    ----------
    losses : (n,) array
        Losses of the rows of `pooled`.
    pooled : PooledSamples
    settings : PermutationSettings
    held_out : bool
        Whether each row's loss is that of a model that was not fitted to the row.
    searched : SearchedRows, optional
        From `rows_to_search`; without it no column is looked at for its weight.
    expected : (n,) array, optional
        The loss that is to be expected of each row from its inputs, learned from other rows.
    row_weights : (n,) array, optional
        Weights that give the reference rows the inputs of current, where the inputs overlap.
    columns : Contributions, optional
        What columns contribute to the part of the gap that inputs explain.
    masks : KeptMasks, optional
        The permutations of the rows of `pooled` that the verdict rests on, where they were kept.

    Examples
    --------
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 2))
    >>> y = x[:, 0] + rng.normal(size=2000)
    >>> y[1500:][x[1500:, 1] > 1] += 3
    >>> found = rdiv.compare((x[:1000], y[:1000]), (x[1000:], y[1000:]), model="ridge", rng=0)
    >>> print(found.drivers.slices[0].condition)
    column 1 >= 0.8
    """
    notes = {"rows": ROWS, "level": LEVEL} | ({} if held_out else {"intervals": IN_SAMPLE})
    rows = driving_rows(losses, pooled)
    if pooled.pool.is_images or pooled.pool.rows.shape[1] == 0:
        nothing = IMAGES if pooled.pool.is_images else NO_INPUTS
        notes |= {"slices": nothing, "relation": nothing, "columns": nothing, "weights": nothing}
        return Drivers(rows, (), (), None, (), settings.alpha, notes)
    searched = rows_to_search(pooled) if searched is None else searched
    chosen = searched.rows
    part, is_p = pooled.pool, pooled.is_p
    if chosen is not None:
        part, is_p, losses = part.take(chosen), is_p[chosen], losses[chosen]
        expected = None if expected is None else expected[chosen]
        row_weights = None if row_weights is None else row_weights[chosen]
        notes["sampled"] = SAMPLED.format(int(is_p.sum()), int((~is_p).sum()))
    inputs = input_columns(part)
    enough = ceil(slices.WAYS / settings.alpha - 1e-9) - 1
    settings = replace(settings, n_resamples=max(min(settings.n_resamples, MOST_RESAMPLES), enough))
    notes["weights"] = searched.note
    by_weight = weights.driving_weights(
        part, searched.gradients, searched.owners, is_p, settings, rng=pooled.stream("masks"),
        known=masks if chosen is None else None,
    )  # fmt: skip
    notes["columns"] = COLUMNS if columns is not None else NO_COLUMNS
    families = [slices.Family(losses)]
    if expected is not None:
        families.append(slices.Family(losses - expected, row_weights))
    stream = pooled.stream("drivers").spawn(2)[1]
    by_family, said = _slices(part, inputs, families, is_p, settings, stream, held_out)
    notes |= said
    relation = by_family[1] if len(by_family) > 1 else ()
    return Drivers(rows, by_family[0], relation, columns, by_weight, settings.alpha, notes)


def _slices(
    part: Pool,
    inputs: list[InputColumn],
    families: list[slices.Family],
    is_p: NDArray[np.bool_],
    settings: PermutationSettings,
    rng: np.random.Generator,
    held_out: bool,
) -> tuple[list[tuple[SliceDriver, ...]], dict[str, str]]:
    """The slices of the losses and of what was not expected of them, and a note about each."""
    names = ("slices", "relation")[: len(families)]
    nothing: list[tuple[SliceDriver, ...]] = [()] * len(families)
    if part.strata is not None:
        return nothing, dict.fromkeys(names, STRATA)
    try:
        found = slices.driving_slices(
            part, inputs, families, is_p, settings, rng=rng, held_out=held_out
        )
    except InputError as error:
        return nothing, dict.fromkeys(names, f"slices were not looked for: {error}")
    notes = {}
    for name, family, own in zip(names, families, found, strict=True):
        weighted = slices.NULL if family.weights is None else f"{slices.NULL}; {WEIGHTED}"
        notes[name] = weighted if own else "no slice was worth testing"
    return found, notes


def _owned(
    gradients: Floats | None,
    owners: tuple[str | None, ...] | None,
    chosen: NDArray[np.intp] | None,
) -> tuple[Floats, tuple[str | None, ...], str]:
    """Gradients of the chosen rows, the input columns that they belong to, and a note."""
    if gradients is None:
        nothing = "the shared model has no gradients, so no column was looked at for its weight"
        return np.zeros((0, 0)), (), nothing
    if owners is None:
        nothing = (
            "the gradients of the shared model belong to parameters, not to columns, so no column "
            "was looked at for its weight"
        )
        return np.zeros((0, 0)), (), nothing
    own = gradients if chosen is None else gradients[chosen]
    return own.astype(np.float64, copy=False), owners, weights.NULL
