"""Rows, slices and columns that carry a shift, all from one pooled fit."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers import columns, slices
from rdiv.drivers.bins import input_columns
from rdiv.drivers.result import Drivers
from rdiv.drivers.rows import driving_rows
from rdiv.inference.prepared import Prepared
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import Pooled

__all__ = ["find_drivers"]

Floats = NDArray[np.float64]

MOST_ROWS = 100_000  # of each sample in which slices and columns are looked for
MOST_NUMBERS = 40_000_000  # rows times gradients
MOST_RESAMPLES = 1999
_FEW = 200
_FEWEST_GROUPS = 50
_MANY_COPIES = 0.6  # distinct rows over rows, up to which copies are drawn together
IN_SAMPLE = "losses are in-sample, so there are no honest intervals; use folds"
IMAGES = "inputs are not a table, so there are no columns to look at"
STRATA = "slices are not looked for with strata=, where rows are compared within a stratum only"
SAMPLED = "slices and columns were looked for in {} reference and {} current rows, drawn by chance"
LEVEL = (
    "the verdict, the slices together and the columns together each have the level alpha of their "
    "own"
)
ROWS = (
    "a row's share is what its loss adds to the gap, over the gap; the shares of all rows of a "
    "sample sum to 1"
)


def find_drivers(
    prepared: Mapping[str, Prepared],
    pooled: Pooled,
    honest: bool,
    *,
    alpha: float,
    n_resamples: int,
    n_jobs: int | None = None,
) -> Drivers:
    """Find what carries a shift, from the losses and gradients of the fit that was tested.

    Parameters
    ----------
    prepared : mapping
        ``"r-div"`` with losses, and ``"score"`` with gradients where the model has them.
    pooled : Pooled
    honest : bool
        The losses are those of rows that the model was not fitted to.

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
    losses = prepared["r-div"].losses
    assert losses is not None
    notes = {"rows": ROWS, "level": LEVEL} | ({} if honest else {"intervals": IN_SAMPLE})
    rows = driving_rows(losses, pooled)
    if pooled.pool.table is None and pooled.pool.x.ndim != 2:
        notes |= {"slices": IMAGES, "columns": IMAGES}
        return Drivers(rows, (), (), None, None, alpha, notes)
    gradients = prepared["score"].gradients if "score" in prepared else None
    chosen = _driver_rows(pooled, 0 if gradients is None else gradients.shape[1])
    part, is_p = pooled.pool, pooled.is_p
    if chosen is not None:
        part, is_p, losses = part.take(chosen), is_p[chosen], losses[chosen]
        notes["sampled"] = SAMPLED.format(int(is_p.sum()), int((~is_p).sum()))
    inputs = input_columns(part)
    enough = ceil(slices.WAYS / alpha - 1e-9) - 1
    settings: dict[str, Any] = {
        "honest": honest, "alpha": alpha, "n_jobs": n_jobs,
        "n_resamples": max(min(n_resamples, MOST_RESAMPLES), enough),
    }  # fmt: skip
    scores, notes["score"] = _scores_by_column(gradients, pooled.pool, chosen)
    by_column = columns.driving_columns(
        part, inputs, losses, scores, is_p, rng=pooled.stream("masks"), **settings
    )
    notes["columns"] = columns.NULL
    found, notes["slices"] = _slices(part, inputs, losses, is_p, pooled, settings)
    return Drivers(
        rows, found, by_column.columns, by_column.rest, by_column.rest_interval, alpha, notes
    )


