"""The current samples of many levels: cut from one frame or given by name, and large enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rdiv.errors import InputError, InputTypeError
from rdiv.samples.frames import as_frame, is_frame, python_values
from rdiv.samples.grouping import FEWEST_UNITS
from rdiv.samples.partitions import Partitions
from rdiv.samples.sample import as_sample

__all__ = ["FEWEST_ROWS", "level_samples", "rows_of", "shortage"]

FEWEST_ROWS = 20
"""A level with fewer rows is skipped: no test of so few rows is informative."""


def level_samples(
    reference: Any, current: Any, by: str | None, taken: Sequence[str | None]
) -> tuple[Any, Mapping[str, Any]]:
    """The reference and the current samples by name, without the column of levels."""
    if by is None:
        if not isinstance(current, Mapping) or not current:
            raise InputTypeError(
                "current must be a mapping of names to samples, or a frame and by= the name of a "
                f"column, got {type(current).__name__}."
            )
        return reference, {str(name): sample for name, sample in current.items()}
    if isinstance(current, Partitions):
        raise InputError(
            f"by={by!r} splits a current table in memory, and this one has more rows than "
            "sample_rows; give one table for each level instead."
        )
    if not is_frame(current) or not (is_frame(reference) or isinstance(reference, Partitions)):
        raise InputTypeError(f"by={by!r} names a column of a frame, got arrays; pass frames.")
    if by in taken:
        raise InputError(f"by={by!r} is the target, groups or strata column; choose another one.")
    if isinstance(reference, Partitions):
        return reference.without([by]), _split(as_frame(current), by)
    reference = as_frame(reference)
    reference = reference.drop(by) if by in reference.columns else reference
    return reference.to_native(), _split(as_frame(current), by)


def _split(current: Any, by: str) -> dict[str, Any]:
    if by not in current.columns:
        raise InputError(f"the column {by!r} of by= is not in current; check the name.")
    places: dict[Any, list[int]] = {}
    for row, value in enumerate(python_values(current[by])):
        places.setdefault(value, []).append(row)
    ordered = [*sorted(value for value in places if value is not None)]
    ordered += [None] if None in places else []
    inputs = current.drop(by)
    return {_name(value): inputs[np.array(places[value])].to_native() for value in ordered}


def rows_of(sample: Any, name: str) -> int:
    """Rows of the sample of a level; some may lack a label."""
    if isinstance(sample, Partitions):
        return sample.rows or 0
    return len(as_sample(sample, name, missing=True).x)


def _name(value: Any) -> str:
    if value is None:
        return "(missing)"
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def shortage(sample: Any, rows: int, groups: str | None) -> str | None:
    """Why a level is too small to be compared, if it is."""
    if rows < FEWEST_ROWS:
        return f"{rows} rows, fewer than the {FEWEST_ROWS} that a level needs"
    if groups is None or not is_frame(sample) or groups not in as_frame(sample).columns:
        return None
    units = as_frame(sample)[groups].n_unique()
    if units < FEWEST_UNITS:
        return f"{units} group, fewer than the {FEWEST_UNITS} that a level needs"
    return None
