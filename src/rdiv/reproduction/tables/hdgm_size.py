"""HDGM: the figure of power against the number of rows."""

from __future__ import annotations

from rdiv.reproduction.benchmark_parts import learner_parts, once
from rdiv.reproduction.methods import QUICK
from rdiv.reproduction.power_table import PowerTable, Setting
from rdiv.reproduction.reported import Printed
from rdiv.reproduction.tables.hdgm_dimension import CELL, REMARKS, TESTS, WHERE, dimensions

__all__ = ["TABLE"]

TABLE = PowerTable(
    name="hdgm-size",
    title="HDGM: power against the number of rows, in ten dimensions",
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
            "that the table of dimensions has too); 99 relabellings.",
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
