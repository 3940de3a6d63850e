"""Which current rows have a label: the samples with and without them, before they are pooled.

A label is the target of a row, or the loss that was logged for it. Production rows come without
one; the reference must have all of its labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.samples.datasets import DatasetRows
from rdiv.samples.frames import agreed, check_columns, python_values
from rdiv.samples.grouping import Design
from rdiv.samples.sample import Sample, as_sample, missing_values, target_values

if TYPE_CHECKING:
    from rdiv.samples.frames import Frame
    from rdiv.samples.survey import Survey

__all__ = [
    "FEWEST_LABELLED",
    "Labels",
    "SeparatedLabels",
    "alike",
    "labels_in_tables",
    "separate_labels",
]

Labels = Literal["all", "some", "none"]

FEWEST_LABELLED = 10
"""With fewer labelled rows, current counts as unlabelled."""


@dataclass(frozen=True, eq=False)
class SeparatedLabels:
    """Two samples, and the rows of the second one that have a label.

    Parameters
    ----------
    reference : sample
        With its labels.
    current : sample
        All current rows; without their labels unless all have one.
    labelled : sample, optional
        The current rows that have a label, with it, where only some do.
    known : (n_q,) mask
        Which current rows have a label.
    target : str, optional
        Name of the target column of `reference` and `labelled`, where they are frames.
    designs : tuple
        Groups and strata, for the labelled rows.
    """

    reference: Any
    current: Any
    labelled: Any
    known: NDArray[np.bool_]
    target: str | None
    designs: tuple[Design, Design]

    @property
    def labels(self) -> Labels:
        """How many of the current rows have a label."""
        if self.known.all():
            return "all"
        return "none" if self.labelled is None else "some"


def separate_labels(
    reference: Any,
    current: Any,
    *,
    target: str | None = None,
    loss: str | None = None,
    groups: Design = None,
    strata: Design = None,
) -> SeparatedLabels | None:
    """Find the labels that current lacks; None where there are no labels to lack.

    Parameters
    ----------
    reference, current : samples, as `rdiv.compare` takes them
        Current may lack the column of the target or of the loss, or have empty cells in it; as an
        array it is given without y, or with a y that has missing values.
    target, loss : str, optional
        Names of columns of frames.
    groups, strata : str or pair of arrays, optional

    Examples
    --------
    >>> x = np.zeros((20, 1))
    >>> y = np.r_[np.zeros(12), np.full(8, np.nan)]
    >>> found = separate_labels((x, np.arange(20.0)), (x, y))
    >>> print(found.labels, found.known.sum(), found.current.shape, len(found.labelled[1]))
    some 12 (20, 1) 12
    >>> print(separate_labels((x, np.arange(20.0)), x).labels)
    none
    """
    p, q = as_sample(reference, "p", missing=True), as_sample(current, "q", missing=True)
    if isinstance(p.x, np.ndarray | DatasetRows):
        if p.y is None or target is not None or loss is not None:
            return None  # no labels, or names of columns that arrays do not have
        known = np.zeros(len(q.x), bool) if q.y is None else ~missing_values(q.y)
        _refuse_missing(missing_values(p.y), "the target")
        return _of_arrays(reference, current, (p, q), known, (groups, strata))
    columns = [name for name in (target, loss) if name is not None]
    if isinstance(q.x, np.ndarray | DatasetRows) or (p.y is None) == (not columns):
        return None  # refused, or taken, where samples are pooled
    known = np.ones(len(q.x), dtype=bool)
    if p.y is not None:
        _refuse_missing(missing_values(p.y), "the target")
        known = np.zeros(len(q.x), bool) if q.y is None else ~missing_values(q.y)
    for role, name in (("target", target), ("loss", loss)):
        if name is None:
            continue
        _check_in_reference(p.x, q.x, role, name)
        _refuse_missing(_missing_in(p.x, name), _called(role, name))
        known &= ~_missing_in(q.x, name) if name in q.x.columns else False
    if known.all():
        return SeparatedLabels(reference, current, None, known, target, (groups, strata))
    return _of_frames(p, q, known, (target, loss), (groups, strata))


def labels_in_tables(p: Survey, q: Survey, named: Mapping[str, str | None]) -> Labels | None:
    """How many current rows of tables in partitions have labels; None where there are none to lack.

    Parameters
    ----------
    p, q : Survey
        A first look at both, which has counted labels.
    named : mapping
        Columns of labels by their roles, target and loss.
    """
    if not p.labels:
        return None
    for role, name in named.items():
        if name is not None:
            _check_in_reference(p, q, role, name)
            if p.missing[name]:
                raise InputError(_in_reference(_called(role, name), p.missing[name], p.total))
    if q.labelled == q.total:
        return "all"
    return "some" if q.labelled >= FEWEST_LABELLED else "none"


def _of_arrays(
    reference: Any,
    current: Any,
    samples: tuple[Sample, Sample],
    known: NDArray[np.bool_],
    designs: tuple[Design, Design],
) -> SeparatedLabels:
    p, q = samples
    if known.all():
        return SeparatedLabels(reference, current, None, known, None, designs)
    labelled, rows = None, np.flatnonzero(known)
    if len(rows) >= FEWEST_LABELLED:
        if isinstance(q.x, DatasetRows):
            raise InputError(
                f"{len(known) - len(rows)} of {len(known)} targets in q are missing; of a dataset "
                "either all rows or none may have one, so pass arrays, or X alone."
            )
        labelled = (q.x[rows], alike(target_values(q.y[rows]), p.y.dtype))
    reference = (p.x, target_values(p.y))
    return SeparatedLabels(reference, q.x, labelled, known, None, _designs_of(designs, rows))


def _of_frames(
    p: Sample,
    q: Sample,
    known: NDArray[np.bool_],
    named: tuple[str | None, str | None],
    designs: tuple[Design, Design],
) -> SeparatedLabels:
    """Frames with one type per column, whatever rows are taken of them."""
    target, loss = named
    columns = [name for name in named if name is not None]
    given = p.y if target is None else python_values(p.x[target])
    y = None if given is None else target_values(given)
    inputs = [side.x.drop([name for name in columns if name in side.x.columns]) for side in (p, q)]
    check_columns(*inputs)
    of_p, of_q = agreed(*inputs) if inputs[0].columns else inputs
    rows = np.flatnonzero(known)
    labelled = None
    if len(rows) >= FEWEST_LABELLED:
        own = of_q[rows] if loss is None else _with(of_q[rows], q.x[rows], loss)
        labelled = own.to_native()
        if y is not None:
            values = q.y[rows] if target is None else python_values(q.x[rows][target])
            labelled = (labelled, alike(target_values(values), y.dtype))
    if loss is not None:
        of_p = _with(of_p, p.x, loss)
    reference = of_p.to_native() if y is None else (of_p.to_native(), y)
    return SeparatedLabels(
        reference, of_q.to_native(), labelled, known, None, _designs_of(designs, rows)
    )


def _with(frame: Frame, other: Frame, name: str) -> Frame:
    """A frame with one more column, from another with the same rows."""
    import narwhals.stable.v2 as nw

    if not frame.columns:
        return other.select(name)
    column = nw.new_series(name, python_values(other[name]), backend=frame.implementation)
    if frame.implementation.is_pandas_like():
        native = frame.to_native().assign(**{name: column.to_native().to_numpy()})
        return nw.from_native(native, eager_only=True)
    return frame.with_columns(column.alias(name))


def alike(values: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    """Labels in the type of others: whole numbers beside empty cells are often read as floats.

    Examples
    --------
    >>> print(alike(np.array([1.0, 0.0]), np.dtype(int)), alike(np.array([0.5]), np.dtype(int)))
    [1 0] [0.5]
    """
    if values.dtype.kind == "f" and kind.kind in "iub" and (values % 1 == 0).all():
        whole = values.astype(np.int64)
        return whole.astype(kind) if kind.kind != "b" or whole.max() <= 1 else whole
    return values


def _designs_of(designs: tuple[Design, Design], rows: NDArray[np.intp]) -> tuple[Design, Design]:
    """Groups and strata of the reference and some current rows; names stay."""

    def some(design: Design) -> Design:
        if design is None or isinstance(design, str):
            return design
        return (design[0], np.asarray(design[1])[rows])

    return some(designs[0]), some(designs[1])


def _missing_in(frame: Frame, name: str) -> NDArray[np.bool_]:
    import narwhals.stable.v2 as nw

    column = frame[name]
    if column.dtype == nw.String:
        return np.asarray(column.is_null().to_numpy(), dtype=bool)
    return missing_values(np.array(python_values(column), dtype=object))


def _refuse_missing(missing: NDArray[np.bool_], what: str) -> None:
    if missing.any():
        raise InputError(_in_reference(what, int(missing.sum()), len(missing)))


def _in_reference(what: str, missing: int, rows: int) -> str:
    return (
        f"{what} must have no missing values in the reference, got {missing} of {rows}; only "
        "current rows may lack a label, so drop those rows first."
    )


def _called(role: str, name: str) -> str:
    return "the target" if role == "target" else f"the loss column {name!r}"


def _check_in_reference(p: Frame | Survey, q: Frame | Survey, role: str, name: str) -> None:
    if name in p.columns:
        return
    where = "only in current" if name in q.columns else "in neither sample"
    near = get_close_matches(name, [str(column) for column in p.columns], n=1)
    hint = f"did you mean {near[0]!r}?" if near else "check the name."
    raise InputError(f"the {role} column must be in the reference, found {name!r} {where}; {hint}")
