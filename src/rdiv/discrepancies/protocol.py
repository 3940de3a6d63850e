"""The protocol of a discrepancy, and the description that every one has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rdiv.inference.prepared import Prepared, Statistic
from rdiv.models.protocol import FittedModel, Model
from rdiv.names import texts_of
from rdiv.samples.pool import Pool

__all__ = [
    "Description",
    "Discrepancy",
    "FromFit",
    "Learner",
    "RefitsSides",
    "describe",
    "does_learn",
    "is_discrepancy",
    "model_of",
    "refit_seed",
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

    def after_fit(self, fitted: FittedModel, pool: Pool, seed: int) -> Prepared:
        """What `prepare` gives, from the pooled fit and the `refit_seed` of its stream."""
        ...


def refit_seed(rng: np.random.Generator) -> int:
    """The seed of all refits, drawn from the stream of the pooled fit right after that fit."""
    return int(rng.integers(2**63))


class Learner(Protocol):
    """A discrepancy that learns with labels on one half of each sample and is tested on the other.

    ``learns`` may depend on the settings; an object without it does not learn.
    """

    learns: bool

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> Discrepancy:
        """Learn on the training half; the discrepancy returned sees only the other half."""
        ...


def is_discrepancy(obj: object) -> bool:
    """Whether an object can be prepared, or learn to be."""
    return hasattr(obj, "prepare") or hasattr(obj, "learn")


def does_learn(discrepancy: object) -> bool:
    """Whether a discrepancy has still to learn, with labels, on one half."""
    return bool(getattr(discrepancy, "learns", False))


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
    r-div: what changes the model's average loss
    h-div: where separate training would help
    """
    from rdiv.discrepancies import BY_NAME

    return tuple(
        Description(name, cls.__name__, *texts_of(cls, ATTRIBUTES)) for name, cls in BY_NAME.items()
    )
