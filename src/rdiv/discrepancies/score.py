"""Score divergence: whether p and q would train different models, from one pooled fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.inference.combining import min_p
from rdiv.inference.masked_sums import MOST_HELD, Columns, rounded, standardized, tiles
from rdiv.inference.mean_gaps import MeanGaps, mean_gaps
from rdiv.inference.prepared import Observed, Prepared
from rdiv.inference.sampled_gaps import SampledGaps, sampled_gaps
from rdiv.models.adapters import as_model
from rdiv.models.cross_fit import FittedCrossFit
from rdiv.models.protocol import FittedModel, Model, fit_model, gradients_of, owners_of
from rdiv.samples.pool import Pool

__all__ = ["Score", "has_gradients"]

Floats = NDArray[np.float64]

RIDGE = 0.1
_FARTHEST = 1e12  # largest squared t, so that sums of its squares stay finite


@dataclass(frozen=True)
class Score:
    """Distance between the mean gradients of p and q under one model fitted on the pool.

    The gradient of each row's loss in the parameters has mean zero over the pool; p and q would
    train different models when their mean gradients differ. No model is refitted.

    Parameters
    ----------
    model : Model
        Its fitted object must offer ``gradients(pool)``.
    part : {"both", "ridge", "l4"}
        ``"ridge"`` sums squares of studentised gaps, whitened by their correlation in the pool: it
        finds differences spread over many parameters. ``"l4"`` sums their fourth powers over
        parameters: it finds differences in a few. ``"both"`` takes the smaller p-value of the two
        and ranks it among the same permutations.
    ridge : float
        Added to the correlation matrix, whose mean eigenvalue is 1; blind to the labels.
    studentize : bool, default True
        Divide each gap by its standard error for that split. False divides by the spread in the
        pool, and then the level holds for equal distributions only.

    Notes
    -----
    ``statistic`` is the ridge-whitened length of the gap between the mean gradients in units of
    the pooled standard deviations; it does not grow with the number of rows.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> p = rng.normal(size=(200, 2))
    >>> q = rng.normal(size=(200, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
    >>> print(two_sample_test(p, q, Score("gmm"), rng=0).rejected)
    True
    """

    compares = "mean gradients of one model fitted on the pool"
    takes = "any with gradients"
    learning = "no"
    cost = "one fit and the gradients of every row"
    sees = "directions in which the samples would train different models"
    citation = "Rao 1948; this project"
    directed = False

    model: Model
    part: Literal["both", "ridge", "l4"] = "both"
    ridge: float = RIDGE
    studentize: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", as_model(self.model))
        if self.part not in ("both", "ridge", "l4"):
            raise InputError(f"part must be 'both', 'ridge' or 'l4', got {self.part!r}.")
        if not 0 < self.ridge < np.inf:
            raise InputError(f"ridge must be a positive number, got {self.ridge!r}.")

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Fit the model to the pool and keep the gradients of every row."""
        return self.from_fit(fit_model(self.model, pool, rng), pool)

    def from_fit(
        self,
        fitted: FittedModel,
        pool: Pool,
        *,
        rows: NDArray[np.intp] | None = None,
        part: Pool | None = None,
    ) -> Prepared:
        """The same from an already fitted model.

        Parameters
        ----------
        fitted : FittedModel
        pool : Pool
        rows : (s,) integers, optional
            Look at the gradients of these rows only, in order; all rows are still permuted.
        part : Pool, optional
            These rows, where they are in memory already.
        """
        own = (fitted, pool) if rows is None else _part_of(fitted, pool, rows, part)
        gradients = _gradients(*own)
        scaled, scale = standardized(gradients)
        length = ridge_squares(scaled, self.ridge)
        gaps_of: Callable[..., MeanGaps | SampledGaps] = mean_gaps
        if rows is not None:
            gaps_of = partial(sampled_gaps, rows=rows, n=len(pool))
        plain_rows = pool.groups is None and pool.strata is None
        ratios = gaps_of(
            rounded(scaled) if plain_rows else scaled, studentize=self.studentize,
            groups=pool.groups, strata=pool.strata, scale=np.sign(scale),
        )  # fmt: skip
        plain = ratios.plain()

        def ranked(ratios: Floats) -> Floats:
            t = np.clip(ratios, -(_FARTHEST**0.5), _FARTHEST**0.5)
            columns = []
            if self.part != "l4":
                columns.append(length(t))
            if self.part != "ridge":
                columns.append(np.einsum("ij,ij->i", t**2, t**2))
            return np.stack(columns, axis=1)

        return Prepared(
            lambda masks: ranked(ratios(masks)),
            sums=ratios.sums(ranked),
            combine=min_p if self.part == "both" else None,
            parts=("ridge", "l4") if self.part == "both" else (),
            observed=lambda is_p: Observed(float(np.sqrt(length(plain(is_p[None]))[0]))),
            gradients=gradients,
            gradient_owners=_owners(fitted, pool, gradients.shape[1]),
            notes={"parameters": gradients.shape[1]},
        )


def _owners(fitted: FittedModel, pool: Pool, width: int) -> tuple[str | None, ...] | None:
    """The input column of every gradient, where the model knows."""
    owners = owners_of(fitted, pool)
    return None if owners is None or len(owners) != width else tuple(owners)


def _part_of(
    fitted: FittedModel, pool: Pool, rows: NDArray[np.intp], part: Pool | None
) -> tuple[FittedModel, Pool]:
    """Some rows of a pool, and the fit that they get their numbers from."""
    part = pool.take(rows).at_hand() if part is None else part
    return fitted.part(rows, part) if isinstance(fitted, FittedCrossFit) else fitted, part


def has_gradients(fitted: FittedModel) -> bool:
    """Whether a fitted model says how its loss changes with its parameters."""
    return gradients_of(fitted) is not None


def ridge_squares(scaled: Columns, ridge: float) -> Callable[[Floats], Floats]:
    """Function from gaps ``(b, m)`` to ``t' (R + ridge I)^-1 t``, R the correlation of columns.

    With more columns than rows the inverse is taken in its dual form, of the size of the rows.

    Parameters
    ----------
    scaled : (n, m) array
        Columns with mean 0 and variance 1 (or 0).

    Examples
    --------
    >>> scaled = np.array([[1.0, 1.0], [-1.0, -1.0]])
    >>> print(ridge_squares(scaled, 0.5)(np.array([[1.0, 1.0], [1.0, -1.0]])).round(2))
    [0.8 4. ]
    """
    from scipy.linalg import cholesky, solve_triangular

    n, m = scaled.shape
    if m <= n:
        gram = np.sum([tile.T @ tile for tile in tiles(scaled)], axis=0)
        factor = cholesky(gram / n + ridge * np.eye(m), lower=True)
        whitener = solve_triangular(factor, np.eye(m), lower=True)
        return lambda gaps: _row_squares(gaps @ whitener.T)
    rows = np.asarray(scaled)
    factor = cholesky(rows @ rows.T + n * ridge * np.eye(n), lower=True)
    projector = solve_triangular(factor, rows, lower=True)
    return lambda gaps: (_row_squares(gaps) - _row_squares(gaps @ projector.T)) / ridge


def _row_squares(x: Floats) -> Floats:
    squares: Floats = np.einsum("ij,ij->i", x, x)
    return squares


def _gradients(fitted: FittedModel, pool: Pool) -> NDArray[Any]:
    """The gradients of a model, refused unless they are finite numbers per row."""
    found = gradients_of(fitted)
    if found is None:
        raise InputTypeError(
            f"score needs a model with gradients, got {type(fitted).__name__}; use gmm, kde, pca, "
            "logistic, ridge, boosting, or another classifier or regressor."
        )
    gradients: NDArray[Any] = np.asarray(found(pool))
    if gradients.dtype != np.float32 or gradients.size <= MOST_HELD:
        gradients = gradients.astype(np.float64, copy=False)
    if gradients.ndim != 2 or len(gradients) != len(pool):
        raise InputError(
            f"the model must give one row of gradients per row, got shape {gradients.shape} for "
            f"{len(pool)} rows."
        )
    if not all(np.isfinite(tile.sum()) or np.isfinite(tile).all() for tile in tiles(gradients)):
        raise InputError(
            f"the model must give finite gradients, got {int((~np.isfinite(gradients)).sum())} NaN "
            "or infinite; check the inputs or use a model with more regularisation."
        )
    return gradients[pool.first_copy] if len(pool.repeats[0]) else gradients
