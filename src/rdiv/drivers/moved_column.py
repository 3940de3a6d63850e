"""An input column that moved: its numbers, and what they say in words."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from math import floor, isfinite, log10
from typing import Any, Literal

from rdiv.names import visible
from rdiv.samples.input_features import Aspect, Kind

__all__ = ["OTHER", "Distribution", "Flag", "MovedColumn", "clock_text", "time_text"]

Flag = Literal[
    "constant in reference",
    "constant in current",
    "new levels",
    "newly missing",
    "no longer missing",
]

OTHER = "other levels"

_LONGEST = 40  # characters of a level
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86400.0


@dataclass(frozen=True)
class Distribution:
    """A column in at most 12 bins or levels, for a small chart.

    Parameters
    ----------
    labels : tuple of str
        The bins in words, the last one ``"missing"`` where cells are missing.
    edges : tuple of float
        Edges between the bins of a column of many numbers; the first and the last bin are open.
        Empty where every bin is a single value.
    reference, current : tuple of float
        Share of the rows of each sample in each bin.
    """

    labels: tuple[str, ...]
    edges: tuple[float, ...]
    reference: tuple[float, ...]
    current: tuple[float, ...]


@dataclass(frozen=True)
class MovedColumn:
    """How one input column differs between reference and current, and whether that is chance.

    Parameters
    ----------
    name : str
    kind : {"number", "boolean", "date", "time", "duration", "text", "empty"}
    pvalue : float
        p-value that both samples have this column from one distribution, adjusted for all columns.
    aspect : {"location", "spread", "level", "missing"}, optional
        What differs most; None for a column without values.
    effect : float, optional
        Difference of the means, current minus reference, in standard deviations within the
        samples; None for text, and where nothing varies within a sample.
    mean_reference, mean_current : float, optional
        Means of numbers and times; dates are in seconds since 1970.
    quartiles_reference, quartiles_current : tuple of 3 floats, optional
        First quartile, median and third quartile.
    level : str, optional
        The level of text, or ``"true"`` of booleans, whose share changed most.
    share_reference, share_current : float, optional
        Its share of all rows.
    missing_reference, missing_current : float
        Share of missing cells.
    flag : str, optional
        ``"constant in reference"``, ``"constant in current"``, ``"new levels"``,
        ``"newly missing"`` or ``"no longer missing"``: what one sample has and the other does not
        have at all, where chance would hardly do that (see `rdiv.drivers.moved`).
    example : str, optional
        The one value of a constant column, or the most frequent level that is new.
    new_rows : int
        How many current rows have a level that no reference row has.
    rows_reference, rows_current : int
        How many rows were looked at.
    distribution : Distribution, optional
        Given for the columns that come first.

    Examples
    --------
    >>> region = MovedColumn(
    ...     "region", "text", 0.002, "level", level="west", share_reference=0.12, share_current=0.31
    ... )
    >>> print(region.sentence())
    region: share of 'west' 12 % -> 31 %, p = 0.002
    """

    name: str
    kind: Kind
    pvalue: float = 1.0
    aspect: Aspect | None = None
    effect: float | None = None
    mean_reference: float | None = None
    mean_current: float | None = None
    quartiles_reference: tuple[float, float, float] | None = None
    quartiles_current: tuple[float, float, float] | None = None
    level: str | None = None
    share_reference: float | None = None
    share_current: float | None = None
    missing_reference: float = 0.0
    missing_current: float = 0.0
    flag: Flag | None = None
    example: str | None = None
    new_rows: int = 0
    rows_reference: int = 0
    rows_current: int = 0
    distribution: Distribution | None = None

    @property
    def size(self) -> float:
        """The largest of its effects: in standard deviations, or a difference of two shares."""
        shares = (self.share_current or 0.0) - (self.share_reference or 0.0)
        missing = self.missing_current - self.missing_reference
        return max(abs(self.effect or 0.0), abs(shares), abs(missing))

    def sentence(self) -> str:
        """What changed, in one line, with the p-value.

        Examples
        --------
        >>> age = MovedColumn("age", "number", 0.001, "location", 0.52, 41.2, 47.9)
        >>> print(age.sentence())
        age: mean 41.2 -> 47.9 (+0.52 standard deviations), p = 0.001
        """
        return f"{visible(self.name)}: {self._change()}, p = {self.pvalue:.3g}"

    def fields(self) -> dict[str, Any]:
        """Everything, ready for JSON.

        Examples
        --------
        >>> print(MovedColumn("age", "number", effect=0.5).fields()["effect"])
        0.5
        """
        return {key: _plain(value) for key, value in asdict(self).items()}

    def described_by(self, pvalue: float, aspect: Aspect | None) -> MovedColumn:
        """The same column with the result of its test."""
        return replace(self, pvalue=pvalue, aspect=aspect)

    def _change(self) -> str:
        if self.kind == "empty":
            return "no values"
        if self.flag == "new levels":
            rows = (
                "1 current row has" if self.new_rows == 1 else f"{self.new_rows} current rows have"
            )
            return f"{rows} a level that reference lacks, such as {_quoted(self.example)}"
        if self.flag in ("constant in reference", "constant in current"):
            value = _quoted(self.example) if self.kind == "text" else self.example
            other = "current" if self.flag.endswith("reference") else "reference"
            return f"{self.flag} ({value}), several values in {other}"
        if self.flag is not None or self.aspect == "missing":
            return f"missing {_percents(self.missing_reference, self.missing_current)}"
        if self.level is not None:
            return self._share_of_level()
        return self._values()

    def _share_of_level(self) -> str:
        level = self.level if self.kind == "boolean" or self.level == OTHER else _quoted(self.level)
        shares = _percents(self.share_reference or 0.0, self.share_current or 0.0)
        return f"share of {level} {shares}"

    def _values(self) -> str:
        """Means where they tell the story; quartiles of another spread; else medians."""
        if self.kind == "text":
            return "no frequent levels"
        if self.mean_reference is None or self.mean_current is None:
            return f"missing {_percents(self.missing_reference, self.missing_current)}"
        unit = _unit(self)
        before, after = self.quartiles_reference, self.quartiles_current
        if before is not None and after is not None:
            (low, middle, high), (lower, median, higher) = (
                [_trimmed(_value_text(value, self.kind, unit)) for value in own]
                for own in (before, after)
            )
            if self.aspect == "spread":
                return f"middle half {low} to {high} -> {lower} to {higher}"
            if (after[1] - before[1]) * (self.mean_current - self.mean_reference) < 0:
                return f"median {middle} -> {median}"
        means = [_value_text(mean, self.kind, unit)
                 for mean in (self.mean_reference, self.mean_current)]  # fmt: skip
        by = "" if self.effect is None else f" ({self.effect:+.2f} standard deviations)"
        return f"mean {means[0]} -> {means[1]}{by}"


def _unit(column: MovedColumn) -> float:
    """The size of a difference that matters: a standard deviation, or what is known of it."""
    gap = abs((column.mean_current or 0.0) - (column.mean_reference or 0.0))
    if column.effect and gap:
        return gap / abs(column.effect)
    return gap or abs(column.mean_current or 0.0) or 1.0


def _value_text(value: float, kind: Kind, unit: float) -> str:
    """A value with the digits that matter beside differences of a unit."""
    if kind == "date":
        return time_text(value, days=unit >= 2 * _DAY)
    if kind == "time":
        return clock_text(value)
    digits = 2 - floor(log10(unit)) if unit > 0 and isfinite(unit) else 2
    fixed = 0 <= digits <= 6 or (digits < 0 and abs(value) < 1e9)
    text = f"{value:.{max(digits, 0)}f}" if fixed else f"{value:.4g}"
    text = text.removeprefix("-") if float(text) == 0 else text
    return f"{text} s" if kind == "duration" else text


def _trimmed(text: str) -> str:
    """A value of the data, without zeros that rounding added."""
    return re.sub(r"\.(\d*?)0+\b", lambda found: f".{found[1]}" if found[1] else "", text)


def time_text(seconds: float, *, days: bool) -> str:
    """Seconds since 1970 as a date, with the time of day where days are too coarse.

    Examples
    --------
    >>> print(time_text(86400.0, days=True), time_text(90000.0, days=False))
    1970-01-02 1970-01-02 01:00
    """
    time = _EPOCH + timedelta(seconds=seconds)
    return time.date().isoformat() if days else f"{time.date().isoformat()} {time:%H:%M}"


def clock_text(seconds: float) -> str:
    """Seconds since midnight as a time of day.

    Examples
    --------
    >>> print(clock_text(3661.0))
    01:01:01
    """
    return f"{(_EPOCH + timedelta(seconds=seconds)):%H:%M:%S}"


def _percents(before: float, after: float) -> str:
    """Two shares; never 0 % or 100 % for less than that, and with a digit more if they differ."""
    texts = [_percent(before, 0), _percent(after, 0)]
    if texts[0] == texts[1] and before != after:
        texts = [_percent(before, 1), _percent(after, 1)]
    return f"{texts[0]} % -> {texts[1]} %"


def _percent(share: float, digits: int) -> str:
    hundred = 100 * share
    if 1 <= hundred <= 99 or share in (0.0, 1.0):
        return f"{hundred:.{digits}f}"
    if hundred < 1:
        return f"{hundred:.{1 + digits}g}"
    return f"{100 - float(f'{100 - hundred:.{1 + digits}g}'):g}"


def _short(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."


def _quoted(text: str | None) -> str:
    return f"'{_short(text or '')}'"


def _plain(value: Any) -> Any:
    """Tuples as lists, and None for numbers that JSON does not know."""
    if isinstance(value, dict):
        return {key: _plain(own) for key, own in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(own) for own in value]
    return None if isinstance(value, float) and not isfinite(value) else value
