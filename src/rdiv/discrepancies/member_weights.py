"""How much each member of `omnibus` and `inputs` counts: weights, fixed before labels are seen.

They were chosen on the cells of `benchmarks/studies/tuning_cells.py`, which are not those that
`docs/measured/omnibus_tables.md` reports; `docs/measured/omnibus_tuning.md` has the comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rdiv.discrepancies.members import combined
from rdiv.inference.combining import weighted_p
from rdiv.inference.prepared import Prepared

__all__ = ["FOR_FEW_COLUMNS", "FOR_INPUTS", "FOR_TABLES", "by_weights", "weights_of"]

Weights = Mapping[str, float]
"""By the name of a part; all parts of a member begin with its name."""

FOR_TABLES: Weights = {
    "r-div": 0.12,
    "score ridge": 0.20,
    "score l4": 0.10,
    "distances of values": 0.30,
    "distances of scores": 0.10,
    "distances by spread": 0.05,
    "columns": 0.12,
    "pairs": 0.08,
    "relations": 0.08,
}
"""Of tables in general: distances of rows see most of what changes in them."""

FOR_FEW_COLUMNS: Weights = {
    "r-div": 0.35,
    "score ridge": 0.25,
    "score l4": 0.05,
    "distances of values": 0.18,
    "distances of scores": 0.05,
    "distances by spread": 0.02,
    "columns": 0.07,
    "pairs": 0.03,
    "relations": 0.03,
}
"""Of a few columns of continuous numbers, where a density sees clusters, which distances miss."""

FOR_INPUTS: Weights = {
    "distances of values": 0.30,
    "distances of scores": 0.05,
    "distances by spread": 0.15,
    "columns": 0.30,
    "pairs": 0.20,
    "relations": 0.20,
}
"""Without a model."""


def by_weights(members: Mapping[str, Prepared], weights: Weights) -> Prepared:
    """Several prepared tests of one pool as one, by the weights of their parts."""
    whole = combined(members)
    if len(members) == 1:
        return whole
    return replace(whole, combine=weighted_p(weights_of(whole.parts, weights)))


def weights_of(parts: Sequence[str], weights: Weights) -> list[float]:
    """The weight of every part; parts that are not there leave theirs to the others of a member.

    Examples
    --------
    >>> print(weights_of(["r-div", "distances"], {"r-div": 0.5, "distances of values": 0.5}))
    [0.5, 0.5]
    """
    named = {part: part.split(" ")[0] for part in parts}
    totals = {
        member: sum(weight for name, weight in weights.items() if name.split(" ")[0] == member)
        for member in named.values()
    }
    own = {part: weights.get(part, totals[member]) for part, member in named.items()}
    there = {
        member: sum(weight for part, weight in own.items() if named[part] == member)
        for member in totals
    }
    return [own[part] * totals[member] / there[member] for part, member in named.items()]
