"""What a source is, and sources from what a user has: two samples, or a function that draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol, runtime_checkable

import numpy as np

from rdiv.errors import InputError, InputTypeError
from rdiv.names import texts_of
from rdiv.samples.frames import as_frame, gather, is_frame
from rdiv.samples.pool import content_keys
from rdiv.samples.row_keys import digest
from rdiv.samples.rows import as_rows
from rdiv.samples.sample import as_sample

__all__ = [
    "Drawn",
    "Pair",
    "Source",
    "SourceDescription",
    "caveat_of",
    "describe",
    "fingerprint_of",
    "in_memory",
    "q_rows",
]


@runtime_checkable
class Source(Protocol):
    """Something that draws pairs of samples; usually a frozen dataclass of its settings.

    Four attributes are optional: ``model``, the model that the paper used on this source;
    ``caveat(n)``, a sentence about draws of that size or None; ``loaded()``, the same source with
    its data in memory; ``fingerprint()``, a text that changes when its data do. A study knows a
    source by its name and settings, and by its fingerprint.
    """

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> tuple[Any, Any]:
        """Draw ``n`` rows of p, and of q as many as the source's ratio says.

        With ``null`` both samples come from one distribution, on fresh and disjoint rows.
        """
        ...


@runtime_checkable
class _Loads(Protocol):
    def loaded(self) -> Source: ...


@runtime_checkable
class _Fingerprinted(Protocol):
    def fingerprint(self) -> str: ...


@runtime_checkable
class _Warns(Protocol):
    def caveat(self, n: int) -> str | None: ...


def in_memory(source: Source) -> Source:
    """The source with its data in memory, where they are in files."""
    return source.loaded() if isinstance(source, _Loads) else source


def fingerprint_of(source: Source) -> str | None:
    """A text that changes when its data do; None for a source that has no data."""
    return source.fingerprint() if isinstance(source, _Fingerprinted) else None


def caveat_of(source: Source, n: int) -> str | None:
    """A sentence about draws of ``n`` rows, where there is something to say."""
    return source.caveat(n) if isinstance(source, _Warns) else None


@dataclass(frozen=True)
class SourceDescription:
    """One source in words.

    Parameters
    ----------
    name : str
        Its name in ``BY_NAME``.
    cls : str
        Its class in ``rdiv.sources``.
    about : str
        What p and q are.
    holds : str
        Columns or shape of a row, and classes of the target.
    under_null : str
        What both samples are where nothing differs.
    model : str
        The model that the paper used on it.

    Examples
    --------
    >>> import rdiv
    >>> print(next(source.model for source in rdiv.sources.describe() if source.name == "blob"))
    kde
    """

    name: str
    cls: str
    about: str
    holds: str
    under_null: str
    model: str


ATTRIBUTES = ("about", "holds", "under_null", "model")
"""Of every class in ``BY_NAME``: the texts of a `SourceDescription`, in its order."""


def describe() -> tuple[SourceDescription, ...]:
    """What each source draws, of which shape, under its null, and the paper's model for it.

    Examples
    --------
    >>> print(describe()[0].about)
    nine clusters in the plane; p and q differ in the correlation inside each
    """
    from rdiv.sources import BY_NAME

    return tuple(
        SourceDescription(name, cls.__name__, *texts_of(cls, ATTRIBUTES))
        for name, cls in BY_NAME.items()
    )


def q_rows(n: int, ratio: float) -> int:
    """Rows of q for ``n`` rows of p.

    Examples
    --------
    >>> print(q_rows(100, 4), q_rows(100, 0.5))
    400 50
    """
    if not 0 < ratio < inf:
        raise InputError(
            f"ratio must be positive and finite, got {ratio}; it is rows of q per row of p."
        )
    return max(1, round(n * ratio))


@dataclass(frozen=True)
class Pair:
    """Two samples as a source: every draw takes rows of them, without replacement.

    Under the null both samples are disjoint rows of p.

    Parameters
    ----------
    p, q : arrays, frames or pairs (X, y)
    ratio : float
        Rows of q per row of p.
    name : str
        What tables call it.

    Examples
    --------
    >>> source = Pair(np.arange(10.0), np.arange(10.0) + 100)
    >>> p, q = source.draw(3, np.random.default_rng(0))
    >>> print(len(p), bool((q >= 100).all()))
    3 True
    """

    p: Any = field(repr=False, compare=False)
    q: Any = field(repr=False, compare=False)
    ratio: float = 1.0
    name: str = "pair"

    def __str__(self) -> str:
        return self.name

    def fingerprint(self) -> str:
        """A text for the rows of both samples in their order."""
        return f"{_digest(self.p):032x} {_digest(self.q):032x}"

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> tuple[Any, Any]:
        """Draw ``n`` rows of p and ``ratio n`` rows of q (of p, under the null)."""
        m = q_rows(n, self.ratio)
        rows_p, rows_q = _length(self.p), _length(self.q)
        if n + m * null > rows_p or (not null and m > rows_q):
            raise InputError(
                f"{self.name} has {rows_p} + {rows_q} rows, got a draw of {n} + {m}"
                f"{' disjoint rows of p' if null else ''}; ask for fewer rows."
            )
        order = rng.permutation(rows_p)
        if null:
            return _take(self.p, order[:n]), _take(self.p, order[n : n + m])
        return _take(self.p, order[:n]), _take(self.q, rng.permutation(rows_q)[:m])


@dataclass(frozen=True)
class Drawn:
    """A function ``(n, rng, null) -> (p, q)`` as a source.

    Parameters
    ----------
    function : callable

    Notes
    -----
    Studies know it by its name alone: after changing what it does, use another folder for rows.

    Examples
    --------
    >>> source = Drawn(lambda n, rng, null: (rng.normal(size=n), rng.normal(size=n) + (not null)))
    >>> print(len(source.draw(5, np.random.default_rng(0))[0]))
    5
    """

    function: Callable[[int, np.random.Generator, bool], tuple[Any, Any]]

    def __str__(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def draw(self, n: int, rng: np.random.Generator, null: bool = False) -> tuple[Any, Any]:
        """Call the function."""
        drawn = self.function(n, rng, null)
        if not isinstance(drawn, tuple) or len(drawn) != 2:
            raise InputTypeError(
                f"the source {self} must return a pair of samples (p, q), got "
                f"{type(drawn).__name__}."
            )
        return drawn


def _digest(sample: Any) -> int:
    given = as_sample(sample, "a sample")
    return digest(content_keys(as_rows(given.x), (given.y,)))


def _length(sample: Any) -> int:
    return len(sample[0] if isinstance(sample, tuple) else sample)


def _take(sample: Any, rows: Any) -> Any:
    if isinstance(sample, tuple):
        return tuple(_take(part, rows) for part in sample)
    if not isinstance(sample, np.ndarray) and is_frame(sample):
        return gather(as_frame(sample).to_native(), rows)
    return np.asarray(sample)[rows]
