"""The page of a search for wrong labels: how many, with which interval, which rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rdiv.remarks import SUSPECTED_LABELS, wrong_with
from rdiv.report.comparison_view import reproduce_view
from rdiv.report.pages import render
from rdiv.report.provenance import Provenance, versions
from rdiv.report.svg import CURRENT, GRID, REFERENCE, Chart, draw
from rdiv.report.tables import Head, Table
from rdiv.report.terms import NOISE_WORDS, word_list
from rdiv.report.wording import amount, count, percent, shorten

if TYPE_CHECKING:
    from rdiv.noisy_labels.result import LabelNoise

__all__ = ["noise_page", "noise_view"]

MOST_ROWS = 500
"""Most suspected rows that a page lists."""

MOST_FLIPS = 12
"""Most pairs of classes that a page lists."""


_METHODS = (
    "Every row was judged by a model that did not see it. Its class probabilities were corrected "
    "for flips, whose frequencies were counted among the rows that the model is surest of. This "
    "gives the probability that a label is wrong, by which rows are ranked. The estimate assumes "
    "that flips depend on a row only through its true class. The interval covers the sampling "
    "error of the counted rows, the distance between two estimates, and as much doubt as the model "
    "leaves about the labels of other rows, but not a failure of that assumption. Probabilities "
    "are discounted by the same doubt."
)
_UNKNOWN = (
    "Every row was judged by a model that did not see it. A wrong label and a label that cannot be "
    "predicted look alike, and the model avoids less than a quarter of the mistakes of always "
    "guessing the most frequent label. So no share of wrong labels, interval or probability is "
    "given."
)
_BY_LOSS = "Rows are ranked by the loss of the given label, the highest first."


def noise_page(found: LabelNoise, provenance: Provenance | None = None) -> str:
    """A search for wrong labels as one self-contained HTML page.

    Examples
    --------
    >>> from rdiv.noisy_labels import LabelNoiseDetector
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> y = np.where(x[:, 0] > 0, "up", "down")
    >>> page = noise_page(LabelNoiseDetector("logistic", noise_rate=0.05).fit(x, y, rng=0))
    >>> print("3 of 60 labels are suspected" in page)
    True
    """
    given = Provenance(versions=versions()) if provenance is None else provenance
    return render("noise.html", noise_view(found, given), rows=True)


def noise_view(found: LabelNoise, provenance: Provenance) -> dict[str, Any]:
    """Everything that the template shows."""
    some = bool(found.suspected.any())
    return {
        "badge": _badge(found),
        "tone": "hidden" if some else "none",
        "headline": f"{found.headline()}.",
        "warnings": [],
        "advice": SUSPECTED_LABELS,
        "numbers": _numbers(found),
        "terms": word_list(NOISE_WORDS),
        "remarks": [f"{text[:1].upper()}{text[1:]}." for text in _remarks(found)],
        "charts": [_loss_chart(found)],
        "flips": _flips(found),
        "rows": _rows(found) if some else None,
        "methods": _methods(found),
        "reproduce": reproduce_view(provenance, found.seed),
    }


def _badge(found: LabelNoise) -> str:
    if found.suspected.any():
        return "\u25b2 Suspected labels"
    unknown = "predictability" in found.notes
    return "\u25cb Labels cannot be judged" if unknown else "\u25cb No suspected labels"


def _methods(found: LabelNoise) -> str:
    if "predictability" in found.notes:
        return _UNKNOWN
    return _BY_LOSS if found.notes.get("ranking") == "loss" else _METHODS


def _remarks(found: LabelNoise) -> list[str]:
    return [str(found.notes[name]) for name in ("folds", "predictability") if name in found.notes]


def _numbers(found: LabelNoise) -> list[dict[str, str]]:
    interval = found.noise_interval
    suspected = int(found.suspected.sum())
    parts = [
        ("Suspected rows", count(suspected), f"of {count(len(found.losses))}"),
        (
            "Discrepancy",
            amount(found.discrepancy, 3),
            "mean loss of the suspected rows minus that of the others",
        ),
        ("Kept rows", count(len(found.losses) - suspected), "that are not suspected"),
        ("Classes", count(len(found.classes)), "different labels"),
        ("Model", shorten(found.model, 60), "the model that judged the labels"),
    ]
    if interval is not None:
        span = f"interval {percent(interval.low)} to {percent(interval.high)}"
        parts.insert(1, ("Wrong labels, estimated", percent(interval.rate), span))
    return [{"label": label, "value": value, "hint": hint} for label, value, hint in parts]


def _loss_chart(found: LabelNoise) -> Chart:
    """Losses of suspected and other rows over the same bins."""
    top = float(found.losses.max()) or 1.0
    edges = np.linspace(0, top, 31)
    sides = (
        ("not suspected", found.losses[~found.suspected], REFERENCE),
        ("suspected", found.losses[found.suspected], CURRENT),
    )

    def paint(axes: Any) -> None:
        for name, losses, colour in sides:
            heights = np.histogram(losses, edges)[0]
            axes.stairs(heights, edges, fill=True, color=colour, alpha=0.25)
            axes.stairs(heights, edges, color=colour, linewidth=1.6, label=name)
        axes.set_yscale("symlog", linthresh=1)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set(xlabel="loss of the given label", ylabel="rows")
        axes.grid(axis="y", color=GRID, linewidth=0.6)
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=9, borderpad=0)

    return draw(
        paint,
        key="losses",
        title="Losses of suspected and other rows",
        description=f"Two histograms of losses up to {amount(top, 3)}; suspected rows have the "
        f"larger losses, by {amount(found.discrepancy, 3)} on average.",
        caption="Rows by the loss of the given label; the vertical scale is logarithmic.",
    )


def _flips(found: LabelNoise) -> Table | None:
    """The pairs of classes with the most suspected rows."""
    rows = np.flatnonzero(found.suspected)
    if not len(rows):
        return None
    pairs: dict[tuple[str, str], int] = {}
    for given, suggested in zip(found.given[rows], found.suggested[rows], strict=True):
        key = str(suggested), str(given)
        pairs[key] = pairs.get(key, 0) + 1
    ordered = sorted(pairs.items(), key=lambda item: -item[1])
    lines = [
        (shorten(f"{true} \u2192 {given}", 80), count(number), percent(number / len(rows)))
        for (true, given), number in ordered[:MOST_FLIPS]
    ]
    left = len(ordered) - len(lines)
    heads = [Head("Suggested \u2192 given"), Head("Suspected rows", "n"), Head("of all", "n")]
    more = f"{count(left)} more pairs are in the JSON." if left else ""
    return Table("Which labels were probably mistaken for which", heads, lines, more)


def _rows(found: LabelNoise) -> Table:
    columns = found.rows(MOST_ROWS)
    lines = [
        (count(row), shorten(given, 60), shorten(suggested, 60), amount(loss, 3), wrong_with(wrong))
        for row, given, suggested, loss, wrong in zip(*columns.values(), strict=True)
    ]
    heads = [Head("Row, from 0", "n"), Head("Given"), Head("Suggested"), Head("Loss", "n")]
    heads.append(Head("Wrong with probability", "n"))
    left = int(found.suspected.sum()) - len(lines)
    more = f"{count(left)} more rows are in the JSON." if left else ""
    return Table("Suspected rows, the most suspicious first", heads, lines, more)
