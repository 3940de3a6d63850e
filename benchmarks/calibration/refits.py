"""Null draws for tests that refit and stop early, and the same tests with a mistake to be caught.

    python benchmarks/calibration/refits.py --out docs/measured/calibration_refits.md

A stopped p-value is not uniform on a grid, but its distribution is known: with at most ``h``
exceedances allowed, the test stops at draw ``l`` with probability ``h / (l (l + 1))`` and says
``h / l``; else each of ``1/(B+1), ..., h/(B+1)`` comes as often. So ``P(p <= a) = a`` at every
value ``a`` that p can take, alpha included, and the check is two-sided as for other tests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.checks import LEVELS, RESAMPLES, SIZES, Check, density, numbers
from benchmarks.calibration.counting import Counts, write_page

from rdiv.discrepancies import CrossRisk, HDivergence, Prepared
from rdiv.discrepancies.protocol import refit_seed
from rdiv.discrepancies.split_fits import RefitSplits, split_fits
from rdiv.inference.engine import PermutationSettings, allowed_exceedances, permute
from rdiv.models import GaussianMixture, Ridge
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.samples.pooling import pool_samples
from rdiv.two_sample import two_sample_test

ALPHA = 0.1
PART = 50

Draw = Callable[[int, int, np.random.Generator], dict[str, Any]]


@dataclass(frozen=True, eq=False)
class FewSteps:
    """Linear regression by a few gradient steps: a fit that has not ended and remembers its start.

    What a network with a small budget does, in a millisecond.
    """

    weights: NDArray[np.float64] | None = None

    task = "regression"

    def fit(self, pool: Pool, rng: np.random.Generator) -> FewSteps:
        """Three steps from zero."""
        del rng
        return self._after(pool, np.zeros(pool.matrix().shape[1]))

    def refit(self, pool: Pool, rng: np.random.Generator) -> FewSteps:
        """Three steps from here."""
        del rng
        assert self.weights is not None
        return self._after(pool, self.weights)

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Squared error of every row."""
        assert self.weights is not None
        losses: NDArray[np.float64] = (target(pool) - pool.matrix() @ self.weights) ** 2
        return losses

    def _after(self, pool: Pool, weights: NDArray[np.float64]) -> FewSteps:
        x = pool.matrix()
        for _ in range(3):
            weights = weights + 0.1 * x.T @ (target(pool) - x @ weights) / len(x)
        return FewSteps(weights)


def target(pool: Pool) -> NDArray[np.float64]:
    """The target of a regression."""
    assert pool.y is not None
    return pool.y


@dataclass(frozen=True)
class RefitCell:
    """One test that refits, on one kind of null data."""

    name: str
    draw: Draw
    build: Callable[[], Any]
    draws: int = 1000


CELLS = (
    RefitCell("h-div ridge", numbers, lambda: HDivergence(Ridge())),
    RefitCell("h-div ridge, max", numbers, lambda: HDivergence(Ridge(), "max")),
    RefitCell("cross-risk ridge", numbers, lambda: CrossRisk(Ridge())),
    RefitCell("h-div few gradient steps, warm", numbers, lambda: HDivergence(FewSteps())),
    RefitCell("h-div gmm, warm", density, lambda: HDivergence(GaussianMixture(2))),
    RefitCell("h-div gmm, cold", density, lambda: HDivergence(GaussianMixture(2), warm=False)),
)


def null_pvalues(cell: RefitCell, sizes: tuple[int, int], draws: range) -> NDArray[np.float64]:
    """p-values of a cell, one for each draw."""
    pvalues = []
    with one_thread():
        for i in draws:
            given = cell.draw(*sizes, np.random.default_rng([30, i]))
            result = two_sample_test(
                **given, discrepancy=cell.build(),
                n_resamples=RESAMPLES[sizes], alpha=ALPHA, rng=i,
            )  # fmt: skip
            pvalues.append(result.pvalue)
    return np.array(pvalues)


# --- the check ------------------------------------------------------------------------------------


