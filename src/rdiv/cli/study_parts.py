"""The parts of a study as given on the command line: sources, tests, lists of numbers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from rdiv.cli.own_code import imported
from rdiv.errors import InputError

__all__ = ["numbers", "pair_source", "source_of", "tests_of"]

T = TypeVar("T", int, float)


def numbers(text: str, option: str, kind: Callable[[str], T]) -> list[T]:
    """Numbers separated by commas.

    Examples
    --------
    >>> print(numbers("200,400", "--sizes", int))
    [200, 400]
    """
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise InputError(f"{option} must be {what} separated by commas, got {text!r}.") from None


def source_of(text: str, *, ratio: float | None = None, data_dir: str | None = None) -> Any:
    """The source behind ``NAME``, ``NAME:SETTING=VALUE,...`` or ``package.module:function``.

    Examples
    --------
    >>> print(source_of("hdgm:d=20,rotated=true", ratio=2))
    Hdgm(d=20, rotated=True, ratio=2)
    """
    from rdiv.names import chosen
    from rdiv.sources import BY_NAME, as_source
    from rdiv.sources.protocol import in_memory

    name, colon, rest = text.partition(":")
    if colon and "=" not in rest and name not in BY_NAME:
        source = as_source(imported(text, "source"))
        _check_call(source, "draw", ("n", "rng", "null"), text)
    elif os.path.isfile(text):
        raise InputError(f"{text!r} is a file; a pair of files is a source: --pair P Q.")
    else:
        cls = chosen(name, BY_NAME, "source")
        source = cls(**dict(_setting(cls, name, part) for part in rest.split(",") if colon))
        if data_dir is not None and "data_dir" in {field.name for field in fields(cls)}:
            source = replace(source, data_dir=Path(data_dir))
    if ratio is not None:
        source = _with_ratio(source, ratio)
    return in_memory(source)


def pair_source(
    paths: tuple[str, str], *, ratio: float | None = None, data_dir: str | None = None
) -> Any:
    """Two files as a source."""
    from rdiv.cli.inputs import read_sample
    from rdiv.sources import Pair

    p, q = (read_sample(path, data_dir) for path in paths)
    names = " + ".join(os.path.basename(path) for path in paths)
    return Pair(p, q, 1.0 if ratio is None else ratio, names)


def tests_of(names: Sequence[str], methods: Sequence[str], model: str | None) -> list[Any]:
    """The tests to compare; `model` is for names that need one and have none."""
    from rdiv.discrepancies import BY_NAME
    from rdiv.discrepancies.installed import is_installed
    from rdiv.names import chosen

    if not names and not methods:
        raise InputError("no test to study; name one with --discrepancy or --method.")
    waiting = [
        ":" not in name
        and not is_installed(name)
        and "model" in {field.name for field in fields(chosen(name, BY_NAME, "discrepancy"))}
        for name in names
    ]
    if model is not None and not any(waiting):
        raise InputError(f"no discrepancy uses --model {model}; drop it.")
    named = [
        f"{name}:{model}" if model is not None and waits else name
        for name, waits in zip(names, waiting, strict=True)
    ]
    own = [imported(method, "method") for method in methods]
    for test, spec in zip(own, methods, strict=True):
        _check_call(test, "prepare", ("pool", "rng"), spec)
        _check_call(test, "learn", ("pool", "is_p", "rng"), spec)
    return [*named, *own]


def _check_call(obj: Any, method: str, arguments: tuple[str, ...], spec: str) -> None:
    """Refuse an object whose method, if present, cannot be called with these arguments."""
    import inspect

    function = getattr(obj, "function", None) or getattr(obj, method, None)
    if function is None:
        return
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise InputError(
            f"{spec!r} must take ({', '.join(arguments)}), which it does not ({error})."
        ) from None
    except ValueError:  # a function in C may not have a signature
        return


def _setting(cls: type, name: str, part: str) -> tuple[str, Any]:
    """One ``SETTING=VALUE`` of a source, converted to the type of its field."""
    hints = get_type_hints(cls)
    known = {field.name: hints[field.name] for field in fields(cls) if field.repr}
    key, equals, value = part.partition("=")
    if not equals or key not in known:
        raise InputError(
            f"{part!r} is not a setting of {name}; write {name}:SETTING=VALUE,... with the "
            f"settings {', '.join(known)}."
        )
    try:
        return key, _value(value, known[key])
    except ValueError:
        raise InputError(
            f"{key} of {name} must be of type {known[key].__name__}, got {value!r}."
        ) from None


def _value(text: str, kind: Any) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError
        return text.lower() == "true"
    if kind in (int, float):
        return kind(text)
    return tuple(map(int, text.split("+"))) if re.fullmatch(r"\d+(\+\d+)*", text) else text


def _with_ratio(source: Any, ratio: float) -> Any:
    if not is_dataclass(source) or isinstance(source, type) or not hasattr(source, "ratio"):
        raise InputError(
            f"--ratio does not apply to {source}, which sets the number of rows of q; drop it."
        )
    return replace(source, ratio=ratio)
