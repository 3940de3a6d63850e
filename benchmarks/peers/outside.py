"""Tests of other packages, each in a virtual environment of its own, with its own p-value.

    rdiv leaderboard --method benchmarks.peers.outside:HyppoDcorr
    rdiv leaderboard --method benchmarks.peers.outside:AlibiLearnedKernel

The environments are made on first use by `benchmarks/peers/run.py`, in the same cache folder. A
package that cannot be installed here is an error that says so: leave its test out.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from benchmarks.peers.run import THREADS, environment
from numpy.typing import NDArray

from rdiv.errors import InputError

CACHE = Path(os.environ.get("RDIV_PEERS", Path(tempfile.gettempdir()) / "rdiv-peers"))
WORKER = Path(__file__).with_name("outside_worker.py")


@dataclass(frozen=True)
class _Outside:
    """A test that runs in a worker process; `needs` is what its environment installs."""

    name = ""
    needs: tuple[str, ...] = ()

    def pvalue(
        self, p: NDArray[np.float64], q: NDArray[np.float64], n_resamples: int, seed: int
    ) -> tuple[float, float]:
        """The p-value of two samples, and the processor seconds of the worker."""
        asked = {"test": self.name, "p": p.tolist(), "q": q.tolist(), "b": n_resamples,
                 "seed": seed}  # fmt: skip
        process = _worker(self.name.split()[0], self.needs)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
        except (BrokenPipeError, ValueError) as error:
            raise InputError(f"the worker of {self.name} ended before it answered.") from error
        return float(answer["pvalue"]), float(answer["seconds"])


@dataclass(frozen=True)
class HyppoDcorr(_Outside):
    """Distance correlation of the rows with their sample, by hyppo's fast chi-square p-value."""

    name = "hyppo Dcorr"
    needs: tuple[str, ...] = ("hyppo",)


@dataclass(frozen=True)
class AlibiLearnedKernel(_Outside):
    """Alibi-detect's MMD with a learned kernel: trained on 3 in 4 rows, permuted on the others."""

    name = "alibi-detect learned kernel"
    learns = True
    needs: tuple[str, ...] = ("alibi-detect", "torch==2.13.0")


@lru_cache(maxsize=4)
def _worker(package: str, needs: tuple[str, ...]) -> subprocess.Popen[str]:
    """A process in the environment of a package; it answers line by line."""
    python = environment(package, needs, CACHE)
    if python is None:
        raise InputError(f"{package} cannot be installed here; leave its test out.")
    variables = {**os.environ, **dict.fromkeys(THREADS, "1")}
    process = subprocess.Popen(
        [str(python), str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=variables, text=True,
    )  # fmt: skip
    atexit.register(process.kill)
    return process
