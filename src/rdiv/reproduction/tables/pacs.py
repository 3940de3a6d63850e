"""PACS: the table of pairs of domains, and the figure of power against the number of images."""

from __future__ import annotations

from rdiv.models import AlexNet, Training
from rdiv.reproduction.methods import model_tests, network_parts, once
from rdiv.reproduction.parts import Setting
from rdiv.reproduction.power_table import PowerTable
from rdiv.reproduction.protocol import Printed, printed
from rdiv.sources import Pacs

__all__ = ["BY_DOMAIN", "BY_SIZE", "REMARKS", "SMALL", "TINY", "pairs"]


PAPER = printed("""
Datasets  A+C          A+P          A+S          C+P          C+S          P+S          Ave.
H-Div     0.846±0.118  0.668±0.064  0.964±0.066  0.448±0.135  0.482±0.147  0.876±0.090  0.714
R-Div     1.000±0.000  1.000±0.000  1.000±0.000  0.527±0.097  0.589±0.160  0.980±0.040  0.849
""")
DOMAINS = {"A": "art_painting", "C": "cartoon", "P": "photo", "S": "sketch"}
SMALL = AlexNet(width=8, training=Training(epochs=15, batch_size=32))
TINY = AlexNet(width=8, epochs=1)
CELL, BY_ROWS = "{source}", "{n} rows a side"
REMARKS = (
    "Under the null both samples come from the first domain of the pair.",
    "A network trained on both domains at once learns both, and its mean losses differ only as far "
    "as one domain is harder than the other; that the domains look different is for the gradients "
    "(score) to see. Which pairs are easy for R-Div therefore depends on the network, on how long "
    "it is trained and on N, and need not be those of the paper: two domains that a small network "
    "finds equally hard leave it nothing to see.",
)


def pairs(size: int, *names: str) -> dict[str, Pacs]:
    """Sources by the letters of their domains."""
    letters = {name: name.split("+") for name in names}
    return {name: Pacs(DOMAINS[p], DOMAINS[q], size=size) for name, (p, q) in letters.items()}


BY_DOMAIN = PowerTable(
    name="pacs",
    about="PACS: six pairs of domains",
    where="Table on PACS in section 5.3 of the paper; AlexNet, level 0.05. No code was published "
    "for it.",
    counted="The paper does not state N. Our rows are counted a side.",
    differs="not compared: N not stated",
    paper=PAPER,
    scales={
        "smoke": Setting(
            "28 x 28 pixels, 12 images, 1 trial.",
            network_parts(TINY, pairs(28, "A+C", "P+S"), (12,), 1, 0.3, cell=CELL),
        ),
        "laptop": Setting(
            "100 images a side of 32 x 32 pixels; AlexNet an eighth as wide, 15 epochs; 20 trials; "
            "H-Div with 19 permutations, trained afresh for each, in two of the six pairs, and "
            "R-Div with as many there.",
            network_parts(
                SMALL, pairs(32, *PAPER.cells), (100,), 20, 2.0,
                refitted=pairs(32, "A+C", "P+S"), cell=CELL,
            ),
        ),
        "paper": Setting(
            "500 images a side (chosen; the paper has no N) of 64 x 64 pixels, AlexNet of full "
            "size, K = 100, Z = 100. The parts `narrow` are what a laptop can do in a day: 250 "
            "images a side (N = 500) of 32 x 32 pixels, AlexNet an eighth as wide, 15 epochs; "
            "R-Div and H-Div with 39 permutations beside each other in two of the six pairs.",
            (
                *network_parts(
                    AlexNet(), pairs(64, *PAPER.cells), (500,), 100, 800.0, permutations=99,
                    cell=CELL,
                ),
                *network_parts(
                    SMALL, pairs(32, *PAPER.cells), (250,), 100, 5.0, permutations=39,
                    name="narrow", refitted=pairs(32, "A+C", "P+S"), cell=CELL,
                ),
            ),
        ),
    },
    remarks=REMARKS,
)  # fmt: skip


# H-Div trains two networks for each permutation, so a laptop has it at the smallest size only.
_, *H_DIV = network_parts(SMALL, pairs(32, "A+C"), (50,), 20, 1.0, cell=BY_ROWS)

BY_SIZE = PowerTable(
    name="pacs-size",
    about="PACS: art against cartoon, power against the number of images",
    where="Figure on PACS in the paper's appendix (its text has no numbers for it): the power of "
    "R-Div is said to rise with N and to be the best at every size. No code was published for it.",
    counted="The sizes are in the figure only. Our rows are counted a side.",
    paper=Printed(),
    scales={
        "smoke": Setting(
            "28 x 28 pixels, two sizes, 1 trial.",
            network_parts(TINY, pairs(28, "A+C"), (10, 12), 1, 0.3, cell=BY_ROWS),
        ),
        "laptop": Setting(
            "50, 150 and 500 images a side of 32 x 32 pixels; AlexNet an eighth as wide, 15 "
            "epochs; 20 trials; H-Div with 19 permutations, trained afresh for each, at 50 a side "
            "only (at 100 in the table of domains).",
            (
                once(model_tests(SMALL), pairs(32, "A+C"), (50, 150, 500), 20, 3.0, cell=BY_ROWS),
                *H_DIV,
            ),
        ),
        "paper": Setting(
            "100 to 1000 images a side (chosen; the text has none) of 64 x 64 pixels, AlexNet of "
            "full size, K = 100, Z = 100.",
            network_parts(
                AlexNet(),
                pairs(64, "A+C"),
                (100, 200, 400, 700, 1000),
                100,
                800.0,
                permutations=99,
                cell=BY_ROWS,
            ),
        ),
    },
    remarks=REMARKS,
)
