"""A plan for rows without labels: how many show that another loss is to be expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.expected import FEWEST_ROWS, learn_from_part, learn_from_rows
from rdiv.discrepancies.in_use import InUse
from rdiv.errors import InputError
from rdiv.inference.mean_gaps import mean_gap
from rdiv.models import CrossFit, Model
from rdiv.models.protocol import check_losses, fit_model, is_given, losses_of
from rdiv.planning.pilots import plan_from_losses
from rdiv.samples.pooling import PooledSamples
from rdiv.two_sample import part_of_reference

__all__ = ["LABELS", "check_labels", "plan_unlabelled"]

Floats = NDArray[np.float64]

LABELS = ("all", "none")
TRAIN_SHARE = 0.5

LEARNED = (
    "expected losses were learned from half of the pilot and planned on the other half; the "
    "comparison needs as many more reference rows to learn from"
)
INPUTS_ONLY = (
    "the gap to find is one that moved inputs make to be expected; a changed relation between "
    "inputs and target shows in labels alone"
)


def check_labels(labels: str, *, alone: bool, supervised: bool, discrepancy: Any) -> None:
    """Refuse a plan without labels for what has no expected loss."""
    if labels not in LABELS:
        raise InputError(f'labels must be "all" or "none", got {labels!r}.')
    if labels == "all":
        return
    if discrepancy != "r-div":
        raise InputError(
            'labels="none" plans the test of expected losses, got a discrepancy too; leave it out.'
        )
    if not alone:
        raise InputError('labels="none" is planned from the reference alone; leave current out.')
    if not supervised:
        raise InputError('labels="none" needs the target of the reference; name it.')


def plan_unlabelled(
    model: Model, pooled: PooledSamples, rows: Sequence[int], ratio: float, **asked: Any
) -> dict[str, Any]:
    """The fields of a `Plan` for current rows without labels, and in its notes with labels.

    Parameters
    ----------
    model : Model
    pooled : PooledSamples
        The reference alone.
    rows, ratio
        As in `rdiv.plan`.
    asked : gap, power, alpha
    """
    expected, losses, tested = _numbers(model, pooled)
    parts = plan_from_losses(mean_gap(expected), tested, rows, ratio, **asked)
    with_labels = plan_from_losses(mean_gap(losses), tested, rows, ratio, **asked)
    kept = ("rows_p", "rows_q", "smallest_detectable_gap")
    notes = {
        "labels": "none",
        "with labels": {name: with_labels[name] for name in kept},
        "explained": float(np.corrcoef(expected, losses)[0, 1] ** 2) if expected.std() else 0.0,
        "learned": LEARNED,
        "inputs only": INPUTS_ONLY,
    }
    return {**parts, "n_p": len(tested.is_p), "notes": notes}


def _numbers(model: Model, pooled: PooledSamples) -> tuple[Floats, Floats, PooledSamples]:
    """Expected and real losses of the reference rows that taught neither, and these rows."""
    part = part_of_reference(pooled, TRAIN_SHARE)
    if len(part) < FEWEST_ROWS:
        raise InputError(
            f"the expected loss is learned from half of the reference, which has {len(part)} rows "
            f"here, fewer than {FEWEST_ROWS}; give a larger pilot."
        )
    rest = np.setdiff1d(np.arange(len(pooled.pool)), part)
    tested, train = pooled.part(rest), pooled.pool.anew(part)
    inner = model.model if isinstance(model, CrossFit) else model
    rng = pooled.stream("fit")
    if is_given(inner):
        fitted = fit_model(inner, train, pooled.stream("learn"))
        g = learn_from_rows(fitted, train, rng)
        losses = check_losses(losses_of(fitted, tested.pool), tested.pool, "the model in use")
    else:
        learned = InUse(inner).learn(train, np.ones(len(train), bool), pooled.stream("learn"))
        g, losses = learn_from_part(learned, rng, left_out=True), learned.losses(tested.pool)
    if g is None:
        raise InputError("the pilot's rows are too few to learn which loss to expect.")
    return g.of(tested.pool), losses, tested
