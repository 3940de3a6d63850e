"""Null draws for tests that learn, and the same tests with a mistake that must be caught.

    python benchmarks/calibration/learners.py

A learner is exact given its training half. So every cell trains once, on samples that differ, and
then draws the half that is tested anew, thousands of times, all of one distribution. A cell that
fails is run once more with new draws and four times as many, and that result stays.
`benchmarks/calibration/one_fit.py` holds the tests that do not learn.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.calibration.checks import LEVELS, RESAMPLES, SIZES, Check, check_pvalues, density

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

HEAD = "| rows | draws | at 0.05 | at 0.10 | whole distribution p | verdict |"
INTRO = """\
# Calibration of tests that learn

<!-- Written by benchmarks/calibration/learners.py (make calibrate); do not edit. -->

Each was trained once, on samples that differ; then the half that is tested was drawn anew for
every draw, p and q from one distribution. The accuracy of `c2st-s` has ties, so only the upper
bound applies to it. The finite list of `l-div` needs no training and no half.
Command: `python benchmarks/calibration/learners.py --out docs/measured/calibration_learners.md`.\
"""


def page(share: float = 1.0) -> Iterator[str]:
    """Lines of markdown: the cells, then their broken variants."""
    yield from INTRO.split("\n")
    yield from ("", f"| test {HEAD}", "|---|---|---|---|---|---|---|")
    for cell in CELLS:
        for sizes in SIZES:
            yield _cell_line(cell, sizes, max(100, round(cell.draws * share)))
    for sizes in SIZES:
        found = check_pvalues(finite_list(sizes, range(round(2000 * share))), RESAMPLES[sizes])
        yield _line("l-div, finite list", sizes, found, "holds" if found.passed else "FAILS")
    yield from ("", "## Learners broken on purpose", "")
    yield from (f"| mistake {HEAD}", "|---|---|---|---|---|---|---|")
    for name, found in broken_variants():
        yield _line(name, SIZES[0], found, "NOT CAUGHT" if found.passed else "caught")


def broken_variants() -> Iterator[tuple[str, Check]]:
    """Every mistake and what the check makes of it."""
    sizes = SIZES[0]
    for cell in CELLS:
        pvalues = null_pvalues(cell, sizes, range(cell.broken_draws), same_rows=True)
        yield f"{cell.name}, tested on its training rows", check(cell, pvalues, RESAMPLES[sizes])
    once = finite_list(sizes, range(400), chosen_once=True)
    yield "l-div, finite list, supremum chosen once", check_pvalues(once, RESAMPLES[sizes])
    scores = out_of_fold(sizes, range(1000))
    yield "classifier scores out of fold", check_pvalues(scores, RESAMPLES[sizes])


def _cell_line(cell: LearnerCell, sizes: tuple[int, int], draws: int) -> str:
    found = check(cell, null_pvalues(cell, sizes, range(draws)), RESAMPLES[sizes])
    verdict = "holds"
    if not found.passed:
        again = null_pvalues(cell, sizes, range(draws, 5 * draws))
        found = check(cell, again, RESAMPLES[sizes])
        verdict = "holds (second run)" if found.passed else "FAILS"
    return _line(cell.name, sizes, found, verdict)


def _line(name: str, sizes: tuple[int, int], found: Check, verdict: str) -> str:
    rates = " | ".join(f"{count / found.draws:.4f}" for count in found.rejections)
    counts = f"{sizes[0]} + {sizes[1]} | {found.draws} | {rates} | {found.surprises[-1]:.3f}"
    return f"| {name} | {counts} | {verdict} |"


def main() -> None:
    """Print the tables, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, help="markdown page to write")
    parser.add_argument("--share", type=float, default=1.0, help="share of the full counts to run")
    args = parser.parse_args()
    lines = []
    for line in page(args.share):
        print(line, flush=True)
        lines.append(line)
    if args.out:
        args.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
