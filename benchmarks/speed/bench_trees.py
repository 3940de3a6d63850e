"""Predictions of scikit-learn's histogram boosting: its own and those of compiled loops.

    python benchmarks/speed/bench_trees.py

Both predict the same rows in turn, in blocks of 65 536, with one thread; the bits are compared.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.speed.timing import ratio, report, show, take_turns

from rdiv.models.quick_trees import QuickTrees
from rdiv.parallel.threads import one_thread

ROWS = 1 << 16


def main() -> None:
    """Print the times of both and their ratio."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng(0)
    x = rng.normal(size=(200_000, 10))
    yes = x[:, 0] + 0.5 * x[:, 1] + rng.normal(size=len(x)) > 0
    with one_thread():
        fitted = HistGradientBoostingClassifier(early_stopping=False).fit(x, yes)
        quick = QuickTrees(fitted)
        for gaps in (False, True):
            rows = x[:ROWS].copy()
            if gaps:
                rows[rng.random(rows.shape) < 0.1] = np.nan
            same = np.array_equal(quick.predict_proba(rows), fitted.predict_proba(rows))
            print(f"100 trees, {ROWS} rows of 10 columns, {'a tenth' if gaps else 'none'} missing")
            times = take_turns(
                {
                    "scikit-learn": partial(fitted.predict_proba, rows),
                    "compiled": partial(quick.predict_proba, rows),
                },
                7,
            )
            for name, seconds in times.items():
                show(name, seconds)
            ratio("scikit-learn / compiled", times["scikit-learn"], times["compiled"], ">= 6")
            report("same bits", float(same), ">= 1")


if __name__ == "__main__":
    main()
