"""The permutation engine: masks and numbers, no models.

One formula for p-values, one rule for early stopping, one way to run work in parallel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import floor
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.inference import tiles
from rdiv.inference.masks import block_sizes, mask_sampler
from rdiv.inference.packed import KeptMasks, PackedMasks
from rdiv.inference.prepared import Masks, Prepared
from rdiv.inference.strata_tiles import StratumSums, tiled_in_strata
from rdiv.inference.ties import at_least
from rdiv.parallel.threads import one_thread
from rdiv.parallel.workers import in_order, in_threads, useful_jobs
from rdiv.progress import counting

__all__ = [
    "Null",
    "PermutationSettings",
    "allowed_exceedances",
    "permutation_pvalue",
    "permute",
]

MOST_KEPT = 1 << 28
"""Rows times permutations whose masks are kept (32 MB of bits)."""

_WORTH_PROCESSES = 5.0  # expected seconds of all refits from which processes are started


@dataclass(frozen=True)
class PermutationSettings:
    """How a permutation test is run.

    Parameters
    ----------
    alpha : float
        Level; it also decides when a test that refits may stop.
    n_resamples : int
        Permutations to draw, B. A test that refits may stop earlier.
    n_jobs : int, optional
        Tasks at a time; the result does not depend on it. Refits that take only a few seconds in
        total are not run in parallel: starting processes would take longer.
    """

    alpha: float = 0.05
    n_resamples: int = 999
    n_jobs: int | None = None


@dataclass(frozen=True, eq=False)
class Null:
    """The observed statistic, the null distribution and the p-value of a permutation test.

    Parameters
    ----------
    parts : (1 + B, k) array
        Statistics of the observed split (row 0) and of every permutation that ran.
    ranked : float
        The observed number that was ranked.
    null_distribution : (B,) array
        The numbers that it was ranked among.
    pvalue : float
    masks : KeptMasks, optional
        The permutations, where they were kept.
    """

    parts: NDArray[np.float64]
    ranked: float
    null_distribution: NDArray[np.float64]
    pvalue: float
    masks: KeptMasks | None = None

    def of(self, member: Prepared, columns: slice) -> Null:
        """The null of one member of a combination, from its own columns, without another run."""
        return replace(_null_of(member, self.parts[:, columns]), masks=self.masks)


def permute(
    prepared: Prepared,
    is_p: NDArray[np.bool_],
    settings: PermutationSettings,
    *,
    rng: np.random.Generator,
    groups: NDArray[np.intp] | None = None,
    strata: NDArray[np.intp] | None = None,
    keep: bool = False,
    known: KeptMasks | None = None,
) -> Null:
    """Compare the observed split of a pool with random permutations of it.

    Parameters
    ----------
    prepared : Prepared
    is_p : (n,) mask
        The observed split.
    settings : PermutationSettings
    rng : Generator
    groups, strata : (n,) integer codes, optional
        See `rdiv.inference.masks.mask_sampler`.
    keep : bool
        Keep the permutations, unless they are too many, for other statistics of the same rows.
    known : KeptMasks, optional
        Permutations that were kept; none are drawn, if they are as many as are asked for.

    Examples
    --------
    >>> x = np.arange(8.0)
    >>> prepared = Prepared(lambda masks: np.abs(masks @ x - 14))
    >>> settings = PermutationSettings(n_resamples=199)
    >>> null = permute(prepared, x < 4, settings, rng=np.random.default_rng(0))
    >>> print(null.ranked, null.pvalue < 0.05)
    8.0 True
    """
    sampler = mask_sampler(is_p, groups, strata)
    with one_thread():
        start = monotonic()
        observed = _evaluate(prepared, is_p[None])
        if prepared.refits:
            if (monotonic() - start) * settings.n_resamples < _WORTH_PROCESSES:
                settings = replace(settings, n_jobs=None)
            draws = _mask_stream(sampler, len(is_p), settings.n_resamples, rng)
            return _sequential(prepared, observed, draws, settings)
        keep = keep and strata is None and len(is_p) * settings.n_resamples <= MOST_KEPT
        drawn = _tiled(prepared, is_p, settings, rng, known, keep)
        if drawn is not None:
            return replace(_null_of(prepared, np.concatenate([observed, drawn[0]])), masks=drawn[1])
        if known is not None and not known.tiled and known.serves(len(is_p), settings.n_resamples):
            return _of_kept(prepared, observed, known, settings)
        sizes = block_sizes(len(is_p), settings.n_resamples)

        def block(
            stream: np.random.Generator, size: int
        ) -> tuple[NDArray[np.float64], PackedMasks | None]:
            masks = sampler(stream, size)
            return _evaluate(prepared, masks), PackedMasks.of(masks) if keep else None

        tasks = list(zip(rng.spawn(len(sizes)), sizes, strict=True))
        blocks = list(in_threads(block, tasks, settings.n_jobs))
    null = _null_of(prepared, np.concatenate([observed, *(values for values, _ in blocks)]))
    parts = tuple(masks for _, masks in blocks if masks is not None)
    return replace(null, masks=KeptMasks(parts, settings.n_resamples, False)) if keep else null


def _of_kept(
    prepared: Prepared,
    observed: NDArray[np.float64],
    known: KeptMasks,
    settings: PermutationSettings,
) -> Null:
    """The null of permutations that were drawn before."""

    def block(part: PackedMasks) -> NDArray[np.float64]:
        return _evaluate(prepared, next(part.blocks(len(part.octets))))

    tasks = [(part,) for part in known.parts]
    return _null_of(
        prepared, np.concatenate([observed, *in_threads(block, tasks, settings.n_jobs)])
    )


def _tiled(
    prepared: Prepared,
    is_p: NDArray[np.bool_],
    settings: PermutationSettings,
    rng: np.random.Generator,
    known: KeptMasks | None,
    keep: bool,
) -> tuple[NDArray[np.float64], KeptMasks | None] | None:
    """Statistics of a large pool, tile by tile, where they are functions of sums."""
    members, b, n_jobs = prepared.sums, settings.n_resamples, settings.n_jobs
    if not members or members[0].n_units <= tiles.TILE_ROWS:
        return None
    plain = [member for member in members if isinstance(member, tiles.Sums)]
    if not plain:
        within = [member for member in members if isinstance(member, StratumSums)]
        return tiled_in_strata(within, is_p, b, rng=rng, n_jobs=n_jobs), None
    usable = known is not None and known.tiled and known.serves(members[0].n_units, b)
    kept: list[PackedMasks] = []
    found = tiles.tiled_statistics(
        plain, is_p, b, rng=rng, n_jobs=n_jobs, known=known.parts if known and usable else None,
        keep=kept if keep else None,
    )  # fmt: skip
    return found, KeptMasks(tuple(kept), b, True) if keep else None


def _null_of(prepared: Prepared, parts: NDArray[np.float64]) -> Null:
    ranked = _combine(prepared, parts)
    return Null(parts, float(ranked[0]), ranked[1:], permutation_pvalue(ranked[0], ranked[1:]))


def permutation_pvalue(observed: float, null: NDArray[np.float64]) -> float:
    """``(1 + #{null >= observed}) / (1 + B)``: valid at every B, never 0.

    The observed split is one of the equally likely splits, which is why 1 is added (Phipson and
    Smyth 2010).
    Like scipy we count null values within a relative tolerance of the observed one as ties; ours,
    `rdiv.inference.ties.TIE_TOLERANCE`, is wide enough for small gaps between sums of millions of
    losses.

    Examples
    --------
    >>> print(permutation_pvalue(2.0, np.array([0.0, 1.0, 2.0])))
    0.5
    """
    return (1 + int(at_least(null, observed).sum())) / (1 + len(null))


def allowed_exceedances(alpha: float, n_resamples: int) -> int:
    """The number of null values at or above the observed one from which a test cannot reject.

    Examples
    --------
    >>> print(allowed_exceedances(0.05, 99), allowed_exceedances(0.05, 18))
    5 0
    """
    return floor(alpha * (n_resamples + 1) * (1 + 1e-12))


def _evaluate(prepared: Prepared, masks: Masks) -> NDArray[np.float64]:
    """The statistic as ``(b, k)`` floats, refusing anything else."""
    values = np.asarray(prepared.statistic(masks), dtype=np.float64)
    if values.ndim not in (1, 2) or len(values) != len(masks):
        raise InputError(
            f"a statistic must give one number, or one row of numbers, for each of {len(masks)} "
            f"masks, got shape {values.shape}; take the mean over rows, not over masks."
        )
    values = values.reshape(len(masks), -1)
    if prepared.width is not None and values.shape[1] != prepared.width:
        raise InputError(
            f"the statistic was declared to have {prepared.width} columns, got {values.shape[1]}; "
            "correct `width`."
        )
    if values.shape[1] > 1 and prepared.combine is None:
        raise InputError(
            f"a statistic with {values.shape[1]} parts needs `combine` to make them one number."
        )
    if np.isnan(values).any():
        raise InputError(
            f"the statistic came back as NaN for {int(np.isnan(values).any(axis=1).sum())} of "
            f"{len(masks)} splits; check the model's losses and the inputs."
        )
    return values


def _combine(prepared: Prepared, parts: NDArray[np.float64]) -> NDArray[np.float64]:
    if prepared.combine is None:
        return parts[:, 0]
    ranked = np.asarray(prepared.combine(parts), dtype=np.float64)
    if ranked.shape != (len(parts),) or np.isnan(ranked).any():
        raise InputError(
            f"`combine` must give one number for each of {len(parts)} rows, got shape "
            f"{ranked.shape}{' with NaN' if np.isnan(ranked).any() else ''}."
        )
    return ranked


def _sequential(
    prepared: Prepared,
    observed: NDArray[np.float64],
    draws: Iterator[Masks],
    settings: PermutationSettings,
) -> Null:
    """One mask per task, stopping when the decision is certain (Besag and Clifford 1991).

    After ``h = floor(alpha (B + 1))`` exceedances at draw ``l`` the p-value is ``h / l``, which is
    above alpha and still valid. Draws count in the order of their masks, so the result does not
    depend on which finished first.
    """
    if prepared.combine is not None:
        raise InputError("a test that refits cannot be combined; rank one number per mask.")
    limit = max(allowed_exceedances(settings.alpha, settings.n_resamples), 1)
    null: list[float] = []
    exceeded = 0
    with counting("permutation", settings.n_resamples) as at:
        for wave in _waves(draws, settings.n_jobs):
            at(len(null) + 1)
            for value in _refit_wave(prepared, wave, settings.n_jobs):
                null.append(value)
                exceeded += bool(at_least(np.array([value]), observed[0, 0])[0])
                if exceeded == limit:
                    break
            if exceeded == limit:
                break
    values = np.array(null)
    stopped = exceeded == limit
    pvalue = limit / len(null) if stopped else permutation_pvalue(observed[0, 0], values)
    parts = np.concatenate([observed, values[:, None]])
    return Null(parts, float(observed[0, 0]), values, pvalue)


def _mask_stream(
    sampler: Any, n: int, n_resamples: int, rng: np.random.Generator
) -> Iterator[Masks]:
    sizes = block_sizes(n, n_resamples)
    for stream, size in zip(rng.spawn(len(sizes)), sizes, strict=True):
        for mask in sampler(stream, size):
            yield mask[None]


def _waves(draws: Iterator[Masks], n_jobs: int | None) -> Iterator[list[Masks]]:
    size = useful_jobs(n_jobs)
    while wave := list(islice(draws, size)):
        yield wave


def _refit_wave(prepared: Prepared, wave: list[Masks], n_jobs: int | None) -> list[float]:
    if len(wave) == 1:
        return [float(_evaluate(prepared, wave[0])[0, 0])]
    return in_order(_refit, ((prepared, mask) for mask in wave), useful_jobs(n_jobs, len(wave)))


def _refit(prepared: Prepared, mask: Masks) -> float:
    with one_thread():
        return float(_evaluate(prepared, mask)[0, 0])
