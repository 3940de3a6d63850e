"""The result of a search for wrong labels: how many and which rows, as text and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rdiv.noisy_labels.posterior import Posterior
from rdiv.noisy_labels.predictability import Predictability
from rdiv.pictures import new_axes
from rdiv.results import SCHEMA, as_json, plain, short_block

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LabelNoise", "NoiseRate", "estimate_rate"]


_NORMAL = 1.96  # 95 % of a normal distribution


class NoiseRate(NamedTuple):
    """A share of wrong labels and an interval for it.

    Parameters
    ----------
    rate, low, high : float
    """

    rate: float
    low: float
    high: float


def estimate_rate(posterior: Posterior, predictable: Predictability) -> NoiseRate | None:
    """The share of wrong labels, with an interval; None where nothing can be said about it.

    The rate is the mean probability of being wrong by the likeliest flips alone. The share of
    anchors whose label is not the predicted one is a second estimate, which counts mistakes of the
    model as wrong labels. The interval reaches from the smaller of the two, lowered as far as the
    labels are unpredictable, to the larger, and is widened by the 95 % sampling error of a share
    among the anchors. It assumes that flips depend on the row only through its true class.

    Examples
    --------
    >>> import numpy as np
    >>> wrong = np.repeat([0.9, 0.02], [20, 80])
    >>> posterior = Posterior(wrong, np.eye(2), np.eye(2), 100, 0.24)
    >>> found = estimate_rate(posterior, Predictability(error=0.25, base_error=0.5))
    >>> print([round(number, 3) for number in found])
    [0.196, 0.055, 0.318]
    >>> print(estimate_rate(posterior, Predictability(error=0.45, base_error=0.5)))
    None
    """
    if not predictable.told_apart:
        return None
    mean, share = float(posterior.wrong.mean()), posterior.anchor_rate
    least = min(mean, share)
    spread = max(mean * (1 - mean), 0.25 / posterior.anchors)
    error = _NORMAL * sqrt(spread / posterior.anchors)
    low = predictable.explained(least) ** 2 * least - error
    high = max(mean, share) + error
    return NoiseRate(mean, max(low, 0.0), min(high, 1.0))


@dataclass(frozen=True, eq=False, repr=False)
class LabelNoise:
    """The result of a `LabelNoiseDetector`; arrays have one entry per row, in the given order.

    Parameters
    ----------
    losses : (n,) array
        Log loss of the given label, by a model that did not see the row.
    probabilities : (n,) array
        Probability that the label is wrong; NaN without folds, and where wrong labels cannot be
        told from unpredictable ones.
    ranks : (n,) integers
        1 for the most suspicious row, n for the least.
    suspected : (n,) mask
        The first ``noise_rate`` of the ranks.
    given, suggested : (n,) labels
        The given label, and the most probable true label; for suspected rows the most probable
        label other than the given one.
    noise_rate : float
        Share of rows suspected, as given or estimated.
    noise_interval : NoiseRate, optional
        Estimate of the share of wrong labels, with an interval; None without folds, and where
        wrong labels cannot be told from unpredictable ones.
    discrepancy : float
        Mean loss of the suspected rows minus that of the others: their R-divergence.
    classes : (K,) labels
    transition : (K, K) array, optional
        Estimated probability of every given label (column) for every true one (row).
    model : str
    folds : int, optional
        None for losses of a model that saw the rows.
    seed : int
    notes : mapping
    _doubts : (n,) array, optional
        Probabilities by the likeliest flips alone, by which rows are ranked and training is
        weighted.

    Examples
    --------
    >>> from rdiv.noisy_labels import LabelNoiseDetector
    >>> x = np.linspace(-1, 1, 100)[:, None]
    >>> y = np.where(x[:, 0] > 0, "up", "down")
    >>> y[[3, 90]] = ["up", "down"]
    >>> noise = LabelNoiseDetector("logistic", noise_rate=0.02).fit(x, y, rng=0)
    >>> print(noise)
    2 of 100 labels are suspected to be wrong (2 % of the rows, as given)
    wrong labels: about 2.08 %, interval 0 to 4.88 %
    mean loss: 4.36 on the suspected rows, 0.181 on the others, a discrepancy of 4.18
    model: logistic, 5 folds; seed 0
    >>> print(noise.rows()["row"], noise.rows()["suggested"])
    [3, 90] ['down', 'up']
    """

    losses: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    ranks: NDArray[np.intp]
    suspected: NDArray[np.bool_]
    given: NDArray[Any]
    suggested: NDArray[Any]
    noise_rate: float
    noise_interval: NoiseRate | None
    discrepancy: float
    classes: NDArray[Any]
    transition: NDArray[np.float64] | None
    model: str
    folds: int | None
    seed: int
    notes: Mapping[str, Any] = field(default_factory=dict)
    _doubts: NDArray[np.float64] | None = None

    def __str__(self) -> str:
        return "\n".join([self.headline(), *self.details()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        some = bool(self.suspected.any())
        lines = self.details()
        return short_block("Labels", self.headline(), lines, tone="hidden" if some else "none")

    def plot(self, ax: Axes | None = None) -> Axes:
        """How many rows have which loss: the suspected ones, and all others.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Drawn on new ones without it.
        """
        ax = new_axes(6.4, 3.2) if ax is None else ax
        edges = np.histogram_bin_edges(self.losses, bins=40).tolist()
        for name, rows, colour in (
            ("not suspected", ~self.suspected, "0.7"),
            ("suspected", self.suspected, "C3"),
        ):
            if rows.any():
                ax.hist(self.losses[rows], bins=edges, color=colour, label=f"{name}: {rows.sum()}")
        ax.set_yscale("log")
        ax.set_xlabel("log loss of the given label")
        ax.set_ylabel("rows")
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
        return ax

    def headline(self) -> str:
        """The finding in one sentence."""
        count, n = int(self.suspected.sum()), len(self.losses)
        if self.notes.get("noise rate") == "auto" and self.noise_interval is None:
            return f"No label of {n} is suspected, as the model hardly predicts any of them"
        how = {"auto": "estimated", "paper": "by the paper's rule"}.get(
            str(self.notes.get("noise rate")), "as given"
        )
        return (
            f"{count} of {n} labels are suspected to be wrong "
            f"({100 * self.noise_rate:.3g} % of the rows, {how})"
        )

    def details(self) -> list[str]:
        """The numbers behind the finding, one line each."""
        lines = []
        if self.noise_interval is not None:
            low, high = 100 * self.noise_interval.low, 100 * self.noise_interval.high
            rate = 100 * self.noise_interval.rate
            lines.append(f"wrong labels: about {rate:.3g} %, interval {low:.3g} to {high:.3g} %")
        if "predictability" in self.notes:
            lines.append(str(self.notes["predictability"]))
        if np.isfinite(self.discrepancy):
            high_loss = self.losses[self.suspected].mean()
            low_loss = self.losses[~self.suspected].mean()
            lines.append(
                f"mean loss: {high_loss:.3g} on the suspected rows, {low_loss:.3g} on the others, "
                f"a discrepancy of {self.discrepancy:.3g}"
            )
        return [*lines, f"model: {self.model}; seed {self.seed}"]

    def rows(self, most: int | None = None) -> dict[str, list[Any]]:
        """The suspected rows, most suspicious first, as columns.

        Parameters
        ----------
        most : int, optional
            Largest number of rows to list.

        Returns
        -------
        dict
            Columns ``row`` (counted from 0), ``given``, ``suggested``, ``loss``, ``probability``.
        """
        rows = np.flatnonzero(self.suspected)
        rows = rows[np.argsort(self.ranks[rows])][:most]
        return {
            "row": rows.tolist(),
            "given": self.given[rows].tolist(),
            "suggested": self.suggested[rows].tolist(),
            "loss": self.losses[rows].tolist(),
            "probability": self.probabilities[rows].tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python values, and the suspected rows also as ``rows``."""
        interval = None if self.noise_interval is None else self.noise_interval._asdict()
        shown = [name for name in self.__dataclass_fields__ if not name.startswith("_")]
        fields = {name: getattr(self, name) for name in shown}
        columns = self.rows()
        records = [
            dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)
        ]
        document = {**fields, "noise_interval": interval, "rows": records}
        return {"schema": SCHEMA, **plain(document)}

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return as_json(self.to_dict())
