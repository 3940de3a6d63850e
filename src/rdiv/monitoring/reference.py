"""The reference of a monitor: the model in use, its numbers on the reference, and on later rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.expected import LossRegression, learn_from_part, learn_from_rows
from rdiv.comparison.questions import FEWEST_TRAINED
from rdiv.discrepancies.in_use import FEW_COPIES, MOST_COPIES, InUse, TrainedOnReference
from rdiv.errors import InputError
from rdiv.models import BY_NAME as MODELS
from rdiv.models import Model
from rdiv.models.protocol import (
    FittedModel,
    check_losses,
    fit_model,
    is_given,
    loss_name,
    losses_of,
)
from rdiv.monitoring.process import steady
from rdiv.names import spelled
from rdiv.samples.fitting_rows import FIT_ROWS, prepared_on
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import PooledSamples
from rdiv.two_sample import part_of_reference, split_reference

__all__ = ["Reference"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reference:
    """A reference that a stream is compared with.

    Parameters
    ----------
    pooled : PooledSamples
        Its rows; with whole batches as units they are groups.
    model : Model
        The model in use: given, or to be trained on part A.
    train_share : float
        Share of part A.
    """

    pooled: PooledSamples
    model: Model
    train_share: float

    @property
    def pool(self) -> Pool:
        """All rows."""
        return self.pooled.pool

    @cached_property
    def digest(self) -> int:
        """One number for the content of all rows."""
        return self.pool.digest_of(np.arange(len(self.pool)))

    @property
    def model_name(self) -> str:
        """The model as text."""
        return spelled(self.model, MODELS)

    @property
    def loss(self) -> str:
        """What the losses are."""
        return loss_name(self.model, self.pool)

    @cached_property
    def _fit(self) -> tuple[FittedModel | TrainedOnReference, NDArray[np.intp]]:
        """The model in use, and the places of B, the rows that the stream is compared with."""
        if is_given(self.model):
            fitted = fit_model(self.model, self.pool, self.pooled.stream("fit"))
            return fitted, np.arange(len(self.pool))
        part = part_of_reference(self.pooled, self.train_share)
        if len(part) < FEWEST_TRAINED:
            raise InputError(
                f"a monitor trains its model on at least {FEWEST_TRAINED} reference rows, got "
                f"{len(part)}; give a longer reference, or a model that is already fitted."
            )
        split = split_reference(self.pooled, self.train_share, part, fit_rows=FIT_ROWS)
        test = InUse(self.model, self.train_share, fit_rows=FIT_ROWS)
        return split.learned(test), split.rows

    @property
    def trained_on(self) -> int:
        """Rows of part A; 0 where the model is given."""
        return len(self.pool) - len(self._fit[1])

    def losses(self, pool: Pool) -> Floats:
        """Loss of every row of a pool, reference or later; a function of the row and part A."""
        fitted = self._fit[0]
        if not isinstance(fitted, TrainedOnReference):
            return steady(check_losses(losses_of(fitted, pool), pool, "the model in use"))
        pool = pool.like(fitted.trained)
        copies = fitted.copies(pool)
        if self._all_left_out and fitted.left_out is not None:
            found = fitted.left_out.losses_left_out(pool)
        else:
            found = losses_of(fitted.fitted, pool)
            if len(copies) and fitted.left_out is not None:
                found = found.copy()
                found[copies] = fitted.left_out.losses_left_out(pool.take(copies))
        return steady(check_losses(found, pool, "the model in use"))

    @cached_property
    def _all_left_out(self) -> bool:
        """Whether copies are so frequent in part A that all rows get losses of its fold fits.

        `InUse` asks this of the rows that it tests; here these come one batch after the other, so
        that part A alone decides.
        """
        trained = self._fit[0]
        assert isinstance(trained, TrainedOnReference)
        first = trained.trained.first_copy
        often = np.bincount(first, minlength=len(first))[first]
        return bool(((often > 1) & (often <= MOST_COPIES)).mean() > FEW_COPIES)

    @cached_property
    def numbers(self) -> Floats:
        """Losses of B."""
        return self.losses(self.pool.take(self._fit[1]))

    @cached_property
    def regression(self) -> tuple[LossRegression, NDArray[np.intp]] | None:
        """The expected loss of a row from its inputs, and the places of the rows it may judge."""
        if not self.pool.rows.shape[1]:
            return None
        fitted, rows = self._fit
        rng = self.pooled.stream("halves")
        if isinstance(fitted, TrainedOnReference):
            found = learn_from_part(fitted, rng)
            return None if found is None else (found, rows)
        part = part_of_reference(self.pooled, self.train_share)
        own = prepared_on(self.pool.anew(part), FIT_ROWS)
        found = learn_from_rows(fitted, own, rng)
        others = np.setdiff1d(np.arange(len(self.pool)), part)
        return None if found is None else (found, others)

    def expected(self, pool: Pool) -> Floats:
        """Expected loss of every row of a pool; classes that are new in it play no part."""
        assert self.regression is not None
        known, predicted = self.pool.classes, pool.prediction
        if known is not None:
            wide = predicted is not None and predicted.ndim == 2
            predicted = predicted[:, : len(known)] if wide and predicted is not None else predicted
            pool = replace(pool, classes=known, prediction=predicted)
        return steady(self.regression[0].of(pool))

    @cached_property
    def expected_numbers(self) -> Floats:
        """Expected losses of the reference rows that g was not learned from."""
        assert self.regression is not None
        return self.expected(self.pool.take(self.regression[1]))

    def units(self, numbers: Floats, rows: NDArray[np.intp] | None = None) -> Floats:
        """Numbers of B, or their means per batch of the reference where batches are units."""
        groups = self.pool.groups
        if groups is None:
            return numbers
        codes = np.unique(groups[self._fit[1] if rows is None else rows], return_inverse=True)[1]
        return steady(np.bincount(codes, numbers) / np.bincount(codes))
