"""The protocol of a discrepancy, and the description that every one has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.split_fits import SplitFits
from rdiv.errors import InputError
from rdiv.inference.prepared import Prepared, Statistic
from rdiv.models.protocol import FittedModel, Model
from rdiv.names import texts_of
from rdiv.samples.pool import Pool

__all__ = [
    "Description",
    "Discrepancy",
    "FromFit",
    "Learner",
    "Learning",
    "RefitsSides",
    "describe",
    "how_it_learns",
    "is_discrepancy",
    "model_of",
    "refit_seed",
    "train_share_of",
]


class Discrepancy(Protocol):
    """A distance between two samples that share a pool; usually a frozen dataclass of settings.

    Those that rest on one fitted model can share it with others: see `FromFit` and `RefitsSides`.
    """

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared | Statistic:
        """Do all costly work without the labels; a statistic may stand for a `Prepared`."""
        ...


@runtime_checkable
class FromFit(Protocol):
    """A discrepancy that needs nothing but one fit of its model to the pool."""

    @property
    def model(self) -> Model | None:
        """The model whose fit it takes."""
        ...

    def from_fit(self, fitted: FittedModel, pool: Pool) -> Prepared:
        """What `prepare` gives, from a model that is fitted already."""
        ...


@runtime_checkable
class RefitsSides(Protocol):
    """A discrepancy that fits its model to the pool, and again to the sides of every split."""

    @property
    def model(self) -> Model | None:
        """The model whose fit it takes."""
        ...

    @property
    def warm(self) -> bool:
        """Whether each fit of a side starts from the pooled fit."""
        ...

    def of_splits(self, splits: SplitFits) -> Prepared:
        """What `prepare` gives, from fits of the sides that other tests may ask for, too."""
        ...


def refit_seed(rng: np.random.Generator) -> int:
    """The seed of all refits, drawn from the stream of the pooled fit right after that fit."""
    return int(rng.integers(2**63))


Learning = Literal[False, "halves", "reference"]
"""What a discrepancy learns from: nothing, one half of each sample, or part A of the reference."""


class Learner(Protocol):
    """A discrepancy that learns on some rows and is tested on the others.

    ``learns`` says on which: ``"halves"`` (or True) is one half of each sample, with labels, and
    ``"reference"`` a part of p alone (its share is ``train_share``, if it has one). It may depend
    on the settings; an object without it does not learn.
    """

    learns: bool | str

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> Discrepancy:
        """Learn on the training rows; the discrepancy returned sees only the others."""
        ...


def is_discrepancy(obj: object) -> bool:
    """Whether an object can be prepared, or learn to be."""
    return hasattr(obj, "prepare") or hasattr(obj, "learn")


def how_it_learns(discrepancy: object) -> Learning:
    """What a discrepancy has still to learn from.

    Examples
    --------
    >>> from rdiv.discrepancies import Energy, InUse, LogitC2st
    >>> print(how_it_learns(Energy()), how_it_learns(LogitC2st()), how_it_learns(InUse("kde")))
    False halves reference
    """
    said = getattr(discrepancy, "learns", False)
    if said not in (False, True, "halves", "reference"):
        raise InputError(f"`learns` must be False, 'halves' or 'reference', got {said!r}.")
    return "halves" if said is True else said


def train_share_of(discrepancy: object) -> float:
    """The share of the reference that a discrepancy learns from, where it does."""
    return float(getattr(discrepancy, "train_share", 0.5))


def model_of(discrepancy: object) -> Model | None:
    """The model that a discrepancy rests on, if any."""
    model: Model | None = getattr(discrepancy, "model", None)
    return model


@dataclass(frozen=True)
class Description:
    """The description of one discrepancy.

    Parameters
    ----------
    name : str
        Its name in ``BY_NAME``.
    cls : str
        Its class in ``rdiv.discrepancies``.
    compares : str
        What its statistic compares.
    model : str
        What it accepts as ``model=``, or "none".
    learns : str
        How it learns from labels; "no" when it does not see them and tests all rows.
    cost : str
        The work that grows with the data.
    sees : str
        The differences that it finds.
    citation : str

    Examples
    --------
    >>> import rdiv
    >>> print({test.name: test.model for test in rdiv.discrepancies.describe()}["energy"])
    none
    """

    name: str
    cls: str
    compares: str
    model: str
    learns: str
    cost: str
    sees: str
    citation: str


ATTRIBUTES = ("compares", "takes", "learning", "cost", "sees", "citation")
"""Of every class in ``BY_NAME``: the texts of a `Description`, in its order."""


def describe() -> tuple[Description, ...]:
    """What each discrepancy compares, takes, learns, costs and sees, with its citation.

    Examples
    --------
    >>> for test in describe()[:2]:
    ...     print(f"{test.name}: {test.sees}")
    in-use: what changes the average loss of the model in use
    r-div: what changes the model's average loss
    """
    from rdiv.discrepancies import BY_NAME

    return tuple(
        Description(name, cls.__name__, *texts_of(cls, ATTRIBUTES)) for name, cls in BY_NAME.items()
    )
