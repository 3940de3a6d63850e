"""Which gap is found with which probability: losses tilted to the gap, and their own uncertainty.

A larger mean loss usually comes with a larger spread, so the standard error at a gap is not the one
that was seen without it. The losses of a pilot are tilted exponentially to the gap, which gives the
spread there; resampled pilots say how far that may be from the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.tilting import Units
from rdiv.row_blocks import cut

__all__ = ["MOST_UNITS", "REPLICATES", "Critical", "Pilot", "pilot_of"]

Floats = NDArray[np.float64]
Critical = Callable[[Floats, Floats, Floats, Floats], Floats]
"""From the units of both samples and their variances to the ratio that a test must exceed."""

REPLICATES = 60
"""Resampled pilots."""

MOST_UNITS = 2.0**40
"""Largest number of rows, or groups, that a plan considers."""

_CELLS = 256  # values that losses are rounded to
_RANKED = 1 << 20  # of so many at a time
_TILTS = 32  # tilts in each direction; between them moments are interpolated
_FARTHEST = 500.0  # largest logarithm of a ratio of weights
_HALVINGS = 40
_MOST = 8.0  # standard deviations beyond which a gap is found, or missed, in any case


class _Moments(NamedTuple):
    """Variance, third and fourth central moment of single units."""

    variance: Floats
    third: Floats
    fourth: Floats


class _Curve(NamedTuple):
    """Gaps and moments of current at every tilt, ``(1 + replicates, tilts)`` each."""

    gaps: Floats
    moments: _Moments

    def at(self, gap: float) -> _Moments:
        """The moments of every replicate at a gap, on a line between two tilts."""
        last = self.gaps.shape[1] - 1
        above = np.clip((self.gaps < gap).sum(axis=1), 1, last)[:, None]
        low, high = (np.take_along_axis(self.gaps, at, axis=1) for at in (above - 1, above))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip(np.nan_to_num((gap - low) / (high - low)), 0.0, 1.0)

        def between(column: Floats) -> Floats:
            ends = (np.take_along_axis(column, at, axis=1) for at in (above - 1, above))
            low, high = ends
            found: Floats = (low + share * (high - low))[:, 0]
            return found

        return _Moments(*(between(column) for column in self.moments))


@dataclass(frozen=True, eq=False)
class Pilot:
    """Losses of a pilot, tilted to every gap. Row 0 is the pilot itself, the others replicates.

    Parameters
    ----------
    reference : _Moments
    current : _Curve
        Moments of current by gap.

    Notes
    -----
    A pilot does not know its own spread well, and a small one thinks it smaller than it is, because
    the tail that a tilt weighs up is not in it. So the score of a gap (by how many standard
    deviations it is found) is lowered by what resampling the pilot adds to it, and divided by
    ``sqrt(1 + v)`` with its variance v over resampled pilots. The probability is then that over
    pilots like this one.

    Examples
    --------
    >>> from rdiv.inference.tilting import units_of
    >>> rng = np.random.default_rng(0)
    >>> losses = rng.exponential(size=2000)
    >>> pilot = pilot_of(units_of(losses[:1000]), units_of(losses[1000:]), rng)
    >>> print(round(pilot.smallest_gap(1000, 1000, lambda *_: np.array(1.96)), 1))
    0.1
    """

    reference: _Moments
    current: _Curve

    def smallest_gap(self, n_p: float, n_q: float, critical: Critical, power: float = 0.8) -> float:
        """The gap that is found with probability `power`; infinite where the pilot knows none."""
        wanted, most = _normal(power), float(self.current.gaps[0, -1])
        low, high = 0.0, most
        if not self._score(high, n_p, n_q, critical) >= wanted:
            return float("inf")
        start = self.smallest_gaps(n_p, n_q, critical, power, whole=True)[0]
        while 0 < start < most and not self._score(start, n_p, n_q, critical) >= wanted:
            low, start = start, 1.5 * start
        high = min(start, most)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            found = self._score(middle, n_p, n_q, critical) >= wanted
            low, high = (low, middle) if found else (middle, high)
        return float(high)

    def smallest_gaps(
        self, n_p: float, n_q: float, critical: Critical, power: float = 0.8, *, whole: bool = False
    ) -> Floats:
        """The smallest gap by every replicate alone; first by the pilot itself, for `whole`."""
        gaps, wanted = self.current.gaps, _normal(power)
        reference = _Moments(*(column[:, None] for column in self.reference))
        scores = _scores(reference, self.current.moments, gaps, n_p, n_q, critical)
        scores[gaps <= 0] = -_MOST
        lines = zip(gaps, scores, strict=True)
        return np.array([_first(*line, wanted) for line in lines])[0 if whole else 1 :]

    def power(self, gap: float, n_p: float, n_q: float, critical: Critical) -> float:
        """The probability that a gap is found."""
        from scipy.special import ndtr

        return float(ndtr(self._score(gap, n_p, n_q, critical)))

    def units_needed(
        self, gap: float, ratio: float, critical: Critical, power: float = 0.8
    ) -> tuple[float, Floats]:
        """Units of the reference that find a gap with probability `power`, and by every replicate.

        Parameters
        ----------
        ratio : float
            Units of current per unit of reference.
        """
        wanted, at_gap = _normal(power), self.current.at(gap)

        def scores(n_p: Floats | float) -> Floats:
            return _scores(self.reference, at_gap, gap, n_p, ratio * n_p, critical)

        by_replicate = _halved(lambda n_p: scores(n_p) >= wanted, np.zeros(len(at_gap.variance)))
        whole = _halved(lambda n_p: np.array([_sure(scores(n_p[0])) >= wanted]), np.zeros(1))
        return float(whole[0]), by_replicate[1:] * (whole[0] / by_replicate[0])

    def _score(self, gap: float, n_p: float, n_q: float, critical: Critical) -> float:
        return _sure(_scores(self.reference, self.current.at(gap), gap, n_p, n_q, critical))


def _sure(scores: Floats) -> float:
    """The score of the pilot, in row 0, with what it does not know; see `Pilot`."""
    if len(scores) == 1:
        return float(scores[0])
    bias = max(float(scores[1:].mean() - scores[0]), 0.0)
    return float((scores[0] - bias) / np.sqrt(1 + scores[1:].var()))


def _halved(found: Callable[[Floats], NDArray[np.bool_]], shape: Floats) -> Floats:
    """The fewest units with which something is found, by halving an interval of logarithms."""
    low, high = shape + 1.0, shape + np.log2(MOST_UNITS)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = found(2**middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(2**high, dtype=np.float64)


def _scores(
    p: _Moments,
    q: _Moments,
    gaps: Floats | float,
    n_p: Floats | float,
    n_q: Floats | float,
    critical: Critical,
) -> Floats:
    """A gap minus the critical value times its estimated error, in standard deviations.

    Both are linear in the units (delta method). Skewed losses raise the gap and its estimated error
    together, hence the third moments.
    """
    error = np.sqrt(p.variance / n_p + q.variance / n_q)
    limit = critical(np.asarray(n_p), np.asarray(n_q), p.variance, q.variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        pull_p, pull_q = limit / (2 * error * n_p), limit / (2 * error * n_q)
        own_p = p.variance + 2 * pull_p * p.third + pull_p**2 * (p.fourth - p.variance**2)
        own_q = q.variance - 2 * pull_q * q.third + pull_q**2 * (q.fourth - q.variance**2)
        spread = np.sqrt(np.maximum(own_p / n_p + own_q / n_q, 0.0))
        scores = (gaps - limit * error) / spread
    flat = np.where(np.asarray(gaps) > 0, _MOST, -_MOST)
    return np.clip(np.where(spread > 0, scores, flat), -_MOST, _MOST)


def _normal(power: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(power))


def _first(gaps: Floats, scores: Floats, wanted: float) -> float:
    """Where a score is first reached, on a line between two tilts."""
    reached = np.flatnonzero(scores >= wanted)
    if not len(reached):
        return float("inf")
    k = int(reached[0])
    if k == 0 or scores[k - 1] <= -_MOST:
        return float(gaps[k])
    share = (wanted - scores[k - 1]) / (scores[k] - scores[k - 1])
    return float(gaps[k - 1] + share * (gaps[k] - gaps[k - 1]))


def pilot_of(
    reference: Units,
    current: Units | None,
    rng: np.random.Generator,
    *,
    better: bool = False,
    replicates: int = REPLICATES,
) -> Pilot:
    """Tilt the losses of both samples, or of the reference alone, to every gap.

    Parameters
    ----------
    reference, current : Units
    rng : Generator
        For the resampled pilots.
    better : bool
        Whether gaps are those of a lower loss on current.
    replicates : int
    """
    sides = [reference] if current is None else [reference, current]
    values = np.concatenate([side.means for side in sides]) * (-1 if better else 1)
    cells, codes = _rounded(values)
    parts = np.split(codes, np.cumsum([len(side.means) for side in sides])[:-1])
    counts = [
        _resampled(_rows_in(part, side.sizes, len(cells)), len(part), replicates, rng)
        for part, side in zip(parts, sides, strict=True)
    ]
    together: Floats = np.sum(counts, axis=0)
    means, curve = _tilted(together, cells, widen=not better)
    own, at_rest = _tilted(counts[0], cells, tilts=np.zeros(1))
    fair = reference.number / max(reference.number - 1, 1)
    of_p = _Moments(*(column[:, 0] * fair for column in at_rest))
    return Pilot(of_p, _Curve(means - own, curve))


def _rounded(values: Floats) -> tuple[Floats, NDArray[Any]]:
    """Few values that stand for many: the means of equally full cells.

    The largest values matter most for a tilt, so a quarter of the cells is theirs alone.
    """
    order = np.argsort(values, kind="stable")
    n, edge = len(values), _CELLS // 4
    distinct = 1
    for block in cut(n - 1, _RANKED):
        own = values[order[block.start : block.stop + 1]]
        distinct += int(np.count_nonzero(own[1:] != own[:-1]))
    if distinct <= _CELLS:
        return np.unique(values, return_inverse=True)
    codes = np.empty(n, dtype=np.int16)
    for block in cut(n, _RANKED):
        ranks = np.arange(block.start, block.stop)
        inner = ranks * (_CELLS - edge) // (n - edge)
        codes[order[block]] = np.where(ranks >= n - edge, _CELLS - n + ranks, inner)
    del order
    ones = np.broadcast_to(1.0, n)
    return _rows_in(codes, values, _CELLS) / _rows_in(codes, ones, _CELLS), codes


def _rows_in(codes: NDArray[Any], sizes: Floats, cells: int) -> Floats:
    """Sums by cell, added one after the other as `np.bincount` does, which copies all codes."""
    found = np.zeros(cells)
    for block in cut(len(codes), _RANKED):
        np.add.at(found, codes[block], sizes[block])
    return found


def _resampled(counts: Floats, units: int, replicates: int, rng: np.random.Generator) -> Floats:
    """Rows in every cell, and in as many resampled units."""
    rows = counts.sum()
    drawn = rng.multinomial(units, counts / rows, size=replicates) * (rows / units)
    return np.concatenate([counts[None], drawn])


def _tilted(
    counts: Floats, values: Floats, *, tilts: Floats | None = None, widen: bool = False
) -> tuple[Floats, _Moments]:
    """Means and moments at all tilts, from one product: tilts are the same for all replicates."""
    centre = float(np.average(values, weights=counts[0]))
    spread = float(np.sqrt(np.average((values - centre) ** 2, weights=counts[0]))) or 1.0
    scaled = (values - centre) / spread
    if tilts is None:
        upward = np.geomspace(1e-3, _FARTHEST / max(float(np.ptp(scaled)), 1.0), _TILTS)
        tilts = np.concatenate([-upward[::-1], [0.0], upward])
    exponents = np.outer(tilts, scaled)
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    powers = scaled ** np.arange(5)[:, None]
    sums = counts @ (weights[:, None] * powers).reshape(-1, len(values)).T
    raw = sums.reshape(len(counts), len(tilts), 5)
    one, two, three, four = (raw[..., k] / raw[..., 0] for k in range(1, 5))
    variance = np.maximum(two - one**2, 0.0)
    third = three - 3 * one * two + 2 * one**3
    fourth = np.maximum(four - 4 * one * three + 6 * one**2 * two - 3 * one**4, variance**2)
    if widen:  # near the largest loss seen a tilt has hardly any spread left: that is the sample's
        variance = np.maximum.accumulate(variance, axis=1)
    moments = _Moments(variance * spread**2, third * spread**3, fourth * spread**4)
    return centre + spread * one, moments
