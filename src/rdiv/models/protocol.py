"""What a model is: something that is fitted to a pool and gives one loss per row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, naming
from rdiv.names import texts_of
from rdiv.parallel.threads import one_thread
from rdiv.samples.fitting_rows import pool_rows_to_fit
from rdiv.samples.pool import Pool
from rdiv.samples.row_passes import BLOCK, row_by_row

__all__ = [
    "FittedModel",
    "Model",
    "ModelDescription",
    "PerRow",
    "check_losses",
    "describe",
    "fit_again",
    "fit_model",
    "gradients_of",
    "has_own_scale",
    "is_given",
    "is_held_out",
    "loss_name",
    "losses_in_blocks",
    "losses_of",
    "most_rows",
    "owners_of",
    "predictions_of",
    "probabilities_of",
    "residuals_of",
    "runs_in_threads",
    "task_of",
]

PerRow = Callable[[Pool], NDArray[np.float64]]
"""Function from a pool to numbers of each of its rows."""


@runtime_checkable
class FittedModel(Protocol):
    """A fitted model: it gives its loss on each row.

    Six more methods are optional. ``probabilities(pool)`` gives those of every class, ``(n, K)``,
    for a classifier. ``gradients(pool)`` gives the derivatives of each row's loss in
    the parameters, ``(n, m)``; ``gradient_owners(pool)`` names the input column that each of them
    belongs to, where they belong to columns; ``residuals(pool)`` are the derivatives in the
    predictions, ``(n, r)``.
    ``refit(pool, rng)`` fits again on other rows, starting here, and ``fit_anew(pool, rng)`` from
    nothing; both keep what was settled on the whole pool, such as a scaling.
    """

    def losses(self, pool: Pool) -> NDArray[np.float64]:
        """Loss of every row, ``(n,)``."""
        ...


@runtime_checkable
class Model(Protocol):
    """A learning rule and its settings; fitting returns a new object and changes nothing.

    Seven attributes are optional. ``task`` names the only task the model can do
    (``"classification"``, ``"regression"`` or ``"density"``). ``held_out`` is True when its fitted
    object gives losses of rows that it was not trained on, and ``given`` when it comes as it is in
    use. ``row_loss`` says what its losses are. ``fit_rows`` is the number of rows beyond which
    `rdiv.compare` does not fit it to all of them. ``in_threads`` is True when its fits and
    predictions leave Python's lock alone and do not disturb each other, so that several of them run
    in threads. ``own_scale`` is True when a fit puts the rows on a scale of its own, so that losses
    of two fits differ by it.

    Examples
    --------
    A model in six lines: the distance to the pooled mean.

    >>> from dataclasses import dataclass, replace
    >>> @dataclass(frozen=True)
    ... class Centre:
    ...     mean: object = None
    ...
    ...     def fit(self, pool, rng):
    ...         return Centre(pool.numbers().mean(axis=0))
    ...
    ...     def losses(self, pool):
    ...         return ((pool.numbers() - self.mean) ** 2).sum(axis=1)
    >>> import rdiv
    >>> p, q = np.zeros((4, 1)), np.full((4, 1), 3.0)
    >>> print(rdiv.r_divergence(p, q, model=Centre(), rng=0))
    0.0
    """

    def fit(self, pool: Pool, rng: np.random.Generator) -> FittedModel:
        """Fit to the rows of a pool, blind to which sample each row came from."""
        ...


def task_of(part: object) -> str | None:
    """The only task that a model or a test can do: its own, or else that of the test's model.

    None leaves it to the samples.

    Examples
    --------
    >>> from rdiv.discrepancies import Energy, RDivergence
    >>> from rdiv.models import Boosting, Ridge
    >>> print(task_of(RDivergence(Ridge())), task_of(Energy()), task_of(Boosting()))
    regression density None
    """
    inner = part if hasattr(part, "task") else getattr(part, "model", None)
    task: str | None = getattr(inner, "task", None)
    return task


@dataclass(frozen=True)
class ModelDescription:
    """One model in words.

    Parameters
    ----------
    name : str
        Its name in ``BY_NAME``.
    cls : str
        Its class in ``rdiv.models``.
    about : str
        What it is.
    row_loss : str
        The loss that it gives a row.
    target : str
        The target that it needs, or "no".
    suits : str
        Data that it is good for.
    keep_in_mind : str

    Examples
    --------
    >>> import rdiv
    >>> print({model.name: model.row_loss for model in rdiv.models.describe()}["ridge"])
    squared error
    """

    name: str
    cls: str
    about: str
    row_loss: str
    target: str
    suits: str
    keep_in_mind: str


ATTRIBUTES = ("about", "row_loss", "suits", "keep_in_mind")
"""Of every class in ``BY_NAME``: what it says of itself."""

TARGETS = {"density": "no", "classification": "classes", "regression": "numbers", None: "yes"}


def describe() -> tuple[ModelDescription, ...]:
    """What each model is, its loss, the target that it needs, and what it is good for.

    Examples
    --------
    >>> for model in describe()[1:3]:
    ...     print(f"{model.name}: {model.about}")
    kde: a Gaussian kernel around every row of the pool
    gmm: a mixture of Gaussians
    """
    from rdiv.models import BY_NAME

    found = []
    for name, cls in BY_NAME.items():
        about, row_loss, suits, keep_in_mind = texts_of(cls, ATTRIBUTES)
        target = TARGETS[task_of(cls)]
        found.append(
            ModelDescription(name, cls.__name__, about, row_loss, target, suits, keep_in_mind)
        )
    return tuple(found)


def is_held_out(model: object) -> bool:
    """Whether the losses of a fitted model are those of rows that it was not trained on."""
    return bool(getattr(model, "held_out", False))


def has_own_scale(model: object, pool: Pool) -> bool:
    """Whether the losses of two fits are on two scales, so that their difference says nothing.

    Densities of a table are: what a fit makes of its columns depends on the rows that it has seen.

    Examples
    --------
    >>> from rdiv.models import BY_NAME, CrossFit
    >>> pool = Pool(np.zeros((2, 1)))
    >>> print([has_own_scale(CrossFit(BY_NAME[name]()), pool) for name in ("mixed", "gmm")])
    [True, False]
    """
    inner = getattr(model, "model", model) if is_held_out(model) else model
    own = bool(getattr(inner, "own_scale", False))
    return pool.task == "density" and (own or pool.is_table)


def is_given(model: object) -> bool:
    """Whether a model comes as it is in use, so that it is not fitted to either sample."""
    return bool(getattr(model, "given", False))


def loss_name(model: object, pool: Pool) -> str:
    """What the losses of a model on a pool are, in a word or two; "loss" where it does not say.

    A model says so by an attribute ``row_loss``, or by a method ``loss_name(pool)`` where that
    depends on the rows.

    Examples
    --------
    >>> from rdiv.models import Boosting, CrossFit
    >>> pool = Pool(np.zeros((2, 1)), y=np.array([0.5, 1.5]), task="regression")
    >>> print(loss_name(CrossFit(Boosting()), pool))
    squared error
    """
    inner = getattr(model, "model", model)
    own = getattr(inner, "loss_name", None)
    if own is not None:
        return str(own(pool))
    said = str(getattr(inner, "row_loss", "loss"))
    words = {"classification": "log loss", "regression": "squared error"}
    return words.get(pool.task, said) if " or " in said else said


def gradients_of(fitted: FittedModel) -> PerRow | None:
    """Its ``gradients``, where it has them."""
    return _offered(fitted, "gradients")


def residuals_of(fitted: FittedModel) -> PerRow | None:
    """Its ``residuals``, where it has them."""
    return _offered(fitted, "residuals")


def probabilities_of(fitted: FittedModel) -> PerRow | None:
    """Its ``probabilities``, where it has them."""
    return _offered(fitted, "probabilities")


def predictions_of(fitted: FittedModel, pool: Pool) -> NDArray[np.float64] | None:
    """What it predicts for every row: probabilities ``(n, K)`` or a value ``(n, 1)``.

    None where the model does not say.

    Examples
    --------
    >>> from rdiv.models import Ridge
    >>> pool = Pool(np.arange(4.0)[:, None], y=np.arange(4.0), task="regression")
    >>> fitted = Ridge(penalty=1e-9).fit(pool, np.random.default_rng(0))
    >>> print(predictions_of(fitted, pool)[:, 0].round(6))
    [0. 1. 2. 3.]
    """
    own = _offered(fitted, "predictions")
    if own is not None:
        return own(pool)
    if pool.task == "classification":
        found = probabilities_of(fitted)
        return None if found is None else found(pool)
    residuals = residuals_of(fitted)
    if residuals is None or pool.task != "regression":
        return None
    if pool.y is None:  # rows without a target: the residual around 0 is the prediction
        return residuals(replace(pool, y=np.zeros(len(pool))))[:, :1] / 2
    return pool.y[:, None] + residuals(pool)[:, :1] / 2  # of the squared error


def _offered(fitted: FittedModel, method: str) -> PerRow | None:
    """An optional method; a model may also say None to tell that it has none."""
    found: PerRow | None = getattr(fitted, method, None)
    return found if callable(found) else None


def owners_of(fitted: FittedModel, pool: Pool) -> tuple[str | None, ...] | None:
    """The input column that each of its gradients belongs to, where it knows."""
    known: Callable[[Pool], tuple[str | None, ...] | None] | None
    known = getattr(fitted, "gradient_owners", None)
    return None if known is None else known(pool)


def runs_in_threads(model: object) -> bool:
    """Whether fits and predictions of a model may run in several threads at once."""
    return bool(getattr(model, "in_threads", False))


def fit_model(
    model: Model, pool: Pool, rng: np.random.Generator, *, fit_rows: int | None = None
) -> FittedModel:
    """Fit a model; what a user's own model raises comes back with its name, and as the cause.

    Parameters
    ----------
    model : Model
    pool : Pool
    rng : Generator
    fit_rows : int, optional
        Fit to at most so many rows of the pool, or fewer where the model says so. A model whose
        losses are held out sees to that itself.
    """
    most = None if is_held_out(model) else most_rows(model, fit_rows)
    if most is not None and len(pool) > most:
        pool = pool.take(pool_rows_to_fit(pool, most))
    if not is_held_out(model):
        pool = pool.at_hand()
    with _named(model, "fitting"):
        return model.fit(pool, rng)


def most_rows(model: object, fit_rows: int | None) -> int | None:
    """How many rows a model is fitted to at most: what was asked for, or its own number.

    Examples
    --------
    >>> from rdiv.models import KernelDensity, Ridge
    >>> print(most_rows(Ridge(), 10**6), most_rows(KernelDensity(), 10**6))
    1000000 20000
    """
    own: int | None = getattr(model, "fit_rows", None)
    return fit_rows if fit_rows is None or own is None else min(fit_rows, own)


def losses_in_blocks(fitted: FittedModel, pool: Pool) -> NDArray[np.float64]:
    """`losses_of`, of so many rows at a time that their numbers do not fill the memory."""
    if len(pool) <= BLOCK or pool.in_partitions:
        return losses_of(fitted, pool)
    return row_by_row(pool, lambda rows: losses_of(fitted, pool.take(rows)))


def losses_of(fitted: FittedModel, pool: Pool) -> NDArray[np.float64]:
    """Losses as a model gives them; an error of a user's own is named as in `fit_model`.

    Rows in partitions are gone through in the order of their files, unless the model does so.
    """
    if pool.in_partitions and not getattr(fitted, "takes_partitions", False):
        return pool.over_blocks(_losses_of_block, fitted)
    with _named(fitted, "losses of"):
        return _one_per_row(fitted.losses(pool), pool, "the model")


def _losses_of_block(
    fitted: FittedModel, pool: Pool, labels: Mapping[str, NDArray[Any]]
) -> NDArray[np.float64]:
    del labels
    with one_thread():
        return losses_of(fitted, pool)


def _named(model: object, step: str) -> AbstractContextManager[None]:
    """Names the errors of models that are not ours; ours name what can go wrong themselves."""
    cls = type(model)
    if cls.__module__.split(".")[0] == "rdiv":
        return nullcontext()
    return naming(f"{step} {cls.__name__}", "its own error is attached as the cause")


def fit_again(
    model: Model, fitted: FittedModel, pool: Pool, rng: np.random.Generator, *, warm: bool
) -> FittedModel:
    """Fit to a part of the pool, keeping what the pooled fit decided about units and shape.

    Parameters
    ----------
    model : Model
        What is fitted when the pooled fit offers nothing better.
    fitted : FittedModel
        The pooled fit. Its ``refit(pool, rng)`` starts from its own parameters; its
        ``fit_anew(pool, rng)`` starts afresh. Both keep choices made on the whole pool, such as
        a scaling or a number of components, without which losses would have different units.
    warm : bool
        Which of the two to use.

    Examples
    --------
    >>> from rdiv.models import PrincipalComponents
    >>> rng = np.random.default_rng(0)
    >>> pool = Pool(rng.normal(size=(40, 3)))
    >>> model = PrincipalComponents(1)
    >>> fitted = model.fit(pool, rng)
    >>> side = fit_again(model, fitted, pool.take(np.arange(15)), rng, warm=True)
    >>> print(side.scaling is fitted.scaling)
    True
    """
    again = getattr(fitted, "refit" if warm else "fit_anew", None)
    if again is None:
        return fit_model(model, pool, rng)
    with _named(fitted, "fitting"):
        side: FittedModel = again(pool, rng)
    return side


LARGEST_LOSS = 1e150
"""Beyond this the square of a loss is no number."""


def _one_per_row(losses: object, pool: Pool, who: str) -> NDArray[np.float64]:
    values = np.asarray(losses, dtype=np.float64)
    if values.shape != (len(pool),):
        raise InputError(
            f"{who} must give one loss per row, got shape {values.shape} for {len(pool)} rows."
        )
    return values


def check_losses(losses: object, pool: Pool, who: str) -> NDArray[np.float64]:
    """The losses a model gave, refused if they are not one finite number per row.

    Rows with the same content get the same loss, that of the first of them: a loss that depends on
    the position must not separate the samples. Keys that do not know the target make no rows alike
    whose targets differ.
    """
    values = _one_per_row(losses, pool, who)
    bad = int((~np.isfinite(values)).sum())
    if bad:
        raise InputError(
            f"{who} must give finite losses, got {bad} NaN or infinite of {len(pool)}; "
            "check the inputs or use a model with more regularisation."
        )
    if len(values) and max(values.max(), -values.min()) > LARGEST_LOSS:
        raise InputError(
            f"{who} must give losses within {LARGEST_LOSS:g} of 0, got "
            f"{values[np.abs(values).argmax()]:g}; scale the target or the loss."
        )
    rows, first = pool.repeats
    for own in (pool.y, pool.loss):
        if own is not None:
            alike = own[rows] == own[first]
            rows, first = rows[alike], first[alike]
    if len(rows):
        values = values.copy()
        values[rows] = values[first]
    return values
