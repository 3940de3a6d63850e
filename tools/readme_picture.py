"""Draw the picture of the README: the three cases of `rdiv demo`.

python tools/readme_picture.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from rdiv import compare
from rdiv.cli.demo import MODEL, digit_cases
from rdiv.pictures import svg_text

TARGET = Path(__file__).resolve().parents[1] / "docs" / "assets" / "demo.svg"


def main(arguments: list[str] | None = None) -> int:
    """Write the picture, or with --check return 1 when the one that is there is stale."""
    given = sys.argv[1:] if arguments is None else arguments
    return write_or_check(picture(), TARGET, check="--check" in given)


def write_or_check(svg: str, target: Path, *, check: bool) -> int:
    """Write a picture, or return 1 when the one that is there says something else."""
    if not check:
        target.write_text(svg, encoding="utf-8")
    elif words(svg) != words(target.read_text(encoding="utf-8")):
        print(f"{target.name} is stale; run `make docs`.", file=sys.stderr)
        return 1
    return 0


def words(svg: str) -> list[str]:
    """The texts in a picture: what it says, however it is drawn."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def picture() -> str:
    """Compare the cases with seed 0 and draw the gaps with their intervals."""
    cases = digit_cases(0)
    found = [compare(case.reference, case.current, model=MODEL, rng=0) for case in cases]

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        for place, comparison in enumerate(found):
            assert comparison.gap_interval is not None
            assert comparison.input_test is not None
            low, high = comparison.gap_interval
            colour = "#b3261e" if comparison.shifted else "#33691e"
            axes.plot(
                [low, high], [place, place], color=colour, linewidth=3, solid_capstyle="round"
            )
            axes.plot(comparison.gap, place, "o", color=colour)
            inputs = "inputs moved" if comparison.input_test.rejected else "inputs: no move found"
            text = f"{comparison.verdict} (p = {comparison.results['r-div'].pvalue:.3f}); {inputs}"
            anchor = 0.09 if not comparison.shifted else low
            height = place if not comparison.shifted else place - 0.32
            axes.text(anchor, height, text, va="center", fontsize=9)
        axes.axvline(0, color="0.4", linewidth=1)
        axes.set_yticks(range(len(cases)), [case.name for case in cases])
        axes.set(
            ylim=(2.5, -0.5), xlabel="mean loss on current minus reference, 95 % interval (nats)"
        )
        axes.spines[["top", "right"]].set_visible(False)

    return svg_text(paint, (7.6, 2.5))


if __name__ == "__main__":
    sys.exit(main())
