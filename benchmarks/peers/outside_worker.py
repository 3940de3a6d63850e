"""P-values of other packages' tests, in an environment of their own.

Each line of standard input is a JSON object with `test`, `p`, `q`, `b` (permutations) and `seed`;
each line of output one with `pvalue` and `seconds` of the processor. Imports nothing of rdiv.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from typing import Any

import numpy as np


def hyppo_dcorr(p: Any, q: Any, b: int, seed: int) -> float:
    """hyppo's k-sample test by distance correlation; fast from 20 rows on, else permuted."""
    from hyppo.ksample import KSample

    np.random.seed(seed)  # noqa: NPY002  hyppo draws from the global stream
    return float(KSample("Dcorr").test(p, q, reps=b, workers=1, auto=True)[1])


def alibi_learned_kernel(p: Any, q: Any, b: int, seed: int) -> float:
    """alibi-detect's learned kernel on two dense layers, with its default training."""
    import torch
    from alibi_detect.cd import LearnedKernelDrift
    from alibi_detect.utils.pytorch.kernels import DeepKernel

    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002  so does alibi-detect
    torch.set_num_threads(1)
    d = p.shape[1]
    spread = np.concatenate([p, q]).std(axis=0)
    p, q = (np.asarray(x / np.where(spread > 0, spread, 1), np.float32) for x in (p, q))
    layers = torch.nn.Sequential(torch.nn.Linear(d, 32), torch.nn.ReLU(), torch.nn.Linear(32, 16))
    detector = LearnedKernelDrift(
        p, DeepKernel(layers), backend="pytorch", n_permutations=b, epochs=30, verbose=0,
        device="cpu",
    )  # fmt: skip
    return float(detector.predict(q)["data"]["p_val"])


TESTS = {"hyppo Dcorr": hyppo_dcorr, "alibi-detect learned kernel": alibi_learned_kernel}


def main() -> None:
    """Answer line by line; what packages print goes to the error stream."""
    out = os.fdopen(os.dup(1), "w")
    with contextlib.redirect_stdout(sys.stderr):
        for line in sys.stdin:
            asked = json.loads(line)
            p, q = (np.array(asked[side], float) for side in ("p", "q"))
            start = time.process_time()
            found = TESTS[asked["test"]](p, q, asked["b"], asked["seed"])
            seconds = time.process_time() - start
            out.write(json.dumps({"pvalue": found, "seconds": seconds}) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
