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
from rdiv.samples.pooling import PooledSamples

__all__ = ["RANGE", "plan_from_losses", "rows_of_current"]

RANGE = (0.1, 0.9)
"""Of pilots like this one, this share plans fewer, and this share at most so many rows."""

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
    return {
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
        low, high = np.quantile(np.ceil(others * per_unit), RANGE)
        span = Interval(min(int(low), n_p), max(int(np.ceil(high)), n_p))
        return n_p, rows_of_current(n_p, self.ratio), span

    def smallest(self, n_p: int, n_q: int) -> tuple[float, Interval]:
        """The smallest gap that so many rows find, and its range."""
        units = self.units(n_p, n_q)
        gap = self.pilot.smallest_gap(*units, self.critical, self.power)
        others = self.pilot.smallest_gaps(*units, self.critical, self.power)
        alone = float(self.pilot.smallest_gaps(*units, self.critical, self.power, whole=True)[0])
        if not np.isfinite(gap):
            return gap, Interval(float(np.quantile(others, RANGE[0], method="lower")), gap)
        low, high = np.quantile(others * (gap / alone), RANGE, method="inverted_cdf")
        return gap, Interval(min(float(low), gap), max(float(high), gap))

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
