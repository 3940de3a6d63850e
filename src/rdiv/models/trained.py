"""A model trained on a third table, which is neither of the samples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputTypeError
from rdiv.models.adapters import as_model
from rdiv.models.protocol import (
    FittedModel,
    PerRow,
    fit_model,
    gradients_of,
    is_held_out,
    loss_name,
    losses_of,
    owners_of,
    probabilities_of,
    residuals_of,
    task_of,
)
from rdiv.names import spelled
from rdiv.samples.datasets import DatasetRows
from rdiv.samples.frames import agreed, as_frame, python_values, quoted, refuse_infinite
from rdiv.samples.pool import Pool, content_keys
from rdiv.samples.row_keys import digest, places_among
from rdiv.samples.rows import as_rows
from rdiv.samples.sample import Sample, as_sample, target_values

__all__ = ["FittedTrained", "Trained"]

NAME = "the training table"
_FEWEST = 2


@dataclass(frozen=True, eq=False, repr=False)
class Trained:
    """A model that is fitted on a table of its own and then judged on the samples as it is.

    As for `Frozen`, neither sample may hold rows that it was trained on; `overlap` counts them.

    Parameters
    ----------
    model : str or Model
        What to train: a name, an estimator, a torch module.
    sample : array, frame, tensor, dataset or pair ``(X, y)``
        The rows to train on, with the columns of the samples.
    target : str, optional
        Name of the target column of a frame.
    drop : sequence of str
        Columns of a frame that the samples need not have.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 2))
    >>> model = Trained("ridge", (x, x[:, 0]))
    >>> pool = Pool(x[:5] + 1, y=x[:5, 0] + 3.0, task="regression")
    >>> print(model, model.fit(pool, rng).losses(pool).round())
    ridge trained on 60 other rows [4. 4. 4. 4. 4.]
    """

    model: Any
    sample: Any
    target: str | None = None
    drop: tuple[str, ...] = ()

    held_out = True
    given = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", as_model(self.model))
        object.__setattr__(self, "drop", tuple(self.drop))
        if is_held_out(self.model):
            raise InputError(
                f"Trained needs a model to train, got {self.model}; pass that one without a "
                "training table."
            )
        if len(self._sample.x) < _FEWEST:
            raise InputError(f"{NAME} needs at least {_FEWEST} rows, got {len(self._sample.x)}.")

    def __str__(self) -> str:
        from rdiv.models import BY_NAME

        return f"{spelled(self.model, BY_NAME)} trained on {len(self._sample.x)} other rows"

    __repr__ = __str__

    @property
    def task(self) -> str | None:
        """The one task that the model can do, if there is only one."""
        return task_of(self.model)

    def loss_name(self, pool: Pool) -> str:
        """What its losses are."""
        return loss_name(self.model, pool)

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedTrained:
        """Fit to the training table, with its own order, streams and preparation.

        Parameters
        ----------
        pool : Pool
            Rows to be judged later: they give the columns, their types, the task and the classes.
        rng : Generator
        """
        table = self._table(pool)
        keys = table.keys
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        seed = int(rng.integers(2**53))
        streams = np.random.SeedSequence((seed, digest(keys[order]))).spawn(2)
        shuffle, own = (np.random.default_rng(stream) for stream in streams)
        table = table.anew(order[shuffle.permutation(len(order))])
        return FittedTrained(fit_model(self.model, table, own), table)

    def overlap(self, pool: Pool) -> int:
        """How many rows of the training table stand in a pool too, target included if it has one.

        Examples
        --------
        >>> x = np.arange(8.0)[:, None]
        >>> pool = Pool(x[:3], y=np.array([0.0, 1.0, 5.0]), task="regression")
        >>> print(Trained("ridge", (x, x[:, 0])).overlap(pool))
        2
        """
        table = self._table(pool)
        known = content_keys(_alike(pool, table).rows, (pool.y,))
        own = table.keys if pool.y is not None else table.rows.keys
        return int((places_among(own, known) >= 0).sum())

    @cached_property
    def _sample(self) -> Sample:
        with _in_the_training_table():
            return as_sample(self.sample, NAME)

    def _table(self, pool: Pool) -> Pool:
        """The training rows as a pool with the columns, types and codes of another one."""
        with _in_the_training_table():
            x, labels = self._parts(pool)
            y, classes = _encoded(labels, pool)
        return Pool(as_rows(x), y=y, task=pool.task, columns=pool.columns, classes=classes)

    def _parts(self, pool: Pool) -> tuple[Any, NDArray[Any] | None]:
        x, y = self._sample.x, self._sample.y
        if isinstance(x, np.ndarray | DatasetRows) == pool.is_table:
            kinds = ("a frame", "arrays") if not pool.is_table else ("an array", "frames")
            raise InputTypeError(f"it is {kinds[0]}, and the samples are {kinds[1]}.")
        if not pool.is_table:
            if x.shape[1:] != pool.rows.shape[1:]:
                raise InputError(
                    f"it has rows of shape {x.shape[1:]}, and the samples of shape "
                    f"{pool.rows.shape[1:]}; give it the same columns."
                )
            return x, None if pool.task == "density" else self._target(y)
        names = [] if self.target is None else [self.target]
        _check_names(x.columns, names, pool, self.drop)
        if y is None and names:
            y = target_values(python_values(x[self.target]))
        x, _ = agreed(x.select(list(pool.columns or ())), as_frame(pool.x), (NAME, "the samples"))
        refuse_infinite(x)
        return x.to_native(), None if pool.task == "density" else self._target(y)

    def _target(self, y: NDArray[Any] | None) -> NDArray[Any]:
        if y is None:
            raise InputError("it has no target; name the column with target=.")
        if len(y) != len(self._sample.x):
            raise InputError(
                f"X and y must have as many rows, got {len(self._sample.x)}, {len(y)}."
            )
        return y


@dataclass(frozen=True, eq=False)
class FittedTrained:
    """A model and the table that it was fitted on, whose preparation and types it keeps."""

    fitted: FittedModel
    table: Pool

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Loss of every row, ``(n,)``."""
        return losses_of(self.fitted, _alike(pool, self.table))

    @property
    def probabilities(self) -> PerRow | None:
        """Function from a pool to the probabilities of its classes, where the model has them."""
        found = self._offered(probabilities_of(self.fitted))
        if found is None:
            return None
        return lambda pool: found(pool)[:, : len(_classes_of(pool))]

    @property
    def residuals(self) -> PerRow | None:
        """Function from a pool to derivatives in the predictions, where the model has them."""
        return self._offered(residuals_of(self.fitted))

    @property
    def gradients(self) -> PerRow | None:
        """Function from a pool to derivatives of its losses, where the model has them."""
        return self._offered(gradients_of(self.fitted))

    def gradient_owners(self, pool: Pool) -> tuple[str | None, ...] | None:
        """The input column that each gradient belongs to, where the model knows."""
        return owners_of(self.fitted, _alike(pool, self.table))

    def _offered(self, method: PerRow | None) -> PerRow | None:
        if method is None:
            return None
        return lambda pool: method(_alike(pool, self.table))


