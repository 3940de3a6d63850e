"""Null draws for every test, the check they must pass, and broken tests that must fail it.

`benchmarks/calibration/one_fit.py` runs the full counts and writes the table of the docs; the test
suite runs the same cells with fewer draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies import (
    CrossRisk,
    Energy,
    GaussianMmd,
    HDivergence,
    LDivergence,
    LossDistribution,
    Omnibus,
    RDivergence,
    Score,
)
from rdiv.inference.engine import PermutationSettings
from rdiv.models import (
    Boosting,
    CrossFit,
    GaussianMixture,
    KernelDensity,
    Logistic,
    Ridge,
    as_model,
)
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import pool_samples
from rdiv.two_sample import run_test, two_sample_test

LEVELS = (0.05, 0.10)
STRICTNESS = 1e-3  # a right cell fails one of its checks about this often


# --- null draws: p and q from one distribution ----------------------------------------------------


def density(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """Two clusters of points in the plane."""
    n = n_p + n_q
    x = rng.normal(size=(n, 2)) + 3 * rng.integers(2, size=(n, 1))
    return {"p": x[:n_p], "q": x[n_p:]}


def classes(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """A binary target that depends on one of two inputs."""
    x = rng.normal(size=(n_p + n_q, 2))
    y = (x[:, 0] + rng.logistic(size=len(x)) > 0).astype(int)
    y[:2] = 0, 1  # both classes are always there; rows are exchangeable again once permuted
    rows = rng.permutation(len(x))
    x, y = x[rows], y[rows]
    return {"p": (x[:n_p], y[:n_p]), "q": (x[n_p:], y[n_p:])}


def numbers(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """A numeric target with heavy-tailed noise."""
    x = rng.normal(size=(n_p + n_q, 2))
    y = x[:, 0] + rng.standard_t(3, size=len(x))
    return {"p": (x[:n_p], y[:n_p]), "q": (x[n_p:], y[n_p:])}


def wide(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """More columns than rows."""
    x = rng.normal(size=(n_p + n_q, 80))
    y = x[:, 0] + rng.normal(size=len(x))
    return {"p": (x[:n_p], y[:n_p]), "q": (x[n_p:], y[n_p:])}


def table(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """A pandas table with text, missing cells and a text target."""
    import pandas as pd

    drawn = classes(n_p, n_q, rng)
    x = np.concatenate([drawn["p"][0], drawn["q"][0]])
    y = np.concatenate([drawn["p"][1], drawn["q"][1]])
    frame = pd.DataFrame(
        {
            "amount": np.where(rng.random(len(x)) < 0.1, np.nan, x[:, 0]),
            "region": rng.choice(["north", "south", "west"], size=len(x)),
            "paid": np.where(y == 1, "yes", "no"),
        }
    )
    return {"p": frame[:n_p], "q": frame[n_p:], "target": "paid"}


def grouped(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """Groups of one to five rows that share a strong effect; the samples hold whole groups."""
    sizes = rng.integers(1, 6, size=(n_p + n_q) // 2)
    group = np.repeat(np.arange(len(sizes)), sizes)
    effect = rng.normal(size=len(sizes))[group]
    x = rng.normal(size=(len(group), 1))
    y = x[:, 0] + 3 * effect + 0.3 * rng.normal(size=len(group))
    side = group < len(sizes) * n_p // (n_p + n_q)
    sides = {"p": (x[side], y[side]), "q": (x[~side], y[~side])}
    return {**sides, "groups": (group[side], group[~side])}


def paired(n_p: int, n_q: int, rng: np.random.Generator) -> dict[str, Any]:
    """Matched rows: each stratum has an effect of its own and one row in each sample."""
    n = (n_p + n_q) // 2
    effect = 5 * rng.normal(size=n)
    x = rng.normal(size=(2, n, 1))
    y = x[..., 0] + effect + rng.normal(size=(2, n))
    return {"p": (x[0], y[0]), "q": (x[1], y[1]), "strata": (np.arange(n), np.arange(n))}


# --- cells ----------------------------------------------------------------------------------------


def pipeline() -> Any:
    """A user's pipeline that picks columns by name."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    columns = ColumnTransformer(
        [("fill", SimpleImputer(), ["amount"]), ("encode", OneHotEncoder(), ["region"])]
    )
    return Pipeline([("columns", columns), ("logistic", LogisticRegression())])


