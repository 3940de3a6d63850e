"""Discrepancies of other packages, found by their entry points."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rdiv.errors import InputError

__all__ = ["GROUP", "installed_names", "installed_test", "is_installed"]

GROUP = "rdiv.discrepancies"
"""The group of entry points in which a package offers its tests."""


@lru_cache(maxsize=1)
def installed_names() -> tuple[str, ...]:
    """The names of all tests that installed packages offer, in order.

    Examples
    --------
    >>> print(isinstance(installed_names(), tuple))
    True
    """
    from importlib.metadata import entry_points

    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def is_installed(name: str) -> bool:
    """Whether a name is that of an installed test; names of rdiv itself come first.

    Examples
    --------
    >>> print(is_installed("energy"))
    False
    """
    from rdiv.discrepancies import BY_NAME

    return name not in BY_NAME and name in installed_names()


def installed_test(name: str) -> Any:
    """The test that an installed package offers under a name; a class is called without arguments.

    A package says so in its pyproject.toml::

        [project.entry-points."rdiv.discrepancies"]
        largest-gap = "my_package.tests:LargestGap"
    """
    from importlib.metadata import entry_points

    points = list(entry_points(group=GROUP, name=name))
    if len(points) > 1:
        raise InputError(
            f"{len(points)} installed packages offer a test called {name!r}: "
            f"{', '.join(point.value for point in points)}; name one as package.module:Thing."
        )
    try:
        thing = points[0].load()
        return thing() if isinstance(thing, type) else thing
    except Exception as error:
        raise InputError(
            f"the installed test {name!r} ({points[0].value}) cannot be used "
            f"({type(error).__name__}: {error}); check that package."
        ) from error
