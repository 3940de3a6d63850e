"""A study is data: which tests, on which sources, at which sizes, how often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from rdiv.discrepancies import BY_NAME as DISCREPANCIES
from rdiv.discrepancies.installed import installed_test, is_installed
from rdiv.discrepancies.protocol import how_it_learns, is_discrepancy, model_of
from rdiv.discrepancies.resolve import Choice, choose
from rdiv.errors import InputError, InputTypeError
from rdiv.models import BY_NAME as MODELS
from rdiv.names import chosen_from, spelled
from rdiv.samples.pool import Pool
from rdiv.sources import BY_NAME as SOURCES
from rdiv.sources import Source, as_source
from rdiv.sources.protocol import fingerprint_of
from rdiv.two_sample import check_level

__all__ = ["Key", "Study", "StudyTest", "as_study", "as_study_test"]

Train = Literal["half", "fresh"]
MOST = 2**31 - 1  # rows, trials or repeats; far beyond any memory or patience


@dataclass(frozen=True)
class Key:
    """Which trial: everything that decides its data."""

    source: int
    test: int
    n: int
    null: bool
    repeat: int
    trial: int


@dataclass(frozen=True, eq=False)
class StudyTest:
    """A test that takes part: a discrepancy object, or a name with the name of a model.

    Parameters
    ----------
    discrepancy : str or Discrepancy
    model : str, optional
        For a name: its model; None leaves it to the source, or to the default.
    """

    discrepancy: Any
    model: str | None = None

    def choice(self, source: Source, *, supervised: bool) -> Choice:
        """What runs on samples of this source, and its task, as `two_sample_test` settles it."""
        named = isinstance(self.discrepancy, str)
        model = self.model or self._model_of(source) if named else None
        return choose(self.discrepancy, model=model, supervised=supervised)

    def names(self, source: Source) -> tuple[str, str | None]:
        """What tables call it: the discrepancy and its model."""
        if isinstance(self.discrepancy, str):
            return self.discrepancy, self.model or self._model_of(source)
        model = model_of(self.discrepancy)
        name = spelled(self.discrepancy, DISCREPANCIES, without=("model",))
        return name, None if model is None else spelled(model, MODELS)

    def label(self, source: Source) -> str:
        """Discrepancy and model in one word, as the command line has them."""
        name, model = self.names(source)
        return name if model is None else f"{name}:{model}"

    def learns(self, source: Source) -> bool:
        """Whether it learns with labels; whatever the rows are, so any pool can tell."""
        return bool(
            how_it_learns(self.choice(source, supervised=False).build(Pool(np.zeros((2, 1)))))
        )

    def _model_of(self, source: Source) -> str | None:
        """The source's own model, for a test that fits one to the data."""
        cls = DISCREPANCIES[self.discrepancy]
        takes = "model" in cls.__dataclass_fields__ and not hasattr(cls, "model_role")  # type: ignore[attr-defined]
        return getattr(source, "model", None) if takes else None


def as_study_test(given: Any) -> StudyTest:
    """Read ``NAME``, ``NAME:MODEL`` or take a discrepancy object.

    Examples
    --------
    >>> print(as_study_test("r-div:gmm"))
    StudyTest(discrepancy='r-div', model='gmm')
    """
    if isinstance(given, StudyTest):
        return given
    if not isinstance(given, str):
        if isinstance(given, type):
            raise InputTypeError(
                f"a test must be an object, got the class {given.__name__}; add ()."
            )
        if not is_discrepancy(given):
            raise InputTypeError(
                f"a test must be a name or have prepare(pool, rng), got {type(given).__name__}."
            )
        return StudyTest(given)
    if is_installed(given):
        return StudyTest(installed_test(given))
    name, _, model = given.partition(":")
    chosen_from(DISCREPANCIES, name, "discrepancy")
    if model:
        chosen_from(MODELS, model, "model")
        choose(name, model=model, supervised=False)  # refuses a model where none belongs
    return StudyTest(name, model or None)