@dataclass(frozen=True)
class Cell:
    """One test on one kind of null data."""

    name: str
    draw: Callable[[int, int, np.random.Generator], dict[str, Any]]
    build: Callable[[], Any]
    draws: int = 5000
    resamples: int | None = None

    def resamples_at(self, sizes: tuple[int, int]) -> int:
        """Permutations of each test: a number that fits the sizes, or the cell's own."""
        return RESAMPLES[sizes] if self.resamples is None else self.resamples


CELLS = (
    Cell("r-div kde", density, lambda: RDivergence(KernelDensity())),
    Cell("r-div gmm", density, lambda: RDivergence(GaussianMixture())),
    Cell("r-div logistic", classes, lambda: RDivergence(Logistic())),
    Cell("r-div ridge", numbers, lambda: RDivergence(Ridge())),
    Cell("r-div ridge, plain gap", numbers, lambda: RDivergence(Ridge(), studentize=False)),
    Cell("r-div boosting", classes, lambda: RDivergence(Boosting()), 2000),
    Cell("r-div boosting, 5 folds", classes, lambda: RDivergence(CrossFit(Boosting(), 5)), 500),
    Cell("r-div a user's pipeline", table, lambda: RDivergence(as_model(pipeline()))),
    Cell("r-div ridge, groups", grouped, lambda: RDivergence(Ridge())),
    Cell("r-div ridge, strata", paired, lambda: RDivergence(Ridge())),
    Cell("r-div order-sensitive model", density, lambda: RDivergence(LastRows())),
    Cell("score gmm", density, lambda: Score(GaussianMixture(2)), resamples=99),
    Cell("score logistic", classes, lambda: Score(Logistic()), resamples=99),
    Cell("score ridge", numbers, lambda: Score(Ridge()), resamples=99),
    Cell("score ridge, whitened part", numbers, lambda: Score(Ridge(), "ridge"), resamples=99),
    Cell("score ridge, fourth powers", numbers, lambda: Score(Ridge(), "l4"), resamples=99),
    Cell("score ridge, 81 columns", wide, lambda: Score(Ridge()), resamples=99),
    Cell("score ridge, groups", grouped, lambda: Score(Ridge()), 2000, resamples=99),
    Cell("omnibus gmm", density, lambda: Omnibus(GaussianMixture(2)), resamples=99),
    Cell("omnibus logistic, 5 folds", classes, lambda: Omnibus(CrossFit(Logistic(), 5)), 2000, 99),
    Cell("omnibus ridge", numbers, lambda: Omnibus(Ridge()), resamples=99),
    Cell("h-div kde", density, lambda: HDivergence(KernelDensity())),
    Cell("h-div kde, largest gain", density, lambda: HDivergence(KernelDensity(), phi="max")),
    Cell("cross-risk kde", density, lambda: CrossRisk(KernelDensity())),
    Cell("l-div, two hypotheses", numbers, lambda: LDivergence(hypotheses=(Ridge(), Ridge(9.0)))),
    Cell("ks-loss, area between", numbers, lambda: LossDistribution(Ridge(), "wasserstein")),
    Cell("mmd-o", density, GaussianMmd),
    Cell("energy", density, Energy),
)

SIZES = ((20, 30), (25, 25))
RESAMPLES = {(20, 30): 19, (25, 25): 39}


