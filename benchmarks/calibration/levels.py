"""How often any of several levels gets a verdict when nothing has moved, and what that needs.

    python benchmarks/calibration/levels.py --out docs/measured/calibration_levels.md

Five levels share one reference. The broken variant judges every level at the full alpha, as a loop
over files would; the same count must catch it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rdiv import compare, compare_many
from rdiv.threads import one_thread

Sample = tuple[NDArray[np.float64], NDArray[np.float64]]
ALPHA = 0.05
LEVELS = 5
SETTINGS: dict[str, Any] = {"model": "ridge", "folds": 2, "drivers": False, "n_resamples": 199}
SIZES = {"60 + 5 x 60": (60, 60), "300 + 5 x 40": (300, 40)}
HEAD = """# Many levels, no shift

<!-- Written by benchmarks/calibration/levels.py; do not edit. -->

Five levels against one reference, all rows from one distribution (`ridge`, two folds, 199
permutations): how often *any* level is given a verdict at alpha = .05, over {draws} draws. Holm
promises at most .05; so does Benjamini-Hochberg, since here every finding is false. A loop that
judges each level at .05 alarms far more often.

| rows | procedure | any false alarm | 95 % interval |
|---|---|---|---|"""


def draw(sizes: tuple[int, int], rng: np.random.Generator) -> tuple[Sample, dict[str, Sample]]:
    """A reference and levels from one distribution."""
    parts = []
    for n in (sizes[0], *[sizes[1]] * LEVELS):
        x = rng.normal(size=(n, 3))
        parts.append((x, x[:, 0] + rng.normal(size=n)))
    return parts[0], {f"level {k}": part for k, part in enumerate(parts[1:])}


def alarms(sizes: tuple[int, int], seed: int) -> dict[str, bool]:
    """Whether each procedure finds anything in one draw."""
    reference, levels = draw(sizes, np.random.default_rng([seed, *sizes]))
    found = {
        correction: compare_many(reference, levels, correction=correction, rng=seed, **SETTINGS)
        for correction in ("holm", "bh")
    }
    alone = [compare(reference, level, rng=seed, **SETTINGS).verdict for level in levels.values()]
    return {name: bool(one.shifted) for name, one in found.items()} | {
        "each alone (broken)": any(verdict != "no shift" for verdict in alone)
    }


def main() -> None:
    """Count and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=600)
    parser.add_argument("--out", type=Path, help="markdown page to write")
    args = parser.parse_args()
    lines = HEAD.format(draws=args.draws).split("\n")
    bad = []
    with one_thread():
        for name, sizes in SIZES.items():
            found = [alarms(sizes, seed) for seed in range(args.draws)]
            for procedure in found[0]:
                count = sum(one[procedure] for one in found)
                test = binomtest(count, args.draws, ALPHA, alternative="greater")
                low, high = binomtest(count, args.draws).proportion_ci(method="wilson")
                cells = (name, procedure, f"{count / args.draws:.3f}", f"{low:.3f} to {high:.3f}")
                lines.append("| " + " | ".join(cells) + " |")
                if (test.pvalue < 0.001) != ("broken" in procedure):
                    bad.append(f"{name}, {procedure}")
    command = "python benchmarks/calibration/levels.py --out docs/measured/calibration_levels.md"
    lines += ["", f"Command: `{command}`; seeds 0 to {args.draws - 1}."]
    print("\n".join(lines))
    if args.out:
        args.out.write_text("\n".join(lines) + "\n")
    if bad:
        raise SystemExit("not as it should be: " + "; ".join(bad))


if __name__ == "__main__":
    main()
