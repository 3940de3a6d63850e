"""One e-process of a monitor: a kind of number per unit, ranked or averaged, and bet on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.inference.betting import (
    BETS,
    MEAN_BETS,
    PACE,
    Wealth,
    bet_on_mean,
    bet_on_ranks,
)
from rdiv.inference.confidence_sequences import RunningMean, mean_bounds
from rdiv.inference.conformal import RankedNumbers
from rdiv.inference.intervals import Interval
from rdiv.monitoring.packing import packed_bits, packed_floats, packed_whole, unpacked

__all__ = ["BATCH_PACE", "COMPACT", "Process", "steady"]

Floats = NDArray[np.float64]

BATCH_PACE = 10.0
"""As `PACE`, where a unit is a whole batch."""

REFERENCE_SHARE = 0.2
"""Share of alpha for the uncertainty of the reference's mean; the rest is for the stream."""

COMPACT = 4096
"""Values that a compact multiset keeps, about."""

_BITS = 2.0**40


def steady(numbers: Floats) -> Floats:
    """Numbers without their last twelve bits, which depend on the processor and the block.

    Ties stay ties: a loss is the same number whether its row came among few rows or many.

    Examples
    --------
    >>> print(steady(np.array([0.1 + 0.2, 0.3]))[0] == steady(np.array([0.3]))[0])
    True
    """
    mantissa, exponent = np.frexp(numbers)
    found: Floats = np.ldexp(np.round(mantissa * _BITS) / _BITS, exponent) + 0.0
    return found


