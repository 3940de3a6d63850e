"""Pictures of power studies."""

from __future__ import annotations

from io import StringIO
from typing import Any

__all__ = ["power_figure"]


def power_figure(table: dict[str, list[Any]]) -> str:
    """Rejection rate against rows of p as SVG text: one panel a source and level.

    Bars are Wilson intervals, dashed lines the nulls, the dotted line the level.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            'plots need matplotlib; install it with pip install "rdiv[cli]".'
        ) from None

    lines = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    panels = list(dict.fromkeys((line["source"], line["alpha"]) for line in lines))
    settings: Any = {"svg.hashsalt": "rdiv", "svg.fonttype": "none", "text.parse_math": False}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(4.6 * len(panels), 3.6), layout="constrained")
        for axes, (source, alpha) in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
        ):
            inside = [x for x in lines if (x["source"], x["alpha"]) == (source, alpha)]
            _panel(axes, inside)
            axes.axhline(alpha, color="0.5", linestyle=":", linewidth=1)
            axes.set(title=f"{source}, alpha = {alpha:g}", xlabel="rows of p", ylim=(-0.02, 1.02))
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def _panel(axes: Any, lines: list[dict[str, Any]]) -> None:
    tests = list(dict.fromkeys((line["discrepancy"], line["model"]) for line in lines))
    for colour, (test, model) in enumerate(tests):
        label = test if model is None else f"{test}, {model}"
        for null in (False, True):
            some = [
                line
                for line in lines
                if (line["discrepancy"], line["model"], line["null"]) == (test, model, null)
            ]
            if not some:
                continue
            some.sort(key=lambda line: line["n_p"])
            rates = [line["rate"] for line in some]
            bars = [
                [max(line["rate"] - line["low"], 0) for line in some],
                [max(line["high"] - line["rate"], 0) for line in some],
            ]
            axes.errorbar(
                [line["n_p"] for line in some], rates, yerr=bars, color=f"C{colour % 10}",
                linestyle="--" if null else "-", marker="o", markersize=3, capsize=2,
                alpha=0.5 if null else 1.0, label=f"{label}, null" if null else label,
            )  # fmt: skip
    axes.set_ylabel("rejection rate")
    axes.legend(fontsize="x-small", frameon=False)
