"""From names that users type to objects, and from objects to the names that results show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from typing import Any, TypeVar
from unicodedata import category

from rdiv.errors import InputError, InputTypeError

__all__ = ["chosen", "chosen_from", "one_line", "spelled", "suggestion", "texts_of", "visible"]

_TURNS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}  # they change the text direction

T = TypeVar("T")


def chosen(name: str, names: Mapping[str, type], what: str) -> type:
    """The class behind a name; an unknown name is an error that lists the known ones.

    Examples
    --------
    >>> chosen("in", {"int": int, "float": float}, "type")
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: unknown type 'in'; did you mean 'int'? Known: int, float.
    """
    return chosen_from(names, name, what)


def chosen_from(names: Mapping[str, T], name: str, what: str) -> T:
    """The value of a name in a table of names; an unknown name is an error.

    Examples
    --------
    >>> print(chosen_from({"one": 1}, "one", "number"))
    1
    """
    if not isinstance(name, str):
        raise InputTypeError(
            f"a {what} must be one of {', '.join(names)}, got {type(name).__name__}."
        )
    if name in names:
        return names[name]
    near = get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    hint = f" did you mean {near[0]!r}?" if near else ""
    raise InputError(f"unknown {what} {name!r};{hint} Known: {', '.join(names)}.")


def suggestion(name: str, names: Iterable[str]) -> str:
    """A question that offers the nearest of the names; empty where none is near.

    Examples
    --------
    >>> print(suggestion("people.cvs", ["people.csv", "shops.csv"]))
    did you mean people.csv?
    """
    near = get_close_matches(name, [*names], n=1)
    return f"did you mean {near[0]}?" if near else ""


def spelled(obj: Any, names: Mapping[str, type], *, without: tuple[str, ...] = ()) -> str:
    """Short text for an object: its name and the settings that differ from the defaults.

    An object with its own ``__str__`` keeps that text.

    Examples
    --------
    >>> from rdiv.models import BY_NAME, KernelDensity
    >>> print(spelled(KernelDensity(), BY_NAME), spelled(KernelDensity(bandwidth=0.5), BY_NAME))
    kde kde(bandwidth=0.5)
    """
    if _has_own(obj, "__str__"):
        return str(obj)
    name = next((key for key, cls in names.items() if type(obj) is cls), type(obj).__name__)
    if is_dataclass(obj):
        settings = [
            f"{f.name}={_setting(getattr(obj, f.name), names)}"
            for f in fields(obj)
            if f.repr and f.name not in without and _changed(obj, f)
        ]
        return f"{name}({', '.join(settings)})" if settings else name
    return one_line(repr(obj)) if _has_own(obj, "__repr__") else name


def texts_of(cls: type, attributes: Iterable[str]) -> tuple[str, ...]:
    """What a class says of itself, one text for each attribute.

    Examples
    --------
    >>> from rdiv.models import Ridge
    >>> print(texts_of(Ridge, ["about", "row_loss"]))
    ('ridge regression', 'squared error')
    """
    return tuple(getattr(cls, attribute) for attribute in attributes)


def one_line(text: str) -> str:
    """Text on one line, without memory addresses, which differ from run to run.

    Examples
    --------
    >>> print(one_line("<function f at 0x7f00>,   2"))
    <function f>, 2
    """
    return " ".join(re.sub(r" at 0x[0-9a-fA-F]+", "", text).split())


def visible(text: str) -> str:
    r"""Text with control characters spelled out, including line ends.

    Examples
    --------
    >>> print(visible("red\x1b[31m"), visible("one\ntwo"))
    red\x1b[31m one\ntwo
    """
    return "".join(
        char.encode("unicode_escape").decode()
        if category(char) in ("Cc", "Cs", "Zl", "Zp") or ord(char) in _TURNS
        else char
        for char in text
    )


def _has_own(obj: Any, method: str) -> bool:
    """Whether a class overrides the default text, which holds a memory address."""
    return getattr(type(obj), method) is not getattr(object, method)


def _changed(obj: Any, field: Any) -> bool:
    value = getattr(obj, field.name)
    if field.default is MISSING or value is field.default:
        return field.default is MISSING
    try:
        return bool(value != field.default)
    except ValueError:  # an array has no truth value
        return True


def _setting(value: Any, names: Mapping[str, type]) -> str:
    nested = hasattr(value, "fit") or is_dataclass(value)
    return spelled(value, names) if nested else one_line(repr(value))
