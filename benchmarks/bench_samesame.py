"""One number per row against the samesame package: 2000 a side, 999 resamples.

    python benchmarks/bench_samesame.py

samesame (PyPI) needs Python 3.12; without it only our time is printed.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import best_of, report
from rdiv.inference.engine import permute
from rdiv.inference.mean_gaps import mean_gap


def main() -> None:
    """Print our time and, where samesame is installed, the ratio."""
    scores = np.random.default_rng(0).normal(size=4000)
    is_p = np.arange(4000) < 2000

    def ours() -> None:
        permute(mean_gap(scores), is_p, n_resamples=999, rng=np.random.default_rng(0))

    ours()
    mine = best_of(ours, 7)
    print(f"rdiv: {mine * 1e3:.1f} ms")
    if find_spec("samesame") is None:
        print("samesame: skipped, not installed (it needs Python 3.12)")
        return
    theirs = best_of(lambda: run_samesame(scores, is_p), 1)
    print(f"samesame: {theirs:.2f} s")
    report("samesame / rdiv", theirs / mine, ">= 100", theirs / mine >= 100)


def run_samesame(scores: np.ndarray, is_p: np.ndarray) -> None:
    """Its broad test on given scores: the permutation distribution of the AUC."""
    from samesame import test_shift

    test_shift(scores[is_p], scores[~is_p], n_resamples=999, rng=0)


if __name__ == "__main__":
    main()
