"""The rows, slices and columns that carry a shift, as text and for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from rdiv.drivers.contributions import Contributions
from rdiv.inference.intervals import Estimate, Interval
from rdiv.pictures import Line, draw_spans, new_axes
from rdiv.results import short_block

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Drivers", "RowDriver", "SliceDriver", "UnusualRow", "WeightDriver"]

_SHOWN = 3  # most rows, slices and columns each that the text lists
_DRAWN = 12  # most columns or slices that a picture shows


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
    weighted : Estimate, optional
        The gap inside with reference rows weighted so that their inputs are those of current, for
        slices of the relation; its interval is asymptotic and that of one slice alone.

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
    weighted: Estimate | None = None

    @property
    def holds_weighted(self) -> bool:
        """Whether the weighted gap, where there is one, lies clearly on the side of the gap."""
        if self.weighted is None:
            return True
        return self.weighted.low > 0 if self.gap > 0 else self.weighted.high < 0

    @property
    def condition(self) -> str:
        """The clauses as one text."""
        return " and ".join(self.clauses)


@dataclass(frozen=True)
class WeightDriver:
    """A column that a model trained on current would weigh differently, if `pvalue` is small.

    Parameters
    ----------
    name : str
    score : float
        The largest studentised gap among the gradients of the column.
    pvalue : float
        p-value of equal mean gradients, adjusted for all columns.

    Examples
    --------
    >>> print(WeightDriver("age", 3.1, 0.04).name)
    age
    """

    name: str
    score: float
    pvalue: float


@dataclass(frozen=True)
class UnusualRow:
    """A row of current that lies far from the rows of the reference.

    Parameters
    ----------
    index : int
        Its place in current as given, counted from 0.
    as_far : float
        Share of the reference rows that are at least as far from the others.
    column : str
        The column that makes it far.
    cells : mapping
        Values of the first columns.

    Examples
    --------
    >>> print(UnusualRow(3, 0.0, "age").column)
    age
    """

    index: int
    as_far: float
    column: str
    cells: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Drivers:
    """What carries a shift: rows, slices and columns. To carry is not to cause.

    Parameters
    ----------
    rows : tuple of RowDriver
        Those of current first, each sample by share.
    slices : tuple of SliceDriver
        Where the gap differs, by p-value, including those that were found but not confirmed: a
        search always finds some.
    relation_slices : tuple of SliceDriver
        The same for the loss at equal inputs: the loss minus the one to be expected from the
        inputs.
    columns : Contributions, optional
        How much of the part that the inputs explain goes with which columns; None where there is
        no such part.
    weights : tuple of WeightDriver
        Columns by the gradients of the shared model, by p-value.
    alpha : float
        Level of all slices together, and of all columns together.
    notes : mapping of str
        What was tested and how, and why something is missing: ``"rows"``, ``"slices"``,
        ``"relation"``, ``"columns"``, ``"weights"``, ``"unusual"``, ``"sampled"``, ``"intervals"``,
        ``"level"``.
    unusual : tuple of UnusualRow
        Rows of current that are least like the reference, the farthest first; empty where no more
        of them are far than chance explains.

    Examples
    --------
    >>> import numpy as np
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 3))
    >>> y = x[:, 0] + rng.normal(size=2000)
    >>> worn = x[1000:] + [1.0, 0, 0] * rng.normal(size=(1000, 3))
    >>> found = rdiv.compare((x[:1000], y[:1000]), (worn, y[1000:]), model="ridge", rng=0)
    >>> print([column.name for column in found.drivers.confirmed_weights()])
    ['column 0']
    """

    rows: tuple[RowDriver, ...]
    slices: tuple[SliceDriver, ...]
    relation_slices: tuple[SliceDriver, ...]
    columns: Contributions | None
    weights: tuple[WeightDriver, ...]
    alpha: float
    notes: Mapping[str, str] = field(default_factory=dict)
    unusual: tuple[UnusualRow, ...] = ()

    def without_rows(self) -> Drivers:
        """The same without any row of the data."""
        return replace(self, rows=(), unusual=())

    def confirmed_slices(self) -> tuple[SliceDriver, ...]:
        """Slices of the gap whose adjusted p-value is at most alpha."""
        return tuple(found for found in self.slices if found.pvalue <= self.alpha)

    def confirmed_relation_slices(self) -> tuple[SliceDriver, ...]:
        """Slices where the loss changed at equal inputs.

        Their adjusted p-value is at most alpha. Where the expected loss misfits, inputs that moved
        within a slice can cause that too, so the weighted gap must exclude 0 as well.
        """
        return tuple(
            found
            for found in self.relation_slices
            if found.pvalue <= self.alpha and found.holds_weighted
        )

    def confirmed_weights(self) -> tuple[WeightDriver, ...]:
        """Columns whose gradients differ, with an adjusted p-value of at most alpha."""
        return tuple(found for found in self.weights if found.pvalue <= self.alpha)

    def lines(self, worse: Literal["reference", "current"] | None = None) -> list[str]:
        """The confirmed drivers, one line each, for a terminal.

        Parameters
        ----------
        worse : {"reference", "current"}, optional
            The sample on which the model does worse; its rows are then named too.
        """
        lines = []
        if self.columns is not None:
            lines += [f"column: {line}" for line in self.columns.lines()[: _SHOWN + 1]]
        lines += [_slice_line(found) for found in self.confirmed_slices()[:_SHOWN]]
        lines += [_relation_line(found) for found in self.confirmed_relation_slices()[:_SHOWN]]
        lines += [_weight_line(found) for found in self.confirmed_weights()[:_SHOWN]]
        rows = [row for row in self.rows if row.sample == worse][:_SHOWN]
        if rows:
            named = ", ".join(f"{row.index} (loss {row.loss:.3g})" for row in rows)
            lines.append(f"rows to look at: {named} of {worse} carry most (counted from 0)")
        if self.unusual:
            named = ", ".join(f"{row.index} ({row.column})" for row in self.unusual[:_SHOWN])
            lines.append(f"rows of current unlike the reference: {named} (counted from 0)")
        return lines

    def _repr_html_(self) -> str:
        lines = self.lines("current")
        headline = "" if lines else "No column, slice or row was found to carry a shift."
        return short_block("What drives the shift", headline, lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """What each column adds to the inputs part of the gap, or else the gap in each slice.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Drawn on new ones without it.
        """
        lines: list[Line] = []
        if self.columns is not None:
            lines = [
                (group.name, group.contribution, *(group.interval or (None, None)))
                for group in self.columns.groups[:_DRAWN]
            ]
        title = "what new values of columns add to the mean loss"
        if not lines:
            title = "gap in mean loss inside slices"
            lines = [
                (found.condition, found.gap, *(found.interval or (None, None)))
                for found in self.slices[:_DRAWN]
            ]
        ax = new_axes(6.4, 1.2 + 0.4 * len(lines)) if ax is None else ax
        draw_spans(ax, lines)
        ax.set_xlabel("difference in mean loss, current minus reference")
        ax.set_title(title if lines else "neither columns nor slices were searched")
        return ax

    def fields(self) -> dict[str, Any]:
        """All fields, for `rdiv.results.plain`."""
        return {
            "rows": [asdict(row) for row in self.rows],
            "slices": [_slice_fields(found) for found in self.slices],
            "relation_slices": [_slice_fields(found) for found in self.relation_slices],
            "columns": None if self.columns is None else self.columns.fields(),
            "weights": [asdict(found) for found in self.weights],
            "unusual": [asdict(row) for row in self.unusual],
            "alpha": self.alpha,
            "notes": dict(self.notes),
        }


def _slice_fields(found: SliceDriver) -> dict[str, Any]:
    ends = None if found.interval is None else found.interval._asdict()
    weighted = None if found.weighted is None else found.weighted._asdict()
    return {**asdict(found), "interval": ends, "weighted": weighted, "condition": found.condition}


def _weight_line(found: WeightDriver) -> str:
    return f"input: {found.name} would get another weight in a new fit (p = {found.pvalue:.3g})"


def _slice_line(found: SliceDriver) -> str:
    return (
        f"slice: where {found.condition} the gap is {found.gap:+.3g}, elsewhere "
        f"{found.gap_outside:+.3g} (p = {found.pvalue:.3g}; {100 * found.share_q:.3g} % of current)"
    )


def _relation_line(found: SliceDriver) -> str:
    return (
        f"relation: where {found.condition} the loss at equal inputs changed by {found.gap:+.3g}, "
        f"elsewhere by {found.gap_outside:+.3g} (p = {found.pvalue:.3g})"
    )
