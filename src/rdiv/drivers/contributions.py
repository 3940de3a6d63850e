"""How much of the inputs part of a gap goes with each group of input columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.column_groups import MeasuredColumns, measure_columns, rows_to_measure
from rdiv.drivers.column_paths import ExpectedLoss, Matrix, paths_at_once, used_rows, walk
from rdiv.inference.intervals import Interval
from rdiv.row_blocks import cut

__all__ = ["LEFTOVER", "ColumnGroup", "Contributions", "column_contributions"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

SCREENED = 50_000  # most such rows to choose columns where there are many
MOST_COLUMNS = 60  # columns with a contribution of their own; all others are one group
MANY_COLUMNS, MOST_OF_MANY = 200, 20  # fewer of them where there are very many columns
NAMED = 4  # members that a name lists before it counts the others
SHOWN = 5  # most groups that the text lists

LEFTOVER = (
    "could not be assigned to a single column: correlated columns, interactions, or an imperfect "
    "model of the loss"
)


@dataclass(frozen=True)
class ColumnGroup:
    """Input columns that go together, and what their new values add to the mean expected loss.

    Parameters
    ----------
    members : tuple of str
        Those that changed most between the samples first.
    contribution : float
        Current minus reference; positive where the new values make the model worse.
    interval : Interval, optional
        None where a sample has too few rows (or groups of rows).
    share : float, optional
        The contribution over the whole inputs part; None when that is 0.
    others : bool, default False
        All columns without a contribution of their own, put together because there are many.

    Examples
    --------
    >>> group = ColumnGroup(("age", "pension"), 0.081, Interval(0.05, 0.11), 0.9)
    >>> print(group.name)
    age, pension
    >>> print(group.line())
    age (with pension): +0.081 of the inputs part (+0.05 to +0.11)
    """

    members: tuple[str, ...]
    contribution: float
    interval: Interval | None
    share: float | None
    others: bool = False

    @property
    def name(self) -> str:
        """The members as one text; of many, the first ones."""
        return self._counted if self.others else _listed(self.members)

    def line(self) -> str:
        """The contribution in words."""
        first, rest = self.members[0], self.members[1:]
        named = f"{first} (with {_listed(rest)})" if rest else first
        span = "" if self.interval is None else " ({:+.3g} to {:+.3g})".format(*self.interval)
        return (
            f"{self._counted if self.others else named}: "
            f"{self.contribution:+.3g} of the inputs part{span}"
        )

    @property
    def _counted(self) -> str:
        return f"{len(self.members)} other column{'s' * (len(self.members) > 1)}"


def _listed(names: tuple[str, ...]) -> str:
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


@dataclass(frozen=True)
class Contributions:
    r"""The inputs part of a gap, divided between groups of columns.

    Parameters
    ----------
    groups : tuple of ColumnGroup
        The largest contribution, of either sign, first.
    correction : float
        What completes the sum: contributions and correction add up to the total.
    total : float
        The inputs part.

    Examples
    --------
    >>> age = ColumnGroup(("age", "pension"), 0.081, Interval(0.05, 0.11), 0.675)
    >>> found = Contributions((age,), 0.039, 0.12)
    >>> print("\n".join(found.lines()))
    age (with pension): +0.081 of the inputs part (+0.05 to +0.11)
    +0.039 could not be assigned to a single column: correlated columns, interactions, or an imperfect model of the loss
    """  # noqa: E501

    groups: tuple[ColumnGroup, ...]
    correction: float
    total: float

    def lines(self) -> list[str]:
        """The largest contributions and what is left, one line each, for a terminal."""
        lines = [group.line() for group in self.groups[:SHOWN]]
        rest = self.groups[SHOWN:]
        if len(rest) == 1:
            lines.append(rest[0].line())
        elif rest:
            number = sum(len(group.members) for group in rest)
            added = sum(group.contribution for group in rest)
            lines.append(f"all {number} other columns together: {added:+.3g} of the inputs part")
        size = abs(self.total) + sum(abs(group.contribution) for group in self.groups)
        if abs(self.correction) > 0.005 * size:
            lines.append(f"{self.correction:+.3g} {LEFTOVER}")
        return lines

    def fields(self) -> dict[str, Any]:
        """All fields, for `rdiv.results.plain`."""
        groups = [
            {
                "name": group.name,
                "members": list(group.members),
                "contribution": group.contribution,
                "interval": None if group.interval is None else group.interval._asdict(),
                "share": group.share,
                "others": group.others,
            }
            for group in self.groups
        ]
        return {"groups": groups, "correction": self.correction, "total": self.total}


def column_contributions(
    g: ExpectedLoss,
    matrix: Matrix,
    is_p: NDArray[np.bool_],
    owners: Sequence[str],
    *,
    alpha: float,
    rng: np.random.Generator,
    groups: NDArray[np.intp] | None = None,
    total: float,
) -> Contributions:
    """Divide the change in mean expected loss between groups of input columns.

    Parameters
    ----------
    g : function
        From rows ``(m, d)`` to the expected loss of each, ``(m,)``; fitted on other rows.
    matrix : (n, d) array, or an object that makes rows when they are asked for
        The rows of both samples as numbers.
    is_p : (n,) array of bool
        The rows of reference.
    owners : sequence of str
        The input column that each column of the matrix was made from.
    alpha : float
        Each interval misses its contribution with this probability.
    groups : (n,) array of int, optional
        Rows that belong together; each group lies in one sample.
    total : float
        The inputs part; what the contributions leave of it is the correction.

    Notes
    -----
    Columns go together when they are associated by `TOGETHER` or more on average, in pooled rows
    whose origin is not looked at. On census rows this joins age, schooling, marital status,
    relationship, parents' employment and military service, and citizenship with nativity; on bike
    rentals season, month and both temperatures, and weekday with working day; the same groups in
    draws of 2000 rows, which is why the linkage is average and the level .5.

    A row of reference is turned into a row of current one group at a time, in a random order and
    in the reverse one; each group gets the changes of g at its turns. The mean over many pairs and
    orders estimates the Shapley values of the groups (interventional: groups are mixed freely). In
    every pairing all rows of a sample count equally, so the sum of the contributions is the
    difference of the mean g of the rows used. These are all rows if `column_paths.EVALUATIONS`
    allows, else some drawn at random; each is in 2 to 16 pairings.

    Of more than `MOST_COLUMNS` columns, those get their own contribution for which (reaction of g
    to the column) x (how far the column tells the samples apart) is largest; all others are one
    group.

    The intervals treat g as given. A contribution is a two-sample U-statistic over incomplete
    pairs; the variances of its projections on reference rows, on current rows, and of the rest are
    estimated from the moments of row means and of single pairs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, is_p = rng.normal(size=(2000, 3)), np.arange(2000) < 1000
    >>> x[~is_p, 2] += 0.5
    >>> found = column_contributions(
    ...     lambda rows: rows[:, 2] + rows[:, 0] ** 2,
    ...     x,
    ...     is_p,
    ...     ("height", "weight", "age"),
    ...     alpha=0.05,
    ...     rng=rng,
    ...     total=0.6,
    ... )
    >>> print(found.groups[0].name, round(found.groups[0].contribution, 1))
    age 0.5
    """
    parts = _parts(g, matrix, is_p, owners, rng)
    sides = used_rows(is_p, len(parts.members), rng, matrix.shape[1])
    paths = walk(g, matrix, sides, parts.part_of, rng)
    codes = None if groups is None else (groups[sides[0]], groups[sides[1]])
    values = [float(value) for value in paths.weights @ paths.changes]
    flat = abs(total) <= 1e-12 * paths.scale
    found = [
        ColumnGroup(
            members,
            values[k],
            paths.interval(k, alpha, codes),
            None if flat else values[k] / total,
            others=k == parts.others,
        )
        for k, members in enumerate(parts.members)
    ]
    found.sort(key=lambda group: (-abs(group.contribution), group.members))
    return Contributions(tuple(found), float(total - sum(values)), float(total))


@dataclass(frozen=True, eq=False)
class _Parts:
    """The groups of columns, the group of each matrix column, and the group of all others."""

    members: tuple[tuple[str, ...], ...]
    part_of: Rows
    others: int | None


def _parts(
    g: ExpectedLoss,
    matrix: Matrix,
    is_p: NDArray[np.bool_],
    owners: Sequence[str],
    rng: np.random.Generator,
) -> _Parts:
    """Group the columns; of many, those that matter."""
    rows = rows_to_measure(len(matrix), matrix.shape[1], rng)
    columns = measure_columns(matrix[rows], owners)
    moved = columns.moved(is_p[rows])
    kept = _kept_columns(g, matrix, columns, moved, rng)
    left = tuple(sorted(set(range(len(columns.names))) - set(kept)))
    places = columns.together(kept) + ((left,) if left else ())
    part_of = np.empty(len(columns.names), np.intp)
    for k, part in enumerate(places):
        part_of[list(part)] = k
    members = tuple(
        tuple(columns.names[j] for j in sorted(part, key=lambda j: (-moved[j], j)))
        for part in places
    )
    return _Parts(members, part_of[columns.column_of], len(places) - 1 if left else None)


def _kept_columns(
    g: ExpectedLoss,
    matrix: Matrix,
    columns: MeasuredColumns,
    moved: Floats,
    rng: np.random.Generator,
) -> list[int]:
    """The columns that get a contribution of their own, in their order."""
    number = len(columns.names)
    if number <= MOST_COLUMNS:
        return list(range(number))
    pairs = max(min(SCREENED // number, len(matrix) // 2), 1)
    rows = matrix[rng.choice(len(matrix), 2 * pairs, replace=False)]
    first, second = rows[:pairs], rows[pairs:]
    before = g(first)
    reaction = np.zeros(number)
    for block in cut(number, paths_at_once(pairs, matrix.shape[1])):
        taken = columns.column_of == np.arange(block.start, block.stop)[:, None]
        mixed = np.where(taken[:, None], second, first)
        after = g(mixed.reshape(-1, matrix.shape[1])).reshape(-1, pairs)
        reaction[block] = np.sqrt(((after - before) ** 2).mean(axis=1))
    order = np.lexsort((np.arange(number), -moved, -reaction * moved))
    return sorted(int(j) for j in order[: MOST_OF_MANY if number > MANY_COLUMNS else MOST_COLUMNS])