def null_pvalues(
    cell: Cell, sizes: tuple[int, int], draws: range, *, fixed_seed: bool
) -> NDArray[np.float64]:
    """p-values of a cell, one for each draw; tests have a seed of their own or all the same."""
    n_resamples = cell.resamples_at(sizes)
    pvalues = []
    with one_thread():
        for i in draws:
            given = cell.draw(*sizes, np.random.default_rng([20, i]))
            seed = 0 if fixed_seed else i
            result = two_sample_test(
                given.pop("p"), given.pop("q"), cell.build(), **given,
                n_resamples=n_resamples, alpha=0.1, rng=seed,
            )  # fmt: skip
            pvalues.append(result.pvalue)
    return np.array(pvalues)


# --- the check ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """Counts of one run and how surprising they are if the test is exact."""

    draws: int
    rejections: tuple[int, ...]  # at each of LEVELS
    surprises: tuple[float, ...]  # p-values: one per level, then the whole distribution

    @property
    def passed(self) -> bool:
        """Whether nothing is more surprising than `STRICTNESS` allows."""
        return min(self.surprises) > STRICTNESS


def check_pvalues(pvalues: NDArray[np.float64], n_resamples: int) -> Check:
    """Compare p-values with the uniform distribution on ``1/(B+1), ..., 1``.

    Two-sided binomial tests of the level, and a chi-square test over all cells; a p-value that
    lies in no cell (0, say) counts as impossible.
    """
    from scipy.stats import binomtest, chisquare

    rejections = tuple(int((pvalues <= level + 1e-12).sum()) for level in LEVELS)
    surprises = [
        float(binomtest(count, len(pvalues), level).pvalue)
        for count, level in zip(rejections, LEVELS, strict=True)
    ]
    cells = np.ceil(pvalues * (n_resamples + 1) - 1e-9).astype(int)
    if cells.min() < 1 or cells.max() > n_resamples + 1:
        return Check(len(pvalues), rejections, (*surprises, 0.0))
    counts = np.bincount(cells, minlength=n_resamples + 2)[1:]
    if len(pvalues) < 5 * len(counts):  # too few draws for that many cells
        counts = counts.reshape(-1, len(counts) // 5).sum(axis=1)
    return Check(len(pvalues), rejections, (*surprises, float(chisquare(counts).pvalue)))


# --- deliberately broken variants: each must fail the check ---------------------------------------


@dataclass(frozen=True, eq=False)
class LastRows:
    """A model that remembers the rows it saw last: harmless once the pool is shuffled."""

    remembered: NDArray[np.floating] | None = None

    def fit(self, pool: Pool, rng: np.random.Generator) -> LastRows:
        """Keep the last fifteen rows."""
        del rng
        return LastRows(pool.numbers()[-15:])

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Squared distance to the nearest row remembered."""
        assert self.remembered is not None
        differences = pool.numbers()[:, None] - self.remembered
        losses: NDArray[np.float64] = (differences**2).sum(axis=2).min(axis=1)
        return losses


@dataclass(frozen=True, eq=False)
class Peeking:
    """Ridge regression fitted to the rows of p alone: the mask has leaked."""

    is_p: NDArray[np.bool_]

    def fit(self, pool: Pool, rng: np.random.Generator) -> Any:
        """Fit to what only the labels can tell."""
        return Ridge().fit(pool.take(np.flatnonzero(self.is_p)), rng)


def leaked_mask(sizes: tuple[int, int], draws: range) -> NDArray[np.float64]:
    """p-values of a test whose model saw the labels."""
    pvalues = []
    for i in draws:
        pooled = pool_samples(**numbers(*sizes, np.random.default_rng([21, i])), rng=i)
        test = RDivergence(Peeking(pooled.is_p))
        result, _ = run_test(test, pooled, PermutationSettings(0.1, RESAMPLES[sizes]))
        pvalues.append(result.pvalue)
    return np.array(pvalues)


def file_order(sizes: tuple[int, int], draws: range) -> NDArray[np.float64]:
    """p-values when the pool stays in the order of the files, with an order-sensitive model."""
    pvalues = []
    for i in draws:
        pooled = pool_samples(**density(*sizes, np.random.default_rng([22, i])), rng=i)
        rows = np.lexsort((pooled.places, ~pooled.is_p))
        pooled = replace(pooled, pool=pooled.pool.take(rows), is_p=pooled.is_p[rows])
        settings = PermutationSettings(0.1, RESAMPLES[sizes])
        result, _ = run_test(RDivergence(LastRows()), pooled, settings)
        pvalues.append(result.pvalue)
    return np.array(pvalues)


def without_the_one(sizes: tuple[int, int], draws: range) -> NDArray[np.float64]:
    """p-values counted as ``#{null >= observed} / B``."""
    pvalues = []
    for i in draws:
        given = numbers(*sizes, np.random.default_rng([23, i]))
        test = RDivergence(Ridge())
        result = two_sample_test(
            **given, discrepancy=test, n_resamples=RESAMPLES[sizes], alpha=0.1, rng=i
        )
        pvalues.append(float((result.null_distribution >= result.ranked).mean()))
    return np.array(pvalues)


def groups_ignored(sizes: tuple[int, int], draws: range) -> NDArray[np.float64]:
    """p-values when rows of one group are exchanged one by one."""
    pvalues = []
    for i in draws:
        given = grouped(*sizes, np.random.default_rng([24, i]))
        del given["groups"]
        test = RDivergence(Ridge())
        result = two_sample_test(
            **given, discrepancy=test, n_resamples=RESAMPLES[sizes], alpha=0.1, rng=i
        )
        pvalues.append(result.pvalue)
    return np.array(pvalues)


BROKEN = {
    "the mask leaked to the fit": leaked_mask,
    "file order, order-sensitive model": file_order,
    "p-value without the +1": without_the_one,
    "groups ignored": groups_ignored,
}


# --- equal risks, unequal distributions -----------------------------------------------------------


def equal_risk_rejections(draws: range, *, studentize: bool, n_resamples: int = 99) -> int:
    """False alarms at .05 when mean losses agree and nothing else: sd 3 and 1, 50 + 400 rows."""
    from rdiv.inference.engine import permute
    from rdiv.inference.mean_gaps import mean_gap

    is_p = np.arange(450) < 50
    count = 0
    for i in draws:
        rng = np.random.default_rng([25, i])
        losses = rng.normal(size=450) * np.where(is_p, 3.0, 1.0)
        prepared = mean_gap(losses, studentize=studentize)
        count += (
            permute(prepared, is_p, PermutationSettings(n_resamples=n_resamples), rng=rng).pvalue
            <= 0.05
        )
    return count


@dataclass(frozen=True)
class GivenGradients:
    """A model whose gradients are the rows themselves."""

    held_out = True

    def fit(self, pool: Pool, rng: np.random.Generator) -> GivenGradients:
        """Nothing to fit."""
        del pool, rng
        return self

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """The first column."""
        return pool.matrix()[:, 0]

    def gradients(self, pool: Pool) -> NDArray[np.float64]:
        """The rows."""
        return pool.matrix()


def equal_gradient_rejections(
    draws: range, sizes: tuple[int, int], *, correlation: float = 0.0, studentize: bool = True
) -> int:
    """False alarms of score at .05 when mean gradients agree and nothing else, six columns.

    Standard deviations are 3 in p and 1 in q or, with a correlation, that of the first two columns
    has one sign in p and the other in q.
    """
    from rdiv.inference.engine import permute

    n_p, n_q = sizes
    is_p = np.arange(n_p + n_q) < n_p
    count = 0
    for i in draws:
        rng = np.random.default_rng([26, i])
        x = rng.normal(size=(n_p + n_q, 6))
        if correlation:
            signed = np.where(is_p, correlation, -correlation)
            x[:, 1] = signed * x[:, 0] + np.sqrt(1 - correlation**2) * x[:, 1]
        else:
            x[is_p] *= 3
        prepared = Score(GivenGradients(), studentize=studentize).prepare(Pool(x), rng)
        count += (
            permute(prepared, is_p, PermutationSettings(n_resamples=99), rng=rng).pvalue <= 0.05
        )
    return count
