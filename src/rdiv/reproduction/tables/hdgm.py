"""HDGM: the figures of power against the dimension and against the number of rows."""

from __future__ import annotations

from rdiv.models import KernelDensity
from rdiv.reproduction.methods import QUICK, kernel_tests, learner_parts, once
from rdiv.reproduction.power_table import PowerTable, Setting
from rdiv.reproduction.protocol import Printed
from rdiv.sources import Hdgm

__all__ = ["BY_DIMENSION", "BY_SIZE", "REMARKS", "TESTS", "WHERE", "dimensions"]


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


BY_DIMENSION = PowerTable(
    name="hdgm-dimension",
    about="HDGM: power against the dimension",
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
            "40 for those that learn, the latter in dimension 10 only; 99 permutations.",
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


BY_SIZE = PowerTable(
    name="hdgm-size",
    about="HDGM: power against the number of rows, in ten dimensions",
    where=WHERE,
    paper=Printed(),
    scales={
        "smoke": Setting(
            "two sizes, 3 trials.",
            (
                once(TESTS, dimensions(10), (30, 40), 3, 0.1, cell=CELL),
                *learner_parts(dimensions(10), (40,), 1, 1, 2.0, QUICK, cell=CELL),
            ),
        ),
        "laptop": Setting(
            "500 and 1000 rows of each sample where the paper has 1000 to 5000; 100 trials for "
            "tests that fit once, 40 for those that learn, the latter at 500 rows only (the cell "
            "that the table of dimensions has too); 99 permutations.",
            (
                once(TESTS, dimensions(10), (500, 1000), 100, 1.2, cell=CELL),
                *learner_parts(dimensions(10), (500,), 40, 4, 5.0, cell=CELL),
            ),
        ),
        "paper": Setting(
            "N = 1000 to 5000 at d = 10, K = 100, Z = 100; ten trainings where a test learns on "
            "its own draw.",
            (
                once(TESTS, dimensions(10), (1000, 2000, 3000, 4000, 5000), 100, 30.0, cell=CELL),
                *learner_parts(
                    dimensions(10), (1000, 2000, 3000, 4000, 5000), 100, 10, 25.0, cell=CELL
                ),
            ),
        ),
    },
    remarks=REMARKS,
)
