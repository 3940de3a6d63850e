"""Rows that come later, read in the way in which a reference was read; labels may be missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.samples.datasets import DatasetRows
from rdiv.samples.fitting_rows import prepared_on
from rdiv.samples.frames import agreed, check_columns, python_values, refuse_infinite
from rdiv.samples.logged import Logged, Prediction, read_logged
from rdiv.samples.partitioned import PartitionedRows
from rdiv.samples.pool import Pool, content_keys
from rdiv.samples.row_keys import Keys, digest
from rdiv.samples.rows import as_rows
from rdiv.samples.sample import as_sample, target_values

if TYPE_CHECKING:
    from rdiv.samples.frames import Frame

__all__ = ["Batch", "BatchReader", "Roles", "renamed"]


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are for, besides being inputs.

    Parameters
    ----------
    target, loss : str, optional
    prediction : str or mapping of class to column, optional
    ignored : sequence of str
        Columns that are not read: those to drop, and the one that names batches.
    """

    target: str | None = None
    prediction: Prediction = None
    loss: str | None = None
    ignored: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows in an order that depends on their content alone.

    Parameters
    ----------
    pool : Pool
        All rows, without target and loss.
    labelled : Pool
        The rows whose target or loss is known, with it.
    rows : (m,) integers
        Their places among all rows.
    """

    pool: Pool
    labelled: Pool
    rows: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.pool)

    @property
    def keys(self) -> Keys:
        """Hash of every row without its target and loss, ``(n, 2)``."""
        return self.pool.keys

    @property
    def inputs_digest(self) -> int:
        """One number for all rows without their labels."""
        return _digest(self.pool)

    def labels_digest(self, places: NDArray[np.intp]) -> int:
        """One number for some of the labelled rows, by their places among these."""
        return _digest(self.labelled, places)


def _digest(pool: Pool, places: NDArray[np.intp] | None = None) -> int:
    """One number for some rows in their order, or for all; no keys of partitions are copied."""
    if not isinstance(pool.rows, PartitionedRows):
        return digest(pool.keys_of(places))
    picked = pool.rows.picked
    return digest(pool.rows.table.keys, None, picked if places is None else picked[places])


@dataclass(frozen=True, eq=False)
class BatchReader:
    """Reads batches as their reference was read.

    Parameters
    ----------
    reference : array or Frame
        The inputs of the reference, with logged predictions, and its columns' types.
    pool : Pool
        The pool of the reference, for its task and classes.
    roles : Roles
    supervised : bool
        Whether the reference has a target.
    fit_rows : int, optional
        Rows that the preparation of a batch is learned from, at most.

    Examples
    --------
    >>> pool = Pool(
    ...     np.zeros((4, 1)),
    ...     y=np.array([0, 1, 0, 1]),
    ...     task="classification",
    ...     classes=np.array(["no", "yes"]),
    ... )
    >>> reader = BatchReader(np.zeros((4, 1)), pool, Roles(), supervised=True)
    >>> batch = reader.read((np.ones((3, 1)), ["yes", None, "no"]))
    >>> print(len(batch), len(batch.labelled), sorted(batch.labelled.y.tolist()))
    3 2 [0, 1]
    """

    reference: Any
    pool: Pool
    roles: Roles
    supervised: bool
    fit_rows: int | None = None

    def read(self, given: Any, name: str = "the batch") -> Batch:
        """Read one batch; a missing target or loss is one that may come later."""
        x, y, losses = self._taken_apart(given, name)
        if not len(x):
            raise InputError(f"{name} has no rows; leave it out, or check the file.")
        predictions = self.roles.prediction
        x, logged = read_logged(x, predictions, None, 0)
        columns = [] if logged is None else logged.columns()
        classes = self.classes(y)
        predicted = None if logged is None else self.predicted(logged, classes)
        rows = as_rows(x)
        keys = content_keys(rows, columns)
        known = _known(y, losses, len(rows))
        order = self._order(rows, keys, columns, (y, losses), known)
        found = Pool(
            rows.anew(order),
            task=self.pool.task,
            columns=self.pool.columns,
            classes=classes,
            prediction=None if predicted is None else predicted[order],
            known_keys=keys[order],
        )
        found = prepared_on(found, self.fit_rows)
        at = np.flatnonzero(known[order])
        return Batch(found, self._labelled(found, at, order[at], (y, losses), columns), at)

    def check(self, given: Any, name: str) -> None:
        """Refuse some rows that do not go with the reference."""
        self._taken_apart(given, name)

    def predicted(self, logged: Logged, classes: NDArray[Any] | None) -> NDArray[Any] | None:
        """Logged predictions; the new classes of a batch were given no probability."""
        found = logged.prediction(self.pool.task, self.pool.classes, self.roles.prediction)
        if found is None or found.ndim != 2 or classes is None:
            return found
        return np.pad(found, ((0, 0), (0, len(classes) - found.shape[1])))

    def _order(
        self, rows: Any, keys: Keys, columns: Any, labels: Any, known: NDArray[np.bool_]
    ) -> NDArray[np.intp]:
        """By content without labels; of equal rows those with a label come in its order."""
        whole = np.zeros_like(keys)
        at = np.flatnonzero(known)
        if len(at):
            whole[at] = self._whole_keys(rows.take(at), labels, columns, at)
        return np.lexsort((whole[:, 1], whole[:, 0], keys[:, 1], keys[:, 0]))

    def _whole_keys(self, rows: Any, labels: Any, columns: Any, at: NDArray[np.intp]) -> Keys:
        y, losses = labels
        target = None if y is None or self.pool.task == "density" else _labels(y, at)
        own = None if losses is None else losses[at]
        return content_keys(rows, (target, *(column[at] for column in columns), own))

    def _labelled(
        self, pool: Pool, at: NDArray[np.intp], given: NDArray[np.intp], labels: Any, columns: Any
    ) -> Pool:
        """The rows whose label is known; `given` are their places in the batch as given."""
        from dataclasses import replace

        part = pool.take(at)
        y, losses = labels
        if not len(at):
            return replace(part, y=np.zeros(0) if y is not None else None, loss=losses)
        return replace(
            part,
            y=None if y is None or pool.task == "density" else self.codes(_labels(y, given), pool),
            loss=None if losses is None else losses[given],
            known_keys=self._whole_keys(part.rows, labels, columns, given),
        )

    def codes(self, y: NDArray[Any], pool: Pool) -> NDArray[Any]:
        """Targets as codes of the classes of a pool, or as numbers."""
        if pool.task == "regression":
            if y.dtype.kind not in "biuf":
                raise InputError(
                    f"the target must hold numbers, as in the reference, got {y[0]!r}."
                )
            return y.astype(np.float64)
        assert pool.classes is not None
        codes = {label: code for code, label in enumerate(pool.classes.tolist())}
        return np.array([codes[label] for label in y.tolist()], dtype=np.intp)

    def classes(self, y: list[Any] | None) -> NDArray[Any] | None:
        """The classes of the reference, and after them those that are new in a batch."""
        known = self.pool.classes
        if known is None or y is None:
            return known
        present = [value for value in y if not _missing(value)]
        numbers = known.dtype.kind in "biuf"
        odd = next((value for value in present if isinstance(value, Real) != numbers), None)
        if odd is not None:
            raise InputError(
                f"the target must hold {'numbers' if numbers else 'text'}, as in the reference, "
                f"got {odd!r}; check the column."
            )
        there = set(known.tolist())
        new = sorted({value for value in present if value not in there})
        return np.concatenate([known, np.array(new)]) if new else known

    def _taken_apart(
        self, given: Any, name: str
    ) -> tuple[Any, list[Any] | None, NDArray[np.float64] | None]:
        """Inputs and predictions, targets and losses; a missing one is None or NaN."""
        pair = isinstance(given, tuple) and len(given) == 2
        x = as_sample(given[0] if pair else given, name).x
        if isinstance(x, np.ndarray | DatasetRows) != isinstance(
            self.reference, np.ndarray | DatasetRows
        ):
            kinds = ("an array", "a frame")
            own, other = kinds if isinstance(x, np.ndarray | DatasetRows) else kinds[::-1]
            raise InputTypeError(f"{name} must be {other}, as the reference, got {own}.")
        y: list[Any] | None = list(np.asarray(given[1], dtype=object)) if pair else None
        if not _is_frame(x):
            self._check_shape(x, name)
            return x, y if y is not None else self._none(len(x)), None
        return self._frame_apart(x, y, name)

    def _frame_apart(
        self, x: Frame, y: list[Any] | None, name: str
    ) -> tuple[Any, list[Any] | None, NDArray[np.float64] | None]:
        roles, n, losses = self.roles, len(x), None
        if roles.target is not None and roles.target in x.columns:
            y = python_values(x[roles.target])
        y = self._none(n) if y is None else y
        if roles.loss is not None:
            cells = python_values(x[roles.loss]) if roles.loss in x.columns else [None] * n
            losses = self.finite(_numbers(cells, roles.loss))
        taken = {roles.target, roles.loss, *roles.ignored}
        x = x.drop([column for column in x.columns if column in taken])
        if not self.reference.columns:
            return np.zeros((n, 0)), y, losses
        try:
            check_columns(self.reference, x)
            x = agreed(self.reference, x, ("the reference", name))[1]
        except InputError as error:
            raise InputError(renamed(str(error), name)) from None
        refuse_infinite(x)
        return x, y, losses

    def finite(self, losses: NDArray[Any]) -> NDArray[np.float64]:
        """Logged losses, none of them infinite."""
        if losses.dtype.kind != "f":
            raise InputError(
                f"the loss column {self.roles.loss!r} must hold numbers, got {losses[0]!r}."
            )
        if np.isinf(losses).any():
            raise InputError(
                f"the loss column {self.roles.loss!r} must hold finite numbers, got "
                f"{int(np.isinf(losses).sum())} infinite; fill them or drop those rows."
            )
        return losses

    def _none(self, n: int) -> list[Any] | None:
        return [None] * n if self.supervised else None

    def _check_shape(self, x: Any, name: str) -> None:
        if x.shape[1:] != self.reference.shape[1:]:
            raise InputError(
                f"{name} must have the columns of the reference, got shape {x.shape} and "
                f"{self.reference.shape} in the reference."
            )


def _is_frame(x: Any) -> bool:
    return not isinstance(x, np.ndarray | DatasetRows)


def renamed(message: str, name: str) -> str:
    """A message about p and q, with their names here."""
    both = f"the reference and {name} "
    for old, new in {
        "p and q ": both, " in p": " in the reference", " in q": f" in {name}",
    }.items():  # fmt: skip
        message = message.replace(old, new)
    return message


def _known(y: list[Any] | None, losses: NDArray[np.float64] | None, n: int) -> NDArray[np.bool_]:
    """Which rows have all labels that there are to be."""
    known = np.ones(n, dtype=bool)
    if y is not None:
        known &= ~np.array([_missing(value) for value in y], dtype=bool)
    if losses is not None:
        known &= ~np.isnan(losses)
    return known


def _labels(y: list[Any], at: NDArray[np.intp]) -> NDArray[Any]:
    return target_values([y[place] for place in at])


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, Real) and bool(np.isnan(float(value))))


def _numbers(cells: Sequence[Any], name: str) -> NDArray[np.float64]:
    odd = next((cell for cell in cells if not _missing(cell) and not isinstance(cell, Real)), None)
    if odd is not None:
        raise InputError(f"the loss column {name!r} must hold numbers, got {odd!r}.")
    return np.array([np.nan if _missing(cell) else float(cell) for cell in cells])
