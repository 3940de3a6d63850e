"""Draw the picture of the quick start: the three cases of `rdiv demo`.

python tools/demo_picture.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from rdiv import Comparison, compare
from rdiv.cli.demo import MODEL, digit_cases
from rdiv.inference.intervals import Interval
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
    """Compare the cases with seed 0 and draw both gaps with their intervals."""
    cases = digit_cases(0)
    found = [compare(case.reference, case.current, model=MODEL, rng=0) for case in cases]

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        for place, comparison in enumerate(found):
            _draw(axes, place - 0.12, comparison.gap, comparison.gap_interval, "#b3261e", "in use")
            _draw(
                axes, place + 0.16, comparison.shared_gap, comparison.shared_gap_interval,
                "#1f5f99", "trained on both",
            )  # fmt: skip
            axes.text(0.02, place - 0.36, _finding(comparison), va="center", fontsize=9)
        axes.axvline(0, color="0.4", linewidth=1)
        axes.set_yticks(range(len(cases)), [case.name for case in cases])
        axes.set(
            ylim=(2.5, -0.6), xlim=(-0.12, 1.45),
            xlabel="mean loss on current minus reference, 95 % interval (nats)",
        )  # fmt: skip
        axes.spines[["top", "right"]].set_visible(False)

    return svg_text(paint, (7.6, 3.2))


def _draw(
    axes: Any, height: float, gap: float | None, interval: Interval | None, colour: str, model: str
) -> None:
    """One gap with its interval, and the model that it is of."""
    assert interval is not None
    low, high = interval
    axes.plot([low, high], [height, height], color=colour, linewidth=3, solid_capstyle="round")
    axes.plot(gap, height, "o", color=colour)
    axes.text(high + 0.03, height, model, va="center", fontsize=8, color=colour)


def _finding(found: Comparison) -> str:
    """The verdict and the finding of the inputs alone."""
    assert found.input_test is not None
    inputs = "inputs moved" if found.input_test.rejected else "inputs: no move found"
    direction = "" if found.direction is None else f", {found.direction}"
    return f"{found.verdict}{direction} (p = {found.pvalue:.3f}); {inputs}"


if __name__ == "__main__":
    sys.exit(main())
