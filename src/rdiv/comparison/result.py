"""The result of compare: the verdict, the gaps and their intervals, the losses; text and JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rdiv.comparison import sentences
from rdiv.comparison.expected_gap import ExpectedGap
from rdiv.comparison.loss_summary import LossSummary
from rdiv.comparison.margins import MarginTest
from rdiv.comparison.retraining_gain import Retraining
from rdiv.comparison.split import Split
from rdiv.comparison.verdicts import Direction, Verdict
from rdiv.drivers.moved_column import MovedColumn
from rdiv.drivers.result import Drivers
from rdiv.inference.intervals import Interval
from rdiv.results import SCHEMA, TwoSampleResult, as_json, plain
from rdiv.samples.frames import new_frame
from rdiv.samples.missing_labels import Labels
from rdiv.whole_files import write_whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdiv.comparison.partly_labelled import PartlyLabelled

__all__ = ["Comparison"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of comparing a current sample with a reference.

    Parameters
    ----------
    verdict : str
        "risk shift": the model in use does worse, or better, on current (where no model in use was
        measured: the model that has seen both samples). "hidden shift": only the shared questions
        found a difference. "shift, kind not established": all questions together did, none alone.
        "expected risk shift": no current row has a label, and the loss to be expected differs.
        "no shift" does not show that there is none: `smallest_detectable_gap` says how large a gap
        would have been found.
    pvalue : float
        The p-value of all questions at once.
    gap : float, optional
        Mean loss of the model in use on current minus that on reference; positive is worse. None
        when this was not asked. Where no current row has a label it is the expected gap (None where
        inputs do not overlap), where some have one that of all current rows.
    gap_interval : Interval, optional
        Confidence interval of the gap on future rows.
    shared_gap : float, optional
        The same for one model that was trained on both samples; None when this was not asked.
    shared_gap_interval : Interval, optional
        None also when its losses are in-sample, which give no valid interval.
    retraining : Retraining, optional
        What the shared model would win over the one in use, on current and on reference; None
        unless both were measured with the same kind of loss.
    direction : {"worse", "better"}, optional
        Whether the mean loss got worse or better, for a risk shift.
    smallest_detectable_gap : float
        The gap of the leading question that the verdict would find with 80 % probability, were the
        loss on current higher by so much; infinite (None in JSON) where no p-value can be small
        enough, for so few permutations, rows or groups. With heavy tails it is asymptotic.
    results : dict of TwoSampleResult
        The tests in-use, r-div, score and omnibus (r-div and score together) by name, unadjusted;
        p is the reference, q the current sample. Those that were not asked are absent.
    adjusted_pvalues : dict of float
        p-values that hold for all questions together, by closed testing.
    split : Split, optional
        The gap of the model in use in two parts: explained by the inputs that moved, and by a
        changed relation between inputs and target. None where inputs do not overlap (a note says
        so), without a target, and with ``drivers=False``.
    warnings : tuple of str
        Sentences about the data that the reader must know: a column that tells the files apart,
        few rows, rows that stand in both files, in-sample losses.
    labels : {"all", "some", "none"}, optional
        How many of the current rows have a label; None without a target.
    expected : ExpectedGap, optional
        Where no current row has a label: the expected gap, and how much of current it covers.
    labelled : PartlyLabelled, optional
        Where some current rows have a label: what the others add, and how many labels are lacking.
    prediction_columns : tuple of MovedColumn, optional
        Where labels are missing: how the predictions of the model in use moved; not part of the
        verdict.
    input_test : TwoSampleResult, optional
        A test of the inputs without a model, for context; it is not part of the verdict.
    input_columns : tuple of MovedColumn, optional
        How every input column moved, with p-values that hold for all columns together; not part of
        the verdict.
    drivers : Drivers, optional
        The rows, slices and columns that carry the shift.
    equivalence, not_worse : MarginTest, optional
        Whether the gap was shown to lie within the margin, where one was given.
    losses : LossSummary, optional
        The distribution of the losses in both samples.
    notes : mapping

    Examples
    --------
    >>> import numpy as np
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 2))
    >>> y = x[:, 0] + rng.normal(size=400) * np.where(np.arange(400) < 200, 1.0, 2.0)
    >>> found = rdiv.compare((x[:200], y[:200]), (x[200:], y[200:]), model="ridge", rng=0)
    >>> print(found.verdict, found.direction, found.gap > 2, found.shared_gap > 2)
    risk shift worse True True
    """

    verdict: Verdict
    pvalue: float
    gap: float | None
    gap_interval: Interval | None
    shared_gap: float | None
    shared_gap_interval: Interval | None
    direction: Direction | None
    smallest_detectable_gap: float
    results: dict[str, TwoSampleResult]
    adjusted_pvalues: dict[str, float]
    retraining: Retraining | None = None
    split: Split | None = None
    warnings: tuple[str, ...] = ()
    labels: Labels | None = None
    expected: ExpectedGap | None = None
    labelled: PartlyLabelled | None = None
    prediction_columns: tuple[MovedColumn, ...] | None = None
    input_test: TwoSampleResult | None = None
    input_columns: tuple[MovedColumn, ...] | None = None
    drivers: Drivers | None = None
    equivalence: MarginTest | None = None
    not_worse: MarginTest | None = None
    losses: LossSummary | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shifted(self) -> bool:
        """Whether any shift was found."""
        return self.verdict != "no shift"

    @property
    def advice(self) -> str:
        """What to do about it, in one or two sentences."""
        return sentences.advice(self)

    @property
    def leading(self) -> str:
        """The question that words, direction and margins are about: in-use, or else r-div."""
        return "in-use" if "in-use" in self.results else "r-div"

    @property
    def leading_gap(self) -> float | None:
        """The gap of the leading question; None for an expected one without overlap."""
        return self.shared_gap if self.gap is None else self.gap

    @property
    def lean(self) -> Direction | None:
        """Whether the mean loss is higher or lower on current, shown or not.

        None where that is unknown: an expected gap without overlap, or of another sign than the
        difference that was tested.
        """
        gap, test = self.leading_gap, self.results[self.leading]
        if gap is None:
            return None
        if self.labels == "none" and test.risk_p is not None and test.risk_q is not None:
            gap = gap if (gap > 0) == (test.risk_q > test.risk_p) else 0.0
        return None if gap == 0 and self.labels == "none" else "worse" if gap > 0 else "better"

    @property
    def leading_interval(self) -> Interval | None:
        """The interval of the leading gap."""
        return self.shared_gap_interval if self.gap is None else self.gap_interval

    def __str__(self) -> str:
        return "\n".join([self.headline(), *self.details()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from rdiv.report import short_form

        return short_form(self)

    def to_html(self, path: str | os.PathLike[str], *, rows: bool = True) -> None:
        """Write the comparison as one self-contained page.

        Parameters
        ----------
        path : path
        rows : bool
            False leaves out the rows that carry the gap, the only raw data on the page.
        """
        from rdiv.report import comparison_page

        write_whole_file(path, comparison_page(self, rows=rows).encode())

    def headline(self) -> str:
        """The verdict in one sentence."""
        return sentences.headline(self)

    def details(self) -> list[str]:
        """The numbers behind the verdict, one line each."""
        return sentences.details(self)

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values, ready for JSON."""
        test = self.results[self.leading]
        shared, moved = self.results.get("r-div"), None
        if self.input_columns is not None:
            moved = [column.fields() for column in self.input_columns]
        predicted = None
        if self.prediction_columns is not None:
            predicted = [column.fields() for column in self.prediction_columns]
        return {
            "schema": SCHEMA,
            **plain(
                {
                    "verdict": self.verdict,
                    "direction": self.direction,
                    "pvalue": self.pvalue,
                    "gap": self.gap,
                    "gap_interval": _ends(self.gap_interval),
                    "shared_gap": self.shared_gap,
                    "shared_gap_interval": _ends(self.shared_gap_interval),
                    "retraining": _fields(self.retraining),
                    "split": _fields(self.split),
                    "labels": self.labels,
                    "expected": _fields(self.expected),
                    "labelled": _fields(self.labelled),
                    "advice": self.advice,
                    "warnings": list(self.warnings),
                    "smallest_detectable_gap": self.smallest_detectable_gap,
                    "adjusted_pvalues": self.adjusted_pvalues,
                    "alpha": test.alpha,
                    "n_p": test.n_p,
                    "n_q": test.n_q,
                    "model": test.model,
                    "shared_model": None if shared is None else shared.model,
                    "seed": test.seed,
                    "results": {name: result.fields() for name, result in self.results.items()},
                    "input_test": None if self.input_test is None else self.input_test.fields(),
                    "input_columns": moved,
                    "prediction_columns": predicted,
                    "equivalence": _fields(self.equivalence),
                    "not_worse": _fields(self.not_worse),
                    "drivers": _fields(self.drivers),
                    "losses": None if self.losses is None else self.losses.to_dict(),
                    "notes": self.notes,
                }
            ),
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return as_json(self.to_dict())

    def to_frame(self) -> Any:
        """One row per question: its model, gap, interval, p-value and adjusted p-value.

        Returns
        -------
        polars or pandas frame
            Of polars where that is installed.
        """
        spans = {
            "in-use": (self.gap, self.gap_interval),
            "r-div": (self.shared_gap, self.shared_gap_interval),
        }
        rows = []
        for name, pvalue in self.adjusted_pvalues.items():
            result, (gap, span) = self.results[name], spans.get(name, (None, None))
            low, high = (None, None) if span is None else span
            rows.append(
                {
                    "question": name,
                    "model": result.model,
                    "mean_loss_reference": result.risk_p,
                    "mean_loss_current": result.risk_q,
                    "gap": gap,
                    "low": low,
                    "high": high,
                    "pvalue": result.pvalue,
                    "adjusted_pvalue": pvalue,
                }
            )
        return new_frame({name: [row[name] for row in rows] for name in rows[0]})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Both gaps, and what retraining would win, with their intervals.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Drawn on new ones without it.
        """
        from rdiv.comparison.plots import plot_gaps

        return plot_gaps(self, ax)


def _fields(
    part: Drivers | ExpectedGap | MarginTest | PartlyLabelled | Retraining | Split | None,
) -> dict[str, Any] | None:
    return None if part is None else part.fields()


def _ends(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else interval._asdict()
