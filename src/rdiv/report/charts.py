"""Charts of one test: its null distribution, and the losses of both samples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rdiv.report.svg import ACCENT, CURRENT, GRID, REFERENCE, SOFT, Chart, draw
from rdiv.report.wording import amount, probability

__all__ = ["loss_chart", "null_chart"]

Document = Mapping[str, Any]


def null_chart(result: Document, whose: str, key: str = "null") -> Chart:
    """The null distribution of a gap, and the observed gap; `whose` names the model."""
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
    said = amount(observed) if finite else "infinite"
    return draw(
        paint,
        key=key,
        term="Random permutations",
        title=f"Gap of the {whose} under random permutations",
        description=f"Histogram of the gap in standard errors under {len(null)} random "
        f"permutations of the rows: the largest is {amount(highest)}. Observed: {said}, p = "
        f"{probability(result['pvalue'])}.",
        caption=f"Grey: the gap of the {whose}, in standard errors, under {len(null)} random "
        f"permutations of the rows. Line: the observed gap, {said}; p = "
        f"{probability(result['pvalue'])}.",
    )


def loss_chart(losses: Document, whose: str, key: str = "losses") -> Chart:
    """The loss distributions of both samples over the same bins; `whose` names the model."""
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
        axes.set(xlabel="loss per row", ylabel="% of rows")
        axes.grid(axis="y", color=GRID, linewidth=0.6)
        axes.locator_params(axis="y", nbins=4)
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=9, borderpad=0)

    scale = " on a logarithmic scale" if losses["scale"] == "log" else ""
    return draw(
        paint,
        key=key,
        term="Loss",
        title=f"Losses of the {whose} on both samples",
        description=f"Two histograms{scale}. Median loss: {amount(medians[0])} on reference, "
        f"{amount(medians[1])} on current; a table of quantiles follows.",
        caption=f"Share of the compared rows of each sample by loss{scale}. The outermost "
        "bars also hold all losses beyond them.",
    )
