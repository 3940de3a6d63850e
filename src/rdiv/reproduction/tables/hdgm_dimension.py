"""HDGM: the figure of power against the dimension."""

from __future__ import annotations

from rdiv.models import KernelDensity
from rdiv.reproduction.benchmark_parts import learner_parts, once
from rdiv.reproduction.methods import QUICK, kernel_tests
from rdiv.reproduction.power_table import PowerTable, Setting
from rdiv.reproduction.reported import Printed
from rdiv.sources import Hdgm

__all__ = ["REMARKS", "TABLE", "TESTS", "WHERE", "dimensions"]

WHERE = (
    "Figure on HDGM in the paper's appendix (its text has no numbers for it): R-Div is said to be "
    "the best of all methods in every dimension and at every size."
)
TESTS = kernel_tests(KernelDensity())
CELL = "{source}, N = {n}"
REMARKS = (
    "The published script for HDGM does not compute R-Div but the sum that is called `cross-risk` "
    "here.",
    "In HDGM one correlation a cluster differs, +0.5 in one and -0.5 in the other. The mean loss "
    "of a density fitted to both samples hardly notices: the rows of q are as likely as those of "
    "p. The gradients of the same fit (score) have a coordinate for the correlation itself.",
)


def dimensions(*values: int) -> dict[str, Hdgm]:
    """Sources by their dimension."""
    return {f"d = {d}": Hdgm(d) for d in values}


TABLE = PowerTable(
    name="hdgm-dimension",
    title="HDGM: power against the dimension",
    where=WHERE,
    paper=Printed(),
    scales={
        "smoke": Setting(
            "two dimensions, 40 rows, 3 trials.",
            (
                once(TESTS, dimensions(3, 10), (40,), 3, 0.1, cell=CELL),
                *learner_parts(dimensions(10), (40,), 1, 1, 2.0, QUICK, cell=CELL),
            ),
        ),
        "laptop": Setting(
            "500 rows of each sample where the paper has 4000; 100 trials for tests that fit once, "
            "40 for those that learn, the latter in dimension 10 only; 99 relabellings.",
            (
                once(TESTS, dimensions(3, 10, 20), (500,), 100, 0.6, cell=CELL),
                *learner_parts(dimensions(10), (500,), 40, 4, 5.0, cell=CELL),
            ),
        ),
        "paper": Setting(
            "d = 3, 5, 10, 15, 20 at N = 4000, K = 100, Z = 100; ten trainings where a test learns "
            "on its own draw.",
            (
                once(TESTS, dimensions(3, 5, 10, 15, 20), (4000,), 100, 40.0, cell=CELL),
                *learner_parts(dimensions(3, 5, 10, 15, 20), (4000,), 100, 10, 30.0, cell=CELL),
            ),
        ),
    },
    remarks=REMARKS,
)
