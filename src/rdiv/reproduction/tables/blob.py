"""Blob: the figure of power against points, at two levels."""

from __future__ import annotations

from rdiv.models import KernelDensity
from rdiv.reproduction.methods import QUICK, kernel_tests, learner_parts, once
from rdiv.reproduction.power_table import PowerTable, Setting
from rdiv.reproduction.protocol import Printed
from rdiv.sources import Blob

__all__ = ["TABLE"]

CELL, LEVELS = "N = {n}, level {alpha}", (0.05, 0.01)
SOURCES = {"blob": Blob()}
TESTS = kernel_tests(KernelDensity())

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
                *learner_parts(SOURCES, (45,), 1, 1, 2.0, QUICK, cell=CELL, alphas=LEVELS),
            ),
        ),
        "laptop": Setting(
            "100 trials for tests that fit once, 40 for those that learn, the latter at 360 points "
            "only; 99 permutations.",
            (
                once(TESTS, SOURCES, (90, 180, 360), 100, 0.2, cell=CELL, alphas=LEVELS),
                *learner_parts(SOURCES, (360,), 40, 4, 3.5, cell=CELL, alphas=LEVELS),
            ),
        ),
        "paper": Setting(
            "90 to 900 points, K = 100, Z = 100; ten trainings where a test learns on its own "
            "draw. The figure does not say which sizes lie between; these were chosen.",
            (
                once(
                    TESTS,
                    SOURCES,
                    (90, 180, 360, 540, 720, 900),
                    100,
                    1.0,
                    cell=CELL,
                    alphas=LEVELS,
                ),
                *learner_parts(
                    SOURCES, (90, 180, 360, 540, 720, 900), 100, 10, 6.0, cell=CELL, alphas=LEVELS
                ),
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
