"""What differs between the samples in one input column: means, shares, flags."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.moved_column import OTHER, Flag, MovedColumn, clock_text, time_text
from rdiv.samples.input_features import InputCells

__all__ = ["Split", "column_facts", "value_text"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_DAY = 86400.0
_FLAT = 1e-12  # standard deviations below this share of the largest value are rounding


@dataclass(frozen=True, eq=False)
class Split:
    """The observed split of some rows, and the units that permutations move.

    Parameters
    ----------
    is_p : (n,) mask
    units : (n,) integers
        The unit of every row: itself, or its group.
    first : (units,) integers
        One row of every unit.
    strata : (units,) integers, optional
    """

    is_p: NDArray[np.bool_]
    units: NDArray[np.intp]
    first: NDArray[np.intp]
    strata: NDArray[np.intp] | None

    @classmethod
    def of(
        cls,
        is_p: NDArray[np.bool_],
        groups: NDArray[np.intp] | None,
        strata: NDArray[np.intp] | None,
    ) -> Split:
        """From the groups and strata of the rows."""
        first = units = np.arange(len(is_p))
        if groups is not None:
            first, units = np.unique(groups, return_index=True, return_inverse=True)[1:]
        return cls(is_p, units, first, None if strata is None else strata[first])

    def chance(self, rows: NDArray[np.bool_], among: NDArray[np.bool_]) -> float:
        """Probability that a permutation puts all units with such rows on one side.

        Parameters
        ----------
        rows : (n,) mask
        among : (n,) mask
            Rows of which the number on each side is taken as given; it holds all of `rows`.

        Examples
        --------
        >>> split = Split.of(np.arange(6) < 3, None, None)
        >>> print(split.chance(np.arange(6) > 3, np.ones(6, dtype=bool)))  # 2 of 6 in one half
        0.4
        """
        strata = np.zeros(len(self.first), np.intp) if self.strata is None else self.strata
        size = int(strata.max()) + 1

        def counted(mask: NDArray[np.bool_]) -> tuple[Counts, Counts]:
            unit = np.bincount(self.units, mask, len(self.first)) > 0
            is_p = self.is_p[self.first]
            of_p, of_q = (np.bincount(strata, unit & side, size) for side in (is_p, ~is_p))
            return of_p.astype(np.int64), of_q.astype(np.int64)

        (p, q), (all_p, all_q) = counted(rows), counted(among)
        return min(1.0, sum(_all_of(p + q, side, all_p + all_q) for side in (all_p, all_q)))


def _all_of(chosen: Counts, side: Counts, everything: Counts) -> float:
    """Probability that a side of so many units gets all the chosen ones, in all strata."""
    from scipy.special import gammaln

    if (chosen > side).any():
        return 0.0
    ways = gammaln(side + 1) - gammaln(side - chosen + 1)
    ways -= gammaln(everything + 1) - gammaln(everything - chosen + 1)
    return float(np.exp(ways.sum()))


def column_facts(column: InputCells, split: Split, chance: float) -> MovedColumn:
    """The observed differences of one column; its p-value is still to come.

    Parameters
    ----------
    column : InputCells
    split : Split
    chance : float
        A flag is raised if a permutation would raise it with at most this probability.

    Examples
    --------
    >>> from rdiv.samples.cells import array_cells
    >>> column = InputCells("x", "number", array_cells(np.array([1.0, 3.0, 4.0, 6.0])))
    >>> found = column_facts(column, Split.of(np.arange(4) < 2, None, None), 0.05)
    >>> print(found.mean_reference, found.mean_current, round(found.effect, 2))
    2.0 5.0 2.12
    """
    p, q = column.cells.counts(split.is_p), column.cells.counts(~split.is_p)
    n_p, n_q = int(p.sum()), int(q.sum())
    found = MovedColumn(
        column.name,
        column.kind,
        missing_reference=float(p[0] / n_p),
        missing_current=float(q[0] / n_q),
        rows_reference=n_p,
        rows_current=n_q,
    )
    if column.kind == "empty":
        return found
    found = _of_numbers(found, column, p, q) if column.ordered else _of_levels(found, column, p, q)
    return _flagged(found, column, split, p, q, chance)


def _of_numbers(found: MovedColumn, column: InputCells, p: Counts, q: Counts) -> MovedColumn:
    if column.kind == "boolean":
        shares = [float(own[1:] @ np.asarray(column.cells.values, float)) / own.sum()
                  for own in (p, q)]  # fmt: skip
        found = replace(found, level="true", share_reference=shares[0], share_current=shares[1])
    if not (p[1:].any() and q[1:].any()):
        return found
    given = np.asarray(column.cells.values, dtype=np.float64)
    exponent = int(np.frexp(np.abs(given).max())[1])
    values = np.ldexp(given, -exponent)  # in units of a power of two, so that squares stay finite
    start = values[0]  # large numbers that differ little keep their digits
    values = values - start
    (mean_p, squares_p), (mean_q, squares_q) = (_moments(own[1:], values) for own in (p, q))
    freedom = int(p[1:].sum() + q[1:].sum()) - 2
    spread = float(np.sqrt((squares_p + squares_q) / max(freedom, 1)))
    within = spread > _FLAT * np.abs(values).max()
    return replace(
        found,
        effect=(mean_q - mean_p) / spread if within else None,
        mean_reference=float(np.ldexp(start + mean_p, exponent)),
        mean_current=float(np.ldexp(start + mean_q, exponent)),
        quartiles_reference=_quartiles(p[1:], given),
        quartiles_current=_quartiles(q[1:], given),
    )


def _moments(counts: Counts, values: Floats) -> tuple[float, float]:
    mean = float(counts @ values / counts.sum())
    return mean, float(counts @ (values - mean) ** 2)


def _quartiles(counts: Counts, values: Floats) -> tuple[float, float, float]:
    total = np.cumsum(counts)
    low, middle, high = values[np.searchsorted(total, total[-1] * np.array([0.25, 0.5, 0.75]))]
    return float(low), float(middle), float(high)


def _of_levels(found: MovedColumn, column: InputCells, p: Counts, q: Counts) -> MovedColumn:
    """The level whose share changed most, and the rows of levels that are new."""
    levels = column.levels
    before, after = (np.append(own[levels], own[1:].sum() - own[levels].sum()) / own.sum()
                     for own in (p, q))  # fmt: skip
    place = int(np.argmax(np.abs(after - before)))
    if len(levels):
        found = replace(
            found,
            level=OTHER if place == len(levels) else column.text(int(levels[place])),
            share_reference=float(before[place]),
            share_current=float(after[place]),
        )
    return replace(found, new_rows=int(q[1:][p[1:] == 0].sum()))


def _flagged(
    found: MovedColumn, column: InputCells, split: Split, p: Counts, q: Counts, chance: float
) -> MovedColumn:
    """With the first flag that holds and that chance would hardly raise."""
    codes = column.cells.codes
    everything, there = np.ones(len(codes), dtype=np.bool_), codes > 0
    constant: Flag
    for own, other, constant in ((p, q, "constant in reference"), (q, p, "constant in current")):
        values = np.flatnonzero(own[1:])
        if len(values) != 1 or (other[1:] > 0).sum() < 2:
            continue
        code = 1 + int(values[0])
        if split.chance(there & (codes != code), there) <= chance:
            text = value_text(column, code)
            return replace(found, flag=constant, example=text)
    if found.new_rows and column.kind == "text" and p[1:].any():
        new = _new_level(column, split, p, chance)
        if new:
            fresh = np.where(p[1:] == 0, q[1:], 0)
            return replace(found, flag="new levels", example=column.text(1 + int(fresh.argmax())))
    if (p[0] == 0) != (q[0] == 0) and split.chance(codes == 0, everything) <= chance:
        return replace(found, flag="newly missing" if p[0] == 0 else "no longer missing")
    return found


def _new_level(column: InputCells, split: Split, p: Counts, chance: float) -> bool:
    """Whether a frequent level, or all rare ones together, lie in current and hardly by chance."""
    codes, levels = column.cells.codes, column.levels
    rest = (codes > 0) & ~np.isin(codes, levels)
    sets = [codes == level for level in levels if p[level] == 0]
    if rest.any() and not (rest & split.is_p).any():
        sets.append(rest)
    there = codes > 0
    return any(split.chance(rows, there) * (len(levels) + 1) <= chance for rows in sets)


def value_text(column: InputCells, code: int) -> str:
    """The value behind a code, as a person would write it."""
    if column.kind == "text":
        return column.text(code)
    value = float(column.cells.values[code - 1])
    if column.kind == "time":
        return clock_text(value)
    if column.kind == "boolean":
        return "true" if value else "false"
    return time_text(value, days=value % _DAY == 0) if column.kind == "date" else f"{value:g}"
