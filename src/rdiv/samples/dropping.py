"""Columns that the user leaves out of both samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from rdiv.errors import InputError
from rdiv.samples.arguments import check_settings
from rdiv.samples.datasets import DatasetRows
from rdiv.samples.partitions import Partitions, as_partitions
from rdiv.samples.sample import as_sample

if TYPE_CHECKING:
    from rdiv.samples.frames import Frame

__all__ = ["drop_columns"]


def drop_columns(
    p: Any, q: Any, drop: str | Iterable[str], taken: Mapping[str, object]
) -> tuple[Any, Any]:
    """Two samples without some of their columns.

    Parameters
    ----------
    p, q : frames, or pairs ``(X, y)`` whose X is a frame
    drop : str or several
        Columns to leave out. Each must be in one of the two samples at least.
    taken : mapping
        Columns that are needed, by their role, such as ``{"target": "y"}``; one role may have
        several columns, as a mapping. Whatever is not a name is passed over.

    Returns
    -------
    tuple
        The samples in the form given; the same objects where there is nothing to drop.

    Raises
    ------
    ValueError
        If a column is in neither sample or has a role, if none is left, or with arrays.

    Examples
    --------
    >>> import polars as pl
    >>> p = pl.DataFrame({"day": [1, 1], "price": [2.0, 3.0]})
    >>> q = pl.DataFrame({"price": [2.0, 5.0]})
    >>> print(drop_columns(p, q, "day", {})[0].columns)
    ['price']
    >>> drop_columns(p, q, "prize", {})
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: drop= must name columns of the samples, found 'prize' in neither; ...
    """
    check_settings(drop=drop)
    names = list(dict.fromkeys([drop] if isinstance(drop, str) else drop))
    if not names:
        return p, q
    frames = [_frame(p, "p"), _frame(q, "q")]
    roles = _roles(taken)
    there = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    for name in names:
        if name in roles:
            raise InputError(
                f"drop= cannot leave out {name!r}, the {roles[name]} column; drop other columns, "
                f"or change {roles[name].split(' ')[0]}=."
            )
        if name not in there:
            near = get_close_matches(name, [str(column) for column in there], n=1)
            hint = f"did you mean {near[0]!r}?" if near else "check the name."
            raise InputError(
                f"drop= must name columns of the samples, found {name!r} in neither; {hint}"
            )
    return _without(p, frames[0], names, "p"), _without(q, frames[1], names, "q")


def _frame(given: Any, name: str) -> Frame | Partitions:
    """The inputs of a sample as a frame in narwhals, or as a table in partitions."""
    table = as_partitions(given, name)
    if table is not None:
        return table
    x = as_sample(given, name).x
    if isinstance(x, np.ndarray | DatasetRows):
        raise InputError(
            "drop= names columns of a frame, got arrays; leave those columns out of the arrays, "
            "or pass frames."
        )
    frame: Frame = x
    return frame


def _without(given: Any, frame: Frame | Partitions, names: list[str], sample: str) -> Any:
    gone = [name for name in names if name in frame.columns]
    if not gone:
        return given
    if len(gone) == len(frame.columns):  # such a frame would forget how many rows it has
        raise InputError(f"drop= leaves no column in {sample}; keep at least one.")
    if isinstance(frame, Partitions):
        return frame.without(gone)
    native = frame.drop(gone).to_native()
    return (native, given[1]) if isinstance(given, tuple) else native


def _roles(taken: Mapping[str, object]) -> dict[str, str]:
    """The role of each column that has one."""
    roles: dict[str, str] = {}
    for role, columns in taken.items():
        several = columns.items() if isinstance(columns, Mapping) else [("", columns)]
        for label, name in several:
            if isinstance(name, str):
                roles[name] = f"{role} ({label})" if isinstance(columns, Mapping) else role
    return roles
