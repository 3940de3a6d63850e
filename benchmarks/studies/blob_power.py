"""Power of every test on Blob: 9 clusters of 40 points a side on average, learners on one half.

python benchmarks/studies/blob_power.py --rows DIR --out docs/measured/blob_power.md
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rdiv import power_study
from rdiv.discrepancies import BY_NAME, GaussianMmd, HDivergence, MeanEmbedding
from rdiv.discrepancies import SmoothCharacteristicFunction as Scf
from rdiv.models import KernelDensity
from rdiv.sources import Blob

SEED, POINTS = 41, 9 * 40
VARIANTS = (
    HDivergence(KernelDensity(), "max"),
    "h-div:gmm",
    MeanEmbedding(optimize=False),
    Scf(optimize=False),
    GaussianMmd("power"),
)


def main() -> None:
    """Run the study and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=Path, help="folder that keeps finished trials")
    parser.add_argument("--out", type=Path, help="markdown page to write")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    study = power_study(
        Blob(), [*BY_NAME, *VARIANTS], sizes=POINTS, trials=args.trials, rng=SEED,
        n_jobs=args.jobs, out=args.rows,
    )  # fmt: skip
    table = study.table()
    lines = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    page = [
        "# Every test on Blob",
        "",
        "<!-- Written by benchmarks/studies/blob_power.py; do not edit. -->",
        "",
        f"Rejections at 0.05 of {args.trials} draws of Blob, {POINTS} points a side,",
        f"99 permutations, seed {SEED}, the same draws for all; tests that learn do so on one half",
        "of these points. Intervals are Wilson's at 95 %. Seconds are per test, one thread, on a",
        "machine that did other work too.",
        "",
        "| test | model | power | interval | seconds |",
        "|---|---|---|---|---|",
    ]
    for line in sorted(lines, key=lambda line: -line["rate"]):
        rates = f"{line['rate']:.2f} | {line['low']:.2f} to {line['high']:.2f}"
        test = f"`{line['discrepancy']}` | {line['model'] or ''}"
        page.append(f"| {test} | {rates} | {line['seconds']:.2f} |")
    print("\n".join(page))
    if args.out:
        args.out.write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
