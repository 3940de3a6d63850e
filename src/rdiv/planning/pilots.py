"""A plan from the losses of a pilot: tilted to the gap, with the range that pilots would plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison.sensitivity import units_by_sample
from rdiv.errors import InputError
from rdiv.inference.detectable import MOST_UNITS, Pilot, pilot_of
from rdiv.inference.intervals import Interval, variance_of_mean
from rdiv.inference.prepared import Prepared
from rdiv.inference.tail_index import tail_index
from rdiv.inference.tilting import Units
from rdiv.inference.widened import FEW_UNITS
from rdiv.samples.pooling import PooledSamples

__all__ = ["plan_from_losses", "rows_of_current"]

BELOW, ABOVE = 1.8, 3.0
"""A range goes so many standard deviations of the logarithm over resampled pilots down and up.

Normal quantiles for four of five would be 1.28 and 1.28. But a pilot shows its spread, and what it
does not know of it, by its largest losses: one that lacks them plans too few rows and takes that
number for more certain than it is. These two were chosen on draws of squared normal, exponential
and lognormal losses such that four of five ranges hold the number of rows that is needed.
"""

REPLICATES = 200

Floats = NDArray[np.float64]


def rows_of_current(n_p: int, ratio: float) -> int:
    """The number of rows of current for a number of rows of reference.

    Examples
    --------
    >>> print(rows_of_current(100, 0.25))
    25
    """
    return max(2, int(np.ceil(ratio * n_p - 1e-9)))


def plan_from_losses(
    prepared: Prepared,
    pooled: PooledSamples,
    rows: Sequence[int],
    ratio: float,
    *,
    gap: float | None,
    power: float,
    alpha: float,
) -> dict[str, Any]:
    """The fields of a `Plan` for R-divergence."""
    losses, groups, is_p = prepared.losses, pooled.pool.groups, pooled.is_p
    assert losses is not None
    error = None if is_p.all() else prepared.observe(is_p).error
    sides = units_by_sample(losses, pooled, error)
    pilot = pilot_of(
        sides[0], sides[1] if len(sides) == 2 else None, pooled.stream("planning"),
        better=gap is not None and gap < 0, replicates=REPLICATES,
    )  # fmt: skip
    sizes = (
        float(sides[0].sizes.sum() / sides[0].number),
        float(sides[-1].sizes.sum() / sides[-1].number),
    )
    planner = _Planner(pilot, sizes, ratio, power, alpha)
    needed = (None, None, None) if gap is None else planner.rows(abs(gap))
    if needed[0] is not None:
        rows = sorted({*rows, needed[0]})
    n_p, n_q = int(is_p.sum()), int((~is_p).sum()) or rows_of_current(len(is_p), ratio)
    variances = [
        variance_of_mean(losses[side], None if groups is None else groups[side])
        for side in (is_p, ~is_p)
        if side.any()
    ]
    smallest = planner.smallest(n_p, n_q)
    why = _why_asymptotic(sides)
    return {
        "notes": {} if why is None else {"asymptotic": why},
        "method": "variance",
        "rows_p": needed[0],
        "rows_q": needed[1],
        "rows_p_range": needed[2],
        "smallest_detectable_gap": smallest[0],
        "gap_range": smallest[1],
        "variance_p": variances[0],
        "variance_q": variances[1] if len(variances) == 2 else None,
        "curve": planner.curve(rows, gap),
    }


def _why_asymptotic(sides: Sequence[Units]) -> str | None:
    """Why a plan is asymptotic: a small sample or one whose losses have a heavy tail; or None."""
    named = list(zip(("reference", "current"), sides, strict=False))
    few = [f"{int(side.number)} {name}" for name, side in named if side.number < FEW_UNITS]
    if few:
        what = "rows" if all((side.sizes == 1).all() for side in sides) else "groups"
        return f"only {' and '.join(few)} {what}"
    heavy = [name for name, side in named if tail_index(side.means).may_lack_variance]
    return f"the tail of the {' and '.join(heavy)} losses is heavy" if heavy else None


@dataclass(frozen=True, eq=False)
class _Planner:
    """What one pilot says about sizes in rows; units are rows or whole groups."""

    pilot: Pilot
    unit_rows: tuple[float, float]
    ratio: float
    power: float
    alpha: float

    def critical(self, n_p: Floats, n_q: Floats, var_p: Floats, var_q: Floats) -> Floats:
        """Student's quantile with Welch's degrees of freedom, near that of permutations."""
        from scipy.special import stdtrit

        of_p, of_q = var_p / n_p, var_q / n_q
        below = of_p**2 / np.maximum(n_p - 1, 1) + of_q**2 / np.maximum(n_q - 1, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = np.where(below > 0, (of_p + of_q) ** 2 / below, n_p + n_q - 2)
        return np.asarray(stdtrit(np.maximum(freedom, 1.0), 1 - self.alpha / 2))

    def units(self, n_p: float, n_q: float) -> tuple[float, float]:
        return n_p / self.unit_rows[0], n_q / self.unit_rows[1]

    def rows(self, gap: float) -> tuple[int, int, Interval]:
        """Rows of both samples that find the gap, and the range of those of the reference."""
        per_unit = self.unit_rows[0]
        ratio = self.ratio * per_unit / self.unit_rows[1]
        units, others = self.pilot.units_needed(gap, ratio, self.critical, self.power)
        if units > 0.99 * MOST_UNITS:
            raise InputError(
                f"a gap of {gap:g} would need more than {MOST_UNITS:.0e} rows; plan for a larger "
                "gap."
            )
        n_p = max(2, int(np.ceil(units * per_unit - 1e-6)))
        low, high = _range(units * per_unit, others * per_unit)
        span = Interval(max(2, min(int(low), n_p)), max(int(np.ceil(high)), n_p))
        return n_p, rows_of_current(n_p, self.ratio), span

    def smallest(self, n_p: int, n_q: int) -> tuple[float, Interval]:
        """The smallest gap that so many rows find, and its range."""
        units = self.units(n_p, n_q)
        gap = self.pilot.smallest_gap(*units, self.critical, self.power)
        others = self.pilot.smallest_gaps(*units, self.critical, self.power)
        alone = float(self.pilot.smallest_gaps(*units, self.critical, self.power, whole=True)[0])
        if not np.isfinite(gap):
            return gap, Interval(float(np.quantile(others, 0.1, method="lower")), gap)
        return gap, _range(gap, others * (gap / alone))

    def curve(self, rows: Sequence[int], gap: float | None) -> dict[str, list[Any]]:
        """Power, or the smallest gap, by rows."""
        pairs = [(n_p, rows_of_current(n_p, self.ratio)) for n_p in rows]
        gaps = [self.smallest(*pair) for pair in pairs]
        chances = [
            None if gap is None else self.pilot.power(abs(gap), *self.units(*pair), self.critical)
            for pair in pairs
        ]
        return {
            "n_p": [n_p for n_p, _ in pairs],
            "n_q": [n_q for _, n_q in pairs],
            "power": chances,
            "smallest_gap": [value for value, _ in gaps],
            "gap_low": [span.low for _, span in gaps],
            "gap_high": [span.high for _, span in gaps],
        }


def _range(value: float, others: Floats) -> Interval:
    """Where a planned number may really lie, from those of resampled pilots."""
    finite = others[np.isfinite(others) & (others > 0)]
    spread = float(np.log(finite).std()) if len(finite) else np.inf
    low = value * float(np.exp(-BELOW * spread))
    if len(finite) < 0.9 * len(others):
        return Interval(low, float("inf"))
    return Interval(low, value * float(np.exp(ABOVE * spread)))
