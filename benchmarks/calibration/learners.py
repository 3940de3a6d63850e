"""Null draws for tests that learn, and the same tests with a mistake that must be caught.

    python benchmarks/calibration/learners.py --out docs/measured/calibration_learners.md

A learner is exact given its training half. So every cell trains once, on samples that differ, and
then draws the half that is tested anew, thousands of times, all of one distribution.
`benchmarks/calibration/one_fit.py` holds the tests that do not learn.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.checks import LEVELS, RESAMPLES, SIZES, Check, check_pvalues, density
from benchmarks.calibration.counting import Counts, write_page

from rdiv.discrepancies import (
    AccuracyC2st,
    DeepMmd,
    GaussianMmd,
    LDivergence,
    LogitC2st,
    MeanEmbedding,
    SmoothCharacteristicFunction,
)
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.mean_gaps import mean_gap
from rdiv.models.networks.default_networks import BoundedNetwork, NetworkClassifier
from rdiv.models.networks.training import Training
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.two_sample import prepare

PART = 100
FEW = Training(epochs=10, batch_size=None, learning_rate=5e-3)


# --- cells ----------------------------------------------------------------------------------------


def logistic() -> Any:
    """A classifier of scikit-learn."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def wave(k: int) -> Callable[[Pool], NDArray[np.float64]]:
    """A hypothesis with a loss that oscillates in the first column."""
    return lambda pool: np.cos(k * pool.matrix()[:, 0] + k)


@dataclass(frozen=True)
class LearnerCell:
    """One test that learns, and how many draws show that testing its training rows is wrong."""

    name: str
    build: Callable[[], Any]
    ties: bool = False  # then only the upper bound applies
    draws: int = 2000
    broken_draws: int = 100


CELLS = (
    LearnerCell("c2st-s logistic", lambda: AccuracyC2st(logistic()), ties=True, broken_draws=400),
    LearnerCell("c2st-l logistic", lambda: LogitC2st(logistic()), broken_draws=400),
    LearnerCell("c2st-l network", lambda: LogitC2st(NetworkClassifier(training=FEW))),
    LearnerCell("l-div network", lambda: LDivergence(BoundedNetwork(training=FEW), ascent=FEW)),
    LearnerCell("mmd-d", lambda: DeepMmd(training=FEW)),
    LearnerCell("me", MeanEmbedding),
    LearnerCell("scf", SmoothCharacteristicFunction),
    LearnerCell('mmd-o, bandwidth "power"', lambda: GaussianMmd("power"), broken_draws=1000),
)


@cache
def learned(cell: LearnerCell, sizes: tuple[int, int]) -> Any:
    """What the test of a cell learns from two samples that differ."""
    rng = np.random.default_rng(26)
    x = rows(sizes, rng)
    x[: sizes[0]] *= 1.5
    return cell.build().learn(Pool(x), mask(sizes), rng)