@dataclass(frozen=True, eq=False)
class Process:
    """Numbers of a reference and of a stream so far, and the wealth bet on them.

    Parameters
    ----------
    wealth : Wealth
    mean : RunningMean
        Of the stream.
    reference_mean, reference_deviation : float
    reference_rows : int
    reference_interval : Interval
        Of the mean that the reference was drawn from, at a fifth of `alpha`.
    alpha : float
        The part of the monitor's level that this process has.
    bounded : bool
        Whether all numbers are 0 or 1.
    known : RankedNumbers or None
        Reference and stream, where units are ranked.
    limit : float or None
        The mean that is bet against, where a smallest gap is asked for.
    """

    wealth: Wealth
    mean: RunningMean
    reference_mean: float
    reference_deviation: float
    reference_rows: int
    reference_interval: Interval
    alpha: float
    bounded: bool
    known: RankedNumbers | None = None
    limit: float | None = None

    @classmethod
    def of(
        cls, numbers: Floats, alpha: float, min_gap: float | None, pace: float = PACE
    ) -> Process:
        """A process before its first row, from the numbers of the reference."""
        bounded = bool(np.isin(numbers, (0.0, 1.0)).all())
        interval = mean_bounds(numbers, REFERENCE_SHARE * alpha, bounded=bounded)
        known: RankedNumbers | None = RankedNumbers(np.sort(numbers))
        limit, weights = None, None
        reference = float(len(numbers))
        if min_gap is not None:
            _refuse_negative(numbers, "the reference")
            one_sided = mean_bounds(numbers, 2 * REFERENCE_SHARE * alpha, bounded=bounded)
            known, limit, weights = None, one_sided.high + min_gap, np.ones(len(MEAN_BETS))
            reference = float("inf")
            if limit <= 0:
                raise InputError(
                    "min_gap= needs losses above 0, got a reference whose losses are all 0; leave "
                    "min_gap= out."
                )
        return cls(
            wealth=Wealth.at_start(reference, weights, pace),
            mean=RunningMean(float(numbers.mean())),
            reference_mean=float(numbers.mean()),
            reference_deviation=float(numbers.std(ddof=1)),
            reference_rows=len(numbers),
            reference_interval=interval,
            alpha=alpha,
            bounded=bounded,
            known=known,
            limit=limit,
        )

    def after(self, numbers: Floats, rng: np.random.Generator) -> tuple[Process, Floats]:
        """The process after more numbers, and the log of what each bet made of them.

        Parameters
        ----------
        numbers : (n,) array
            In an order that depends on their rows' content alone; they are shuffled here.
        rng : Generator
        """
        numbers = numbers[rng.permutation(len(numbers))]
        if self.bounded and not np.isin(numbers, (0.0, 1.0)).all():
            odd = numbers[~np.isin(numbers, (0.0, 1.0))][0]
            raise InputError(
                f"all losses of the reference are 0 or 1, got {odd:g} in the batch; check the "
                "column, or start with a reference that has such losses."
            )
        if self.limit is not None:
            _refuse_negative(numbers, "the batch")
            known, bets = None, bet_on_mean(numbers, self.limit)
        else:
            assert self.known is not None
            bets = bet_on_ranks(self.known.pvalues(numbers, 1 - rng.random(len(numbers))))
            known = self.known.joined(numbers)
            if known.counts is not None:
                known = known.compacted(COMPACT)
        wealth, _ = self.wealth.after(bets)
        new = replace(self, wealth=wealth, mean=self.mean.after(numbers), known=known)
        return new, np.log(bets).sum(axis=1)

    def compacted(self) -> Process:
        """The same with a multiset of bounded size."""
        known = self.known
        return self if known is None else replace(self, known=known.compacted(COMPACT))

    @property
    def budget(self) -> float:
        """The part of `alpha` that is left for the wealth."""
        return self.alpha * (1 if self.limit is None else 1 - REFERENCE_SHARE)

    @property
    def gap(self) -> float | None:
        """Mean of the stream so far minus that of the reference."""
        return self.mean.value - self.reference_mean if self.mean.count else None

    @property
    def gap_interval(self) -> Interval | None:
        """Confidence sequence of the gap at this time."""
        if not self.mean.count:
            return None
        level = self.alpha * (1 - REFERENCE_SHARE)
        own = self.mean.sequence(level, bounded=self.bounded, pace=self.wealth.pace)
        if own is None:
            return None
        return Interval(own.low - self.reference_interval.high,
                        own.high - self.reference_interval.low)  # fmt: skip

    def fields(self) -> dict[str, Any]:
        """All of it, for JSON."""
        known, wealth, mean = self.known, self.wealth, self.mean
        return {
            "numbers": None if known is None else packed_floats(known.values),
            "counts": None if known is None else packed_whole(known.counts),
            "spread": None if known is None else packed_bits(known.spread),
            "parts": wealth.parts.tolist(),
            "rows": wealth.rows,
            "evalue": wealth.value,
            "largest": wealth.largest,
            "pace": wealth.pace,
            "mean": [mean.count, mean.total, mean.squares],
            "reference": [self.reference_rows, self.reference_mean, self.reference_deviation],
            "reference_interval": list(self.reference_interval),
            "alpha": self.alpha,
            "bounded": self.bounded,
            "limit": self.limit,
        }

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Process:
        """The process that `fields` describes."""
        rows, reference_mean, deviation = fields["reference"]
        count, total, squares = fields["mean"]
        known = None
        if fields["numbers"] is not None:
            values = unpacked(fields["numbers"], "<f8")
            counts = None if fields["counts"] is None else unpacked(fields["counts"], "<i8")
            spread = None
            if fields["spread"] is not None:
                spread = np.unpackbits(unpacked(fields["spread"], "u1"))[: len(values)].astype(bool)
            known = RankedNumbers(values, counts, spread)
        ranked = known is not None
        shares = np.array([bet.weight for bet in BETS]) if ranked else np.ones(len(MEAN_BETS))
        wealth = Wealth(
            np.array(fields["parts"], dtype=np.float64),
            shares / shares.sum(),
            rows=fields["rows"],
            value=fields["evalue"],
            largest=fields["largest"],
            pace=fields["pace"],
            reference=float(rows) if ranked else float("inf"),
        )
        return cls(
            wealth=wealth,
            mean=RunningMean(reference_mean, count, total, squares),
            reference_mean=reference_mean,
            reference_deviation=deviation,
            reference_rows=rows,
            reference_interval=Interval(*fields["reference_interval"]),
            alpha=fields["alpha"],
            bounded=fields["bounded"],
            known=known,
            limit=fields["limit"],
        )


def _refuse_negative(numbers: Floats, where: str) -> None:
    if (numbers < 0).any():
        raise InputError(
            f"min_gap= needs losses that are never negative, got {numbers.min():g} in {where}; "
            "leave min_gap= out, or watch another loss."
        )
