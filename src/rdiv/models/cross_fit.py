"""Cross-fitting: the loss of each row under a model that did not see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.models.adapters import losses_of_predictions, residuals_of_predictions
from rdiv.models.corrections import linear_correction
from rdiv.models.protocol import (
    FittedModel,
    Model,
    PerRow,
    fit_again,
    fit_model,
    gradients_of,
    is_held_out,
    losses_of,
    most_rows,
    owners_of,
    probabilities_of,
    residuals_of,
    runs_in_threads,
    task_of,
)
from rdiv.names import spelled
from rdiv.parallel.later import Later
from rdiv.parallel.threads import one_thread
from rdiv.parallel.workers import in_processes, useful_jobs
from rdiv.progress import counting
from rdiv.row_blocks import cut
from rdiv.samples.fitting_rows import folds_by_key, pool_rows_to_fit, unit_keys
from rdiv.samples.pool import Pool
from rdiv.samples.row_keys import places_among
from rdiv.samples.row_passes import BLOCK, row_by_row

__all__ = [
    "CrossFit",
    "FittedCrossFit",
    "PlannedFits",
    "by_fold",
    "fold_draws",
    "fold_of_rows",
    "fold_units",
    "plan_fits",
]

MOST_DRAWS = 3
"""Most draws of the folds of one pool."""

DRAWN_ROWS = 1000
"""Folds are drawn anew until this many rows were drawn: once from 501 rows on."""

DRAWN_CELLS = 200_000
"""Or this many cells, so that a few rows of thousands of columns are fitted once as well."""


@dataclass(frozen=True)
class CrossFit:
    """Fit a model once per fold, on the other folds, and take the losses of the fold left out.

    Folds do not depend on the samples: they are random, balanced over the classes, with identical
    rows and whole groups in one fold. So the test stays exact, and models that memorise get valid
    losses. Losses of small pools depend on how the folds were drawn; there, folds are drawn several
    times, and a row's loss is the mean over all draws.

    Parameters
    ----------
    model : Model
    folds : int
    repeats : int, optional
        How often folds are drawn. By default it depends on the size of the pool alone, see
        `fold_draws`: three times up to 333 rows, once above 500 and for very wide rows.
    n_jobs : int, optional
        Folds fitted at a time, in threads where the model is made for that, else in processes; the
        result does not depend on it.
    fit_rows : int, optional
        Of a larger pool, fit to so many rows only (fewer where the model says so), chosen by a
        hash of their content. The folds of all rows are then named by their keys, or by those of
        their groups, and every row gets the loss of the fold that left it out.

    Examples
    --------
    >>> from rdiv.models import GaussianMixture
    >>> from rdiv.samples import Pool
    >>> pool = Pool(np.random.default_rng(0).normal(size=(40, 2)))
    >>> rng = np.random.default_rng(1)
    >>> inside = GaussianMixture(4).fit(pool, rng).losses(pool).mean()
    >>> outside = CrossFit(GaussianMixture(4), 5).fit(pool, rng).losses(pool).mean()
    >>> print(bool(outside > inside))
    True
    """

    model: Model
    folds: int = 5
    n_jobs: int | None = field(default=None, repr=False, compare=False)
    repeats: int | None = None
    fit_rows: int | None = field(default=None, repr=False)

    held_out = True

    def __post_init__(self) -> None:
        if isinstance(self.folds, bool) or not isinstance(self.folds, int) or self.folds < 2:
            raise InputError(f"folds must be a whole number of at least 2, got {self.folds!r}.")
        if is_held_out(self.model):
            raise InputError(f"{self.model!r} needs no folds; pass it as it is.")
        times = self.repeats
        if times is not None and (
            isinstance(times, bool) or not isinstance(times, int) or times < 1
        ):
            raise InputError(f"repeats must be a whole number of at least 1, got {times!r}.")

    def __str__(self) -> str:
        from rdiv.models import BY_NAME

        times = "" if self.repeats in (None, 1) else f" drawn {self.repeats} times"
        return f"{spelled(self.model, BY_NAME)}, {self.folds} folds{times}"

    @property
    def task(self) -> str | None:
        """The one task that the model inside can do, if there is only one."""
        return task_of(self.model)

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedCrossFit:
        """Draw the folds and fit one model for each; of a small pool, several times."""
        return self._planned(pool, rng).fit()

    def _planned(self, pool: Pool, rng: np.random.Generator) -> PlannedFits:
        most = most_rows(self.model, self.fit_rows)
        if most is not None and len(pool) > most:
            return PlannedFits(self.folds, (self._of_some(pool, rng, most),))
        draws = self.repeats
        if draws is None:
            draws = fold_draws(len(pool), prod(pool.rows.shape[1:]))
        first = self._drawn(pool, rng)
        others = [self._drawn(pool, own) for own in rng.spawn(draws - 1)]
        return PlannedFits(self.folds, (first, *others))

    def _drawn(self, pool: Pool, rng: np.random.Generator) -> _PlannedDraw:
        """One draw of the folds, with the fits of all of them."""
        fold = fold_of_rows(pool, self.folds, rng)
        fits = self._fits(pool.at_hand(), fold, rng)
        return _PlannedDraw(fits, fold, self.model, pool, rng.spawn(1)[0])

    def _of_some(self, pool: Pool, rng: np.random.Generator, most: int) -> _PlannedDraw:
        """Fits of folds that keys name, to some rows."""
        keys, rows = pool.first_words(), pool_rows_to_fit(pool, most)
        units = keys if pool.groups is None else unit_keys(np.asarray(keys), pool.groups)
        fold = folds_by_key(units, self.folds)
        _check_folds(fold[rows], self.folds)
        fitted_to = pool.take(rows)
        fits = self._fits(fitted_to.at_hand(), fold[rows], rng)
        return _PlannedDraw(fits, fold, self.model, pool, rng.spawn(1)[0], fitted_to)

    def _fits(
        self, pool: Pool, fold: NDArray[np.intp], rng: np.random.Generator
    ) -> Later[FittedModel] | _InProcesses:
        """For each fold the fit to all others."""
        tasks = list(enumerate(rng.spawn(self.folds)))
        jobs = useful_jobs(self.n_jobs, self.folds)
        shared = (self.model, pool.settled() if self._reads_numbers else pool, fold)
        if jobs > 1 and not runs_in_threads(self.model):
            return _InProcesses(shared, tasks, jobs)
        return Later(partial(_fit, shared), [(task,) for task in tasks], jobs)

    @property
    def _reads_numbers(self) -> bool:
        """Whether the model reads numbers and not the table as it was given: one of ours does."""
        from rdiv.models import BY_NAME

        return type(self.model) in BY_NAME.values()


def plan_fits(model: CrossFit, pool: Pool, rng: np.random.Generator) -> PlannedFits:
    """All fits of a cross-fit with their rows and random numbers, to begin beside other work."""
    return model._planned(pool, rng)


@dataclass(frozen=True, eq=False)
class PlannedFits:
    """The fits of all folds, in one draw of them or several, before they are made."""

    folds: int
    draws: tuple[_PlannedDraw, ...]

    def begin(self) -> None:
        """Begin with those that threads can make beside other work."""
        if isinstance(self.draws[0].fits, Later):
            self.draws[0].fits.begin()

    def fit(self) -> FittedCrossFit:
        """Make the fits, or wait for those that have begun."""
        with counting("fold", len(self.draws) * self.folds) as at:
            first, *others = [
                draw.fitted(at, place * self.folds) for place, draw in enumerate(self.draws)
            ]
        return replace(first, others=tuple(others))


@dataclass(frozen=True, eq=False)
class _PlannedDraw:
    """One draw of the folds; see `FittedCrossFit`."""

    fits: Later[FittedModel] | _InProcesses
    fold: NDArray[np.intp]
    model: Model
    pool: Pool
    rng: np.random.Generator
    fitted_to: Pool | None = None

    def fitted(self, at: Callable[[int], None], done: int) -> FittedCrossFit:
        """The models of all folds, each counted before it is waited for."""
        found, results = [], self.fits.results()
        for place in range(len(self.fits.tasks)):
            at(done + place + 1)
            found.append(next(results))
        return FittedCrossFit(
            tuple(found), self.fold, self.model, self.pool, self.rng, fitted_to=self.fitted_to
        )


@dataclass(frozen=True, eq=False)
class _InProcesses:
    """Fits of models that no thread may make, in worker processes."""

    shared: tuple[Model, Pool, NDArray[np.intp]]
    tasks: list[tuple[int, np.random.Generator]]
    jobs: int

    def results(self) -> Iterator[FittedModel]:
        """The fits in the order of the folds."""
        return in_processes(_fit, self.shared, iter(self.tasks), self.jobs, ordered=True)


@dataclass(frozen=True, eq=False)
class FittedCrossFit:
    """The models of all folds.

    ``losses`` of the pool that was cross-fitted are those out of fold; on any other pool they are
    the mean over the models. ``gradients`` of models that predict are residuals out of fold times
    the inputs. The parameters of separate fits do not correspond, so models with gradients in their
    own parameters are fitted once more, to the full pool, when gradients are needed. Where folds
    were drawn several times, ``others`` holds the other draws, and numbers per row are means over
    all draws. Where other rows than those of the pool were fitted, ``fitted_to`` holds them.
    """

    fits: tuple[FittedModel, ...]
    fold: NDArray[np.intp]
    model: Model
    pool: Pool
    rng: np.random.Generator
    others: tuple[FittedCrossFit, ...] = ()
    fitted_to: Pool | None = None

    takes_partitions = True

    def part(self, rows: NDArray[np.intp], pool: Pool | None = None) -> FittedCrossFit:
        """The same for some rows of its pool: their numbers stay those out of fold.

        Parameters
        ----------
        rows : (m,) integers
            Their places in the pool.
        pool : Pool, optional
            These rows, where they are in memory already.
        """
        own = self.pool.take(rows) if pool is None else pool
        return replace(
            self,
            fold=self.fold[rows],
            pool=own,
            others=tuple(draw.part(rows, own) for draw in self.others),
            fitted_to=self.pool if self.fitted_to is None else self.fitted_to,
        )

    @property
    def draws(self) -> tuple[FittedCrossFit, ...]:
        """Every draw of the folds by itself."""
        return (replace(self, others=()), *self.others) if self.others else (self,)

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Loss of every row, ``(n,)``."""
        own = self._of_predictions(pool, losses_of_predictions)
        return self._out_of_fold(pool, losses_of_fit) if own is None else own

    def losses_left_out(self, pool: Pool) -> NDArray[np.float64]:
        """Losses of any rows, each from fits that did not see it.

        A row of its own pool gets that of the fold that left it out, another one that of the fold
        which its key names.
        """
        if self.others:
            return _mean([draw.losses_left_out(pool) for draw in self.draws])
        return self._left_out(pool, [losses_of_fit(fit) for fit in self.fits])

    def _left_out(self, pool: Pool, numbers: Sequence[PerRow]) -> NDArray[np.float64]:
        """Numbers of any rows, from the fold that left a row, or what its key names, out."""
        return by_fold(pool, self.fold_left_out(pool), numbers)

    def fold_left_out(self, pool: Pool) -> NDArray[np.intp]:
        """For any row the fold that left it out; for one of another pool, what its key names."""
        at = places_among(pool.keys, self.pool.keys)
        named = folds_by_key(pool.keys[:, 0], len(self.fits))
        return np.where(at < 0, named, self.fold[at])

    def probabilities(self, pool: Pool) -> NDArray[np.float64]:
        """Predicted probability of every class, ``(n, n_classes)``, where the model has them."""
        if self._each(probabilities_of) is None:
            raise InputTypeError(f"{type(self.fits[0]).__name__} gives no probabilities.")
        own = self._of_predictions(pool, lambda predictions, _: predictions.copy())
        return self._out_of_fold(pool, probabilities_of) if own is None else own

    @property
    def residuals(self) -> PerRow | None:
        """Function from a pool to derivatives in its predictions, where the model has them."""
        return None if self._each(residuals_of) is None else self._residuals

    def _residuals(self, pool: Pool) -> NDArray[np.float64]:
        own = self._of_predictions(pool, residuals_of_predictions)
        return self._out_of_fold(pool, residuals_of) if own is None else own

    @property
    def gradients(self) -> PerRow | None:
        """Function from a pool to derivatives of its losses, where the model has them."""
        if self._each(residuals_of) is not None:
            return lambda pool: linear_correction(self._residuals(pool), pool)
        if self._each(gradients_of) is not None:
            return lambda pool: self._whole_gradients(pool)
        return None

    def gradient_owners(self, pool: Pool) -> tuple[str | None, ...] | None:
        """The input column that each gradient belongs to, where the models of the folds know."""
        return owners_of(self.fits[0], pool)

    @cached_property
    def _whole_gradients(self) -> PerRow:
        pool = self.pool if self.fitted_to is None else self.fitted_to
        found = gradients_of(fit_model(self.model, pool, self.rng))
        assert found is not None
        return found

    def _of_predictions(
        self, pool: Pool, numbers: Callable[[NDArray[np.float64], Pool], NDArray[np.float64]]
    ) -> NDArray[np.float64] | None:
        """Numbers that follow from predictions out of fold, which are made once; None elsewhere."""
        if pool.in_partitions or not pool.same_rows(self.pool) or self._predictions is None:
            return None
        if not self.others:
            return numbers(self._predictions, pool)
        drawn = [draw._predictions for draw in (self, *self.others)]
        return _mean([numbers(own, pool) for own in drawn if own is not None])

    @cached_property
    def _predictions(self) -> NDArray[np.float64] | None:
        """Predictions of every row of the pool by the model that left it out, if all have them.

        Those of rows in partitions are not kept: there may be too many.
        """
        fits = None if self.pool.in_partitions else self._each(_standard_predictions)
        if fits is None:
            return None
        return by_fold(self.pool, self.fold, fits, threads=runs_in_threads(self.model))

    def _each(self, method: Callable[[FittedModel], PerRow | None]) -> list[PerRow] | None:
        """An optional method of the models of all folds; None unless all of them have it."""
        found = [known for fit in self.fits if (known := method(fit)) is not None]
        return found if len(found) == len(self.fits) else None

    def _out_of_fold(
        self, pool: Pool, method: Callable[[FittedModel], PerRow | None]
    ) -> NDArray[np.float64]:
        """Numbers per row from the model that did not see the row; elsewhere a mean over models."""
        if self.others:
            return _mean([draw._out_of_fold(pool, method) for draw in self.draws])
        numbers = self._each(method)
        assert numbers is not None
        if not pool.same_rows(self.pool):
            return _mean([of_fit(pool) for of_fit in numbers])
        return by_fold(pool, self.fold, numbers)

    def refit(self, pool: Pool, rng: np.random.Generator) -> FittedCrossFit:
        """Cross-fit some rows of the pool, each fold starting from its own model.

        Every row keeps its fold, so no start has seen the rows that it will be judged on. A fold
        that leaves no row to train on keeps its model as it is. Where folds were drawn several
        times, only the first draw is fitted again.
        """
        return self._again(pool, rng, warm=True)

    def fit_anew(self, pool: Pool, rng: np.random.Generator) -> FittedCrossFit:
        """As `refit`, with no fold starting from its model."""
        return self._again(pool, rng, warm=False)

    def _again(self, pool: Pool, rng: np.random.Generator, *, warm: bool) -> FittedCrossFit:
        fold = self._folds_of(pool)
        fits = []
        for k, (fit, stream) in enumerate(zip(self.fits, rng.spawn(len(self.fits)), strict=True)):
            rows = np.flatnonzero(fold != k)
            if len(rows):
                fit = fit_again(self.model, fit, pool.take(rows), stream, warm=warm)
            fits.append(fit)
        return FittedCrossFit(tuple(fits), fold, self.model, pool, rng.spawn(1)[0])

    def _folds_of(self, pool: Pool) -> NDArray[np.intp]:
        """The fold of each row, by its content: identical rows share one."""
        at = places_among(pool.keys, self.pool.keys)
        strangers = int((at < 0).sum())
        if strangers:
            raise InputError(
                f"a cross-fitted model is fitted again on rows of its own pool, got {strangers} "
                "that are not in it; use fit for a new pool."
            )
        return self.fold[at]


