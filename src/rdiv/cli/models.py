"""The model of a command: a name, an ONNX file, or an object of the user's own code."""

from __future__ import annotations

import functools
import inspect
import os
from typing import Any

from rdiv.errors import InputError

__all__ = ["MODEL_HELP", "model_from"]

MODEL_HELP = (
    "FILE.onnx is a fitted model, used as it is (it needs the extra onnx). package.module:object "
    "imports that module, from the current folder too, which runs its code; the object, or the "
    "function that makes it, is a model of rdiv, a scikit-learn estimator (one that is fitted is "
    "used as it is, another is trained), a torch module, or anything with predict or "
    "predict_proba, used as it is. A model that is used as it is must not have been trained on "
    "either sample. Pickles are not read."
)
"""What ``--model`` takes besides a name, for help texts."""

_PICKLES = (".pkl", ".pickle", ".joblib", ".dill", ".sav", ".pt", ".pth", ".ckpt")


def model_from(text: str) -> Any:
    """The model behind ``NAME``, ``FILE.onnx`` or ``package.module:object``.

    Parameters
    ----------
    text : str

    Returns
    -------
    Model
        One to train, or one that is `given` and used as it is.

    Examples
    --------
    >>> print(model_from("ridge"))
    Ridge(penalty=1.0)
    >>> model_from("model.pkl")
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: 'model.pkl' is a pickle, and reading one runs whatever code it holds...
    """
    from rdiv.models import BY_NAME, Frozen, OnnxModel, as_model

    if text in BY_NAME:
        return as_model(text)
    ending = os.path.splitext(text)[1].lower()
    if ending == ".onnx":
        return Frozen(OnnxModel(text), trained_on="neither")
    if ending in _PICKLES:
        raise InputError(
            f"{text!r} is a pickle, and reading one runs whatever code it holds; write a small "
            "module that loads it and name the object: --model module:object. Or export the model "
            "to ONNX."
        )
    if ":" in text:
        return _model(_thing(text), text)
    if os.path.exists(text):
        raise InputError(
            f"{text!r} is a file, but no ONNX file; --model takes a name, FILE.onnx or "
            "package.module:object."
        )
    return as_model(text)  # says which names there are


def _thing(spec: str) -> Any:
    """The object that the user's code names, or what its class or function makes."""
    from rdiv.cli.own_code import made, named

    thing = named(spec, "model")
    if not (inspect.isroutine(thing) or isinstance(thing, type | functools.partial)):
        return thing
    needed = _required(thing)
    if needed:
        raise InputError(
            f"{spec!r} needs arguments ({', '.join(needed)}); name an object, or a function "
            "without arguments that makes one."
        )
    return made(thing, spec)


def _required(function: Any) -> list[str]:
    """Arguments that a function cannot be called without."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a function in C may not have a signature
        return []
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one.name for one in parameters if one.default is one.empty and one.kind not in variable]


def _model(thing: Any, spec: str) -> Any:
    """A model of an imported object: as it is, frozen, or to be trained."""
    from rdiv.models import Frozen, as_model
    from rdiv.models.adapters import takes_rng
    from rdiv.models.frozen import is_fitted

    if not isinstance(thing, type) and takes_rng(thing):
        return thing
    if not is_fitted(thing):
        return as_model(thing)
    try:
        return Frozen(thing, trained_on="neither")
    except InputError as error:
        raise InputError(
            f"{spec!r} is an object that is no model ({type(thing).__name__}); name a scikit-learn "
            "estimator, a torch module, an object with predict or predict_proba, or a function "
            "that makes one."
        ) from error
