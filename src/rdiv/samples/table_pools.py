"""Pools of tables in partitions, as the door makes them of rows in memory, whatever labels lack."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.row_blocks import gathered, place_type
from rdiv.samples.grouping import check_design, codes_in_order
from rdiv.samples.logged import Logged, Prediction, logged_numbers
from rdiv.samples.partition_pooling import Tables
from rdiv.samples.partitioned import PartitionedRows, PartitionedTable
from rdiv.samples.pool import Pool
from rdiv.samples.pooled import (
    Entropy,
    LabelsApart,
    PlacesInFiles,
    PooledSamples,
    ReferenceKeys,
    resolve_seed,
    shuffled,
)
from rdiv.samples.row_keys import Keys, sorted_places, tied_places
from rdiv.samples.sample import Task, check_classes, finite_target, resolve_task

__all__ = ["TablePools", "in_key_order", "pools_of_tables", "spread"]

Places = NDArray[Any]


@dataclass(frozen=True, eq=False)
class TablePools:
    """The pools of two tables.

    Parameters
    ----------
    pooled : PooledSamples
        The reference and the current rows that have labels; all current rows where none has one.
    everything : PooledSamples, optional
        All rows, blind to labels, where some current rows lack one.
    known : (n_q,) mask, optional
        Which rows of current have a label, where some lack one.
    """

    pooled: PooledSamples
    everything: PooledSamples | None = None
    known: NDArray[np.bool_] | None = None


def pools_of_tables(
    found: Tables,
    prediction: Prediction,
    *,
    task: str | None,
    kind: str | None,
    rng: int | np.random.Generator | None,
) -> TablePools:
    """The pools that `rdiv.samples.pooling` makes of rows in memory.

    Parameters
    ----------
    found : Tables
        Its labels are let go on the way.
    prediction, task, kind, rng
        As for `rdiv.samples.pooling.pool_samples`.
    """
    seed, n_p = resolve_seed(rng), found.counts[0]
    labels = _Labels.of(found, task, kind)
    if found.known is None:
        return TablePools(_labelled(found, labels, prediction, seed, None))
    if len(found.keys) == n_p:
        return TablePools(_blind(found, labels, prediction, seed), known=found.known)
    everything = _blind(found, labels, prediction, seed)
    rows = np.flatnonzero(np.concatenate([np.ones(n_p, dtype=bool), found.known]))
    pooled = _labelled(found, labels, prediction, seed, rows)
    return TablePools(pooled, everything, found.known)


@dataclass(frozen=True, eq=False)
class _Labels:
    """Task, targets, classes and losses of the rows that have labels, in the order of the files."""

    task: Task
    y: NDArray[Any] | None
    classes: NDArray[Any] | None
    losses: NDArray[np.float64] | None

    @staticmethod
    def of(found: Tables, task: str | None, kind: str | None) -> _Labels:
        y = found.target
        settled = resolve_task(None if y is None else y.like(), task, kind)
        codes, classes = None, None
        if y is not None and settled == "classification":
            codes, classes = y.encoded()
            check_classes(classes)
        elif y is not None and settled == "regression":
            codes = finite_target(y.values.astype(np.float64, copy=False))
        found.target = None
        losses = None if found.loss is None else found.loss.as_given()
        if losses is not None:
            losses = logged_numbers(losses, "the loss column", found.counts[0])
        return _Labels(settled, codes, classes, losses)


def _labelled(
    found: Tables, labels: _Labels, prediction: Prediction, seed: int, rows: Places | None
) -> PooledSamples:
    """The pool of rows with their labels: of all, or of some of them."""
    n_p, n = found.counts[0], sum(found.counts)
    table, in_files, entropy = _arranged(replace(found.table, keys=found.keys), seed, rows)
    y, losses = labels.y, labels.losses
    if rows is not None:
        y, losses = (None if own is None else spread(own, rows, n) for own in (y, losses))
    pool = _pool(found, table, in_files, labels, _predicted(found, labels, prediction, rows), rows)
    pool = replace(
        pool,
        y=None if y is None else gathered(y, in_files),
        loss=None if losses is None else gathered(losses, in_files),
    )
    return _samples(pool, found, found.keys, (in_files, n_p), seed, entropy)


def _blind(found: Tables, labels: _Labels, prediction: Prediction, seed: int) -> PooledSamples:
    """The pool of all rows without labels; those of the reference are kept apart."""
    n_p, n_q = found.counts
    table, in_files, entropy = _arranged(found.table, seed, beside=found.keys[:n_p])
    predicted = _predicted(found, labels, prediction, None)
    pool = _pool(found, table, in_files, labels, predicted, None)

    def apart(values: NDArray[Any] | None) -> NDArray[Any] | None:
        if values is None:
            return None
        whole = np.concatenate([values[:n_p], np.zeros(n_q, values.dtype)])
        return gathered(whole, in_files)

    samples = _samples(pool, found, found.keys, (in_files, n_p), seed, entropy)
    return replace(samples, apart=LabelsApart(apart(labels.y), apart(labels.losses), None))


def _arranged(
    table: PartitionedTable, seed: int, rows: Places | None = None, beside: Keys | None = None
) -> tuple[PartitionedTable, Places, Entropy]:
    """The table with its repeated rows, the rows in the order of the pool, and the entropy."""
    table, order = in_key_order(table, rows, beside)
    order, entropy = shuffled(order, table.keys, seed)
    return table, order.astype(place_type(len(table)), copy=False), entropy


def in_key_order(
    table: PartitionedTable, rows: Places | None = None, beside: Keys | None = None
) -> tuple[PartitionedTable, Places]:
    """The table with its repeated rows, and the places of rows in the order of their keys.

    Parameters
    ----------
    table : PartitionedTable
    rows : (m,) integers, optional
        Places of the rows; all of them without it.
    beside : (k, 2) array, optional
        Orders rows whose keys are the same; of the first k rows, the others come before these.
    """
    order = sorted_places(table.keys, rows)
    order = order if rows is None else rows[order]
    tied = tied_places(table.keys, order)
    twice = order[tied]
    if beside is not None and len(twice):
        order[tied] = twice = _by_labels(twice, table.keys, beside)
    words = np.unique(table.keys[twice, 0], return_inverse=True)[1]
    return replace(table, repeated=(twice, words)), order


def _by_labels(rows: Places, keys: Keys, beside: Keys) -> Places:
    """Rows in the order of their keys; of equal ones current rows first, then by their labels."""
    known = np.zeros((len(rows), 2), dtype=np.uint64)
    of_p = np.flatnonzero(rows < len(beside))
    known[of_p] = beside[rows[of_p]]
    rows = rows[np.lexsort((rows, known[:, 1], known[:, 0]))]
    return rows[sorted_places(keys[rows])]


def _predicted(
    found: Tables, labels: _Labels, prediction: Prediction, rows: Places | None
) -> NDArray[Any] | None:
    """Logged predictions of every row; those of rows that are not asked for mean nothing."""
    logged = {label: one.as_given() for label, one in found.predictions.items()}
    if rows is not None:
        logged = {label: values[rows] for label, values in logged.items()}
    given = Logged(logged, None, found.counts[0])
    values = given.prediction(labels.task, labels.classes, prediction)
    if values is None or rows is None:
        return values
    return spread(values, rows, sum(found.counts))


def spread(values: NDArray[Any], rows: Places, n: int) -> NDArray[Any]:
    """Values of some rows as those of all, 0 for the others."""
    whole = np.zeros((n, *values.shape[1:]), dtype=values.dtype)
    whole[rows] = values
    return whole


def _pool(
    found: Tables,
    table: PartitionedTable,
    in_files: Places,
    labels: _Labels,
    predicted: NDArray[Any] | None,
    some: Places | None,
) -> Pool:
    """The pool of rows in the order of `in_files`, without target and loss."""
    n_p = found.counts[0]
    groups, strata = (None if one is None else one.values for one in (found.groups, found.strata))
    if found.counts[1]:
        is_p = np.arange(len(table)) < n_p
        names = None if found.groups is None else found.groups.levels
        own = [one if one is None or some is None else one[some] for one in (groups, strata)]
        check_design(own[0], own[1], is_p if some is None else is_p[some], names)
    rows: Any = PartitionedRows(table, in_files)
    if not table.columns:
        rows = np.zeros((len(in_files), 0))
    return Pool(
        rows,
        task=labels.task,
        columns=table.columns or None,
        groups=codes_in_order(groups, in_files),
        strata=codes_in_order(strata, in_files),
        classes=labels.classes,
        prediction=None if predicted is None else gathered(predicted, in_files),
        known_keys=None if table.columns else gathered(table.keys, in_files),
    )


def _samples(
    pool: Pool,
    found: Tables,
    keys: Keys,
    places: tuple[Places, int],
    seed: int,
    entropy: Entropy,
) -> PooledSamples:
    """The pool with the origin of its rows, their places, and what part A is drawn by."""
    in_files, n_p = places
    mask = in_files < n_p
    reference = ReferenceKeys.of(found.own_keys[:n_p], keys, in_files, mask)
    held = PlacesInFiles(in_files, n_p)
    return PooledSamples(pool, mask, held, seed, entropy, None, reference)
