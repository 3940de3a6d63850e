"""Why the model in use does worse or better: the split of its gap, and the columns behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.expected import FEWEST_ROWS, ExpectedLoss, expected_loss
from rdiv.comparison.questions import Answer
from rdiv.comparison.split import Split, split_gap
from rdiv.drivers.contributions import Contributions, column_contributions

__all__ = ["Why", "explain"]


@dataclass(frozen=True, eq=False)
class Why:
    """What explains the gap of the model in use.

    Parameters
    ----------
    split : Split, optional
    columns : Contributions, optional
        What columns contribute to the part that the inputs explain.
    expected : (n,) array, optional
        Expected losses of the rows that were compared.
    note : str, optional
        Why there is no split.
    """

    split: Split | None = None
    columns: Contributions | None = None
    expected: NDArray[np.float64] | None = None
    note: str | None = None


def explain(answer: Answer | None, alpha: float) -> Why:
    """Split the gap of the model in use, as far as that is possible."""
    if answer is None:
        return Why(note="no model in use was measured, so its gap could not be split")
    pool = answer.samples.pool
    if pool.is_images or not pool.rows.shape[1]:
        return Why(note="the inputs are no table, so the gap was not split")
    if pool.strata is not None:
        return Why(note="with strata= the gap is one within strata and was not split")
    if not pool.is_table and not np.isfinite(pool.matrix()).all():
        return Why(note="the inputs are not all finite, so the gap was not split")
    streams = answer.samples.stream("drivers").spawn(8)[5:]
    expected = expected_loss(answer, streams[0])
    if expected is None:
        return Why(note=f"fewer than {FEWEST_ROWS} reference rows to learn the loss from: no split")
    if pool.task == "density" and answer.samples.pool.loss is None:
        columns = _columns(answer, expected, answer.gap()[0], alpha, streams[2])
        return Why(columns=columns, note="without a target all of the gap is a matter of inputs")
    split = split_gap(answer, expected, alpha, streams[1])
    if isinstance(split, str):
        return Why(expected=expected.values, note=split)
    columns = _columns(answer, expected, split.inputs.value, alpha, streams[2])
    return Why(split, columns, expected.values)


def _columns(
    answer: Answer, expected: ExpectedLoss, total: float, alpha: float, rng: np.random.Generator
) -> Contributions:
    samples = answer.samples
    return column_contributions(
        expected.of_inputs, expected.inputs, samples.is_p, expected.owners, alpha=alpha, rng=rng,
        groups=samples.pool.groups, total=total,
    )  # fmt: skip
