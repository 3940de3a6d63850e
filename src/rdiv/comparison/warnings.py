"""Sentences about the data that the reader of a verdict must know."""

from __future__ import annotations

import numpy as np

from rdiv.comparison.models import Models
from rdiv.comparison.questions import Answers
from rdiv.comparison.sentences import IDENTICAL
from rdiv.remarks import IN_SAMPLE, left_out_columns
from rdiv.samples.column_findings import column_warnings, look_at_columns
from rdiv.samples.copies import identical, rows_in_both
from rdiv.samples.pooling import PooledSamples

__all__ = ["FEW_ROWS", "data_warnings"]

FEW_ROWS = 20
"""With fewer rows per sample the size of a gap says little."""


def data_warnings(pooled: PooledSamples, answers: Answers, models: Models) -> tuple[str, ...]:
    """What the reader must know about the data, the most important first.

    Examples
    --------
    >>> import rdiv
    >>> rows = np.random.default_rng(0).normal(size=(60, 2))
    >>> print(rdiv.compare(rows, rows, rng=0).warnings[0])
    The two samples hold the same rows.
    """
    found = list(column_warnings(look_at_columns(pooled)))
    if pooled.pool.left_out:
        found.append(left_out_columns(pooled.pool.left_out))
    if identical(pooled):
        found.insert(0, IDENTICAL)
    elif rows_in_both(pooled):
        n_q = int((~pooled.is_p).sum())
        found.append(
            f"{rows_in_both(pooled)} of {n_q} current rows stand in the reference too: the samples "
            "overlap, or rows are repeated."
        )
    found += _few_rows(answers)
    found += _broken_promise(models, pooled)
    if answers.shared is not None and not answers.shared.held_out:
        found.append(f"The losses of the shared model are in-sample: {IN_SAMPLE}.")
    return tuple(found)


def _few_rows(answers: Answers) -> list[str]:
    is_p = answers.leading.samples.is_p
    counts = np.bincount(is_p.astype(np.intp), minlength=2)
    if counts.min() >= FEW_ROWS:
        return []
    return [
        f"Only {counts[1]} reference and {counts[0]} current rows were compared: the p-value "
        "holds, but the size of the gap is unreliable."
    ]


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
