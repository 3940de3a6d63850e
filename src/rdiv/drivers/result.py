"""The rows, slices and columns that carry a shift, as text and for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from rdiv.inference.intervals import Interval

__all__ = ["ColumnDriver", "Drivers", "RowDriver", "SliceDriver"]

_SHOWN = 3  # most rows, slices and columns each that the text lists


@dataclass(frozen=True)
class RowDriver:
    """A row that carries much of the gap.

    Parameters
    ----------
    sample : {"reference", "current"}
    index : int
        Its place in the sample as given, counted from 0.
    loss : float
    share : float, optional
        What it adds to the gap, over the gap; the shares of all rows of a sample sum to 1. None
        when there is no gap.
    target : str, float or int, optional
    cells : mapping
        Values of the first columns of a table; empty for images.

    Examples
    --------
    >>> print(RowDriver("current", 3, 12.5, 0.2).index)
    3
    """

    sample: Literal["reference", "current"]
    index: int
    loss: float
    share: float | None
    target: Any = None
    cells: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SliceDriver:
    """A part of the inputs where the gap is concentrated.

    Parameters
    ----------
    clauses : tuple of str
        Conditions that hold together, such as ``("age >= 52", "region = west")``.
    gap, gap_outside : float
        Mean loss on current minus that on reference, inside and outside of the slice, on rows that
        were not used to find it.
    interval : Interval, optional
        Interval of the gap inside, adjusted for all reported slices; None for in-sample losses.
    share_p, share_q : float
        Share of the reference and of the current rows inside.
    n_p, n_q : int
        Rows inside on which it was tested.
    pvalue : float
        p-value that the gap inside differs from the gap outside in the direction found, adjusted
        for all reported slices.

    Examples
    --------
    >>> old = SliceDriver(("age >= 52", "region = west"), 0.8, 0.1, None, 0.1, 0.1, 90, 80, 0.01)
    >>> print(old.condition)
    age >= 52 and region = west
    """

    clauses: tuple[str, ...]
    gap: float
    gap_outside: float
    interval: Interval | None
    share_p: float
    share_q: float
    n_p: int
    n_q: int
    pvalue: float

    @property
    def condition(self) -> str:
        """The clauses as one text."""
        return " and ".join(self.clauses)


@dataclass(frozen=True)
class ColumnDriver:
    """How much of the gap one input column carries.

    Parameters
    ----------
    name : str
    contribution : float
        The rise in mean loss that goes with other values of this column in current; the
        contributions of all columns and the rest sum to the gap. 0 for a column whose values were
        not found to be related to the loss.
    interval : Interval, optional
        Interval of this contribution alone; None where the contribution is 0 by that rule.
    share : float, optional
        The contribution over the gap; None when there is no gap.
    pvalue : float
        p-value of an equal mean contribution in both samples, adjusted for all columns.
    score : float, optional
        The largest studentised gap among the gradients of the column; None for a model without
        such gradients.
    score_pvalue : float, optional
        p-value of equal mean gradients, adjusted for all columns; one family with `pvalue`.

    Examples
    --------
    >>> print(ColumnDriver("age", 0.4, None, 0.9, 0.02, 3.1, 0.04).smallest_pvalue)
    0.02
    """

    name: str
    contribution: float
    interval: Interval | None
    share: float | None
    pvalue: float
    score: float | None = None
    score_pvalue: float | None = None

    @property
    def smallest_pvalue(self) -> float:
        """The smaller of the two adjusted p-values, which are of one family."""
        return min(self.pvalue, 1.0 if self.score_pvalue is None else self.score_pvalue)


@dataclass(frozen=True)
class Drivers:
    """What carries a shift: rows, slices and columns. To carry is not to cause.

    Parameters
    ----------
    rows : tuple of RowDriver
        Those of current first, each sample by share.
    slices : tuple of SliceDriver
        By p-value, including those that were found but not confirmed: a search always finds some.
    columns : tuple of ColumnDriver
        By p-value.
    rest : float, optional
        The part of the gap that belongs to no column: the loss changed at equal inputs.
    rest_interval : Interval, optional
    alpha : float
        Level of all slices together, and of all columns together.
    notes : mapping of str
        What was tested and how, and why something is missing: ``"rows"``, ``"slices"``,
        ``"columns"``, ``"score"``, ``"sampled"``, ``"intervals"``, ``"level"``.

    Examples
    --------
    >>> import numpy as np
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 3))
    >>> y = x[:, 0] + rng.normal(size=2000)
    >>> worn = x[1000:] + [1.0, 0, 0] * rng.normal(size=(1000, 3))
    >>> found = rdiv.compare((x[:1000], y[:1000]), (worn, y[1000:]), model="ridge", rng=0)
    >>> print([column.name for column in found.drivers.confirmed_columns()])
    ['column 0']
    """

    rows: tuple[RowDriver, ...]
    slices: tuple[SliceDriver, ...]
    columns: tuple[ColumnDriver, ...]
    rest: float | None
    rest_interval: Interval | None
    alpha: float
    notes: Mapping[str, str] = field(default_factory=dict)

    def without_rows(self) -> Drivers:
        """The same without any row of the data."""
        return replace(self, rows=())

    def confirmed_slices(self) -> tuple[SliceDriver, ...]:
        """Slices whose adjusted p-value is at most alpha."""
        return tuple(found for found in self.slices if found.pvalue <= self.alpha)

    def confirmed_columns(self) -> tuple[ColumnDriver, ...]:
        """Columns with an adjusted p-value of at most alpha."""
        return tuple(found for found in self.columns if found.smallest_pvalue <= self.alpha)

    def lines(self, worse: Literal["reference", "current"] | None = None) -> list[str]:
        """The confirmed drivers, one line each, for a terminal.

        Parameters
        ----------
        worse : {"reference", "current"}, optional
            The sample on which the model does worse; its rows are then named too.
        """
        columns, slices = self.confirmed_columns()[:_SHOWN], self.confirmed_slices()[:_SHOWN]
        lines = [_column_line(found, self.alpha) for found in columns]
        lines += [_slice_line(found) for found in slices]
        rows = [row for row in self.rows if row.sample == worse][:_SHOWN]
        if rows:
            named = ", ".join(f"{row.index} (loss {row.loss:.3g})" for row in rows)
            lines.append(f"rows to look at: {named} of {worse} carry most (counted from 0)")
        return lines

    def fields(self) -> dict[str, Any]:
        """All fields, for `rdiv.results.plain`."""
        document = asdict(self)
        for part in (*document["slices"], *document["columns"]):
            part["interval"] = _ends(part["interval"])
        for part, found in zip(document["slices"], self.slices, strict=True):
            part["condition"] = found.condition
        return {**document, "rest_interval": _ends(self.rest_interval)}


def _ends(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else interval._asdict()


def _column_line(found: ColumnDriver, alpha: float) -> str:
    parts = []
    if found.pvalue <= alpha:
        parts.append(f"carries {found.contribution:+.3g} of the gap (p = {found.pvalue:.3g})")
    if found.score_pvalue is not None and found.score_pvalue <= alpha:
        parts.append(f"would get another weight in a new fit (score p = {found.score_pvalue:.3g})")
    return f"input: {found.name} {' and '.join(parts)}"


def _slice_line(found: SliceDriver) -> str:
    return (
        f"slice: where {found.condition} the gap is {found.gap:+.3g}, elsewhere "
        f"{found.gap_outside:+.3g} (p = {found.pvalue:.3g}; {100 * found.share_q:.3g} % of current)"
    )
