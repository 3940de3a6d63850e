"""Cross-fitting: the loss of each row under a model that did not see it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rdiv.models.protocol import FittedModel, Model
from rdiv.samples.pool import Pool
from rdiv.spelling import spelled
from rdiv.threads import one_thread

__all__ = ["CrossFit", "FittedCrossFit", "fold_of_rows"]


@dataclass(frozen=True)
class CrossFit:
    """Fit a model once per fold, on the other folds, and take the losses of the fold left out.

    Folds are blind to the samples: random, spread evenly over the classes, with identical rows
    and whole groups in one fold. So the test stays exact, and models that memorise get honest
    losses.

    Parameters
    ----------
    model : Model
    folds : int
    n_jobs : int, optional
        Folds fitted at a time, each in a process of its own; the result does not depend on it.

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

    held_out = True

    def __post_init__(self) -> None:
        if isinstance(self.folds, bool) or not isinstance(self.folds, int) or self.folds < 2:
            raise ValueError(f"folds must be a whole number of at least 2, got {self.folds!r}.")
        if getattr(self.model, "held_out", False):
            raise ValueError(f"{self.model!r} needs no folds; pass it as it is.")

    def __str__(self) -> str:
        from rdiv.models import BY_NAME

        return f"{spelled(self.model, BY_NAME)}, {self.folds} folds"

    @property
    def task(self) -> str | None:
        """The one task that the model inside can do, if there is only one."""
        return getattr(self.model, "task", None)

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedCrossFit:
        """Draw the folds and fit one model for each."""
        from joblib import Parallel, delayed

        fold = fold_of_rows(pool, self.folds, rng)
        streams = rng.spawn(self.folds)
        tasks = [
            (self.model, pool.take(np.flatnonzero(fold != k)), stream)
            for k, stream in enumerate(streams)
        ]
        if self.n_jobs in (None, 1):
            fits = [model.fit(rows, stream) for model, rows, stream in tasks]
        else:
            fits = Parallel(n_jobs=self.n_jobs)(delayed(_fit)(*task) for task in tasks)
        return FittedCrossFit(tuple(fits), fold, pool.keys)


@dataclass(frozen=True, eq=False)
class FittedCrossFit:
    """The models of all folds.

    ``losses`` of the pool that was cross-fitted are those out of fold; on any other pool they are
    the mean over the models.
    """

    fits: tuple[FittedModel, ...]
    fold: NDArray[np.intp]
    keys: NDArray[np.uint64]

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Loss of every row, ``(n,)``."""
        if not np.array_equal(pool.keys, self.keys):
            mean: NDArray[np.float64] = np.mean([fit.losses(pool) for fit in self.fits], axis=0)
            return mean
        losses = np.empty(len(pool))
        for k, fit in enumerate(self.fits):
            rows = np.flatnonzero(self.fold == k)
            losses[rows] = fit.losses(pool.take(rows))
        return losses


def fold_of_rows(pool: Pool, folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Assign each row a fold, ``(n,)``: label-blind, even over classes, groups and twins together.

    Examples
    --------
    >>> from rdiv.samples import Pool
    >>> pool = Pool(np.array([[0.0], [1.0], [0.0], [2.0]]))
    >>> fold = fold_of_rows(pool, 3, np.random.default_rng(0))
    >>> print(bool(fold[0] == fold[2]), sorted(set(fold.tolist())))
    True [0, 1, 2]
    """
    units = pool.twins if pool.groups is None else pool.groups
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    if len(first) < folds:
        what = "distinct rows" if pool.groups is None else "groups"
        raise ValueError(
            f"{folds} folds need at least {folds} {what} in the pool, got {len(first)}; "
            "ask for fewer folds."
        )
    order = rng.permutation(len(first))
    if pool.y is not None and pool.task == "classification":
        order = order[np.argsort(pool.y[first[order]], kind="stable")]
    fold = np.empty(len(first), dtype=np.intp)
    fold[order] = np.arange(len(first)) % folds
    return fold[unit]


def _fit(model: Model, pool: Pool, rng: np.random.Generator) -> FittedModel:
    with one_thread():
        return model.fit(pool, rng)
