"""The model in use: its mean losses on the reference and on the current rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.r_divergence import RDivergence
from rdiv.errors import InputError
from rdiv.inference.mean_gaps import mean_gap
from rdiv.inference.prepared import Prepared
from rdiv.models.adapters import as_model, losses_of_predictions
from rdiv.models.cross_fit import (
    CrossFit,
    FittedCrossFit,
    PlannedFits,
    by_fold,
    fold_units,
    plan_fits,
)
from rdiv.models.protocol import (
    FittedModel,
    Model,
    PerRow,
    check_losses,
    fit_model,
    is_given,
    losses_of,
    predictions_of,
    runs_in_threads,
)
from rdiv.samples.pool import Pool
from rdiv.samples.row_passes import row_by_row

__all__ = ["InUse", "TrainedOnReference", "predictions_by"]

FOLDS = 3
"""Folds of part A, for the rows that stand in it."""

MOST_COPIES = 4
"""A row that stands in part A more often than this is no copy but a frequent value."""

FEW_COPIES = 0.01
"""Up to this share of copies, only they get losses of fits that left rows of part A out."""

MOST_PREDICTIONS = 1 << 24
"""Predictions of all rows (128 MB) that are kept for what explains the losses."""


@dataclass(frozen=True)
class InUse:
    """Gap between the mean losses of a model that has seen the reference only.

    Part A of the reference, drawn at random, trains the model; the rest of the reference is
    compared with the current rows. A model that is given (`rdiv.models.Frozen` and the like) is
    used as it is, and the whole reference is compared.

    Parameters
    ----------
    model : Model
        Model to train on part A, or a given one; anything that `rdiv.models.as_model` accepts.
    train_share : float
        Share of the reference that part A gets.
    studentize : bool
        As for `RDivergence`.
    fit_rows : int, optional
        Most rows of part A that the model is fitted to; see `rdiv.compare`.
    n_jobs : int, optional
        Fits at a time; the result does not depend on it.

    Notes
    -----
    Given part A, the other reference rows and the current rows are exchangeable when the samples
    are alike, so the permutation test is exact. A row that also stands in part A gets the loss of a
    model that was fitted without that row, so that copies never look too good. Where there are many
    such rows, all others get the loss of one of these models too, so that copies do not look too
    bad either: they were all fitted to two thirds of part A.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(400, 2)), rng.normal(size=400)
    >>> y = x[:, 0] * np.where(np.arange(400) < 200, 1, -1) + noise
    >>> p, q = (x[:200], y[:200]), (x[200:], y[200:])
    >>> print(two_sample_test(p, q, "in-use", model="ridge", rng=0).rejected)
    True
    """

    compares = "mean losses of a model trained on part of the reference"
    takes = "any"
    learning = "half of the reference trains the model"
    cost = "one fit to half of the reference"
    sees = "what changes the average loss of the model in use"
    citation = "this project; Chung and Romano 2013 for its level"
    directed = False

    model: Model
    train_share: float = 0.5
    studentize: bool = True
    fit_rows: int | None = field(default=None, repr=False)
    n_jobs: int | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", as_model(self.model))
        if not 0 < self.train_share < 1:
            raise InputError(
                f"train_share must lie strictly between 0 and 1, got {self.train_share!r}."
            )

    @property
    def learns(self) -> Literal[False, "reference"]:
        """Part A of the reference, unless the model is given."""
        return False if is_given(self.model) else "reference"

    def learn(
        self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator
    ) -> TrainedOnReference:
        """Train the model on the reference rows of a pool."""
        own = pool if is_p.all() else pool.take(np.flatnonzero(is_p))
        streams = rng.spawn(2)
        model = self.model.model if isinstance(self.model, CrossFit) else self.model
        fitted = fit_model(model, own, streams[0], fit_rows=self.fit_rows)
        return TrainedOnReference(
            model, fitted, own, streams[1], self.studentize, self.fit_rows, self.n_jobs
        )

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Losses of a given model."""
        return self.from_fit(fit_model(self.model, pool, rng), pool)

    def from_fit(self, fitted: FittedModel, pool: Pool) -> Prepared:
        """The same from an already fitted model."""
        return RDivergence(self.model, studentize=self.studentize).from_fit(fitted, pool)


