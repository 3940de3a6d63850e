"""The charts of one comparison: its gap, its null distribution, its losses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rdiv.report.drawing import ACCENT, CURRENT, GRID, INK, REFERENCE, SOFT, Chart, draw
from rdiv.report.wording import amount, probability, signed

__all__ = ["gap_chart", "loss_chart", "null_chart"]

Document = Mapping[str, Any]


def gap_chart(document: Document, key: str = "gap") -> Chart | None:
    """The gap with its interval beside 0 and the margins; None when there is no finite interval."""
    interval = document["gap_interval"]
    if interval is None or None in interval.values():
        return None
    low, high, gap = interval["low"], interval["high"], document["gap"]
    margins = _margins(document)

    def paint(axes: Any) -> None:
        for margin in margins:
            axes.axvline(margin, color=SOFT, linewidth=1, linestyle=(0, (2, 2)))
        axes.axvline(0, color=INK, linewidth=1)
        axes.plot([low, high], [0, 0], color=ACCENT, linewidth=5, solid_capstyle="butt", alpha=0.35)
        axes.plot([gap], [0], "o", color=ACCENT, markersize=8)
        reach = max(abs(low), abs(high), *map(abs, margins), 1e-12)
        left, right = min(low, 0, *margins) - 0.14 * reach, max(high, 0, *margins) + 0.14 * reach
        axes.set(yticks=[], ylim=(-1, 1), xlim=(left, right), xlabel="gap in mean loss")
        axes.text(0, 1, "\u2190 better", transform=axes.transAxes, va="bottom", color=SOFT)
        axes.text(
            1, 1, "worse \u2192", transform=axes.transAxes, va="bottom", ha="right", color=SOFT
        )
        axes.locator_params(axis="x", nbins=6)

    level = amount(100 * (1 - document["alpha"]))
    span = f"{signed(low)} to {signed(high)}"
    beside = "".join(f" The margin {signed(margin)} is marked." for margin in margins)
    return draw(
        paint,
        key=key,
        title="Gap in mean loss and its interval",
        description=f"The gap, current minus reference, is {signed(gap)}; its {level} % interval "
        f"goes from {span}. Zero, no gap, is marked.{beside}",
        caption=f"The gap (dot) and its {level} % interval (bar): {signed(gap)}, from {span}. Right"
        " of 0 the model does worse on current."
        + " Dashed: the margins asked for."
        * bool(margins),
        height=1.3,
    )


def _margins(document: Document) -> list[float]:
    """Where an equivalence or non-inferiority margin lies, if one was asked for."""
    found = []
    for name, sides in (("equivalence", (-1, 1)), ("not_worse", (1,))):
        statement = document.get(name)
        if statement:
            found += [side * float(statement["margin"]) for side in sides]
    return found


def null_chart(result: Document, key: str = "null") -> Chart:
    """What chance alone gives, and what was observed."""
    observed, null = result["ranked"], [x for x in result["null_distribution"] if x is not None]
    bins = 40
    finite = observed is not None and math.isfinite(observed)

    def paint(axes: Any) -> None:
        axes.hist(null, bins=bins, color=SOFT, alpha=0.45)
        top = axes.get_ylim()[1]
        if finite:
            axes.axvline(observed, color=ACCENT, linewidth=2.2)
            left, right = min([*null, 0, observed]), max([*null, observed])
            inside = observed > left + 0.6 * (right - left)
            axes.annotate(
                "observed", (observed, top), ha="right" if inside else "left", va="top",
                color=ACCENT, fontweight="bold",
                xytext=(-4 if inside else 4, 0), textcoords="offset points",
            )  # fmt: skip
        axes.set(yticks=[], xlabel="size of the gap in standard errors", ylim=(0, top))
        axes.locator_params(axis="x", nbins=7)

    highest = max(null, default=float("nan"))
    said = amount(observed) if finite else "beyond all bounds"
    return draw(
        paint,
        key=key,
        title="What chance alone gives",
        description=f"Histogram of the gap in standard errors under {len(null)} random "
        f"relabellings of the rows: the largest is {amount(highest)}. Observed: {said}, p = "
        f"{probability(result['pvalue'])}.",
        caption=f"Grey: the gap, in standard errors, when {len(null)} times rows are dealt to the "
        f"two samples by chance. Line: the real split, {said}; p = "
        f"{probability(result['pvalue'])}.",
    )


def loss_chart(losses: Document, key: str = "losses") -> Chart:
    """The loss distributions of both samples over the same bins."""
    edges, levels = losses["edges"], list(losses["levels"])
    middle = levels.index(0.5)
    medians = losses["quantiles_p"][middle], losses["quantiles_q"][middle]

    def paint(axes: Any) -> None:
        for name, shares, colour, line in (
            ("reference", losses["shares_p"], REFERENCE, "-"),
            ("current", losses["shares_q"], CURRENT, (0, (4, 1.5))),
        ):
            heights = [100 * share for share in shares]
            axes.stairs(heights, edges, fill=True, color=colour, alpha=0.16)
            axes.stairs(heights, edges, color=colour, linewidth=1.6, linestyle=line, label=name)
        if losses["scale"] == "log":
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: amount(value))
            axes.xaxis.set_minor_formatter(lambda value, _: "")
        else:
            axes.locator_params(axis="x", nbins=6)
        axes.set(xlabel="loss of a row", ylabel="% of rows")
        axes.grid(axis="y", color=GRID, linewidth=0.6)
        axes.locator_params(axis="y", nbins=4)
        axes.legend(loc="upper right", fontsize=9)

    scale = " on a logarithmic scale" if losses["scale"] == "log" else ""
    return draw(
        paint,
        key=key,
        title="Losses of both samples",
        description=f"Two histograms{scale}. Median loss: {amount(medians[0])} on reference, "
        f"{amount(medians[1])} on current; a table of quantiles follows.",
        caption=f"Share of each sample's rows by their loss{scale}. The outermost bars also hold "
        "all that lies beyond.",
    )
