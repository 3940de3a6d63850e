"""Omnibus: several discrepancies as one test, on the same permutations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from inspect import isclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rdiv.discrepancies.input_members import input_members
from rdiv.discrepancies.member_weights import FOR_FEW_COLUMNS, FOR_TABLES, by_weights
from rdiv.discrepancies.members import combined
from rdiv.discrepancies.protocol import FromFit, how_it_learns, is_discrepancy, model_of
from rdiv.discrepancies.r_divergence import RDivergence
from rdiv.discrepancies.score import Score, has_gradients
from rdiv.errors import InputError, InputTypeError
from rdiv.inference.prepared import Prepared
from rdiv.models.adapters import as_model
from rdiv.models.mixed import few_and_continuous
from rdiv.models.protocol import FittedModel, Model, fit_model, task_of
from rdiv.names import spelled
from rdiv.samples.pool import Pool

__all__ = ["Omnibus"]


@dataclass(frozen=True)
class Omnibus:
    """Several discrepancies as one test, ranked among the same permutations.

    Its power is close to that of its best member, and its level is exact without a correction for
    the number of members.

    Parameters
    ----------
    model : Model, optional
        The members are then r-div and score of this model, from one fit; for a density of table
        rows, also those of `Inputs`.
    members : sequence of discrepancies, optional
        Instead of `model`. A member may itself be a sequence: its discrepancies are combined
        first, and count as one member. Members with equal models share a fit.
    inputs : bool, optional
        Whether the members of `Inputs`, which need no model, take part beside those of `model`. By
        default where there is no target and rows are not images.

    Notes
    -----
    Every permutation, the observed one included, is ranked among all in every member. Members that
    you name are combined by their smallest p-value, ties broken by the sum of the logs. With
    `inputs`, p-values have weights (`rdiv.inference.combining.weighted_p`) that depend on the kind
    of columns and not on the labels: where there are at most ten columns, all of continuous
    numbers, r-div and score count most; in other tables the distances do. If any member learns with
    labels, all members are tested on the half that was not used for learning. Combinations want
    more than 99 permutations: p-values of members are multiples of ``1 / (1 + n_resamples)``.

    Examples
    --------
    >>> from rdiv import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
    >>> result = two_sample_test(p, q, "omnibus", model="gmm", rng=0)
    >>> print(result.rejected, list(result.notes["pvalues"]))
    True ['r-div', 'score ridge', 'score l4', 'distances of values', 'distances of scores', ...]
    """

    compares = "r-div and score of one model beside inputs, or any members, as one test"
    takes = "any with gradients"
    learning = "no, unless a member does"
    cost = "one fit; the costs of its members"
    sees = "what any member sees, with slightly less power than the best"
    citation = "Tippett 1931; this project"
    directed = False

    model: Model | None = None
    members: Sequence[Any] | None = None
    inputs: bool | None = None

    def __post_init__(self) -> None:
        if (self.model is None) == (self.members is None):
            raise InputError(
                "omnibus needs either a model, whose r-div and score it combines, or members; "
                f"got {'neither' if self.model is None else 'both'}."
            )
        if self.model is not None:
            object.__setattr__(self, "model", as_model(self.model))
            return
        if self.inputs is not None:
            raise InputError(
                f"inputs={self.inputs} goes with a model; name rdiv.discrepancies.Inputs() among "
                "the members instead."
            )
        if isinstance(self.members, str) or not self.members:
            raise InputError(
                f"members must be a list of discrepancies, got {self.members!r}; "
                "name at least one, as an object."
            )
        object.__setattr__(self, "members", tuple(_as_member(member) for member in self.members))

    @property
    def levels(self) -> tuple[tuple[Any, ...], ...]:
        """The members, each as the tuple of discrepancies that are combined first."""
        if self.model is not None:
            return (RDivergence(self.model),), (Score(self.model),)
        assert self.members is not None
        return tuple(m if isinstance(m, tuple) else (m,) for m in self.members)

    @property
    def task(self) -> str | None:
        """The one task that all members can do, if there is only one."""
        tasks = {task_of(each) for level in self.levels for each in level} - {None}
        return tasks.pop() if len(tasks) == 1 else None

    @property
    def learns(self) -> bool:
        """Whether any member learns with labels on one half."""
        return any(how_it_learns(each) for level in self.levels for each in level)

    def learn(self, pool: Pool, is_p: NDArray[np.bool_], rng: np.random.Generator) -> Omnibus:
        """Let the members that learn do so; the others are prepared on the held-out half."""

        def learned(each: Any) -> Any:
            return each.learn(pool, is_p, rng) if how_it_learns(each) else each

        return Omnibus(members=tuple(tuple(learned(each) for each in m) for m in self.levels))

    def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
        """Prepare every member; equal models are fitted once."""
        if self.model is not None:
            return self.from_fit(fit_model(self.model, pool, rng), pool)
        return self._prepared(_Fits(pool, rng).prepare)

    def from_fit(self, fitted: FittedModel, pool: Pool) -> Prepared:
        """The same from an already fitted `model`."""
        assert self.model is not None, "an omnibus of members has no one model"
        if not self._with_inputs(pool):
            return self._prepared(lambda member: member.from_fit(fitted, pool))
        members = {"r-div": RDivergence(self.model).from_fit(fitted, pool)}
        if has_gradients(fitted):
            members["score"] = Score(self.model).from_fit(fitted, pool)
        few = not pool.is_images and few_and_continuous(pool.by_kind())
        return by_weights(members | input_members(pool), FOR_FEW_COLUMNS if few else FOR_TABLES)

    def _with_inputs(self, pool: Pool) -> bool:
        if self.inputs is None:
            return pool.task == "density" and not pool.is_images and pool.rows.shape[1] > 0
        return self.inputs

    def _prepared(self, prepare: Callable[[Any], Prepared]) -> Prepared:
        name = _namer(self.levels)
        levels = [_unique((name(each), prepare(each)) for each in level) for level in self.levels]
        return combined(_unique((" or ".join(level), combined(level)) for level in levels))


@dataclass(frozen=True, eq=False)
class _Fits:
    """Members prepared on one pool, with one fit per model."""

    pool: Pool
    rng: np.random.Generator
    known: list[tuple[Model, FittedModel]] = field(default_factory=list)

    def prepare(self, member: Any) -> Prepared:
        model = model_of(member)
        if model is None or not isinstance(member, FromFit):
            found = member.prepare(self.pool, self.rng.spawn(1)[0])
        else:
            found = member.from_fit(self._fitted(model), self.pool)
        prepared = found if isinstance(found, Prepared) else Prepared(found)
        if prepared.refits:
            raise InputError(
                f"{type(member).__name__} refits its model for every permutation, so it cannot be "
                "combined; use score, which sees the same directions from one fit."
            )
        return prepared

    def _fitted(self, model: Model) -> FittedModel:
        for known, fitted in self.known:
            if known == model:
                return fitted
        # The first fit draws from the stream itself, so that it equals a fit outside an omnibus.
        fitted = fit_model(model, self.pool, self.rng.spawn(1)[0] if self.known else self.rng)
        self.known.append((model, fitted))
        return fitted


def _as_member(member: Any) -> Any:
    if isinstance(member, tuple | list):
        return tuple(_as_member(each) for each in member)
    if isclass(member) or not is_discrepancy(member):
        raise InputTypeError(
            f"a member of omnibus must be a discrepancy, got {member!r}; "
            "pass an object such as rdiv.discrepancies.Energy()."
        )
    return member


def _namer(levels: Sequence[Sequence[Any]]) -> Callable[[Any], str]:
    """Function from a member to its name, with that of its model where there are several."""
    from rdiv.discrepancies import BY_NAME
    from rdiv.models import BY_NAME as MODELS

    def model(member: Any) -> str:
        own = model_of(member)
        return "" if own is None else spelled(own, MODELS)

    several = len({model(each) for level in levels for each in level} - {""}) > 1

    def name(member: Any) -> str:
        own = f" {model(member)}" if several else ""
        return spelled(member, BY_NAME, without=("model",)) + own

    return name


def _unique(named: Iterable[tuple[str, Prepared]]) -> dict[str, Prepared]:
    """Named tests, a repeated name with a number."""
    found: dict[str, Prepared] = {}
    for name, prepared in named:
        count = sum(known == name or known.startswith(f"{name} #") for known in found)
        found[f"{name} #{count + 1}" if count else name] = prepared
    return found