def stopped_distribution(
    n_resamples: int, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The values that a sequential p-value takes, in rising order, and their probabilities."""
    h = allowed_exceedances(alpha, n_resamples)
    stops = np.arange(h, n_resamples + 1)
    finished = np.arange(1, h + 1) / (n_resamples + 1)
    values = np.concatenate([finished, (h / stops)[::-1]])
    chances = np.concatenate(
        [np.full(h, 1 / (n_resamples + 1)), (h / (stops * (stops + 1.0)))[::-1]]
    )
    return values, chances


def check_stopped(pvalues: NDArray[np.float64], n_resamples: int, alpha: float = ALPHA) -> Check:
    """Compare sequential p-values with the distribution they must have.

    Two-sided binomial tests of the level, and a chi-square test over all values; neighbouring
    values are put together until at least five draws are expected.
    """
    from scipy.stats import binomtest, chisquare

    rejections = tuple(int((pvalues <= level + 1e-12).sum()) for level in LEVELS)
    surprises = [
        float(binomtest(count, len(pvalues), level).pvalue)
        for count, level in zip(rejections, LEVELS, strict=True)
    ]
    values, chances = stopped_distribution(n_resamples, alpha)
    place = np.searchsorted(values, pvalues - 1e-9)
    if (np.abs(values[np.minimum(place, len(values) - 1)] - pvalues) > 1e-9).any():
        return Check(len(pvalues), rejections, (*surprises, 0.0))  # a value that cannot be
    counts = np.bincount(place, minlength=len(values))
    starts = _bins(len(pvalues) * chances)
    observed, expected = (np.add.reduceat(part, starts) for part in (counts, chances))
    surprise = chisquare(observed, expected * len(pvalues)).pvalue
    return Check(len(pvalues), rejections, (*surprises, float(surprise)))


def _bins(expected: NDArray[np.float64]) -> list[int]:
    """Where bins begin that hold at least five expected draws each."""
    starts, held = [0], 0.0
    for place, count in enumerate(expected):
        if held >= 5 and expected[place:].sum() >= 5:
            starts.append(place)
            held = 0.0
        held += count
    return starts


# --- deliberately broken variants: the observed split is fitted by another rule -------------------

Gain = Callable[[RefitSplits, NDArray[np.bool_]], float]


def gain(splits: RefitSplits, mask: NDArray[np.bool_]) -> float:
    """H-divergence of one split."""
    share = mask.mean()
    return splits.pooled_risk - float(splits.own_risks(mask[None])[0] @ [share, 1 - share])


def luckiest_of_three(splits: RefitSplits, mask: NDArray[np.bool_]) -> float:
    """The best of three random starts, as if someone had tried again until it looked right."""
    return max(gain(replace(splits, seed=splits.seed + i), mask) for i in range(3))


def from_its_own_sides(splits: RefitSplits, mask: NDArray[np.bool_]) -> float:
    """A start that saw the labels: each side trains on from fits to that side."""
    risks = []
    for side in (mask, ~mask):
        rows = splits.pool.take(np.flatnonzero(side))
        rng = np.random.default_rng(0)
        fitted = splits.fitted
        for _ in range(5):
            fitted = fitted.refit(rows, rng)  # type: ignore[attr-defined]
        risks.append(float(fitted.losses(rows).mean()))
    return splits.pooled_risk - float(np.dot(risks, [mask.mean(), 1 - mask.mean()]))


@dataclass(frozen=True)
class Mistake:
    """A test that treats the observed split in a way of its own."""

    draw: Draw
    test: HDivergence
    favour: Gain


BROKEN = {
    "the luckiest of three starts for the observed split": Mistake(
        density, HDivergence(GaussianMixture(4), warm=False), luckiest_of_three
    ),
    "an observed split that starts from fits to its own sides": Mistake(
        numbers, HDivergence(FewSteps()), from_its_own_sides
    ),
}


def broken_pvalues(name: str, sizes: tuple[int, int], draws: range) -> NDArray[np.float64]:
    """p-values of H-divergence when the observed split is fitted by a rule of its own."""
    with one_thread():
        return np.array([_broken(BROKEN[name], sizes, i) for i in draws])


def _broken(mistake: Mistake, sizes: tuple[int, int], i: int) -> float:
    pooled = pool_samples(**mistake.draw(*sizes, np.random.default_rng([31, i])), rng=i)
    test = mistake.test
    rng = pooled.stream("fit")
    fitted = test.model.fit(pooled.pool, rng)
    splits = split_fits(test.model, fitted, pooled.pool, refit_seed(rng), warm=test.warm)
    assert isinstance(splits, RefitSplits)

    def statistic(masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        rules = [mistake.favour if np.array_equal(mask, pooled.is_p) else gain for mask in masks]
        return np.array([rule(splits, mask) for rule, mask in zip(rules, masks, strict=True)])

    settings = PermutationSettings(ALPHA, RESAMPLES[sizes])
    prepared = Prepared(statistic, refits=True)
    return permute(prepared, pooled.is_p, settings, rng=pooled.stream("masks")).pvalue


# --- the table ------------------------------------------------------------------------------------


INTRO = """\
# Calibration of tests that refit

<!-- Written by benchmarks/calibration/refits.py (make calibrate); do not edit. -->

H-divergence and cross-risk of models that are fitted anew for every permutation, stopped early.
Columns as in [Calibration](calibration.md); the chi-square compares with the known distribution of
a stopped p-value. Tests broken on purpose must be caught by the same check.
Command: `python benchmarks/calibration/refits.py --out docs/measured/calibration_refits.md`.

| test | rows | draws | at 0.05 | at 0.10 | chi-square p | verdict |
|---|---|---|---|---|---|---|\
"""


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page: the cells, then the deliberately broken variants."""
    yield from INTRO.split("\n")
    for cell in CELLS:
        for sizes in SIZES:
            check = partial(check_stopped, n_resamples=RESAMPLES[sizes])
            key = {"cell": cell.name, "sizes": list(sizes)}
            told = counts.level(cell_pvalues, key, cell.draws, PART, check)
            yield f"| {cell.name} | {sizes[0]} + {sizes[1]} | {told} |"
    check = partial(check_stopped, n_resamples=RESAMPLES[SIZES[0]])
    for mistake in BROKEN:
        told = counts.level(mistaken_pvalues, {"broken": mistake}, 500, PART, check, broken=True)
        yield f"| *{mistake}* | {SIZES[0][0]} + {SIZES[0][1]} | {told} |"


def cell_pvalues(cell: dict[str, Any], draws: range) -> NDArray[np.float64]:
    """p-values of a cell that is given by its name."""
    named = next(one for one in CELLS if one.name == cell["cell"])
    return null_pvalues(named, tuple(cell["sizes"]), draws)


def mistaken_pvalues(cell: dict[str, Any], draws: range) -> NDArray[np.float64]:
    """p-values of a test with a mistake."""
    return broken_pvalues(cell["broken"], SIZES[0], draws)


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "calibration_refits")


if __name__ == "__main__":
    from benchmarks.calibration.refits import main as start  # where workers find it

    start()
