"""The result of plan: how many rows, which gap, and the curve of power or gap by rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, isinf
from typing import TYPE_CHECKING, Any, Literal

from rdiv.inference.intervals import Interval
from rdiv.pictures import new_axes, svg_text
from rdiv.results import SCHEMA, as_json, plain, short_block

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Plan"]


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """How many rows a comparison needs, estimated from a pilot.

    Parameters
    ----------
    method : {"variance", "simulation"}
        From the variance of the pilot's losses, tilted to the gap (R-divergence), or by tests of
        resampled pilots.
    rows_p, rows_q : int, optional
        Rows needed. None when no gap was given, or no simulated size had the power.
    rows_p_range : Interval, optional
        Between these lie the rows of reference that are really needed, for four of five pilots.
    smallest_detectable_gap : float, optional
        The gap that as many rows as in the pilot detect with `power`, in units of the loss.
    gap_range : Interval, optional
        Between these lies that gap, for four of five pilots.
    curve : dict of columns
        ``n_p n_q power`` and, by variance, ``smallest_gap gap_low gap_high``: the gap with its
        range; by simulation ``low high se null``: the interval of the power, its standard error,
        and the rejection rate when both samples are drawn from the pool.
    gap : float, optional
        The gap to detect.
    power, alpha : float
        Probability of detecting it; level of the test.
    n_p, n_q : int
        Rows of the pilot; ``n_q`` is 0 for a plan from the reference alone.
    variance_p, variance_q : float, optional
        Variances of the losses of single rows of the pilot.
    discrepancy, model : str
    seed : int
    notes : mapping

    Examples
    --------
    >>> import numpy as np
    >>> import rdiv
    >>> rng = np.random.default_rng(0)
    >>> found = rdiv.plan(
    ...     rng.normal(size=(80, 2)), rng.normal(size=(80, 2)), model="gmm", gap=0.3, rng=0
    ... )
    >>> print(found.method, found.rows_p == found.rows_q, len(found.curve["n_p"]) > 5)
    variance True True
    """

    method: Literal["variance", "simulation"]
    rows_p: int | None
    rows_q: int | None
    rows_p_range: Interval | None
    smallest_detectable_gap: float | None
    gap_range: Interval | None
    curve: Mapping[str, list[Any]]
    gap: float | None
    power: float
    alpha: float
    n_p: int
    n_q: int
    variance_p: float | None
    variance_q: float | None
    discrepancy: str
    model: str | None
    seed: int
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "\n".join([self.headline(), *self.details()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return short_block("Plan", self.headline(), self.details())

    def plot(self, ax: Axes | None = None) -> Axes:
        """The power curve, or without a gap the smallest gap that is found, by rows.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Drawn on new ones without it.
        """
        ax = new_axes(5.2, 3.6) if ax is None else ax
        self._draw(ax)
        return ax

    def headline(self) -> str:
        """The plan in one sentence."""
        asked = f"{100 * self.power:g} % probability"
        if self.method == "simulation" and self.rows_p is None:
            most = max(self.curve["n_p"])
            return f"No size up to {most} rows of reference reached {asked}; try larger sizes."
        what = "a difference like the pilot's" if self.gap is None else f"a gap of {self.gap:g}"
        blind = self.notes.get("labels") == "none"
        what = what.replace("a gap", "an expected gap") if blind else what
        if self.rows_p is not None:
            return (
                f"{self.rows_p} + {self.rows_q} rows{', current ones without labels,' * blind} "
                f"find {what} with {asked} at level {self.alpha:g}."
            )
        sizes = f"{self.n_p} + {self.n_q} rows" if self.n_q else f"The {self.n_p} rows, as many"
        again = "" if self.n_q else " again as the current sample,"
        if isinf(self.smallest_detectable_gap or 0.0):
            return f"No gap can be named that {sizes}{again} would find with {asked}."
        return (
            f"{sizes}{again} find {'an expected' if blind else 'a'} gap of "
            f"{self.smallest_detectable_gap:.3g} in mean loss with {asked} at level {self.alpha:g}."
        )

    def details(self) -> list[str]:
        """The numbers behind it, one line each."""
        current = f", {self.n_q} current rows" if self.n_q else " rows, no current ones"
        blind = self.notes.get("labels") == "none"
        lines = [f"pilot: {self.n_p} reference{current}; seed {self.seed}"]
        if self.rows_p_range is not None:
            low, high = self.rows_p_range
            lines.append(
                f"range: {low} to {high} reference rows; four of five such ranges hold the number "
                "that is needed"
            )
        if self.method == "variance":
            lines += [
                f"smallest gap found by the pilot's rows: {self.smallest_detectable_gap:.4g}"
                + _range(self.gap_range),
                f"variance of the {'expected ' * blind}loss: {self.variance_p:.4g} on reference"
                + ("" if self.variance_q is None else f", {self.variance_q:.4g} on current"),
            ]
        if "asymptotic" in self.notes:
            lines.append(f"asymptotic: {self.notes['asymptotic']}")
        if (others := self.notes.get("with labels")) is not None:
            known = f"{others['rows_p']} + {others['rows_q']} rows"
            if others["rows_p"] is None:
                known = f"a gap of {others['smallest_detectable_gap']:.3g} with the same rows"
            lines.append(
                f"with labels: {known} (the expected loss explains "
                f"{100 * self.notes['explained']:.0f} % of the loss's variance)"
            )
        model = "" if self.model is None else f"; model: {self.model}"
        return [*lines, f"test: {self.discrepancy}{model}"]

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values, ready for JSON."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("rows_p_range", "gap_range"):
            fields[name] = None if fields[name] is None else fields[name]._asdict()
        return {"schema": SCHEMA, **plain(fields)}

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return as_json(self.to_dict())

    def to_svg(self) -> str:
        """The picture that `plot` draws, as SVG text."""
        return svg_text(lambda figure: self._draw(figure.subplots()), (5.2, 3.6))

    def _draw(self, axes: Any) -> None:
        rows, curve = self.curve["n_p"], self.curve
        axes.set(xscale="log", xlabel="rows of reference", title=f"{self.discrepancy}: a plan")
        if self.method == "variance" and self.gap is None:
            axes.fill_between(rows, curve["gap_low"], curve["gap_high"], color="C0", alpha=0.2)
            axes.plot(rows, curve["smallest_gap"], color="C0")
            axes.axvline(self.n_p, color="0.5", linestyle=":", linewidth=1)
            axes.set_ylabel(f"smallest gap found ({100 * self.power:g} %)")
            if any(0 < gap < inf for gap in curve["smallest_gap"]):  # else nothing is to be scaled
                axes.set_yscale("log")
            return
        if self.method == "simulation":
            axes.fill_between(rows, curve["low"], curve["high"], color="C0", alpha=0.2)
            axes.plot(rows, curve["null"], color="0.5", linestyle="--", label="both from the pool")
            axes.legend(fontsize="x-small", frameon=False)
        axes.plot(rows, curve["power"], color="C0")
        axes.axhline(self.power, color="0.5", linestyle=":", linewidth=1)
        if self.rows_p_range is not None:
            axes.axvspan(*self.rows_p_range, color="0.5", alpha=0.15)
        if self.rows_p is not None:
            axes.axvline(self.rows_p, color="0.5", linestyle=":", linewidth=1)
        axes.set(ylabel="power", ylim=(-0.02, 1.02))


def _range(span: Interval | None) -> str:
    return "" if span is None else f" (range: {span.low:.3g} to {span.high:.3g})"
