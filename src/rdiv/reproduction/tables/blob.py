"""Blob: the figure of power against points, at two levels."""

from __future__ import annotations

from dataclasses import replace

from rdiv.models import GaussianMixture, KernelDensity
from rdiv.reproduction.methods import (
    QUICK,
    density_refits,
    kernel_tests,
    learner_parts,
    model_tests,
    once,
)
from rdiv.reproduction.power_table import Part, PowerTable, Setting
from rdiv.reproduction.protocol import Printed
from rdiv.sources import Blob

__all__ = ["TABLE"]

CELL, LEVELS = "{n} rows a side, level {alpha}", (0.05, 0.01)
SOURCES = {"blob": Blob()}
TESTS = kernel_tests(KernelDensity())
GMM = GaussianMixture(components=10)
REPEATED = {name: TESTS[name] for name in ("R-Div", "H-Div", "H-Div (max)", "cross-risk")}
SIZES = (90, 180, 360, 540, 720, 900)


def _mixture(
    once_at: tuple[int, ...], refitted_at: tuple[int, ...], trials: tuple[int, int], seconds: float
) -> tuple[Part, Part]:
    """The ten components of the published script: one fit, and both sides fitted again."""
    fit = once(
        model_tests(GMM), SOURCES, once_at, trials[0], seconds / 100, name="gmm-one-fit",
        cell=CELL, alphas=LEVELS,
    )  # fmt: skip
    again = {"tests": density_refits(GMM), "sizes": refitted_at, "trials": trials[1]}
    return fit, replace(fit, name="gmm-refits", seconds=seconds, **again)


def _repeats(sizes: tuple[int, ...], trials: int, repeats: int, seconds: float) -> Part:
    """Powers measured again and again, for their spread."""
    part = once(REPEATED, SOURCES, sizes, trials, seconds, name="repeats", cell=CELL, alphas=LEVELS)
    return replace(part, repeats=repeats)


TABLE = PowerTable(
    name="blob",
    about="Blob: power against the number of points, at two levels",
    where="Figure on Blob in the paper's appendix (its text has no numbers for it): R-Div is said "
    "to have the best power, the same as the next method with a lower variance, at both levels.",
    paper=Printed(),
    scales={
        "smoke": Setting(
            "one size, 3 trials.",
            (
                once(TESTS, SOURCES, (45,), 3, 0.1, cell=CELL, alphas=LEVELS),
                *_mixture((45,), (45,), (2, 1), 2.0),
                _repeats((45,), 1, 2, 0.1),
                *learner_parts(SOURCES, (45,), 1, 1, 2.0, QUICK, cell=CELL, alphas=LEVELS),
            ),
        ),
        "laptop": Setting(
            "100 trials for tests that fit once, 40 for those that learn, the latter at 360 points "
            "only; 99 permutations.",
            (
                once(TESTS, SOURCES, (45, 90, 180, 360), 100, 0.2, cell=CELL, alphas=LEVELS),
                *_mixture((45, 90, 180, 360), (180,), (100, 40), 3.0),
                _repeats((90, 180), 100, 10, 0.1),
                *learner_parts(SOURCES, (360,), 40, 4, 3.5, cell=CELL, alphas=LEVELS),
            ),
        ),
        "paper": Setting(
            "90 to 900 points, K = 100, Z = 100; ten trainings where a test learns on its own "
            "draw. The figure does not say which sizes lie between; these were chosen.",
            (
                once(TESTS, SOURCES, SIZES, 100, 1.0, cell=CELL, alphas=LEVELS),
                *_mixture(SIZES, SIZES, (100, 100), 6.0),
                _repeats(SIZES, 100, 10, 1.0),
                *learner_parts(SOURCES, SIZES, 100, 10, 6.0, cell=CELL, alphas=LEVELS),
            ),
        ),
    },
    remarks=(
        "The published script for Blob does not compute R-Div: it fits three models and sums how "
        "much each sample costs under the model of the other. That statistic is `cross-risk` here.",
        "Under one kernel density of both samples, round and stretched clusters have similar mean "
        "losses. Tests that let each sample have a model of its own (H-Div, cross-risk), or ask in "
        "which direction the model would move (score), look at the difference itself.",
    ),
)
