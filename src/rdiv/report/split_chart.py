"""The gap of the model in use as one bar of two parts: other inputs, and another relation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from rdiv.comparison.sentences import INPUTS as INPUTS_WORDS
from rdiv.comparison.sentences import RELATION as RELATION_WORDS
from rdiv.report.svg import GRID, INK, INPUTS, RELATION, SOFT, Chart, draw
from rdiv.report.wording import amount, sentence, shorten, signed

if TYPE_CHECKING:
    from rdiv.comparison.result import Comparison
    from rdiv.inference.intervals import Estimate

__all__ = ["bar_parts", "no_split", "split_chart", "split_sentences"]

_HATCH = "////"  # of the relation, so that the parts can be told apart without colour
_ROOM = 0.16  # least share of the axis that has room for a word above its part


class _Part(NamedTuple):
    """One part of the bar: from where it starts to where it ends, and its words."""

    short: str
    words: str
    part: Estimate
    start: float
    colour: str
    hatch: str | None

    @property
    def shown(self) -> bool:
        return not self.part.low <= 0 <= self.part.high


def no_split(found: Comparison) -> str:
    """Why there is no bar, as a sentence; empty where there is one or nobody asked."""
    note = found.notes.get("split")
    if found.split is not None or note is None:
        return ""
    return f"Inputs or relation? {shorten(sentence(str(note)), 300)}"


def split_sentences(found: Comparison) -> list[str]:
    """Both parts in words: what was shown, and what was not."""
    if found.split is None:
        return []
    level = amount(100 * (1 - found.results[found.leading].alpha), 6)
    told = []
    for name, part in (("inputs", found.split.inputs), ("relation", found.split.relation)):
        span = f"{level} % interval {signed(part.low, 3)} to {signed(part.high, 3)}"
        if part.low <= 0 <= part.high:
            what = "other inputs change" if name == "inputs" else "a changed relation changes"
            told.append(f"That {what} the mean loss was not shown ({span} covers 0).")
        elif name == "inputs":
            told.append(f"{signed(part.value, 3)} is {INPUTS_WORDS} ({span}).")
        else:
            told.append(f"{signed(part.value, 3)} is there because {RELATION_WORDS} ({span}).")
    return told


def split_chart(found: Comparison, key: str = "split") -> Chart | None:
    """One bar of two colours; parts of opposite sign start at 0 both, on either side of it."""
    if found.split is None:
        return None
    parts, total = bar_parts(found), found.split.inputs.value + found.split.relation.value
    if not all(math.isfinite(one.part.value) for one in parts):
        return None

    def paint(axes: Any) -> None:
        low, high = _ends(parts)
        bars = [_paint_part(axes, one, high - low) for one in parts]
        axes.axvline(0, color=INK, linewidth=1)
        axes.plot([total, total], [-0.5, 0.5], color=INK, linewidth=2, linestyle=(0, (1.5, 1)))
        axes.set(yticks=[], ylim=(-0.55, 1.05))
        room = 0.04 * (high - low)
        axes.set_xlim(low - room, high + room)
        axes.locator_params(axis="x", nbins=6)
        axes.grid(axis="x", color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.figure.legend(
            bars, [_label(one) for one in parts], loc="outside lower left", fontsize=9.5,
            handlelength=1.6, handleheight=1.6, borderpad=0, labelspacing=0.7,
        )  # fmt: skip

    told = " ".join(split_sentences(found))
    return draw(
        paint,
        term="Inputs or relation",
        key=key,
        title="Why: other inputs, or another relation?",
        description=f"One bar of two parts, which sum to the gap, {signed(total, 3)}. {told}",
        caption=_caption(parts, total, told),
        height=1.75,
    )


def _caption(parts: list[_Part], total: float, told: str) -> str:
    """The words under the bar: both parts, the dotted line, and what a pale part is."""
    pale = "" if all(one.shown for one in parts) else " A pale part was not shown."
    return f"{told} Dotted: the gap, {signed(total, 3)}, their sum. Right of 0 is worse.{pale}"


def bar_parts(found: Comparison) -> list[_Part]:
    """Both parts and where they start: the second at the end of the first, or at 0."""
    assert found.split is not None
    inputs, relation = found.split.inputs, found.split.relation
    stacked = inputs.value if inputs.value * relation.value > 0 else 0.0
    return [
        _Part("inputs", INPUTS_WORDS, inputs, 0.0, INPUTS, None),
        _Part("relation", RELATION_WORDS, relation, stacked, RELATION, _HATCH),
    ]


def _ends(parts: list[_Part]) -> tuple[float, float]:
    """Both ends of the bar, 0 included; never the same."""
    ends = [0.0, *(one.start for one in parts), *(one.start + one.part.value for one in parts)]
    low, high = min(ends), max(ends)
    return (low, high) if high > low else (-1.0, 1.0)


def _paint_part(axes: Any, one: _Part, width: float) -> Any:
    drawn = axes.barh(
        [0], [one.part.value], left=[one.start], height=0.8, color="none" if one.hatch else
        one.colour, edgecolor=one.colour, hatch=one.hatch, linewidth=1.4,
        alpha=1.0 if one.shown else 0.4,
    )  # fmt: skip
    if abs(one.part.value) >= _ROOM * width:
        middle = one.start + one.part.value / 2
        axes.text(
            middle, 0.5, one.short, ha="center", va="bottom", color=INK if one.shown else SOFT
        )
    return drawn


def _label(one: _Part) -> str:
    part = one.part
    shown = "" if one.shown else "not shown: "
    return (
        f"{one.words}\n{shown}{signed(part.value, 3)} "
        f"({signed(part.low, 3)} to {signed(part.high, 3)})"
    )
