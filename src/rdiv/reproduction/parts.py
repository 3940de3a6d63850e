"""A part of a table: one power study, of tests that share their draws and their permutations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rdiv.errors import InputError
from rdiv.reproduction.protocol import Run
from rdiv.studies.study import Study, as_study

__all__ = ["Part", "Setting", "checked_sizes", "rows_tested"]

LEAST_ROWS = 8


def rows_tested(n: int, protocol: str) -> int:
    """Rows of p that decide: a test that learns on a half of its draw has the other half left.

    Examples
    --------
    >>> print(rows_tested(1000, "whole"), rows_tested(1000, "half"), rows_tested(1000, "fresh"))
    1000 500 1000
    """
    return n // 2 if protocol == "half" else n


@dataclass(frozen=True, eq=False)
class Part:
    """One power study of a table; a null cell stands beside every cell.

    Parameters
    ----------
    name : str
        Of its folder.
    tests : mapping from str to Discrepancy
        By the name of the method, as the paper has it where it does.
    sources : mapping from str to Source
        By what the cell calls them.
    sizes : tuple of int
        Rows of each sample.
    trials, repeats, n_resamples, train
        As in `rdiv.power_study`.
    alphas : tuple of float
    cell : str
        How a column of the table is called, with ``{n}`` (rows a side), ``{twice}`` (two times
        that), ``{N}`` (two times the rows a side that are tested: what the paper calls N),
        ``{source}`` and ``{alpha}``.
    seconds : float
        About what one trial of all tests takes on one core.
    folder : str
        Where its trials are kept, if not under its name.
    """

    name: str
    tests: Mapping[str, Any]
    sources: Mapping[str, Any]
    sizes: tuple[int, ...]
    trials: int
    repeats: int = 1
    n_resamples: int = 99
    train: str = "half"
    alphas: tuple[float, ...] = (0.05,)
    cell: str = "{n}"
    seconds: float = 1.0
    folder: str = ""

    @property
    def what(self) -> str:
        """Its name, its tests and how many rows a side they see."""
        return f"{self.name}: {', '.join(self.tests)} at {', '.join(map(str, self.sizes))} a side"

    def of_sizes(self, sizes: tuple[int, ...]) -> Part:
        """The same study of other sizes, whose trials are kept elsewhere."""
        return replace(self, sizes=sizes, folder="-".join([self.name, *map(str, sizes)]))

    @property
    def draws(self) -> int:
        """Pairs of samples, null and not, that all tests see."""
        return 2 * self.trials * self.repeats * len(self.sizes) * len(self.sources)

    def label(self, n: int, source: str, alpha: float, *, tested: int) -> str:
        """What the cell of a source, a size and a level is called."""
        return self.cell.format(n=n, twice=2 * n, N=2 * tested, source=source, alpha=f"{alpha:g}")

    def study(self, run: Run) -> Study:
        """The study behind it."""
        return as_study(
            [_with_data(source, run.data_dir) for source in self.sources.values()],
            list(self.tests.values()),
            sizes=self.sizes, trials=self.trials, repeats=self.repeats,
            n_resamples=self.n_resamples, alpha=self.alphas, train=self.train, null=True,
            seed=run.seed, share_fits=True,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Setting:
    """A table at one scale: the studies it takes, and in words what was chosen."""

    about: str
    parts: tuple[Part, ...]


def checked_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Sizes that were asked for, each once; a size that is too small is refused."""
    for n in sizes:
        if n < LEAST_ROWS:
            raise InputError(
                f"a size is a number of rows a side of at least {LEAST_ROWS}, got {n}."
            )
    return tuple(dict.fromkeys(sizes))


def _with_data(source: Any, folder: Path | None) -> Any:
    if folder is None or not hasattr(source, "data_dir"):
        return source
    return replace(source, data_dir=folder)
