"""A batch of a stream as a table in partitions: read as its reference was, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError
from rdiv.row_blocks import gathered, place_type
from rdiv.samples.batches import Batch, BatchReader, renamed
from rdiv.samples.fitting_rows import prepared_on
from rdiv.samples.logged import Logged
from rdiv.samples.partition_pooling import Coded, Roles, Tables, looking, read_tables
from rdiv.samples.partitioned import PartitionedRows
from rdiv.samples.partitions import Part, Partitions
from rdiv.samples.pool import Pool
from rdiv.samples.survey import Survey, survey
from rdiv.samples.table_pools import in_key_order, spread

__all__ = ["read_batch_table"]


def read_batch_table(reader: BatchReader, table: Partitions, name: str, most: int) -> Batch:
    """The batch that `BatchReader.read` makes of the same rows in memory.

    Parameters
    ----------
    reader : BatchReader
    table : Partitions
    name : str
        What messages call it.
    most : int
        Rows up to which it is read into memory.
    """
    table = table.without(reader.roles.ignored)
    labels = _labels(reader, table.columns)
    with looking(table) as at:
        found = survey(table, most, partial(at, 0), labels)
    if found.frames is not None:
        return reader.read(found.whole(), name)
    reader.check(table.first().to_native(), name)
    if not reader.reference.columns:
        others = [column for column in found.columns if column not in labels]
        table = table.without(others)
        kept = {column: found.facts[column] for column in labels if column in found.facts}
        schema = {column: found.schema[column] for column in kept}
        found = replace(found, table=table, facts=kept, schema=schema)
    try:
        tables = read_tables(_reference(reader), found, _roles(reader, labels), "some")
    except InputError as error:
        raise InputError(renamed(str(error), name)) from None
    return _batch(reader, tables, labels)


def _labels(reader: BatchReader, columns: list[str]) -> tuple[str, ...]:
    """Columns that say whether a row has its label."""
    roles = reader.roles
    target = roles.target if reader.supervised or roles.target in columns else None
    return tuple(name for name in (target, roles.loss) if name is not None)


def _roles(reader: BatchReader, labels: tuple[str, ...]) -> Roles:
    roles = reader.roles
    target = roles.target if roles.target in labels else None
    density = reader.pool.task == "density"
    return Roles.of(target, None, None, roles.prediction, roles.loss, density=density)


def _reference(reader: BatchReader) -> Survey:
    """A table without rows, with the columns and types of the reference."""
    frame = reader.reference
    nothing = Survey(Partitions("the reference", ()), {}, [], {}, None)
    if not frame.columns:
        return nothing
    native = frame.to_native()
    whole = Partitions("the reference", (Part("the reference", lambda: iter([native])),))
    return replace(nothing, facts=survey(whole, 0).facts)


def _batch(reader: BatchReader, found: Tables, labels: tuple[str, ...]) -> Batch:
    """Rows in the order of their content, and those of them that have labels."""
    n, known = found.counts[1], found.known
    assert known is not None
    table, order = in_key_order(found.table, beside=found.keys)
    order = order.astype(place_type(n), copy=False)
    classes = reader.classes(_values(found.target))
    predicted = _predicted(reader, found, classes)
    rows: Any = PartitionedRows(table, order)
    if not table.columns:
        rows = np.zeros((n, 0))
    pool = Pool(
        rows,
        task=reader.pool.task,
        columns=reader.pool.columns,
        classes=classes,
        prediction=None if predicted is None else gathered(predicted, order),
        known_keys=None if table.columns else gathered(table.keys, order),
    )
    pool = prepared_on(pool, reader.fit_rows)
    at = np.flatnonzero(gathered(known, order))
    part = replace(pool.take(at), **_known_labels(reader, found, pool, labels, order[at]))
    if isinstance(part.rows, PartitionedRows):
        own, _ = in_key_order(replace(table, keys=found.keys), np.flatnonzero(known))
        part = replace(part, rows=replace(part.rows, table=own))
    else:
        part = replace(part, known_keys=gathered(found.keys, order[at]))
    return Batch(pool, part, at)


def _known_labels(
    reader: BatchReader,
    found: Tables,
    pool: Pool,
    labels: tuple[str, ...],
    places: NDArray[Any],
) -> Mapping[str, Any]:
    """Targets and losses of the rows that have them, by their places in the table."""
    assert found.known is not None
    n, known = found.counts[1], np.flatnonzero(found.known)
    y = np.zeros(0) if reader.supervised else None
    losses = np.zeros(0) if reader.roles.loss in labels else None
    if found.target is not None:
        y = gathered(spread(_targets(reader, found.target, pool), known, n), places)
    if found.loss is not None:
        values = reader.finite(found.loss.as_given())
        losses = gathered(spread(values, known, n), places)
    return {"y": y, "loss": losses}


def _targets(reader: BatchReader, target: Coded, pool: Pool) -> NDArray[Any]:
    """Targets as codes of classes, or as numbers."""
    if pool.task == "regression":
        return reader.codes(target.values if target.levels is None else target.like(), pool)
    codes, values = target.encoded()
    return gathered(reader.codes(values, pool), codes)


def _values(target: Coded | None) -> list[Any] | None:
    """The distinct values of a target."""
    if target is None:
        return None
    found: list[Any] = (np.unique(target.values) if target.many else target.like()).tolist()
    return found


def _predicted(
    reader: BatchReader, found: Tables, classes: NDArray[Any] | None
) -> NDArray[Any] | None:
    logged = {label: one.as_given() for label, one in found.predictions.items()}
    if not logged:
        return None
    return reader.predicted(Logged(logged, None, 0), classes)