def _alike(pool: Pool, table: Pool) -> Pool:
    """The rows of a pool with the types, the preparation and the classes of a training table."""
    classes = table.classes
    if classes is not None:
        _check_classes(pool, table)
    if not pool.is_table:
        return replace(pool, classes=classes)
    _, own = agreed(as_frame(table.x), as_frame(pool.x), (NAME, "the samples"))
    return replace(pool, rows=as_rows(own.to_native()), classes=classes).like(table)


def _check_classes(pool: Pool, table: Pool) -> None:
    """The codes of a pool stand for the same classes as when the model was trained."""
    own, known = _classes_of(pool).tolist(), _classes_of(table).tolist()
    if known[: len(own)] != own:
        raise InputError(
            f"a model trained for the classes {quoted(known)} cannot judge rows of the classes "
            f"{quoted(own)}; fit it for these samples."
        )


def _classes_of(pool: Pool) -> NDArray[Any]:
    assert pool.classes is not None
    return pool.classes


def _encoded(
    labels: NDArray[Any] | None, pool: Pool
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Targets of the training rows as a pool has them: its classes come first, others after."""
    if labels is None:
        return None, None
    if pool.task == "regression":
        if labels.dtype.kind not in "biuf" or not np.isfinite(labels).all():
            raise InputError(
                f"its target must be finite numbers as in the samples, got {_odd(labels)!r}."
            )
        return labels.astype(np.float64), None
    known = _classes_of(pool).tolist()
    found = sorted(set(labels.tolist()), key=lambda label: (str(label), type(label).__name__))
    if not set(found) & set(known):
        raise InputError(
            f"it has the classes {quoted(found)}, and the samples have {quoted(known)}; check the "
            "target column and its type."
        )
    if len(found) < 2:
        raise InputError(f"it has only the class {found[0]!s}; a classifier needs two or more.")
    both = known + [label for label in found if label not in set(known)]
    codes = {label: code for code, label in enumerate(both)}
    classes = np.empty(len(both), dtype=object)
    classes[:] = both
    return np.array([codes[label] for label in labels.tolist()], dtype=np.intp), classes


def _odd(labels: NDArray[Any]) -> Any:
    if labels.dtype.kind not in "biuf":
        return str(labels[0])
    return float(labels[~np.isfinite(labels)][0])


def _check_names(columns: list[str], target: list[str], pool: Pool, drop: tuple[str, ...]) -> None:
    wanted = [*(pool.columns or ()), *(target if pool.task != "density" else [])]
    lacking = [name for name in wanted if name not in set(columns)]
    allowed = {*wanted, *target, *drop}
    extra = [name for name in columns if name not in allowed]
    if lacking or extra:
        parts = [f"lacks {quoted(lacking)}"] if lacking else []
        parts += [f"has {quoted(extra)}, which the samples do not have"] if extra else []
        raise InputError(
            f"it {' and '.join(parts)}; give it the columns of the samples, or drop the others."
        )


@contextmanager
def _in_the_training_table() -> Iterator[None]:
    """Say in a message that it is about the training table."""
    try:
        yield
    except InputError as error:
        if NAME in str(error):
            raise
        raise type(error)(f"{NAME} cannot be used: {error}") from error
