"""PACS: the figure of power against the number of images, art against cartoon."""

from __future__ import annotations

from rdiv.models import AlexNet
from rdiv.reproduction.benchmark_parts import network_parts, once
from rdiv.reproduction.methods import model_tests
from rdiv.reproduction.power_table import PowerTable, Setting
from rdiv.reproduction.reported import Printed
from rdiv.reproduction.tables.pacs import REMARKS, SMALL, TINY, pairs

__all__ = ["TABLE"]

# H-Div trains two networks for each relabelling, so a laptop has it at the smallest size only.
_, H_DIV = network_parts(SMALL, pairs(32, "A+C"), (50,), 20, 1.0)

TABLE = PowerTable(
    name="pacs-size",
    title="PACS: art against cartoon, power against the number of images",
    where="Figure on PACS in the paper's appendix (its text has no numbers for it): the power of "
    "R-Div is said to rise with N and to be the best at every size.",
    paper=Printed(),
    scales={
        "smoke": Setting(
            "28 x 28 pixels, two sizes, 1 trial.",
            network_parts(TINY, pairs(28, "A+C"), (10, 12), 1, 0.3),
        ),
        "laptop": Setting(
            "N = 50, 150 and 500 images of 32 x 32 pixels; AlexNet an eighth as wide, 15 epochs; "
            "20 trials; H-Div with 19 relabellings, trained afresh for each, at N = 50 only (at "
            "N = 100 in the table of domains).",
            (
                once(model_tests(SMALL), pairs(32, "A+C"), (50, 150, 500), 20, 3.0),
                H_DIV,
            ),
        ),
        "paper": Setting(
            "N = 100 to 1000 (chosen; the text has none) images of 64 x 64 pixels, AlexNet of full "
            "size, K = 100, Z = 100.",
            network_parts(
                AlexNet(), pairs(64, "A+C"), (100, 200, 400, 700, 1000), 100, 800.0, relabellings=99
            ),
        ),
    },
    remarks=REMARKS,
)
