"""What is asked of every comparison, whatever its labels: settings, and the test of the inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.inputs import Inputs
from rdiv.errors import InputError
from rdiv.inference.engine import PermutationSettings
from rdiv.results import TwoSampleResult
from rdiv.samples.fitting_rows import SAMPLE_ROWS
from rdiv.samples.pooling import PooledSamples
from rdiv.two_sample import run_test

__all__ = ["INPUT_ROWS", "Asked", "input_test", "require_held_out"]

INPUT_ROWS = 2000  # rows per sample that the test of the inputs uses


@dataclass(frozen=True)
class Asked:
    """What is asked besides the models and the samples."""

    settings: PermutationSettings
    train_share: float
    equivalence_margin: float | None
    not_worse_than: float | None
    drivers: bool
    sample_rows: int = SAMPLE_ROWS

    @property
    def margins(self) -> bool:
        """Whether a margin is asked for."""
        return self.equivalence_margin is not None or self.not_worse_than is not None


def require_held_out(held_out: bool) -> None:
    """Refuse a margin for in-sample losses."""
    if not held_out:
        raise InputError(
            "a margin needs out-of-fold losses, got in-sample losses (folds=None); ask for folds."
        )


def input_test(pooled: PooledSamples, settings: PermutationSettings) -> TwoSampleResult | None:
    """The test of the inputs without a model, on the first rows of each side of the pool."""
    if not pooled.pool.rows.shape[1]:
        return None
    return run_test(Inputs(), pooled.part(_input_rows(pooled)).at_hand(), settings)[0]


def _input_rows(pooled: PooledSamples) -> NDArray[np.intp]:
    """At most `INPUT_ROWS` random rows per sample, drawn within strata so that pairs stay whole."""
    order = np.arange(len(pooled.pool))
    if pooled.pool.strata is not None:
        order = np.argsort(pooled.pool.strata, kind="stable")
    sides = (order[pooled.is_p[order]], order[~pooled.is_p[order]])
    return np.sort(np.concatenate([side[:INPUT_ROWS] for side in sides]))