def losses_of_fit(fit: FittedModel) -> PerRow:
    """The losses of a fitted model as a function of a pool."""
    return partial(losses_of, fit)


def _standard_predictions(fit: FittedModel) -> PerRow | None:
    """Its predictions, where its losses and residuals are the usual functions of them."""
    found: PerRow | None = getattr(fit, "standard_predictions", None)
    return found


def _mean(numbers: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = np.mean(numbers, axis=0)
    return mean


def by_fold(
    pool: Pool, fold: NDArray[np.intp], numbers: Sequence[PerRow], *, threads: bool = False
) -> NDArray[np.float64]:
    """Numbers of every row of a pool, from the function of its fold; see `row_by_row`."""
    if pool.in_partitions:
        return pool.over_blocks(_folds_of_block, list(numbers), fold=fold)

    def of_rows(rows: NDArray[np.intp]) -> NDArray[np.float64]:
        found: NDArray[np.float64] | None = None
        for k, of_fit in enumerate(numbers):
            own = np.flatnonzero(fold[rows] == k)  # none of them may be in a part of a pool
            for block in cut(len(own), BLOCK):
                part = of_fit(pool.take(rows[own[block]]))
                found = np.empty((len(rows), *part.shape[1:])) if found is None else found
                found[own[block]] = part
        assert found is not None
        return found

    # So many rows at a time that each fold has enough of them.
    return row_by_row(pool, of_rows, step=len(numbers) * BLOCK, threads=threads)


def _folds_of_block(
    numbers: Sequence[PerRow], pool: Pool, labels: Mapping[str, NDArray[Any]]
) -> NDArray[np.float64]:
    with one_thread():
        return by_fold(pool, labels["fold"], numbers)


def fold_units(pool: Pool) -> NDArray[np.intp]:
    """What folds keep whole: the first place of every distinct row, or of every group."""
    return _units(pool)[0]


def _units(pool: Pool) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first place of every distinct row or group, and of every row which of them it is in."""
    if pool.groups is not None:
        found = np.unique(pool.groups, return_index=True, return_inverse=True)
        return found[1], found[2]
    first = pool.first_copy == np.arange(len(pool))
    return np.flatnonzero(first), (np.cumsum(first) - 1)[pool.first_copy]


def fold_draws(rows: int, width: int = 1) -> int:
    """How often the folds of a pool of that many rows and cells per row are drawn, by default.

    Losses depend on the draw of the folds the more, the fewer rows there are, and the fewer rows
    there are, the less another draw costs.

    Examples
    --------
    >>> print([fold_draws(rows) for rows in (60, 200, 300, 500, 501, 10**6)])
    [3, 3, 3, 2, 1, 1]
    >>> print(fold_draws(60, 5000))
    1
    """
    affordable = min(DRAWN_ROWS // max(rows, 1), DRAWN_CELLS // max(rows * width, 1))
    return min(MOST_DRAWS, max(1, affordable))


def fold_of_rows(pool: Pool, folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The fold of each row, ``(n,)``: label-blind, even over classes, groups and copies kept whole.

    Examples
    --------
    >>> from rdiv.samples import Pool
    >>> pool = Pool(np.array([[0.0], [1.0], [0.0], [2.0]]))
    >>> fold = fold_of_rows(pool, 3, np.random.default_rng(0))
    >>> print(bool(fold[0] == fold[2]), sorted(set(fold.tolist())))
    True [0, 1, 2]
    """
    first, unit = _units(pool)
    if len(first) < folds:
        what = "distinct rows" if pool.groups is None else "groups"
        raise InputError(
            f"{folds} folds need at least {folds} {what} in the pool, got {len(first)}; "
            "ask for fewer folds."
        )
    order = rng.permutation(len(first))
    if pool.y is not None and pool.task == "classification":
        order = order[np.argsort(pool.y[first[order]], kind="stable")]
    fold = np.empty(len(first), dtype=np.intp)
    fold[order] = np.arange(len(first)) % folds
    return fold[unit]


def _check_folds(fold: NDArray[np.intp], folds: int) -> None:
    """Refuse folds by key that leave a model nothing to fit."""
    counts = np.bincount(fold, minlength=folds)
    if counts.max() == len(fold):
        raise InputError(
            f"all {len(fold)} rows to fit lie in one of {folds} folds, which leaves none to fit "
            "for it; ask for more fit_rows, or give more groups."
        )


def _fit(
    shared: tuple[Model, Pool, NDArray[np.intp]], task: tuple[int, np.random.Generator]
) -> FittedModel:
    """The model fitted to all rows that are not in a fold."""
    (model, pool, fold), (k, stream) = shared, task
    with one_thread():
        # Rows are copied when their turn comes: all folds at once would be several pools.
        return fit_model(model, pool.take(np.flatnonzero(fold != k)), stream)
