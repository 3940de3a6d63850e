"""Code of the user, named on the command line as ``package.module:Thing``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from rdiv.errors import InputError

__all__ = ["imported", "made", "named", "reporting_user_errors"]


def imported(spec: str, what: str) -> Any:
    """What ``package.module:Thing`` names; a class is called without arguments.

    The current directory is searched too, before all others.

    Parameters
    ----------
    spec : str
    what : str
        What it should be, such as ``"model"``, for messages.
    """
    thing = named(spec, what)
    return made(thing, spec) if isinstance(thing, type) else thing


def named(spec: str, what: str) -> Any:
    """What ``package.module:Thing`` names, as it is."""
    from importlib import import_module

    module, _, attributes = spec.partition(":")
    if not module or not attributes:
        raise InputError(f"a {what} of your own is package.module:Thing, got {spec!r}.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        thing: Any = import_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"cannot import {module!r} for {spec!r} ({_in_words(error)}); "
            "check the name, and that the module can be imported."
        ) from error
    for name in attributes.split("."):
        if not hasattr(thing, name):
            near = get_close_matches(name, dir(thing), n=1)
            hint = f"did you mean {near[0]!r}?" if near else "check the name."
            raise InputError(f"there is no {name!r} in {module!r} for {spec!r}; {hint}")
        thing = getattr(thing, name)
    return thing


def made(thing: Callable[[], Any], spec: str) -> Any:
    """What a class or function of the user makes when it is called without arguments."""
    try:
        return thing()
    except (Exception, SystemExit) as error:
        raise InputError(
            f"{spec!r} could not be made without arguments ({_in_words(error)}); "
            "give its settings defaults, or name an object."
        ) from error


@contextmanager
def reporting_user_errors(*specs: str) -> Iterator[None]:
    """Report where the user's code failed, rather than a bug in rdiv."""
    import traceback

    try:
        yield
    except (Exception, SystemExit) as error:
        modules = [sys.modules.get(spec.partition(":")[0]) for spec in specs]
        files = [re.escape(getattr(module, "__file__", None) or "?") for module in modules]
        text = "".join(traceback.format_exception(error))
        places = re.findall(rf'File "({"|".join(files)})", line (\d+)', text) if files else []
        if not places:
            raise
        file, line = places[-1]
        raise InputError(
            f"line {line} of {os.path.basename(file)} failed ({_in_words(error)}); fix it."
        ) from error


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": .")
