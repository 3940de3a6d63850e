"""Colored-MNIST: the row of powers against plain digits."""

from __future__ import annotations

from rdiv.models import Mlp, Training
from rdiv.reproduction.methods import QUICK, learner_parts, learners, network_parts
from rdiv.reproduction.parts import Setting
from rdiv.reproduction.power_table import PowerTable
from rdiv.reproduction.protocol import printed
from rdiv.sources import ColoredMnist

__all__ = ["TABLE"]

PAPER = printed("""
method  power
ME      0.383
SCF     0.204
C2ST-S  0.189
C2ST-L  0.217
MMD-O   0.311
MMD-D   0.631
H-Div   0.951
R-Div   1.000
""")
PLAIN = {"power": ColoredMnist()}
BOTH = {**PLAIN, "colour alone": ColoredMnist(p_colour="random")}
CELL = "{source}"

TABLE = PowerTable(
    name="colored-mnist",
    about="Colored-MNIST: a colour that goes with the label",
    where="Table on MNIST and Colored-MNIST in section 5.3 of the paper; two hidden layers of 128, "
    "Adam, level 0.05. No code was published for it.",
    counted="The paper does not state N. Our rows are counted a side.",
    differs="not compared: N not stated",
    paper=PAPER,
    scales={
        "smoke": Setting(
            "20 digits, 2 trials.",
            (
                *network_parts(Mlp(hidden=(8,), epochs=2), PLAIN, (20,), 2, 0.1, cell=CELL),
                *learner_parts(PLAIN, (20,), 1, 1, 2.0, QUICK, cell=CELL),
            ),
        ),
        "laptop": Setting(
            "100 digits a side; the paper's network, 10 epochs; 20 trials; H-Div with 19 "
            "permutations, trained afresh for each; tests that learn see the inputs only "
            "(networks: 20 epochs).",
            (
                *network_parts(Mlp(epochs=10), BOTH, (100,), 20, 0.2, cell=CELL),
                *learner_parts(PLAIN, (100,), 20, 2, 5.0, learners(Training(epochs=20)), cell=CELL),
            ),
        ),
        "paper": Setting(
            "1000 digits a side (chosen; the paper has no N), on the results page 500, too; "
            "K = 100, Z = 100.",
            (
                *network_parts(Mlp(), BOTH, (1000,), 100, 5.0, permutations=99, cell=CELL),
                *learner_parts(PLAIN, (1000,), 100, 10, 60.0, cell=CELL),
            ),
        ),
    },
    remarks=(
        "The form of Arjovsky et al. 2019: two channels of 14 x 14 pixels, the target is whether "
        "the digit is below 5, flipped in a quarter of the rows; in q the colour is the label, "
        "flipped in a tenth. p has both channels alike (`power`), so the inputs differ plainly; "
        "in `colour alone` p is coloured at random, so only the correlation with the label "
        "differs.",
        "A network with more weights than rows learns both samples by heart, flipped labels "
        "included, and its mean losses are alike; they differ where the colours of one sample "
        "mislead it (`colour alone`).",
        "Tests that look at the inputs can see the colour itself, which the paper's numbers for "
        "them (0.19 to 0.63) hardly show; the paper does not say how its colours were made.",
    ),
)
