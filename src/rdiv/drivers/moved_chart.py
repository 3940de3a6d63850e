"""The distribution of one input column in both samples, in a few bins."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rdiv.drivers.moved_column import OTHER, Distribution, clock_text, time_text
from rdiv.drivers.moved_facts import Split, value_text
from rdiv.samples.input_features import InputCells

__all__ = ["distribution_of"]

Floats = NDArray[np.float64]

MOST_BARS = 12
_DAY = 86400.0


def distribution_of(column: InputCells, split: Split) -> Distribution | None:
    """Shares of both samples in at most ``MOST_BARS`` bins or levels.

    Examples
    --------
    >>> from rdiv.samples.cells import array_cells
    >>> column = InputCells("x", "number", array_cells(np.array([1.0, 3.0, 4.0, 3.0])))
    >>> chart = distribution_of(column, Split.of(np.arange(4) < 2, None, None))
    >>> print(chart.labels, chart.reference, chart.current)
    ('1', '3', '4') (0.5, 0.5, 0.0) (0.0, 0.5, 0.5)
    """
    if column.kind == "empty":
        return None
    values, edges = column.cells.values, np.zeros(0)
    if not column.ordered:
        levels = column.levels[: MOST_BARS - 2]
        bins = np.full(len(values), len(levels))
        bins[levels - 1] = np.arange(len(levels))
        labels = [column.text(int(level)) for level in levels]
        labels += [OTHER] * (len(values) > len(levels))
    elif len(values) < MOST_BARS:
        bins = np.arange(len(values))
        labels = [value_text(column, 1 + code) for code in range(len(values))]
    else:
        counts = np.bincount(column.cells.codes, minlength=1 + len(values))[1:]
        edges = _edges(np.asarray(values, dtype=np.float64), counts, column.kind == "date")
        bins = np.searchsorted(edges, np.asarray(values, dtype=np.float64), side="right")
        texts = _edge_texts(edges, column)
        inner = [f"{low} to {high}" for low, high in pairwise(texts)]
        labels = [f"< {texts[0]}", *inner, f">= {texts[-1]}"]
    missing = bool((column.cells.codes == 0).any())
    bars = np.concatenate([[len(labels)], bins])
    labels += ["missing"] * missing
    shares = [
        np.bincount(bars, column.cells.counts(side), len(labels))[: len(labels)] / side.sum()
        for side in (split.is_p, ~split.is_p)
    ]
    before, after = (tuple(float(share) for share in own) for own in shares)
    return Distribution(tuple(labels), tuple(edges.tolist()), before, after)


def _edges(values: Floats, counts: NDArray[np.int64], dates: bool) -> Floats:
    """At most 10 evenly spaced round numbers between the outer hundredths of the pool."""
    total = np.cumsum(counts)
    low, high = values[np.searchsorted(total, total[-1] * np.array([0.01, 0.99]))]
    if low == high:
        low, high = values[0], values[-1]
    with np.errstate(over="ignore"):
        room = high / 9 - low / 9
    size = 10.0 ** np.floor(np.log10(room))
    steps = np.array([1, 2, 2.5, 5, 10, 20]) * size
    if dates and room > _DAY / 9:
        steps = np.array([np.ceil(room / _DAY) * _DAY])
    step = float(steps[steps >= room * (1 - 1e-9)][0])
    edges = np.unique(step * np.arange(np.ceil(low / step), np.floor(high / step) + 1))
    edges = edges[(edges > values[0]) & (edges <= values[-1])][: MOST_BARS - 2]
    return edges if len(edges) else values[len(values) // 2 :][:1]


def _edge_texts(edges: Floats, column: InputCells) -> list[str]:
    if column.kind == "date":
        days = bool((edges % _DAY == 0).all())
        return [time_text(float(edge), days=days) for edge in edges]
    if column.kind == "time":
        return [clock_text(float(edge)) for edge in edges]
    return [f"{float(edge):.6g}" for edge in edges]
