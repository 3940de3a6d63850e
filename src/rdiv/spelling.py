"""Names to things and things to names: what users type, and what results say was used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

__all__ = ["chosen", "chosen_from", "spelled"]

T = TypeVar("T")


def chosen(name: str, names: Mapping[str, type], what: str) -> type:
    """The class behind a name; an unknown name is an error that lists the known ones.

    Examples
    --------
    >>> chosen("in", {"int": int, "float": float}, "type")
    Traceback (most recent call last):
    ...
    ValueError: unknown type 'in'; did you mean 'int'? Known: int, float.
    """
    return chosen_from(names, name, what)


def chosen_from(names: Mapping[str, T], name: str, what: str) -> T:
    """What stands behind a name, in any table of names.

    Examples
    --------
    >>> print(chosen_from({"one": 1}, "one", "number"))
    1
    """
    if name in names:
        return names[name]
    near = get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    hint = f" did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"unknown {what} {name!r};{hint} Known: {', '.join(names)}.")


def spelled(obj: Any, names: Mapping[str, type], *, without: tuple[str, ...] = ()) -> str:
    """Short text for an object: its name and the settings that are not the defaults.

    An object that has a text of its own (``__str__``) keeps it.

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
    return " ".join(repr(obj).split()) if _has_own(obj, "__repr__") else name


def _has_own(obj: Any, method: str) -> bool:
    """Whether a class says more than the default text, which holds an address in memory."""
    return getattr(type(obj), method) is not getattr(object, method)


def _changed(obj: Any, field: Any) -> bool:
    return field.default is MISSING or bool(getattr(obj, field.name) != field.default)


def _setting(value: Any, names: Mapping[str, type]) -> str:
    return spelled(value, names) if hasattr(value, "fit") or is_dataclass(value) else repr(value)
