"""One model for each side of a split, for H-divergence and cross-risk."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.gram import check_memory, gaussian_gram
from rdiv.errors import InputError
from rdiv.inference.prepared import Masks
from rdiv.models.adapters import as_model
from rdiv.models.cross_fit import FittedCrossFit
from rdiv.models.frozen import Frozen
from rdiv.models.kernel_density import FittedKernelDensity
from rdiv.models.protocol import FittedModel, Model, fit_again, losses_of
from rdiv.samples.pool import Pool

__all__ = ["KernelSplits", "RefitSplits", "SharedSplits", "SplitFits", "refittable", "split_fits"]

Floats = NDArray[np.float64]

_SMALLEST_SUM = 1e-300  # a density that underflowed; its log costs 691 nats


def split_fits(
    model: Model, fitted: FittedModel, pool: Pool, seed: int, *, warm: bool
) -> KernelSplits | RefitSplits:
    """Functions from masks to risks of side fits, all of whose randomness comes from `seed`."""
    if isinstance(fitted, FittedKernelDensity):
        return KernelSplits.of(fitted, pool)
    if isinstance(fitted, FittedCrossFit):
        fitted = fitted.draws[0]  # the only draw of the folds that is fitted again
    return RefitSplits(model, fitted, pool, seed, warm, float(np.mean(losses_of(fitted, pool))))


def refittable(model: object, name: str) -> Model:
    """The model to fit to each side; a frozen model is refused."""
    if isinstance(model, Frozen):
        raise InputError(
            f"{name} fits a model to each sample, got {model}, which is never refitted; "
            "use r-div, or pass the model without Frozen to have it fitted."
        )
    return as_model(model)


@dataclass(frozen=True, eq=False)
class KernelSplits:
    """Kernel densities of both sides of any split, as masked row sums of one kernel matrix.

    Bandwidth and whitening are those of the pool, so a refit only changes which rows are summed.
    """

    kernel: Floats
    per_row: Floats
    pooled_risk: float

    refits = False
    cost = "none: one kernel matrix serves every split"

    @classmethod
    def of(cls, fitted: FittedKernelDensity, pool: Pool) -> KernelSplits:
        """All pairs once for each fit; a constant common to all densities is left out."""
        if fitted.pool is pool and fitted in _kernels:
            return _kernels[fitted]
        check_memory(len(pool), "a kde for each side", "another model")
        coordinates, _ = fitted.whitening(pool.matrix())
        kernel = gaussian_gram(coordinates / fitted.factor, 1.0)
        per_row = kernel.sum(axis=1)
        splits = cls(kernel, per_row, float(-np.log(per_row / len(pool)).mean()))
        if fitted.pool is pool:
            _kernels[fitted] = splits
        return splits

    def own_risks(self, masks: Masks) -> Floats:
        """Mean losses ``(b, 2)`` of p under the model of p and of q under that of q."""
        return self._own(masks, self._under_p(masks))

    def crossed_risks(self, masks: Masks) -> Floats:
        """Mean losses ``(b, 2)`` of p under the model of q and of q under that of p."""
        return self._crossed(masks, self._under_p(masks))

    def both_risks(self, masks: Masks) -> tuple[Floats, Floats]:
        """`own_risks` and `crossed_risks`."""
        under_p = self._under_p(masks)
        return self._own(masks, under_p), self._crossed(masks, under_p)

    def _under_p(self, masks: Masks) -> Floats:
        """Kernels of every row of the pool to the rows of p, summed, ``(b, n)``."""
        return np.asarray(masks.astype(np.float64) @ self.kernel)

    def _own(self, masks: Masks, under_p: Floats) -> Floats:
        # No row of q loses its own kernel, 1, so the difference keeps its digits.
        own = np.where(masks, under_p, self.per_row - under_p)
        n_p, n_q = _sizes(masks)
        return _side_means(own, masks) + np.log([n_p, n_q]).T

    def _crossed(self, masks: Masks, under_p: Floats) -> Floats:
        under_q = self._under_p(~masks)  # a difference would lose the tails
        n_p, n_q = _sizes(masks)
        return _side_means(np.where(masks, under_q, under_p), masks) + np.log([n_q, n_p]).T


# Kernel matrices of the fits in use: the tests of one draw need the same matrix.
_kernels: WeakKeyDictionary[FittedKernelDensity, KernelSplits] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class RefitSplits:
    """A model refitted to each side of a split, by one rule for the observed split and all others.

    With ``warm`` a fit starts from the pooled fit, which has seen no labels. The randomness depends
    on the split alone, not on which side is called p.
    """

    model: Model
    fitted: FittedModel
    pool: Pool
    seed: int
    warm: bool
    pooled_risk: float

    refits = True

    @property
    def cost(self) -> str:
        """How many models are fitted per split."""
        folds = len(self.fitted.fits) if isinstance(self.fitted, FittedCrossFit) else 1
        return f"{2 * folds} models for each split"

    def own_risks(self, masks: Masks) -> Floats:
        """Mean losses ``(b, 2)`` of p under the model of p and of q under that of q."""
        return np.stack([_risks(fits, sides) for fits, sides in map(self._fits, masks)])

    def crossed_risks(self, masks: Masks) -> Floats:
        """Mean losses ``(b, 2)`` of p under the model of q and of q under that of p."""
        return np.stack([_risks(fits[::-1], sides) for fits, sides in map(self._fits, masks)])

    def both_risks(self, masks: Masks) -> tuple[Floats, Floats]:
        """`own_risks` and `crossed_risks`, from the same fits."""
        found = [
            (_risks(fits, sides), _risks(fits[::-1], sides))
            for fits, sides in map(self._fits, masks)
        ]
        own, crossed = zip(*found, strict=True)
        return np.stack(own), np.stack(crossed)

    def _fits(self, mask: NDArray[np.bool_]) -> tuple[list[FittedModel], list[Pool]]:
        """The models of p and of q, and their rows."""
        sides = [self.pool.take(np.flatnonzero(side)) for side in (mask, ~mask)]
        fits = [
            fit_again(self.model, self.fitted, side, stream, warm=self.warm)
            for side, stream in zip(sides, self._streams(mask), strict=True)
        ]
        return fits, sides

    def _streams(self, mask: NDArray[np.bool_]) -> list[np.random.Generator]:
        """The random streams of both sides; the side that holds row 0 gets the first one."""
        first = mask if mask[0] else ~mask
        digest = hashlib.blake2b(np.packbits(first).tobytes(), digest_size=16).digest()
        seeds = np.random.SeedSequence([self.seed, int.from_bytes(digest)]).spawn(2)
        streams = [np.random.default_rng(seed) for seed in seeds]
        return streams if mask[0] else streams[::-1]


@dataclass(frozen=True, eq=False)
class SharedSplits:
    """Risks of side fits for several tests that ask for the same splits: made for the first.

    Blocks of masks are known by their content, so each test finds the bits it would find alone.
    """

    splits: KernelSplits | RefitSplits
    known: dict[bytes, tuple[Floats, Floats]] = field(default_factory=dict)

    @property
    def refits(self) -> bool:
        """Whether every split needs fits of its own."""
        return self.splits.refits

    @property
    def cost(self) -> str:
        """How many models are fitted per split."""
        return self.splits.cost

    @property
    def pooled_risk(self) -> float:
        """Mean loss of the pooled fit."""
        return self.splits.pooled_risk

    def own_risks(self, masks: Masks) -> Floats:
        """Mean losses ``(b, 2)`` of p under the model of p and of q under that of q."""
        return self._both(masks)[0]

    def crossed_risks(self, masks: Masks) -> Floats:
        """Mean losses ``(b, 2)`` of p under the model of q and of q under that of p."""
        return self._both(masks)[1]

    def _both(self, masks: Masks) -> tuple[Floats, Floats]:
        block = repr(masks.shape).encode() + np.packbits(masks).tobytes()
        name = hashlib.blake2b(block, digest_size=16).digest()
        if name not in self.known:
            self.known[name] = self.splits.both_risks(masks)
        return self.known[name]


SplitFits = KernelSplits | RefitSplits | SharedSplits


def _risks(fits: Sequence[FittedModel], sides: Sequence[Pool]) -> Floats:
    """Mean loss of each side under the model at its place."""
    pairs = zip(fits, sides, strict=True)
    return np.array([np.mean(losses_of(fit, side)) for fit, side in pairs])


def _sizes(masks: Masks) -> tuple[Floats, Floats]:
    n_p = masks.sum(axis=1).astype(np.float64)
    return n_p, masks.shape[1] - n_p


def _side_means(sums: Floats, masks: Masks) -> Floats:
    """Mean of ``-log(sums)`` over the rows of each side, ``(b, 2)``."""
    logs = np.log(np.maximum(sums, _SMALLEST_SUM, out=sums), out=sums)
    of_p = np.einsum("ij,ij->i", logs, masks)
    n_p, n_q = _sizes(masks)
    return -np.stack([of_p / n_p, (logs.sum(axis=1) - of_p) / n_q], axis=1)
