"""The one validation door: two samples in, one pool and one mask out."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.samples.datasets import DatasetRows
from rdiv.samples.frames import check_columns, python_values, refuse_infinite, stack
from rdiv.samples.grouping import FEWEST_UNITS, Design, check_design, codes_in_order, design_labels
from rdiv.samples.logged import (
    Logged,
    Prediction,
    logged_losses,
    read_logged,
)
from rdiv.samples.missing_labels import Labels
from rdiv.samples.partition_pooling import (
    Roles,
    read_tables,
    surveyed,
    surveyed_alone,
    tables_of,
    whole_frames,
)
from rdiv.samples.partitions import as_partitions
from rdiv.samples.pool import Pool, content_keys
from rdiv.samples.pooled import (
    LabelsApart,
    PooledSamples,
    canonical_order,
    resolve_seed,
)
from rdiv.samples.row_keys import Keys
from rdiv.samples.rows import Rows, as_rows
from rdiv.samples.sample import (
    Sample,
    as_sample,
    encode_labels,
    finite_target,
    resolve_task,
    target_values,
)
from rdiv.samples.table_pools import TablePools, pools_of_tables

if TYPE_CHECKING:
    from rdiv.samples.frames import Frame
    from rdiv.samples.survey import Survey

__all__ = [
    "LabelsApart",
    "PooledSamples",
    "pool_alone",
    "pool_samples",
    "pool_surveyed",
    "pool_unlabelled",
    "resolve_seed",
]

_NO_INPUTS = "the samples need at least one input column besides the target."


def pool_samples(
    p: Any,
    q: Any,
    *,
    target: str | None = None,
    task: str | None = None,
    groups: Design = None,
    strata: Design = None,
    prediction: Prediction = None,
    loss: str | None = None,
    rng: int | np.random.Generator | None = None,
    kind: str | None = None,
    keep_rows: int | None = None,
) -> PooledSamples:
    """Check two samples and join them into a pool that has forgotten which row came from where.

    Parameters
    ----------
    p, q : arrays, frames, tensors, torch datasets or pairs ``(X, y)``
    target : str, optional
        Name of the target column of frames.
    task : str, optional
        Overrides the task guessed from the target.
    groups, strata : str or pair of arrays, optional
        Rows that belong together; parts of the pool within which rows may be exchanged.
    prediction : str or mapping of class to column, optional
        Columns that hold what a model in use predicted.
    loss : str, optional
        Column that holds the loss of a model in use.
    rng : int, Generator or None
        Seed of the run.
    kind : str, optional
        The only task that the model can do.
    keep_rows : int, optional
        Rows of both samples up to which tables in partitions are read into memory; always without
        it.

    Examples
    --------
    >>> pooled = pool_samples([[0.0], [1.0]], [[2.0], [3.0]], rng=0)
    >>> print(len(pooled.pool), pooled.is_p.sum(), sorted(pooled.pool.x[pooled.is_p, 0].tolist()))
    4 2 [0.0, 1.0]
    """
    tables = tables_of(p, q)
    if tables is not None:
        sides = surveyed(tables, sys.maxsize if keep_rows is None else keep_rows)
        if sides[0].frames is None:
            return pool_surveyed(
                *sides, target=target, task=task, groups=groups, strata=strata,
                prediction=prediction, loss=loss, rng=rng, kind=kind,
            ).pooled  # fmt: skip
        p, q = whole_frames(*sides)
    sample_p, sample_q = as_sample(p, "p"), as_sample(q, "q")
    _check_pair(sample_p, sample_q, target)
    n_p, n_q = len(sample_p.x), len(sample_q.x)
    _check_sizes(n_p, n_q)
    if _is_array(sample_p.x):
        x: Any = _stack_arrays(sample_p.x, sample_q.x)
    else:
        named = {"target": target, "groups": groups, "strata": strata, "loss": loss}
        x = _stack_frames(sample_p.x, sample_q.x, {**named, **_prediction_roles(prediction)})
    x, y = _target(x, sample_p, sample_q, target)
    x, logged = read_logged(x, prediction, loss, n_p)
    read = (logged, prediction, loss is not None and y is None)
    return _pooled(x, y, read, (groups, strata), (n_p, n_q), task=task, kind=kind, rng=rng)


def pool_surveyed(
    p: Survey,
    q: Survey,
    labels: Labels = "all",
    *,
    target: str | None = None,
    task: str | None = None,
    groups: Design = None,
    strata: Design = None,
    prediction: Prediction = None,
    loss: str | None = None,
    rng: int | np.random.Generator | None = None,
    kind: str | None = None,
) -> TablePools:
    """The pools of two large tables in partitions after a first look at them.

    Parameters
    ----------
    p, q : Survey
    labels : {"all", "some", "none"}
        Which rows of q have labels.
    target, task, groups, strata, prediction, loss, rng, kind
        As for `pool_samples`.
    """
    density = "density" in (kind, task)
    roles = Roles.of(target, groups, strata, prediction, loss, density=density)
    _check_tables(p, q, roles, labels)
    found = read_tables(p, q, roles, labels)
    return pools_of_tables(found, prediction, task=task, kind=kind, rng=rng)


def pool_alone(
    p: Any,
    *,
    target: str | None = None,
    task: str | None = None,
    groups: Design = None,
    strata: Design = None,
    prediction: Prediction = None,
    loss: str | None = None,
    rng: int | np.random.Generator | None = None,
    kind: str | None = None,
    keep_rows: int | None = None,
) -> PooledSamples:
    """Check one sample and make a pool of it; all of its rows are p.

    Parameters are those of `pool_samples`; of a pair of arrays of labels the first is taken.

    Examples
    --------
    >>> pooled = pool_alone([[0.0], [1.0]], rng=0)
    >>> print(len(pooled.pool), pooled.is_p.all())
    2 True
    """
    table = as_partitions(p, "the reference")
    if table is not None:
        density = "density" in (kind, task)
        roles = Roles.of(target, groups, strata, prediction, loss, density=density)
        side, nothing = surveyed_alone(table, sys.maxsize if keep_rows is None else keep_rows)
        if side.frames is None:
            _check_tables(side, side, roles)
            found = read_tables(side, nothing, roles)
            return pools_of_tables(found, prediction, task=task, kind=kind, rng=rng).pooled
        p = side.whole()
    sample = as_sample(p, "reference")
    _check_pair(sample, sample, target)
    n = len(sample.x)
    _check_sizes(n, n)
    x: Any = sample.x
    if not _is_array(x):
        named = {"target": target, "groups": groups, "strata": strata, "loss": loss}
        x = _stack_frames(x, x, {**named, **_prediction_roles(prediction)}).head(n)
    x, y = _target(x, sample, sample, target)
    y = y if sample.y is None else sample.y
    x, logged = read_logged(x, prediction, loss, n)
    read = (logged, prediction, loss is not None and y is None)
    design = (_alone(groups), _alone(strata))
    return _pooled(x, y, read, design, (n, 0), task=task, kind=kind, rng=rng)


def _alone(design: Any) -> Design:
    """Labels of one sample as those of two, of which the second is empty."""
    return design if design is None or isinstance(design, str) else (design[0], [])


def pool_unlabelled(
    p: Any,
    q: Any,
    *,
    target: str | None = None,
    task: str | None = None,
    groups: Design = None,
    strata: Design = None,
    prediction: Prediction = None,
    loss: str | None = None,
    rng: int | np.random.Generator | None = None,
    kind: str | None = None,
    classes: NDArray[Any] | None = None,
) -> PooledSamples:
    """As `pool_samples`, where q has neither target nor loss; those of p are kept apart.

    Parameters
    ----------
    classes : array, optional
        The classes of the target, where more are known than those of p.

    Examples
    --------
    >>> pooled = pool_unlabelled(([[0.0], [1.0]], [0.5, 1.5]), [[2.0], [3.0]], rng=0)
    >>> print(pooled.pool.task, pooled.pool.y, sorted(pooled.apart.y[pooled.is_p].tolist()))
    regression None [0.5, 1.5]
    """
    sample_p, sample_q = as_sample(p, "p"), as_sample(q, "q")
    n_p, n_q = len(sample_p.x), len(sample_q.x)
    _check_sizes(n_p, n_q)
    inputs, y, losses = _labels_off(sample_p, target, loss)
    if _is_array(inputs) != _is_array(sample_q.x):
        _check_pair(Sample(inputs), sample_q, None)
    if _is_array(inputs):
        x: Any = _stack_arrays(inputs, sample_q.x)
    else:
        named = {"groups": groups, "strata": strata, **_prediction_roles(prediction)}
        x = _stack_frames(inputs, sample_q.x, named)
    x, logged = read_logged(x, prediction, None, n_p)
    return _pooled(
        x, y, (logged, prediction, False), (groups, strata), (n_p, n_q), task=task, kind=kind,
        rng=rng, apart=(losses, classes),
    )  # fmt: skip


def _labels_off(
    p: Sample, target: str | None, loss: str | None
) -> tuple[Any, NDArray[Any] | None, NDArray[np.float64] | None]:
    """The inputs of the reference, its target and its logged losses."""
    x, y, losses = p.x, p.y, None
    if loss is not None:
        losses = logged_losses(x[loss], loss, len(x))
        x = x.drop(loss)
    if target is not None:
        y = target_values(python_values(x[target]))
        x = x.drop(target)
    return x, y, losses


def _pooled(
    x: Any,
    y: NDArray[Any] | None,
    read: tuple[Logged | None, Prediction, bool],
    designs: tuple[Design, Design],
    counts: tuple[int, int],
    *,
    task: str | None,
    kind: str | None,
    rng: int | np.random.Generator | None,
    apart: tuple[NDArray[np.float64] | None, NDArray[Any] | None] | None = None,
) -> PooledSamples:
    """The pool of stacked rows: what was read off them, groups and strata, canonical order.

    With `apart`, `y` is that of the first sample alone, beside its losses and the known classes.
    """
    (logged, prediction, optional), (groups, strata), (n_p, n_q) = read, designs, counts
    group_labels = design_labels(x, groups, "groups", n_p, n_q)
    strata_labels = design_labels(x, strata, "strata", n_p, n_q)
    if isinstance(groups, str):
        x = x.drop(groups)
    x = _inputs(x, n_p + n_q, optional=optional)
    settled = resolve_task(y, task, kind)
    y = None if settled == "density" else y
    is_p = np.arange(n_p + n_q) < n_p
    if n_q:
        check_design(group_labels, strata_labels, is_p)

    seed = resolve_seed(rng)
    rows = as_rows(x)
    columns = [] if logged is None else logged.columns()
    losses = None if logged is None else logged.losses
    design = (group_labels, strata_labels, *columns)
    beside = None
    if apart is None:
        keys = content_keys(rows, (y, *design, losses))
    else:
        losses = apart[0]
        beside = _reference_keys(rows, (y, *design, losses), n_p)
        keys = content_keys(rows, design)
    order, entropy = canonical_order(keys, seed, beside)
    y, classes = _encoded(y, settled, None if apart is None else apart[1])
    predicted = None if logged is None else logged.prediction(settled, classes, prediction)
    pool = Pool(
        rows.anew(order),
        y=None if y is None or beside is not None else y[order],
        task=settled,
        columns=None if _is_array(x) else tuple(x.columns),
        groups=codes_in_order(group_labels, order),
        strata=codes_in_order(strata_labels, order),
        classes=classes,
        prediction=None if predicted is None else predicted[order],
        loss=None if losses is None or beside is not None else losses[order],
        known_keys=keys[order],
    )
    places = np.concatenate([np.arange(n_p), np.arange(n_q)])
    input_keys = content_keys(rows, design)[order]
    found = PooledSamples(pool, is_p[order], places[order], seed, entropy, input_keys)
    if beside is None:
        return found
    return replace(
        found, apart=LabelsApart(_padded(y, n_q), _padded(losses, n_q), beside).take(order)
    )


def _reference_keys(rows: Rows, labels: tuple[NDArray[Any] | None, ...], n_p: int) -> Keys:
    """Hash of every row of p with its labels; 0 for the rows of q, which have none."""
    first = rows.take(np.arange(n_p))
    keys = np.zeros((len(rows), 2), dtype=np.uint64)
    keys[:n_p] = content_keys(first, [None if own is None else own[:n_p] for own in labels])
    return keys


def _encoded(
    y: NDArray[Any] | None, task: str, known: NDArray[Any] | None
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """The target as codes or floats, and its classes."""
    if y is None:
        return None, None
    if task != "classification":
        return finite_target(y.astype(np.float64)), None
    if known is None:
        return encode_labels(y)
    return np.searchsorted(known, y).astype(np.intp), known


def _padded(values: NDArray[Any] | None, more: int) -> NDArray[Any] | None:
    return None if values is None else np.concatenate([values, np.zeros(more, values.dtype)])


def _check_tables(p: Survey, q: Survey, roles: Roles, labels: Labels = "all") -> None:
    """What `pool_samples` checks of frames, of tables in partitions."""
    _check_sizes(p.total, q.total)
    columns = roles.prediction
    predicted = _prediction_roles(columns.get(None) if None in columns else columns)
    named = {"groups": roles.groups, "strata": roles.strata, **predicted}
    if labels == "all":
        _check_roles(p, q, {"target": roles.target, **named, "loss": roles.loss})
    else:  # the columns of labels need not be there on both sides
        inputs_p, inputs_q = (
            SimpleNamespace(columns=[name for name in side.columns if name not in roles.labels])
            for side in (p, q)
        )
        _check_roles(inputs_p, inputs_q, named)
    optional = roles.loss is not None and roles.target is None and labels == "all"
    if not optional and not set(p.columns) - set(roles.taken):
        raise InputError(_NO_INPUTS)


def _prediction_roles(prediction: Prediction) -> dict[str, Any]:
    """The columns of predictions, by what to call them in a message."""
    if not isinstance(prediction, Mapping):
        return {"prediction": prediction}
    return {f"prediction ({label})": column for label, column in prediction.items()}


def _is_array(x: object) -> bool:
    return isinstance(x, np.ndarray | DatasetRows)


def _check_pair(p: Sample, q: Sample, target: str | None) -> None:
    arrays = [_is_array(sample.x) for sample in (p, q)]
    if arrays[0] != arrays[1]:
        raise InputTypeError(
            "p and q must both be arrays or both be frames, got "
            + " and ".join("an array" if array else "a frame" for array in arrays)
            + "; convert one of them."
        )
    if (p.y is None) != (q.y is None):
        raise InputError(
            f"both samples need a target or neither, got a pair (X, y) only for "
            f"{'p' if q.y is None else 'q'}."
        )
    for sample, name in ((p, "p"), (q, "q")):
        if sample.y is not None and len(sample.y) != len(sample.x):
            raise InputError(
                f"X and y must have as many rows, got {len(sample.x)} and {len(sample.y)} "
                f"in {name}."
            )
    if target is not None and p.y is not None:
        raise InputError("pass target= or pairs (X, y), not both.")
    if target is not None and arrays[0]:
        raise InputError(
            f"target= names a column of a frame, got arrays and target={target!r}; "
            "pass each sample as a pair (X, y)."
        )


def _check_sizes(n_p: int, n_q: int) -> None:
    if min(n_p, n_q) < FEWEST_UNITS:
        raise InputError(
            f"each sample needs at least {FEWEST_UNITS} rows, got {n_p} in p and {n_q} in q; "
            "check that the files are not empty."
        )


def _stack_arrays(
    p: NDArray[Any] | DatasetRows, q: NDArray[Any] | DatasetRows
) -> NDArray[Any] | DatasetRows:
    if p.shape[1:] != q.shape[1:]:
        raise InputError(
            f"p and q must have the same columns, got p of shape {p.shape} and q of shape "
            f"{q.shape}; drop the extra columns or check that the right files were paired."
        )
    if 0 in p.shape[1:]:
        raise InputError(f"samples need at least one column, got shape {p.shape}.")
    if p.ndim > 2 and (p.dtype == np.uint8) != (q.dtype == np.uint8):
        raise InputError(
            f"images of both samples must have one scale, got {p.dtype} in p and {q.dtype} in q; "
            "convert both to uint8 or both to floats in [0, 1]."
        )
    if isinstance(p, DatasetRows) and isinstance(q, DatasetRows):
        return p.joined(q)
    return np.concatenate([np.asarray(p), np.asarray(q)])


def _stack_frames(p: Frame, q: Frame, named: Mapping[str, Any]) -> Frame:
    _check_roles(p, q, named)
    return stack(p, q)


def _check_roles(p: Any, q: Any, named: Mapping[str, Any]) -> None:
    """Refuse columns that are not in both samples, or that have two roles."""
    roles: dict[str, str] = {}
    for role, name in named.items():
        if not isinstance(name, str):
            continue
        _check_named(p, q, role, name)
        if name in roles:
            raise InputError(
                f"{name!r} cannot be the {roles[name]} and the {role} column at once; name another."
            )
        roles[name] = role
    check_columns(p, q)


def _check_named(p: Any, q: Any, role: str, name: str) -> None:
    inside = [name in p.columns, name in q.columns]
    if all(inside):
        return
    where = "in neither sample" if not any(inside) else f"only in {'p' if inside[0] else 'q'}"
    near = get_close_matches(name, [*p.columns, *q.columns], n=1)
    hint = f"; did you mean {near[0]!r}?" if near and not any(inside) else "; check the name."
    raise InputError(f"the {role} column must be in both samples, found {name!r} {where}{hint}")


def _target(x: Any, p: Sample, q: Sample, target: str | None) -> tuple[Any, NDArray[Any] | None]:
    if target is not None:
        values = target_values(python_values(x[target]))
        return x.drop(target), values
    if p.y is None:
        return x, None
    if (p.y.dtype.kind in "biuf") != (q.y.dtype.kind in "biuf"):
        raise InputError("the target must be numbers on both sides or text on both sides.")
    return x, np.concatenate([p.y, q.y])


def _inputs(x: Any, n: int, *, optional: bool) -> Any:
    """The inputs, checked; an array without columns where there need not be any."""
    if isinstance(x, np.ndarray | DatasetRows):
        return x
    if not x.columns:
        if optional:
            return np.zeros((n, 0))  # a frame without columns forgets how many rows it has
        raise InputError(_NO_INPUTS)
    refuse_infinite(x)
    return x