@dataclass(frozen=True, eq=False)
class Study:
    """Sources, tests, sizes and counts; a trial is a pure function of the study and a key.

    Parameters
    ----------
    sources : tuple of Source
    tests : tuple of StudyTest
    sizes : tuple of int
        Rows of p.
    trials, repeats : int
        Draws per cell, and how often the whole cell is repeated (for a standard error across
        repeats).
    n_resamples : int
    alphas : tuple of float
        Rows keep the p-value, so every level is read off the same trials.
    train : {"half", "fresh"}
        How tests that learn get their training rows: half of each draw, or one separate draw of
        the same size for each repeat, as Liu et al. (2020) do.
    null : bool
        Add a true-null cell beside every cell.
    seed : int
    share_fits : bool
        Fit a model once for all tests of a draw that use it. The rows are the same, but for their
        seconds: what an earlier test of the draw computed is not counted again.

    Examples
    --------
    >>> from rdiv.sources import Blob
    >>> study = Study((Blob(),), (as_study_test("energy"),), sizes=(90,), trials=10, null=True)
    >>> print(len(list(study.all_keys())))
    20
    """

    sources: tuple[Source, ...]
    tests: tuple[StudyTest, ...]
    sizes: tuple[int, ...]
    trials: int = 100
    repeats: int = 1
    n_resamples: int = 99
    alphas: tuple[float, ...] = (0.05,)
    train: Train = "half"
    null: bool = False
    seed: int = 0
    share_fits: bool = False

    def all_keys(self) -> Iterator[Key]:
        """Every trial, in an order that fills all cells evenly as time goes on."""
        nulls = (False, True) if self.null else (False,)
        for repeat, trial in product(range(self.repeats), range(self.trials)):
            for source, n, null, test in product(
                range(len(self.sources)), self.sizes, nulls, range(len(self.tests))
            ):
                yield Key(source, test, n, null, repeat, trial)

    def identity(self, key: Key) -> dict[str, Any]:
        """The fields of a row that identify its trial."""
        source, test = self.labels[key.source, key.test]
        return {
            "source": source,
            "test": test,
            "n": key.n,
            "null": key.null,
            "repeat": key.repeat,
            "trial": key.trial,
        }

    @cached_property
    def labels(self) -> dict[tuple[int, int], tuple[str, str]]:
        """What rows call each source and test, by their numbers."""
        return {
            (i, j): (spelled(source, SOURCES), test.label(source))
            for i, source in enumerate(self.sources)
            for j, test in enumerate(self.tests)
        }

    def is_fresh(self, key: Key) -> bool:
        """Whether the test of a trial learns from a separate draw."""
        return self.train == "fresh" and self._learns[key.source, key.test]

    @cached_property
    def _learns(self) -> dict[tuple[int, int], bool]:
        return {
            (i, j): test.learns(source)
            for i, source in enumerate(self.sources)
            for j, test in enumerate(self.tests)
        }

    def to_dict(self) -> dict[str, Any]:
        """The study as a document; what decides whether old rows belong to it."""
        labels = [label for _, label in self.labels.values()]
        return {
            "sources": [spelled(source, SOURCES) for source in self.sources],
            "data": {
                spelled(source, SOURCES): fingerprint
                for source in self.sources
                if (fingerprint := fingerprint_of(source)) is not None
            },
            "tests": list(dict.fromkeys(labels)),
            "sizes": list(self.sizes),
            "trials": self.trials,
            "repeats": self.repeats,
            "n_resamples": self.n_resamples,
            "alphas": list(self.alphas),
            "train": self.train,
            "null": self.null,
            "seed": self.seed,
        }


def as_study(
    sources: Any,
    discrepancies: Any,
    *,
    sizes: int | Sequence[int],
    trials: int,
    repeats: int,
    n_resamples: int,
    alpha: float | Sequence[float],
    train: str,
    null: bool,
    seed: int,
    share_fits: bool = False,
) -> Study:
    """Check the arguments and make a study of them."""
    listed = sources if isinstance(sources, list) else [sources]
    tests = discrepancies if isinstance(discrepancies, list | tuple) else [discrepancies]
    alphas, rows = _several(alpha, Real), _several(sizes, Integral)
    for level in alphas:
        check_level(level, n_resamples)
    parts = {"source": listed, "sizes": rows, "discrepancies": tests, "alpha": alphas}
    for name, value in parts.items():
        if len(value) == 0:
            raise InputError(f"{name} must not be empty; give at least one.")
    for name, count in (("trials", trials), ("repeats", repeats), *(("sizes", n) for n in rows)):
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
            raise InputError(f"{name} must be whole numbers of at least 1, got {count!r}.")
        if int(count) > MOST:
            raise InputError(f"{name} must be at most {MOST}, got {count}.")
    if train not in ("half", "fresh"):
        raise InputError(f"train must be 'half' or 'fresh', got {train!r}.")
    study = Study(
        sources=tuple(as_source(source) for source in listed),
        tests=tuple(as_study_test(test) for test in tests),
        sizes=tuple(int(n) for n in rows),
        trials=int(trials),
        repeats=int(repeats),
        n_resamples=int(n_resamples),
        alphas=tuple(float(level) for level in alphas),
        train="half" if train == "half" else "fresh",
        null=null,
        seed=seed,
        share_fits=share_fits,
    )
    _refuse_twins(study)
    return study


def _several(given: Any, kind: type) -> tuple[Any, ...]:
    """One number or several, each once."""
    return (given,) if isinstance(given, kind) else tuple(dict.fromkeys(given))


def _refuse_twins(study: Study) -> None:
    seen = set()
    for source in study.sources:
        for test in study.tests:
            cell = (spelled(source, SOURCES), test.label(source))
            if cell in seen:
                raise InputError(
                    f"the cells of a study must differ, got {cell[1]} on {cell[0]} twice; "
                    "give tests and sources settings or names that tell them apart."
                )
            seen.add(cell)
