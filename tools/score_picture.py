"""Draw the picture of the page on score: what the gradients of one fit see on HDGM.

python tools/score_picture.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.demo_picture import write_or_check

from rdiv.discrepancies import Score
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.mean_gaps import mean_gaps
from rdiv.models import GaussianMixture
from rdiv.pictures import svg_text
from rdiv.samples.pooling import pool_samples
from rdiv.sources.hdgm import Hdgm

TARGET = Path(__file__).resolve().parents[1] / "docs" / "assets" / "score.svg"
P, Q = "#1b6ca8", "#c2410c"


def main(arguments: list[str] | None = None) -> int:
    """Write the picture, or with --check return 1 when the one that is there is stale."""
    given = sys.argv[1:] if arguments is None else arguments
    return write_or_check(picture(), TARGET, check="--check" in given)


def picture() -> str:
    """One draw of HDGM, d = 10, 1000 rows per sample, seed 0."""
    p, q = Hdgm(d=10).draw(1000, np.random.default_rng(0))
    pooled = pool_samples(p, q, rng=0)
    fitted = GaussianMixture().fit(pooled.pool, pooled.stream("fit"))
    prepared = Score(GaussianMixture()).from_fit(fitted, pooled.pool)
    null = permute(
        prepared, pooled.is_p, PermutationSettings(n_resamples=999), rng=pooled.stream("masks")
    )
    assert prepared.gradients is not None
    t = mean_gaps(prepared.gradients, studentize=True)(pooled.is_p[None])[0]

    def paint(figure: Any) -> None:
        points, gaps, ranks = figure.subplots(1, 3)
        for sample, colour, name in ((p, P, "p"), (q, Q, "q")):
            points.plot(sample[:400, 0], sample[:400, 1], ".", ms=3, color=colour, label=name)
        points.legend(frameon=False)
        points.set(title="two of ten columns", xlabel="column 1", ylabel="column 2")
        gaps.vlines(np.arange(len(t)), 0, t, color="0.55", linewidth=1)
        far = np.argsort(-np.abs(t))[:2]
        gaps.plot(far, t[far], "o", ms=5, color=Q)
        gaps.axhline(0, color="0.3", linewidth=0.8)
        gaps.set(title="gaps of mean gradients", xlabel=f"{len(t)} parameters", ylabel="t")
        fourth = null.parts[:, 1]
        ranks.hist(np.log10(fourth[1:]), bins=40, color="0.75")
        ranks.axvline(np.log10(fourth[0]), color=Q)
        ranks.set(title="sum of t⁴, 999 permutations", xlabel="log10", ylabel="permutations")
        ranks.annotate("observed", (np.log10(fourth[0]), 10), color=Q, ha="right", rotation=90)

    nothing = {"Date": None, "Creator": None}
    return svg_text(paint, (9.6, 3.0), style={"font.size": 9}, metadata=nothing)


if __name__ == "__main__":
    sys.exit(main())
