"""Tests that users bring along: what they return is looked at before it is computed with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies import BY_NAME
from rdiv.discrepancies.protocol import does_learn
from rdiv.errors import InputError
from rdiv.inference.prepared import Prepared
from rdiv.samples.pool import Pool

__all__ = ["checked"]

NUMBERS = "biuf"


def checked(test: Any, label: str) -> Any:
    """The same test; one that is not of rdiv is told in a sentence when it returns no numbers.

    Examples
    --------
    >>> class Wordy:
    ...     def prepare(self, pool, rng):
    ...         return "no difference"
    >>> checked(Wordy(), "Wordy").prepare(None, None)
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: prepare(pool, rng) of Wordy must return a function of masks, got str.
    """
    return test if type(test) in BY_NAME.values() else _Checked(test, label)


@dataclass(frozen=True, eq=False)
class _Checked:
    """A test of the user's own, and what messages call it."""

    test: Any
    label: str

    @property
    def learns(self) -> bool:
        return does_learn(self.test)

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> _Checked:
        with _no_exit(self.label):
            return _Checked(self.test.learn(pool, is_p, rng), self.label)

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Any:
        with _no_exit(self.label):
            made = self.test.prepare(pool, rng)
        if isinstance(made, Prepared):
            return made
        if not callable(made):
            raise InputError(
                f"prepare(pool, rng) of {self.label} must return a function of masks, got "
                f"{type(made).__name__}."
            )
        return _numeric(made, self.label)


def _numeric(statistic: Callable[[Any], Any], label: str) -> Callable[[Any], Any]:
    def same(masks: Any) -> Any:
        with _no_exit(label):
            values = statistic(masks)
        found = np.asarray(values)
        if values is not None and found.dtype.kind not in NUMBERS:
            raise InputError(f"{label} must give numbers for masks, got {found.dtype}.")
        return values

    return same


@contextmanager
def _no_exit(label: str) -> Iterator[None]:
    try:
        yield
    except SystemExit as error:
        raise InputError(
            f"{label} ended the program (SystemExit: {error}); a test returns or raises an error."
        ) from None