@dataclass(frozen=True, eq=False)
class TrainedOnReference:
    """A model that has been trained on part A, as a test of the rows that are left.

    Parameters
    ----------
    model : Model
    fitted : FittedModel
        The model, fitted to all of part A.
    trained : Pool
        Part A.
    rng : Generator
        For the fits that leave rows of part A out; they are made when a tested row needs them.
    studentize : bool
    fit_rows : int, optional
        Most rows of part A that a model is fitted to.
    n_jobs : int, optional
        Fits at a time.
    whole : TrainedOnReference, optional
        Where `trained` holds some rows of part A only: the same with all of it.
    at : (m,) integers, optional
        Their places in part A then.
    """

    model: Model
    fitted: FittedModel
    trained: Pool
    rng: np.random.Generator = field(repr=False)
    studentize: bool = True
    fit_rows: int | None = None
    n_jobs: int | None = None
    whole: TrainedOnReference | None = None
    at: NDArray[np.intp] | None = None

    def on_part(self, rows: NDArray[np.intp], pool: Pool) -> TrainedOnReference:
        """The same fits, known by some rows of part A alone.

        Parameters
        ----------
        rows : (m,) integers
            Places of these rows in part A.
        pool : Pool
            These rows.
        """
        _ = self.left_out  # made now, while all rows of part A can be asked for
        return replace(self, trained=pool.like(self.trained), whole=self, at=rows)

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Losses of the model on rows that are not in part A, and what it predicts for them."""
        del rng
        losses, predicted = self._judged(pool)
        gap = mean_gap(losses, studentize=self.studentize, groups=pool.groups, strata=pool.strata)
        return replace(gap, predictions=predicted)

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Loss of every row, ``(n,)``; that of a row in part A comes from a fit without it."""
        return self._judged(pool)[0]

    def _judged(self, pool: Pool) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Losses, and predictions of the model fitted to all of part A where there is room."""
        losses, predicted = self._by_all_of_a(pool)
        losses = check_losses(losses, pool, "the model in use")
        return self._without_own_rows(losses, pool), predicted

    def _by_all_of_a(self, pool: Pool) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Losses and predictions, of so many rows at a time that their numbers need little room."""
        if pool.in_partitions:
            return losses_of(self.fitted, pool.like(self.trained)), None
        predicts: PerRow | None = getattr(self.fitted, "standard_predictions", None)
        kept = MOST_PREDICTIONS // max(len(pool), 1)  # columns

        def judge(rows: NDArray[np.intp]) -> NDArray[np.float64]:
            part = (pool if len(rows) == len(pool) else pool.take(rows)).like(self.trained)
            if predicts is None:
                return losses_of(self.fitted, part)[:, None]
            own = predicts(part)
            losses = losses_of_predictions(own, part)[:, None]
            return losses if own.shape[1] > kept else np.concatenate([losses, own], axis=1)

        found = row_by_row(pool, judge, threads=runs_in_threads(self.model))
        return found[:, 0].copy(), None if found.shape[1] == 1 else found[:, 1:].copy()

    def _without_own_rows(self, losses: NDArray[np.float64], pool: Pool) -> NDArray[np.float64]:
        """The losses, with those of rows in part A from fits that left them out."""
        pool = pool.like(self.trained)
        copies = self.copies(pool)
        if not len(copies) or self.left_out is None:
            return losses
        if len(copies) > FEW_COPIES * len(pool):
            return check_losses(self.left_out.losses_left_out(pool), pool, "the model in use")
        part = pool.take(copies)
        own = self.left_out.losses_left_out(part)
        losses[copies] = check_losses(own, part, "the model in use")
        return losses

    def predictions(self, pool: Pool) -> NDArray[np.float64] | None:
        """What the model predicts, ``(n, K)``; for a row in part A what a fit without it does.

        None where the model does not say.
        """
        pool = pool.like(self.trained)
        return predictions_by(*self.predicting(pool), pool)

    def predicting(self, pool: Pool) -> tuple[tuple[FittedModel, ...], NDArray[Any] | None]:
        """The fits that predict, and which of them predicts each row; None: the first all rows."""
        pool = pool.like(self.trained)
        copies = self.copies(pool)
        if not len(copies) or self.left_out is None:
            return (self.fitted,), None
        fits = (self.fitted, *self.left_out.fits)
        if len(copies) > FEW_COPIES * len(pool):
            return fits, (1 + self.left_out.fold_left_out(pool)).astype(np.int8)
        which = np.zeros(len(pool), dtype=np.int8)
        which[copies] = 1 + self.left_out.fold_left_out(pool.take(copies))
        return fits, which

    def copies(self, pool: Pool) -> NDArray[np.intp]:
        """Places of the rows that stand in part A, a few times at most."""
        rows, at = pool.shared_with(self.trained)
        if not len(rows):
            return rows
        often = np.bincount(self.trained.first_copy, minlength=len(self.trained))
        return rows[often[self.trained.first_copy[at]] <= MOST_COPIES]

    def begin_left_out(self) -> None:
        """Begin the fits that leave rows out beside other work, if threads can make them."""
        if self._planned is not None:
            self._planned.begin()

    @cached_property
    def left_out(self) -> FittedCrossFit | None:
        """Fits that each leave a part of A out; None where A is too small for them."""
        if self.whole is not None:
            found = self.whole.left_out
            assert self.at is not None
            return None if found is None else found.part(self.at, self.trained)
        planned = self._planned
        del vars(self)["_planned"]  # threads that have begun cannot be sent to another process
        return None if planned is None else planned.fit()

    @cached_property
    def _planned(self) -> PlannedFits | None:
        folds = min(FOLDS, len(fold_units(self.trained)))
        if folds < 2:
            return None
        folded = CrossFit(self.model, folds, self.n_jobs, repeats=1, fit_rows=self.fit_rows)
        return plan_fits(folded, self.trained, self.rng)


def predictions_by(
    fits: Sequence[FittedModel], which: NDArray[Any] | None, pool: Pool
) -> NDArray[np.float64] | None:
    """Predictions of every row by one of several fits; None where a model does not say.

    Parameters
    ----------
    fits : sequence of FittedModel
    which : (n,) integers, optional
        The fit of each row; the first one for all rows without it.
    pool : Pool
    """
    few = pool if which is None else pool.take(np.arange(min(1, len(pool))))
    first = predictions_of(fits[0], few)
    if which is None or first is None:
        return first

    def of(fit: FittedModel) -> PerRow:
        return lambda part: np.asarray(predictions_of(fit, part))

    return by_fold(pool, which, [of(fit) for fit in fits])
