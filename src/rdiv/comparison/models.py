"""Which models a comparison is about: the one in use, and the one that has seen both samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rdiv.discrepancies.resolve import Choice, choose
from rdiv.errors import InputError, InputTypeError
from rdiv.models import (
    CrossFit,
    LoggedLosses,
    LoggedPredictions,
    Model,
    as_model,
    same_model,
)
from rdiv.models.protocol import is_given, task_of
from rdiv.samples.logged import Prediction
from rdiv.samples.pool import Pool

__all__ = ["SAME", "Models", "choose_models"]

SAME = "same"


@dataclass(frozen=True, eq=False)
class Models:
    """The models of a comparison; which density stands for none depends on the pool.

    Parameters
    ----------
    given : Model or None
        The model in use, where it is given; None where rdiv trains it on part of the reference.
    shared : callable or None
        From the pool to the model of the shared questions; None where they are not asked.
    kind : str, optional
        The only task of these models.
    notes : mapping
        About the shared model.
    used_notes : mapping
        About the model in use, where rdiv trains it.
    fit_rows : int, optional
        Most rows that a model is fitted to.
    """

    given: Model | None
    shared: Callable[[Pool], Model] | None
    kind: str | None
    notes: Mapping[str, Any]
    used_notes: Mapping[str, Any] = field(default_factory=dict)
    fit_rows: int | None = None

    def settled(self, pool: Pool) -> tuple[Model, Model | None]:
        """The model in use and the shared one."""
        shared = None if self.shared is None else self.shared(pool)
        if isinstance(shared, CrossFit):
            shared = replace(shared, fit_rows=self.fit_rows)
        if self.given is not None:
            return self.given, shared
        assert shared is not None
        return shared.model if isinstance(shared, CrossFit) else shared, shared


def choose_models(
    model: Any,
    *,
    prediction: Prediction = None,
    loss: str | None = None,
    retrain: Any = SAME,
    folds: int | None,
    supervised: bool,
    n_jobs: int | None = None,
) -> Models:
    """Settle which model is in use and which one is trained on both samples.

    Examples
    --------
    >>> models = choose_models(None, loss="error", folds=5, supervised=False)
    >>> print(models.given, models.shared)
    losses in column error None
    """
    given = _given(model, prediction, loss)

    def chosen(what: Any) -> Choice:
        return choose("r-div", model=what, folds=folds, supervised=supervised, n_jobs=n_jobs)

    if given is None:
        if retrain != SAME:
            raise InputError(
                "retrain= is for a model in use that is given (Frozen, prediction= or loss=); "
                "rdiv trains this one anyway, so leave retrain= out."
            )
        choice = chosen(model)
        used = choose("in-use", model=model, supervised=supervised).notes
        return Models(None, lambda pool: choice.build(pool).model, choice.kind, choice.notes, used)
    if retrain is None or (loss is not None and not supervised):
        _refuse_retrain(retrain)
        return Models(given, None, task_of(given), {})
    wanted = same_model(given) if isinstance(retrain, str) and retrain == SAME else retrain
    choice = chosen(wanted)
    kind = _one_task(task_of(given), choice.kind)
    return Models(given, lambda pool: choice.build(pool).model, kind, choice.notes)


def _given(model: Any, prediction: Prediction, loss: str | None) -> Model | None:
    """The model in use, where it is given."""
    said = {"model": model, "prediction": prediction, "loss": loss}
    named = [f"{name}=" for name, value in said.items() if value is not None]
    if len(named) > 1:
        raise InputError(
            f"{' and '.join(named)} each stand for the model in use; give one of them."
        )
    if loss is not None:
        return LoggedLosses(loss)
    if prediction is not None:
        return LoggedPredictions(_columns(prediction))
    if model is None or isinstance(model, str):
        return None
    known = as_model(model)
    return known if is_given(known) else None


def _columns(prediction: str | Mapping[Any, str]) -> str:
    if isinstance(prediction, str):
        return prediction
    if not isinstance(prediction, Mapping) or not prediction:
        raise InputTypeError(
            "prediction must be the name of a column, or a mapping of classes to columns, got "
            f"{type(prediction).__name__}."
        )
    return ", ".join(str(column) for column in prediction.values())


def _refuse_retrain(retrain: Any) -> None:
    if retrain not in (None, SAME):
        raise InputError(
            "retrain= needs a target to train for, got losses without one; name the target, or "
            "leave retrain= out."
        )


def _one_task(own: str | None, shared: str | None) -> str | None:
    if own is not None and shared is not None and own != shared:
        raise InputError(
            f"the model in use does {own} and the one to retrain {shared}; choose another retrain=."
        )
    return own or shared
