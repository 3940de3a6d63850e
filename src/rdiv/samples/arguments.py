"""Settings of public functions, checked at the door: what was given, what was expected."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from rdiv.errors import InputError, InputTypeError

__all__ = ["check_folds", "check_rng", "check_settings", "described"]

FEWEST_FITTED = 100
"""Least number of rows that models may be limited to."""


def check_settings(**settings: Any) -> None:
    """Refuse settings of the wrong kind, each by the name that public functions give it.

    Examples
    --------
    >>> check_settings(alpha=0.05, n_jobs=2, target="price")
    >>> check_settings(n_jobs=0)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: n_jobs must be a whole number other than 0, got 0; ...
    """
    for name, value in settings.items():
        _CHECKS[name](name, value)


def check_folds(folds: Any, *, least: int = 2) -> None:
    """Refuse an invalid number of folds; None means in-sample losses."""
    if folds is None or (least == 0 and _is_whole(folds) and folds == 0):
        return
    what = "folds must be a whole number of at least 2"
    if not _is_whole(folds):
        raise InputTypeError(f"{what}, got {described(folds)}; leave it out for in-sample losses.")
    if folds < 2:
        raise InputError(f"{what}, got {folds}.")


def check_rng(rng: Any) -> None:
    """Refuse what cannot seed a run.

    Examples
    --------
    >>> check_rng(-1)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: rng must be 0 or larger, got -1.
    """
    if rng is None or isinstance(rng, np.random.Generator):
        return
    if not _is_whole(rng):
        raise InputTypeError(
            f"rng must be an integer, a numpy Generator or None, got {type(rng).__name__}."
        )
    if rng < 0:
        raise InputError(f"rng must be 0 or larger, got {rng}.")


def described(value: Any) -> str:
    """A value for a message: itself if it is short, else its kind.

    Examples
    --------
    >>> print(described("half"), described(None), described(np.zeros((3, 2))))
    'half' None an array of shape (3, 2)
    """
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if value is None or isinstance(value, str | bytes | Real | list | tuple | dict | set):
        text = repr(value)
        if len(text) <= 40:
            return text
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _column(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        hint = "; give the values of a target as pairs (X, y)." if name == "target" else "."
        raise InputTypeError(f"{name} must be the name of a column, got {described(value)}{hint}")


def _columns(name: str, value: Any) -> None:
    if isinstance(value, str):
        return
    what = f"{name} must be the name of a column or a list of names"
    if isinstance(value, bytes | Mapping | Iterator) or not isinstance(value, Iterable):
        raise InputTypeError(f"{what}, got {described(value)}.")
    for column in value:
        if not isinstance(column, str):
            raise InputTypeError(f"{what}, got {described(column)} among them.")


def _text(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise InputTypeError(f"{name} must be a word, got {described(value)}.")


def _design(name: str, value: Any) -> None:
    pair = isinstance(value, tuple | list) and len(value) == 2
    if value is not None and not isinstance(value, str) and not pair:
        raise InputTypeError(
            f"{name} must be the name of a column or a pair of arrays, one per sample, got "
            f"{described(value)}."
        )


_USUAL = {"alpha": 0.05, "train_share": 0.5, "confidence": 0.95}


def _level(name: str, value: Any) -> None:
    if not _is_number(value):
        raise InputTypeError(
            f"{name} must be a number strictly between 0 and 1, got {described(value)}; "
            f"{_USUAL[name]} is usual."
        )
    if not 0 < value < 1:
        raise InputError(f"{name} must lie strictly between 0 and 1, got {value}.")


def _levels(name: str, value: Any) -> None:
    for level in _several(name, value):
        _level(name, level)


def _whole(name: str, value: Any) -> None:
    if not _is_whole(value):
        raise InputTypeError(f"{name} must be a whole number, got {described(value)}.")


def _count(name: str, value: Any) -> None:
    _whole(name, value)
    if value < 1:
        raise InputError(f"{name} must be a whole number of at least 1, got {value}.")


def _rows(name: str, value: Any) -> None:
    _whole(name, value)
    if value < FEWEST_FITTED:
        raise InputError(
            f"{name} must be a whole number of at least {FEWEST_FITTED}, got {value}; fewer rows "
            "say little about your model."
        )


def _counts(name: str, value: Any) -> None:
    for count in _several(name, value):
        if not _is_whole(count):
            raise InputTypeError(f"{name} must be whole numbers, got {described(count)}.")


def _several(name: str, value: Any) -> Iterable[Any]:
    if isinstance(value, Real):
        return [value]
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        return list(value)
    raise InputTypeError(f"{name} must be a number or several, got {described(value)}.")


def _curve(name: str, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, Real):
        raise InputTypeError(f"{name} must be several whole numbers, got {described(value)}.")
    _counts(name, value)


def _flag(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        raise InputTypeError(f"{name} must be True or False, got {described(value)}.")


def _place(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, str | os.PathLike):
        raise InputTypeError(f"{name} must be the path of a folder, got {described(value)}.")


def _shares(name: str, value: Any) -> None:
    for share in _several(name, value):
        _number(name, share)


def _jobs(name: str, value: Any) -> None:
    what = f"{name} must be a whole number other than 0"
    hint = "1 runs one task at a time, -1 as many as there are processors."
    if value is not None and not _is_whole(value):
        raise InputTypeError(f"{what}, got {described(value)}; {hint}")
    if value is not None and value == 0:
        raise InputError(f"{what}, got 0; {hint}")


def _number(name: str, value: Any) -> None:
    if not _is_number(value):
        raise InputTypeError(f"{name} must be a number, got {described(value)}.")


def _optional(check: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    return lambda name, value: None if value is None else check(name, value)


_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "target": _column,
    "by": _column,
    "drop": _columns,
    "loss": _column,
    "train_share": _level,
    "confidence": _level,
    "fit_rows": _rows,
    "sample_rows": _rows,
    "scheduler": _text,
    "task": _text,
    "folds": lambda name, value: check_folds(value),
    "groups": _design,
    "strata": _design,
    "alpha": _level,
    "alphas": lambda name, value: _levels("alpha", value),
    "n_resamples": _whole,
    "rng": lambda name, value: check_rng(value),
    "n_jobs": _jobs,
    "equivalence_margin": _optional(_number),
    "not_worse_than": _optional(_number),
    "gap": _optional(_number),
    "power": _number,
    "ratio": _optional(_number),
    "sizes": _counts,
    "curve": lambda name, value: _curve("sizes", value),
    "shares": _shares,
    "drivers": _flag,
    "out": _place,
    "trials": _count,
    "repeats": _count,
    "n_train": _optional(_count),
    "correction": _text,
    "estimand": _text,
    "method": _text,
    "train": _text,
    "kind": _text,
}
