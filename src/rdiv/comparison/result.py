"""The result of compare: the verdict, the gap and its interval, the losses; as text and JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.comparison import sentences
from rdiv.comparison.margins import MarginTest
from rdiv.drivers.result import Drivers
from rdiv.inference.intervals import Interval
from rdiv.results import SCHEMA, TwoSampleResult, as_json, plain

__all__ = ["Comparison", "Direction", "LossSummary", "Verdict", "summarise_losses"]


BINS = 36
"""Bins between the ends of the middle 98 % of all losses."""

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
"""Quantiles that are kept."""

_SKEWED = 100.0  # positive losses are binned on a log scale when the ends differ by this factor


@dataclass(frozen=True)
class LossSummary:
    """The distribution of the losses in two samples.

    Parameters
    ----------
    scale : {"linear", "log"}
        How the edges are spaced.
    edges : tuple of float
        Edges of the bins; the outermost bins also hold all losses beyond them.
    shares_p, shares_q : tuple of float
        Share of each sample's rows in each bin; they sum to 1.
    levels, quantiles_p, quantiles_q : tuple of float
        Quantiles of the losses of each sample, and their levels.

    Examples
    --------
    >>> summary = summarise_losses(np.array([1.0, 2.0, 3.0, 9.0]), np.array([1, 1, 0, 0], bool))
    >>> print(summary.scale, summary.quantiles_p[2], summary.quantiles_q[2])
    linear 1.5 6.0
    """

    scale: Literal["linear", "log"]
    edges: tuple[float, ...]
    shares_p: tuple[float, ...]
    shares_q: tuple[float, ...]
    levels: tuple[float, ...]
    quantiles_p: tuple[float, ...]
    quantiles_q: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values."""
        return asdict(self)


def summarise_losses(
    losses: NDArray[np.floating] | None, is_p: NDArray[np.bool_]
) -> LossSummary | None:
    """Bin the losses of both samples by the same edges; None where there are no losses.

    Parameters
    ----------
    losses : (n,) array or None
    is_p : (n,) mask

    Examples
    --------
    >>> losses = np.random.default_rng(0).exponential(size=400)
    >>> summary = summarise_losses(losses, np.arange(400) < 100)
    >>> print(len(summary.edges) - len(summary.shares_p), round(sum(summary.shares_q), 6))
    1 1.0
    """
    if losses is None or losses.ndim != 1 or not np.isfinite(losses).all():
        return None
    values: NDArray[np.float64] = losses.astype(np.float64, copy=False)
    scale, edges = _edges(values)
    of_p, of_q = values[is_p], values[~is_p]
    return LossSummary(
        scale=scale,
        edges=tuple(edges.tolist()),
        shares_p=_shares(of_p, edges),
        shares_q=_shares(of_q, edges),
        levels=LEVELS,
        quantiles_p=tuple(np.quantile(of_p, LEVELS).tolist()),
        quantiles_q=tuple(np.quantile(of_q, LEVELS).tolist()),
    )


def _edges(losses: NDArray[np.float64]) -> tuple[Literal["linear", "log"], NDArray[np.float64]]:
    low, high = np.quantile(losses, [0.01, 0.99]).tolist()
    if low > 0 and high / low > _SKEWED:
        return "log", np.geomspace(low, high, BINS + 1)
    if not high > low:
        half = max(abs(low), 1.0) / 2
        low, high = low - half, high + half
    return "linear", np.linspace(low, high, BINS + 1)


def _shares(losses: NDArray[np.float64], edges: NDArray[np.float64]) -> tuple[float, ...]:
    places = np.clip(np.searchsorted(edges, losses, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(places, minlength=len(edges) - 1)
    return tuple((counts / len(losses)).tolist())


Verdict = Literal["risk shift", "hidden shift", "no shift"]
Direction = Literal["worse", "better"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of comparing a current sample with a reference.

    Parameters
    ----------
    verdict : {"risk shift", "hidden shift", "no shift"}
        "risk shift": the mean losses of the model differ. "hidden shift": the samples differ in a
        direction that would change the fitted model, while a difference in mean loss was not
        shown. "no shift" does not show that there is none: `smallest_detectable_gap` says how
        large a gap would have been found.
    gap : float
        Mean loss on current minus mean loss on reference; positive is worse.
    gap_interval : Interval, optional
        Confidence interval of the gap of the fitted model(s) on future rows. None when losses are
        in-sample, which give no valid interval.
    direction : {"worse", "better"}, optional
        Whether the mean loss got worse or better, for a risk shift.
    smallest_detectable_gap : float
        The gap that would be found with 80 % probability.
    results : dict of TwoSampleResult
        The tests r-div, score and omnibus by name, unadjusted, from one fit and the same
        permutations; p is the reference, q the current sample. A model without gradients has r-div
        alone.
    adjusted_pvalues : dict of float
        p-values that hold for r-div and score together, by closed testing: the larger of a test's
        own and that of omnibus.
    inputs : TwoSampleResult, optional
        A test of the inputs without a model, for context; it is not part of the verdict.
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
    >>> print(found.verdict, found.direction, round(found.gap, 1))
    risk shift worse 3.1
    """

    verdict: Verdict
    gap: float
    gap_interval: Interval | None
    direction: Direction | None
    smallest_detectable_gap: float
    results: dict[str, TwoSampleResult]
    adjusted_pvalues: dict[str, float]
    inputs: TwoSampleResult | None = None
    drivers: Drivers | None = None
    equivalence: MarginTest | None = None
    not_worse: MarginTest | None = None
    losses: LossSummary | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shifted(self) -> bool:
        """Whether any shift was found."""
        return self.verdict != "no shift"

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

        Path(path).write_text(comparison_page(self, rows=rows), encoding="utf-8")

    def headline(self) -> str:
        """The verdict in one sentence."""
        return sentences.headline(self)

    def details(self) -> list[str]:
        """The numbers behind the verdict, one line each."""
        return sentences.details(self)

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values, ready for JSON."""
        test = self.results["r-div"]
        interval = None if self.gap_interval is None else self.gap_interval._asdict()
        return {
            "schema": SCHEMA,
            **plain(
                {
                    "verdict": self.verdict,
                    "direction": self.direction,
                    "gap": self.gap,
                    "gap_interval": interval,
                    "smallest_detectable_gap": self.smallest_detectable_gap,
                    "adjusted_pvalues": self.adjusted_pvalues,
                    "alpha": test.alpha,
                    "n_p": test.n_p,
                    "n_q": test.n_q,
                    "model": test.model,
                    "seed": test.seed,
                    "results": {name: result.fields() for name, result in self.results.items()},
                    "inputs": None if self.inputs is None else self.inputs.fields(),
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


def _fields(part: Drivers | MarginTest | None) -> dict[str, Any] | None:
    return None if part is None else part.fields()