def rows(sizes: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
    """Rows of one distribution: two clusters in the plane."""
    drawn = density(*sizes, rng)
    return np.concatenate([drawn["p"], drawn["q"]])


def mask(sizes: tuple[int, int]) -> NDArray[np.bool_]:
    """Which rows count as p: any fixed ones, as all come from one distribution."""
    return np.arange(sum(sizes)) < sizes[0]


def null_pvalues(
    cell: LearnerCell, sizes: tuple[int, int], draws: range, *, same_rows: bool = False
) -> NDArray[np.float64]:
    """p-values of a cell, one for each draw of the half that is tested.

    With `same_rows` the test learns on the very rows that it is tested on: the broken variant.
    """
    with one_thread():
        return np.array([_pvalue(cell, sizes, i, same_rows) for i in draws])


def _pvalue(cell: LearnerCell, sizes: tuple[int, int], i: int, same_rows: bool) -> float:
    rng = np.random.default_rng([27, i])
    pool, is_p = Pool(rows(sizes, rng)), mask(sizes)
    test = cell.build().learn(pool, is_p, rng) if same_rows else learned(cell, sizes)
    prepared = prepare(test, pool, rng)
    return permute(
        prepared, is_p, PermutationSettings(n_resamples=RESAMPLES[sizes]), rng=rng
    ).pvalue


def check(cell: LearnerCell, pvalues: NDArray[np.float64], n_resamples: int) -> Check:
    """The check that suits a cell."""
    return (check_upper if cell.ties else check_pvalues)(pvalues, n_resamples)


def check_upper(pvalues: NDArray[np.float64], n_resamples: int) -> Check:
    """Whether p-values are nowhere too small: ties make a test conservative, which is no mistake.

    One-sided binomial tests of the level, and of all levels ``1/(B+1), ..., B/(B+1)`` together.
    """
    from scipy.stats import binomtest

    def surprise(level: float) -> tuple[int, float]:
        count = int((pvalues <= level + 1e-12).sum())
        return count, float(binomtest(count, len(pvalues), level, alternative="greater").pvalue)

    counts, surprises = zip(*(surprise(level) for level in LEVELS), strict=True)
    grid = np.arange(1, n_resamples + 1) / (n_resamples + 1)
    everywhere = min(1.0, n_resamples * min(surprise(float(level))[1] for level in grid))
    return Check(len(pvalues), counts, (*surprises, everywhere))


# --- a finite list learns nothing, and other mistakes ---------------------------------------------


def finite_list(
    sizes: tuple[int, int], draws: range, *, chosen_once: bool = False
) -> NDArray[np.float64]:
    """p-values of l-div with a finite list, which is exact on all rows, without a split.

    With `chosen_once` the hypothesis that is best for the observed split serves every split.
    """
    hypotheses, pvalues = [wave(k) for k in range(1, 7)], []
    for i in draws:
        rng = np.random.default_rng([28, i])
        pool, is_p = Pool(rows(sizes, rng)), mask(sizes)
        used = hypotheses
        if chosen_once:
            gaps = [abs(h(pool)[is_p].mean() - h(pool)[~is_p].mean()) for h in hypotheses]
            used = [hypotheses[int(np.argmax(gaps))]]
        prepared = LDivergence(hypotheses=tuple(used)).prepare(pool, rng)
        pvalues.append(
            permute(
                prepared, is_p, PermutationSettings(n_resamples=RESAMPLES[sizes]), rng=rng
            ).pvalue
        )
    return np.array(pvalues)


def out_of_fold(sizes: tuple[int, int], draws: range) -> NDArray[np.float64]:
    """p-values when each row's log odds come from a classifier trained on the other folds.

    Labels are then permuted without new trainings. rdiv does not offer this.
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    pvalues = []
    for i in draws:
        rng = np.random.default_rng([29, i])
        x, is_p = rows(sizes, rng), mask(sizes)
        folds = StratifiedKFold(5, shuffle=True, random_state=i)
        odds = cross_val_predict(logistic(), x, is_p, cv=folds, method="decision_function")
        prepared = mean_gap(odds, studentize=False)
        pvalues.append(
            permute(
                prepared, is_p, PermutationSettings(n_resamples=RESAMPLES[sizes]), rng=rng
            ).pvalue
        )
    return np.array(pvalues)


# --- the tables -----------------------------------------------------------------------------------

LIST = "l-div, finite list"
HEAD = "| rows | draws | at 0.05 | at 0.10 | whole distribution p | verdict |"
INTRO = """\
# Calibration of tests that learn

<!-- Written by benchmarks/calibration/learners.py (make calibrate); do not edit. -->

Each was trained once, on samples that differ; then the half that is tested was drawn anew for
every draw, p and q from one distribution. The accuracy of `c2st-s` has ties, so only the upper
bound applies to it. The finite list of `l-div` needs no training and no half.
Command: `python benchmarks/calibration/learners.py --out docs/measured/calibration_learners.md`.\
"""


def page(counts: Counts) -> Iterator[str]:
    """The lines of the page: the cells, then their broken variants."""
    yield from INTRO.split("\n")
    yield from ("", f"| test {HEAD}", "|---|---|---|---|---|---|---|")
    for cell in CELLS:
        for sizes in SIZES:
            yield _line(counts, cell.name, sizes, cell.draws, partial(check, cell))
    for sizes in SIZES:
        yield _line(counts, LIST, sizes, 2000, check_pvalues)
    yield from ("", "## Learners broken on purpose", "")
    yield from (f"| mistake {HEAD}", "|---|---|---|---|---|---|---|")
    for cell in CELLS:
        how = "tested on its training rows"
        yield _line(counts, cell.name, SIZES[0], cell.broken_draws, partial(check, cell), how)
    yield _line(counts, LIST, SIZES[0], 400, check_pvalues, "supremum chosen once")
    yield _line(counts, "classifier scores", SIZES[0], 1000, check_pvalues, "out of fold")


def cell_pvalues(cell: dict[str, Any], draws: range) -> NDArray[np.float64]:
    """p-values of what is given by its name, as it is or with its mistake."""
    sizes, broken = tuple(cell["sizes"]), cell["mistake"] is not None
    if cell["test"] == LIST:
        return finite_list(sizes, draws, chosen_once=broken)
    if cell["test"] == "classifier scores":
        return out_of_fold(sizes, draws)
    named = next(one for one in CELLS if one.name == cell["test"])
    return null_pvalues(named, sizes, draws, same_rows=broken)


def _line(
    counts: Counts,
    name: str,
    sizes: tuple[int, int],
    draws: int,
    checks: Callable[[NDArray[np.float64], int], Check],
    mistake: str | None = None,
) -> str:
    key = {"test": name, "sizes": list(sizes), "mistake": mistake}
    broken = mistake is not None
    told = counts.level(
        cell_pvalues, key, draws, PART, lambda found: checks(found, RESAMPLES[sizes]), broken=broken
    )
    shown = name if mistake is None else f"{name}, {mistake}"
    return f"| {shown} | {sizes[0]} + {sizes[1]} | {told} |"


def main() -> None:
    """Count, and write the page."""
    write_page(page, __doc__, "calibration_learners")


if __name__ == "__main__":
    from benchmarks.calibration.learners import main as start  # where workers find it

    start()
