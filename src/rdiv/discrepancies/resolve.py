"""Which discrepancy runs with which model, from the arguments of the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from inspect import isclass
from typing import Any

from rdiv.discrepancies.in_use import InUse
from rdiv.discrepancies.installed import installed_test, is_installed
from rdiv.discrepancies.protocol import is_discrepancy
from rdiv.errors import InputError, InputTypeError
from rdiv.models import BY_NAME as MODELS
from rdiv.models import (
    Boosting,
    CrossFit,
    MixedDensity,
    Model,
    PrincipalComponents,
    as_model,
)
from rdiv.models.protocol import is_held_out, task_of
from rdiv.names import chosen, spelled
from rdiv.samples.pool import Pool

__all__ = ["Choice", "choose", "default_density"]

DEFAULT_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Choice:
    """A discrepancy that may need the pool first, to choose a density model by its shape.

    Parameters
    ----------
    build : callable
        From the pool to the discrepancy.
    kind : str, optional
        The only task of its model.
    notes : dict
        Notes about the choice, for the result.
    """

    build: Callable[[Pool], Any]
    kind: str | None
    notes: dict[str, Any]


def choose(
    discrepancy: Any,
    *,
    model: Any = None,
    folds: int | None = None,
    supervised: bool,
    n_jobs: int | None = None,
) -> Choice:
    """Settle which discrepancy runs with which model.

    Parameters
    ----------
    discrepancy : str or Discrepancy
        A name is built with `model` and `folds`; an object has its own.
    supervised : bool
        Whether the samples have a target.
    """
    from rdiv.discrepancies import BY_NAME

    if isinstance(discrepancy, str) and is_installed(discrepancy):
        discrepancy = installed_test(discrepancy)
    if not isinstance(discrepancy, str):
        return _given(discrepancy, model, folds)
    cls = chosen(discrepancy, BY_NAME, "discrepancy")
    inputs_only = {"inputs": f"{discrepancy} looks at the inputs only, not at the target"}
    if "model" not in {field.name for field in fields(cls)}:
        _refuse(discrepancy, "needs no model", model=model, folds=folds)
        return Choice(lambda pool: cls(), "density", inputs_only if supervised else {})
    if hasattr(cls, "model_role"):  # a classifier or a feature network, not a model of the target
        _refuse(discrepancy, "learns on half of the rows", model=None, folds=folds)
        test = cls(model=model)
        kind = task_of(test)
        return Choice(
            lambda pool: test, kind, inputs_only if supervised and kind == "density" else {}
        )
    trains_once = cls is InUse
    if trains_once:
        _refuse(discrepancy, "trains one model on part of the reference", model=None, folds=folds)
    if model is None:
        if supervised and trains_once:
            return Choice(lambda pool: cls(Boosting()), None, {"default model": "boosting"})
        if supervised:
            default = CrossFit(Boosting(), DEFAULT_FOLDS if folds is None else folds, n_jobs)
            return Choice(lambda pool: cls(default), None, {"default model": str(default)})
        return Choice(
            lambda pool: cls(_folded(default_density(pool), folds, n_jobs)), "density", {}
        )
    fixed = as_model(model)
    notes: dict[str, Any] = {}
    if is_held_out(fixed) and folds is not None:
        notes["folds"] = f"folds do not apply to {spelled(fixed, MODELS)}"
    else:
        fixed = _folded(fixed, folds, n_jobs)
    kind = task_of(fixed)
    if supervised and kind == "density":
        notes["target"] = f"{spelled(fixed, MODELS)} models the inputs; the target is not used"
    return Choice(lambda pool: cls(fixed), kind, notes)


def _given(discrepancy: Any, model: Any, folds: int | None) -> Choice:
    if isclass(discrepancy):
        raise InputTypeError(
            "a discrepancy must be a name or an object, got the class "
            f"{discrepancy.__name__}; add ()."
        )
    if not is_discrepancy(discrepancy):
        raise InputTypeError(
            "a discrepancy must be a name or have prepare(pool, rng), got "
            f"{type(discrepancy).__name__}."
        )
    _refuse(type(discrepancy).__name__, "has its settings already", model=model, folds=folds)
    return Choice(lambda pool: discrepancy, task_of(discrepancy), {})


def _refuse(name: str, why: str, *, model: Any, folds: int | None) -> None:
    for option, value in (("model", model), ("folds", folds)):
        if value is not None:
            raise InputError(f"{name} {why}, got {option}={value!r}; drop {option}=.")


def _folded(model: Model, folds: int | None, n_jobs: int | None) -> Model:
    return model if folds is None else CrossFit(model, folds, n_jobs)


def default_density(pool: Pool) -> Model:
    """The density model used when none is named: that of mixed tables, or of images.

    `benchmarks/studies/default_density.py` measures why.
    """
    return PrincipalComponents() if pool.is_images else MixedDensity()
