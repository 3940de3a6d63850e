"""MMD-FUSE and MMDAgg, written from their papers as discrepancies of rdiv.

    rdiv leaderboard --method benchmarks.peers.aggregated_mmd:MmdFuse
    rdiv leaderboard --method benchmarks.peers.aggregated_mmd:MmdAgg

Biggs, Schrab and Gretton (2023), "MMD-FUSE: Learning and combining kernels for two-sample testing
without data splitting", and Schrab, Kim, Albert, Laurent, Guedj and Gretton (2023), "MMD aggregated
two-sample test". Both take all rows, choose their kernels without the labels, and are exact under
permutation. `benchmarks/studies/published_peers.py` holds them against published figures.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from rdiv.discrepancies.gram import unbiased_mmd
from rdiv.inference.combining import min_p
from rdiv.inference.prepared import Masks, Prepared
from rdiv.samples.pool import Pool, require_finite

Floats = NDArray[np.float64]

LARGE = 1000
"""Rows of a pool from which on kernels are in single precision."""


def kernels(x: Floats, bandwidths: int) -> Iterator[NDArray[np.floating[Any]]]:
    """Laplace and Gaussian kernel matrices, each with several bandwidths; 0 on the diagonal.

    Bandwidths are equally spaced between half the 5 % quantile and twice the 95 % quantile of the
    distances of the pool: in the sum of absolute differences for Laplace, Euclidean for Gauss.
    Large ones are in single precision, as all are in the packages of the authors.
    """
    kind = np.float32 if len(x) >= LARGE else np.float64
    for metric in ("cityblock", "euclidean"):
        distances = pdist(x, metric)
        widths = _widths(distances, bandwidths)
        apart = squareform(distances).astype(kind)
        for width in widths.astype(kind):
            gram = apart / width
            if metric == "cityblock":
                gram *= kind(-np.sqrt(2))
            else:
                gram *= gram
                gram *= kind(-0.5)
            np.exp(gram, out=gram)
            np.fill_diagonal(gram, 0.0)
            yield gram


class KernelMmds:
    """Unbiased MMDs of all kernels of a pool; what was asked once is remembered.

    Parameters
    ----------
    x : (n, d) array
    bandwidths : int

    Notes
    -----
    A constant that is taken from all pairs of different rows changes no MMD, but less is lost to
    single precision.
    """

    def __init__(self, x: Floats, bandwidths: int) -> None:
        found, roots = [], []
        for gram in kernels(x, bandwidths):
            n = len(gram)
            roots.append(float(np.sqrt(np.square(gram).sum(dtype=np.float64))) or 1.0)
            gram -= gram.sum(dtype=np.float64) / (n * (n - 1))
            found.append(unbiased_mmd(gram))  # sets the diagonal to 0 again
        self.mmds, self.roots = found, np.array(roots)
        """Roots of the sums of squares of every kernel, ``(k,)``."""
        self._known: dict[bytes, Floats] = {}

    def __call__(self, masks: Masks) -> Floats:
        """``(b, n) -> (b, k)``."""
        asked = hashlib.sha256(np.packbits(masks, axis=1).tobytes()).digest()
        if asked not in self._known:
            self._known[asked] = np.stack([mmd(masks) for mmd in self.mmds], axis=1)
        return self._known[asked]


_of_pools: WeakKeyDictionary[Pool, dict[int, KernelMmds]] = WeakKeyDictionary()


def mmds_of(pool: Pool, bandwidths: int, who: str) -> KernelMmds:
    """MMDs of a pool, the same for both tests: in a study each draw is computed once."""
    of_pool = _of_pools.setdefault(pool, {})
    if bandwidths not in of_pool:
        x = pool.matrix()
        require_finite(x, who=who)
        of_pool[bandwidths] = KernelMmds(x, bandwidths)
    return of_pool[bandwidths]


def _widths(distances: Floats, number: int) -> Floats:
    """Bandwidths from the distances of different rows; 1 if all rows are the same."""
    apart = np.where(distances == 0, np.median(distances), distances)
    low, high = np.quantile(apart, (0.05, 0.95), method="lower")
    low = low or apart.max(initial=0.0) or 1.0
    return np.linspace(low / 2, (high or low) * 2, number)


@dataclass(frozen=True)
class MmdFuse:
    """MMD-FUSE-N: the soft maximum of normalised MMDs over a collection of kernels.

    Parameters
    ----------
    bandwidths : int
        Bandwidths for each of the two kernels.
    released : bool
        Multiply the exponent by ``sqrt(n (n - 1))`` once more, as the code does that was released
        with the paper; its published figures come from that. False is the formula of the paper.

    Notes
    -----
    The statistic is ``log mean_k exp(lambda MMD_k / sqrt(N_k))`` with ``lambda = sqrt(n (n - 1))``,
    n the size of the smaller sample, MMD_k the unbiased squared MMD, and N_k the sum of squares of
    the kernel over pairs of different rows, over n (n - 1).
    """

    bandwidths: int = 10
    released: bool = True

    task = "density"
    directed = False

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Compute all kernels once."""
        del rng
        mmds = mmds_of(pool, self.bandwidths, "MMD-FUSE")

        def statistic(masks: Masks) -> Floats:
            n_p = masks.sum(axis=1)
            smaller = np.minimum(n_p, masks.shape[1] - n_p)
            pairs = smaller * (smaller - 1.0)
            exponents = pairs * mmds(masks).T / mmds.roots[:, None]
            if self.released:
                exponents *= np.sqrt(pairs)
            top = exponents.max(axis=0)
            fused: Floats = top + np.log(np.exp(exponents - top).mean(axis=0))
            return fused

        return Prepared(statistic)


@dataclass(frozen=True)
class MmdAgg:
    """MMDAgg with equal weights: the smallest of the p-values that single kernels have.

    Parameters
    ----------
    bandwidths : int
        Bandwidths for each of the two kernels.

    Notes
    -----
    The paper estimates by two sets of permutations at which common level single tests reject so
    often that one of them rejects with probability alpha. With one set this is the smallest
    p-value, ranked among those of the permutations; ties, which are common with few permutations,
    are broken by the sum of the log p-values, which can only add power.
    """

    bandwidths: int = 10

    task = "density"
    directed = False

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Compute all kernels once."""
        del rng
        mmds = mmds_of(pool, self.bandwidths, "MMDAgg")
        return Prepared(mmds, combine=min_p, width=len(mmds.roots))