def _driver_rows(pooled: Pooled, width: int) -> NDArray[np.intp] | None:
    """At most so many rows of each sample, by chance; None when those are all.

    Given the rows drawn, every way to label them is equally likely under the null, because the
    draw looks at nothing but counts of labels. Groups are drawn whole, as many as have so many
    rows on average, and so are copies of a row where there are many: two identical files stay
    identical. With strata all rows stay, since matched rows must.
    """
    pool = pooled.pool
    most = min(MOST_ROWS, max(1000, MOST_NUMBERS // max(2 * width, 1)))
    n_p = int(pooled.is_p.sum())
    if max(n_p, len(pool) - n_p) <= most or pool.strata is not None:
        return None
    codes = pool.twins if pool.groups is None else pool.groups
    first, unit = np.unique(codes, return_index=True, return_inverse=True)[1:]
    rng = pooled.stream("drivers").spawn(1)[0]
    if pool.groups is None and len(first) <= _MANY_COPIES * len(pool):
        kept = rng.permutation(len(first)) < 2 * most * len(first) // len(pool)
        return np.flatnonzero(kept[unit])
    if pool.groups is None:
        first = unit = np.arange(len(pool))
    limit = max(most * len(first) // len(pool), _FEWEST_GROUPS)
    kept = np.zeros(len(first), dtype=np.bool_)
    for side in (True, False):
        units = np.flatnonzero(pooled.is_p[first] == side)
        kept[rng.permutation(units)[:limit]] = True
    return np.flatnonzero(kept[unit])


def _slices(
    part: Pool,
    inputs: list[Any],
    losses: Floats,
    is_p: NDArray[np.bool_],
    pooled: Pooled,
    settings: dict[str, Any],
) -> tuple[tuple[Any, ...], str]:
    """The slices and what is to be said about them."""
    if part.strata is not None:
        return (), STRATA
    try:
        found = slices.driving_slices(
            part, inputs, losses, is_p, rng=pooled.stream("drivers").spawn(2)[1], **settings
        )
    except ValueError as error:
        return (), f"slices were not looked for: {error}"
    return found, slices.NULL if found else "no slice was worth testing"


def _scores_by_column(
    gradients: Floats | None, pool: Pool, chosen: NDArray[np.intp] | None
) -> tuple[dict[str, Floats], str]:
    """Gradients by input column, where they are those of a linear correction, and a remark."""
    if gradients is None:
        return {}, "the model has no gradients, so columns were not looked at for a hidden shift"
    owners = pool.owners()
    outputs, left = divmod(gradients.shape[1], 1 + len(owners))
    rows = np.arange(len(pool)) if chosen is None else chosen
    if left or not _are_corrections(gradients, pool, outputs, len(owners)):
        return {}, (
            "the model's gradients belong to parameters, not to columns, so columns were not "
            "looked at for a hidden shift"
        )
    table = gradients[rows].reshape(len(rows), outputs, 1 + len(owners))
    places: dict[str, list[int]] = {}
    for place, owner in enumerate(owners):
        places.setdefault(owner, []).append(1 + place)
    split = {name: table[:, :, at].reshape(len(rows), -1) for name, at in places.items()}
    return split, "score: the largest studentised gap of the gradients that belong to the column"


def _are_corrections(gradients: Floats, pool: Pool, outputs: int, width: int) -> bool:
    """Whether gradients are residuals times inputs, the first input being 1.

    Looked up in a few rows: over the first gradient, each other one is then a straight line in its
    own input.
    """
    few = np.arange(0, len(pool), max(len(pool) // _FEW, 1))
    x = pool.take(few).matrix()
    known = np.isfinite(x).all(axis=1)
    for output in range(outputs):
        table = gradients[few, output * (1 + width) : (output + 1) * (1 + width)]
        rows = known & (table[:, 0] != 0)
        if rows.sum() < 3:
            return False
        inputs = table[rows, 1:] / table[rows, :1]
        inputs, own = inputs - inputs.mean(axis=0), x[rows] - x[rows].mean(axis=0)
        square = (own**2).sum(axis=0)
        slope = np.divide((own * inputs).sum(axis=0), square, out=np.zeros(width), where=square > 0)
        if not np.allclose(inputs, slope * own, rtol=1e-6, atol=1e-6):
            return False
    return outputs > 0
