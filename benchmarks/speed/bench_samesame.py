"""One number per row against the samesame package: 2000 rows per side, 999 permutations.

    python benchmarks/speed/bench_samesame.py

samesame (PyPI) needs Python 3.12; without it only our time is printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.speed.timing import ratio, show, take_turns

from rdiv.inference.engine import PermutationSettings, permute
from rdiv.inference.mean_gaps import mean_gap


def main() -> None:
    """Print our time and, where samesame is installed, the ratio."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    scores = np.random.default_rng(0).normal(size=4000)
    is_p = np.arange(4000) < 2000

    def ours() -> None:
        permute(
            mean_gap(scores),
            is_p,
            PermutationSettings(n_resamples=999),
            rng=np.random.default_rng(0),
        )

    ours()  # load what is loaded once
    functions: dict[str, Callable[[], object]] = {"rdiv": ours}
    if find_spec("samesame") is not None:
        functions["samesame"] = lambda: run_samesame(scores, is_p)
    print("one score per row, 2000 rows per side, 999 permutations, best of 3", flush=True)
    times = take_turns(functions, 3)
    for name, seconds in times.items():
        show(name, seconds)
    if "samesame" in times:
        ratio("samesame / rdiv", times["samesame"], times["rdiv"], ">= 100")
    else:
        print("  samesame: skipped, not installed (it needs Python 3.12)")


def run_samesame(scores: NDArray[np.float64], is_p: NDArray[np.bool_]) -> None:
    """Its broad test on given scores: the permutation distribution of the AUC."""
    from samesame import test_shift

    test_shift(scores[is_p], scores[~is_p], n_resamples=999, rng=0)


if __name__ == "__main__":
    main()
