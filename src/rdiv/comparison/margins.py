"""Equivalence and non-inferiority: tests that the gap in mean loss lies within a margin."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.inference.intervals import (
    Interval,
    one_sided_limits,
    one_sided_pvalue,
    sum_of_cubes,
    welch_freedom,
)
from rdiv.inference.prepared import Prepared
from rdiv.inference.tilting import Boundary, units_of
from rdiv.samples.pooling import PooledSamples

__all__ = ["MarginTest", "check_margins", "margin_tests", "one_sided_tests"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MarginTest:
    """Whether a gap was shown to lie within a margin.

    Parameters
    ----------
    kind : {"equivalence", "not worse"}
        ``"equivalence"``: the gap lies strictly between -margin and margin, by two one-sided
        tests. ``"not worse"``: the gap lies below the margin.
    margin : float
        In units of the loss.
    pvalue : float
        p-value of the hypothesis that the gap lies outside.
    alpha : float
    interval : Interval
        The gaps that are not ruled out at the same level. The coverage is ``1 - 2 alpha``; for
        ``"not worse"`` there is no lower end (minus infinity, None in JSON).

    Examples
    --------
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 2))
    >>> y = x[:, 0] + rng.normal(size=2000)
    >>> p, q = (x[:1000], y[:1000]), (x[1000:], y[1000:])
    >>> found = rdiv.compare(p, q, model="ridge", equivalence_margin=0.25, rng=0)
    >>> print(found.equivalence.shown)
    True
    """

    kind: Literal["equivalence", "not worse"]
    margin: float
    pvalue: float
    alpha: float
    interval: Interval

    @property
    def shown(self) -> bool:
        """Whether the gap was shown to lie within the margin: ``pvalue <= alpha``."""
        return self.pvalue <= self.alpha

    def fields(self) -> dict[str, Any]:
        """All fields, for `rdiv.results.plain`."""
        return {
            "margin": self.margin,
            "shown": self.shown,
            "pvalue": self.pvalue,
            "alpha": self.alpha,
            "interval": self.interval._asdict(),
        }

    def statement(self) -> str:
        """The finding in one sentence."""
        low, high = self.interval
        if self.kind == "equivalence":
            claim, span = f"within {self.margin:g} of 0", f"from {low:+.4g} to {high:+.4g}"
        else:
            claim, span = f"below {self.margin:g}", f"up to {high:+.4g}"
        if isinf(high) or (self.kind == "equivalence" and isinf(low)):
            span = "of any size"
        word = "the gap is" if self.shown else "not shown that the gap is"
        return f"{word} {claim} (p = {self.pvalue:.3g}; gaps {span} are not ruled out)"


def check_margins(equivalence_margin: float | None, not_worse_than: float | None) -> None:
    """Refuse margins within which no gap can lie.

    Examples
    --------
    >>> check_margins(0.0, None)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: equivalence_margin must be a finite number above 0, got 0.0; ...
    """
    unit = "give the largest gap in mean loss that would not matter to you."
    if equivalence_margin is not None and not 0 < equivalence_margin < np.inf:
        raise InputError(
            "equivalence_margin must be a finite number above 0, got "
            f"{equivalence_margin!r}; {unit}"
        )
    if not_worse_than is not None and not 0 <= not_worse_than < np.inf:
        raise InputError(
            f"not_worse_than must be a finite number of at least 0, got {not_worse_than!r}; {unit}"
        )


def margin_tests(
    prepared: Prepared,
    pooled: PooledSamples,
    alpha: float,
    *,
    equivalence_margin: float | None,
    not_worse_than: float | None,
) -> tuple[MarginTest | None, MarginTest | None]:
    """Test whether the gap lies within the given margins, from out-of-fold losses.

    Notes
    -----
    The larger of two p-values. The first is Student's with Welch's degrees of freedom, after Hall's
    correction for skewed losses; with groups all moments are those of group sums. It trusts the
    spread that a sample shows, and a small sample without errors shows none. The second does not:
    it is the probability of so small a gap at the margin, where current rows (or groups) come from
    all losses, tilted exponentially to the mean of the reference plus the margin. For 0/1 losses
    and a large reference that is the binomial test; see `rdiv.inference.tilting.Boundary`.

    With strata there is only the first, with the degrees of freedom of the rows (or pairs) within
    strata and skewness not corrected. With constant losses nothing is shown.
    """
    tests = one_sided_tests(prepared, pooled)
    equivalent = not_worse = None
    if equivalence_margin is not None:
        margin = float(equivalence_margin)
        pvalue = max(tests.below(margin), tests.above(margin))
        limits = Interval(tests.lowest(alpha), tests.highest(alpha))
        equivalent = MarginTest("equivalence", margin, pvalue, alpha, limits)
    if not_worse_than is not None:
        margin, high = float(not_worse_than), tests.highest(alpha)
        pvalue = tests.below(margin)
        not_worse = MarginTest("not worse", margin, pvalue, alpha, Interval(-np.inf, high))
    return equivalent, not_worse


@dataclass(frozen=True, eq=False)
class _Tests:
    """One-sided tests of one gap, and the gaps that they do not rule out."""

    gap: float
    error: float
    freedom: float
    skewness: float
    boundary: Boundary | None

    def below(self, margin: float) -> float:
        """P-value of a gap at or above the margin."""
        if not self.error > 0:
            return 1.0
        ratio = (self.gap - margin) / self.error
        pvalue = one_sided_pvalue(ratio, self.freedom, self.skewness)
        return pvalue if self.boundary is None else max(pvalue, self.boundary.pvalue(margin))

    def above(self, margin: float) -> float:
        """P-value of a gap at or below minus the margin."""
        return self.swapped().below(margin)

    def highest(self, alpha: float) -> float:
        """The largest gap that is not ruled out."""
        high = one_sided_limits(self.gap, self.error, self.freedom, self.skewness, alpha).high
        if self.boundary is None or not self.error > 0:
            return high
        return self.boundary.limit(high, alpha)

    def lowest(self, alpha: float) -> float:
        """The smallest gap that is not ruled out."""
        return -self.swapped().highest(alpha)

    def swapped(self) -> _Tests:
        """The tests with reference and current exchanged."""
        boundary = None if self.boundary is None else self.boundary.swapped()
        return _Tests(-self.gap, self.error, self.freedom, -self.skewness, boundary)


def one_sided_tests(prepared: Prepared, pooled: PooledSamples) -> _Tests:
    """One-sided tests of the gap of these losses, at any margin."""
    observed, losses = prepared.observe(pooled.is_p), prepared.losses
    assert observed.gap is not None
    assert observed.error is not None
    assert losses is not None
    shape = _shape(losses, pooled)
    if pooled.pool.strata is not None:
        return _Tests(observed.gap, observed.error, *shape, None)
    groups = pooled.pool.groups
    sides = (
        units_of(losses[side], None if groups is None else groups[side])
        for side in (pooled.is_p, ~pooled.is_p)
    )
    return _Tests(observed.gap, observed.error, *shape, Boundary(*sides))


def _shape(losses: Floats, pooled: PooledSamples) -> tuple[float, float]:
    """Degrees of freedom and skewness of the gap, current minus reference."""
    pool, is_p = pooled.pool, pooled.is_p
    if pool.strata is not None:
        return _stratified_freedom(pool.strata, pool.groups, is_p), 0.0
    units = []
    for side in (is_p, ~is_p):
        off = losses[side] - losses[side].mean()
        groups = None if pool.groups is None else np.unique(pool.groups[side], return_inverse=True)
        units.append((off if groups is None else np.bincount(groups[1], off)) / len(off))
    counts = [len(side) for side in units]
    variances = [float((side**2).sum()) for side in units]  # of each side's mean
    freedom = welch_freedom(*counts, *(c * v for c, v in zip(counts, variances, strict=True)))
    third = sum_of_cubes(units[1]) - sum_of_cubes(units[0])
    whole = sum(variances) ** 1.5
    return freedom, third / whole if whole > 0 else 0.0


def _stratified_freedom(
    strata: NDArray[np.intp], groups: NDArray[np.intp] | None, is_p: NDArray[np.bool_]
) -> float:
    """Units minus two per stratum; when each sample has one unit per stratum, strata minus one."""
    units = np.arange(len(strata)) if groups is None else np.unique(groups, return_index=True)[1]
    parts = len(np.unique(strata[units]))
    counts = np.bincount(2 * strata[units] + is_p[units], minlength=2 * int(strata.max()) + 2)
    if (counts.reshape(-1, 2).min(axis=1) < 2).any():
        return float(max(parts - 1, 1))
    return float(max(len(units) - 2 * parts, 1))
