"""Sentences about the data that the reader of a verdict must know."""

from __future__ import annotations

import numpy as np

from rdiv.comparison.models import Models
from rdiv.comparison.questions import Answer, Answers
from rdiv.comparison.sentences import IDENTICAL, repeated_words, too_good_words
from rdiv.errors import InputError
from rdiv.inference.widened import skewed_mean
from rdiv.models import CrossFit, Frozen, same_model
from rdiv.models.protocol import fit_model, loss_name, losses_of
from rdiv.remarks import IN_SAMPLE, empty_columns, left_out_columns
from rdiv.samples.column_findings import column_warnings, look_at_columns
from rdiv.samples.copies import identical, repeated_rows, rows_in_both
from rdiv.samples.pooling import PooledSamples

__all__ = ["FEW_ROWS", "data_warnings"]

FEW_ROWS = 20
"""With fewer rows per sample the size of a gap says little."""

REPEATED = 0.01
"""From this share of repeated rows on, groups are suggested."""

CLONE_ROWS = (50, 5000)
"""Fewest and most reference rows that a copy of a frozen model is trained on."""

CLONE_FOLDS = 5
CLONE_ALPHA = 0.001


def data_warnings(
    pooled: PooledSamples, answers: Answers, models: Models, looked: PooledSamples
) -> tuple[str, ...]:
    """What the reader must know about the data, the most important first.

    Columns are those of the rows that are looked at; copies are counted over all rows.

    Examples
    --------
    >>> import rdiv
    >>> rows = np.random.default_rng(0).normal(size=(60, 2))
    >>> print(rdiv.compare(rows, rows, rng=0).warnings[0])
    The two samples hold the same rows.
    """
    found = list(column_warnings(look_at_columns(looked)))
    if pooled.pool.left_out:
        found.append(left_out_columns(pooled.pool.left_out))
    empty = pooled.pool.empty_columns()
    if empty:
        found.append(empty_columns(empty))
    if identical(pooled):
        found.insert(0, IDENTICAL)
    elif rows_in_both(pooled):
        n_q, both = int((~pooled.is_p).sum()), rows_in_both(pooled)
        found.append(
            f"{both} of {n_q} current rows stand{'s' if both == 1 else ''} in the reference too: "
            "the samples overlap, or rows are repeated."
        )
    found += _few_rows(answers)
    found += _repeated(pooled, looked)
    found += _broken_promise(models, pooled)
    if answers.in_use is not None:
        found += _too_good(models, pooled, answers.in_use)
    if answers.shared is not None and not answers.shared.held_out:
        found.append(f"The losses of the shared model are in-sample: {IN_SAMPLE}.")
    return tuple(found)


def _few_rows(answers: Answers) -> list[str]:
    is_p = answers.leading.samples.is_p
    of_p = int(np.count_nonzero(is_p))
    counts = (len(is_p) - of_p, of_p)
    if min(counts) >= FEW_ROWS:
        return []
    return [
        f"Only {counts[1]} reference and {counts[0]} current rows were compared: the p-value "
        "holds, but the size of the gap is unreliable."
    ]


def _repeated(pooled: PooledSamples, looked: PooledSamples) -> list[str]:
    """Copies of rows within a sample, which are hardly independent."""
    pool = pooled.pool
    count, rows = repeated_rows(pooled, looked), len(pool)
    if pool.groups is not None or count < REPEATED * rows:
        return []
    return [repeated_words(count, rows)]


def _too_good(models: Models, pooled: PooledSamples, in_use: Answer) -> list[str]:
    """A frozen model that does better on the reference than a copy that has not seen the row.

    The copy is cross-fitted on reference rows alone: a model trained on them gives itself away.
    """
    clone = same_model(models.given) if isinstance(models.given, Frozen) else None
    rows = np.flatnonzero(pooled.is_p)[: CLONE_ROWS[1]]
    if clone is None or pooled.apart is not None or len(rows) < CLONE_ROWS[0]:
        return []  # without labels on current the losses of the reference are not here
    part, folded = pooled.part(rows).at_hand(), CrossFit(clone, CLONE_FOLDS, repeats=1)
    if loss_name(folded, part.pool) != in_use.loss:
        return []
    try:
        losses = losses_of(fit_model(folded, part.pool, part.stream("learn")), part.pool)
    except InputError:  # it cannot be trained on these rows
        return []
    own, groups = in_use.losses[rows], part.pool.groups
    won = skewed_mean(own - losses, CLONE_ALPHA, groups)
    return [too_good_words(own.mean(), losses.mean())] if won.high < 0 else []


def _broken_promise(models: Models, pooled: PooledSamples) -> list[str]:
    """Rows that a given model was trained on although it must not have been."""
    overlap = getattr(models.given, "overlap", None)
    count = 0 if overlap is None else int(overlap(pooled.pool))
    if not count:
        return []
    return [
        f"{count} rows of the table that the model was trained on stand in the compared samples "
        "too, so its losses there are too low; train it on other rows."
    ]
