"""How a page was made: the command, the versions, the hashes of the files, the date."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

__all__ = ["InputFile", "Provenance", "versions"]

PACKAGES = ("rdiv", "numpy", "scipy", "scikit-learn", "polars", "torch")
"""Packages whose versions a report names, where they are installed."""


@dataclass(frozen=True)
class InputFile:
    """A file that was read.

    Parameters
    ----------
    role : str
        How it was used, such as ``reference``.
    name : str
        As given.
    sha256 : str
    size : int
        In bytes.

    Examples
    --------
    >>> print(InputFile("reference", "march.csv", "ab" * 32, 1024).name)
    march.csv
    """

    role: str
    name: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Provenance:
    """How a page was made; this is not part of a result document.

    Parameters
    ----------
    command : str, optional
        The command as typed.
    versions : mapping of str
        Versions of packages, by their names.
    inputs : tuple of InputFile
        In the order given, the reference first.
    date : str, optional
        When the page was made, as it is to be shown. Without it the page says no date.

    Examples
    --------
    >>> print(Provenance(versions={"rdiv": "0.1.0"}).command)
    None
    """

    command: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[InputFile, ...] = ()
    date: str | None = None


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result may depend on.

    Examples
    --------
    >>> print("numpy" in versions())
    True
    """
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
