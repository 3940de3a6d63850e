"""Answers about a model in use, as `explain` gets them, and answers with losses made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.expected import ExpectedLoss
from rdiv.comparison.models import choose_models
from rdiv.comparison.questions import Answer, ask
from rdiv.inference.engine import PermutationSettings
from rdiv.inference.mean_gaps import mean_gap
from rdiv.models import Frozen
from rdiv.samples.pooling import pool_samples

Floats = NDArray[np.float64]


class Line:
    """A regression that was trained elsewhere."""

    def predict(self, x: Floats) -> Floats:
        return np.asarray(x, dtype=float)[:, 0]


class Chances:
    """A classification that was trained elsewhere."""

    classes_ = np.array([0, 1])

    def predict_proba(self, x: Floats) -> Floats:
        one = 1 / (1 + np.exp(-2 * np.asarray(x, dtype=float)[:, 0]))
        return np.stack([1 - one, one], axis=1)


def given(model: Any) -> Frozen:
    return Frozen(model, trained_on="neither")


def answered(reference: Any, current: Any, model: Any, **how: Any) -> Answer:
    """The model in use on two samples."""
    is_given = isinstance(model, Frozen)
    models = choose_models(
        model, prediction=None, loss=None, retrain=None if is_given else "same", folds=2,
        supervised=True, n_jobs=None,
    )  # fmt: skip
    pooled = pool_samples(reference, current, kind=models.kind, **({"rng": 0} | how))
    found = ask(models, pooled, PermutationSettings(0.05, 19), train_share=0.5).in_use
    assert found is not None
    return found


def with_losses(answer: Answer, losses: Floats, y: NDArray[Any] | None = None) -> Answer:
    """The same rows with other losses, and with other targets where they are given."""
    pool = answer.samples.pool
    samples = replace(answer.samples, pool=pool if y is None else replace(pool, y=y))
    return replace(answer, prepared=mean_gap(losses, groups=pool.groups), samples=samples)


def expecting(values: Floats, x: Floats) -> ExpectedLoss:
    """An expected loss that is known."""
    owners = tuple(f"column {j}" for j in range(x.shape[1]))
    return ExpectedLoss(values, x, x, owners, lambda rows: rows[:, 0])
