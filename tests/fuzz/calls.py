"""Samples, models and settings for calls of the public functions."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st
from tests.fuzz.tables import Recipe, made, recipes

import rdiv
from rdiv.models import Frozen, Ridge
from rdiv.noisy_labels import LabelNoiseDetector

__all__ = ["ARRAYS", "FORMS", "FUNCTIONS", "LABELS", "MODELS", "Arrays", "Call", "calls"]


@dataclass(frozen=True)
class Arrays:
    """A pair of arrays by their kind, so that a found case is a line of a test."""

    kind: str
    rows: int = 30
    columns: int = 2
    seed: int = 0


def _objects(rng: np.random.Generator, n: int, d: int) -> Any:
    return np.array([[object()] * max(d, 1)] * n, dtype=object)


ARRAYS: dict[str, Callable[[np.random.Generator, int, int], Any]] = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "float32": lambda rng, n, d: rng.normal(size=(n, d)).astype(np.float32),
    "float16": lambda rng, n, d: rng.normal(size=(n, d)).astype(np.float16),
    "whole": lambda rng, n, d: rng.integers(0, 5, size=(n, d)),
    "bytes": lambda rng, n, d: rng.integers(0, 255, size=(n, d), dtype=np.uint8),
    "truth": lambda rng, n, d: rng.random((n, d)) < 0.5,
    "flat": lambda rng, n, d: rng.normal(size=n),
    "images": lambda rng, n, d: rng.random((n, 1, 4, 4)),
    "six axes": lambda rng, n, d: rng.random((n, 1, 1, 2, 1, 1)),
    "complex": lambda rng, n, d: rng.normal(size=(n, d)) + 1j,
    "nan": lambda rng, n, d: np.where(rng.random((n, d)) < 0.2, np.nan, 1.0),
    "infinite": lambda rng, n, d: np.where(rng.random((n, d)) < 0.2, -np.inf, 1.0),
    "huge": lambda rng, n, d: rng.normal(size=(n, d)) * 1e300,
    "tiny": lambda rng, n, d: rng.normal(size=(n, d)) * 1e-300,
    "constant": lambda rng, n, d: np.zeros((n, d)),
    "texts": lambda rng, n, d: rng.choice(["a", "b"], size=(n, d)),
    "numbers as texts": lambda rng, n, d: rng.normal(size=(n, d)).astype(str),
    "objects": _objects,
    "dates": lambda rng, n, d: rng.integers(0, 9999, size=(n, d)).astype("datetime64[D]"),
    "records": lambda rng, n, d: np.zeros(n, dtype=[("a", "f8"), ("b", "i4")]),
    "masked": lambda rng, n, d: np.ma.masked_less(rng.normal(size=(n, d)), -1.0),
    "read-only": lambda rng, n, d: np.broadcast_to(rng.normal(size=d), (n, d)),
    "big-endian": lambda rng, n, d: rng.normal(size=(n, d)).astype(">f8"),
    "list": lambda rng, n, d: rng.normal(size=(n, d)).tolist(),
    "ragged": lambda rng, n, d: [[1.0] * (i % 3) for i in range(n)],
    "nothing": lambda rng, n, d: None,
    "a number": lambda rng, n, d: 3.5,
    "a word": lambda rng, n, d: "reference.csv",
    "a dict": lambda rng, n, d: {"a": rng.normal(size=n), "y": rng.normal(size=n)},
    "an iterator": lambda rng, n, d: iter(rng.normal(size=(n, d))),
}


def _sample(given: Recipe | Arrays, shift: int) -> Any:
    if isinstance(given, Recipe):
        return made(Recipe(given.columns, given.rows, given.seed + shift, given.copies))
    rng = np.random.default_rng(given.seed + shift)
    return ARRAYS[given.kind](rng, given.rows, given.columns)


def _batches(frame: pl.DataFrame) -> Callable[[], Any]:
    return lambda: iter(frame.to_arrow().to_batches(max_chunksize=16))


def _dataset(frame: pl.DataFrame) -> Any:
    from pyarrow import dataset

    return dataset.dataset(frame.to_arrow())


def _scanned(frame: pl.DataFrame) -> Any:
    """Two files of a folder, which is gone when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="rdiv-fuzz-")
    _FOLDERS.append(folder)
    half = len(frame) // 2
    for k, part in enumerate((frame[:half], frame[half:])):
        part.write_parquet(f"{folder.name}/{k}.parquet")
    return rdiv.scan(folder.name)


_FOLDERS: list[Any] = []
FORMS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "pandas": lambda frame: frame.to_pandas(),
    "arrow": lambda frame: frame.to_arrow(),
    "lazy": lambda frame: frame.lazy(),
    "dataset": _dataset,
    "batches": _batches,
    "scanned": _scanned,
}
"""What a table is given as; from "lazy" on it is read in partitions."""

LABELS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "all": lambda frame: frame,
    "no column": lambda frame: frame.drop("y"),
    "none": lambda frame: frame.with_columns(y=pl.lit(None, frame.schema["y"])),
    "some": lambda frame: frame.with_columns(
        y=pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.col("y"))
    ),
}
"""How many labels the current table has."""


def _shaped(frame: pl.DataFrame, form: str, labels: str) -> Any:
    """The table with some of its labels, as it is given; plain where it cannot be so."""
    try:
        return FORMS[form](LABELS[labels](frame) if "y" in frame.columns else frame)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ArithmeticError, ValueError):
        return frame  # a column that the other library cannot hold


_TARGETS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "numbers": lambda rng, n: rng.normal(size=n),
    "classes": lambda rng, n: rng.integers(0, 2, size=n),
    "one class": lambda rng, n: np.zeros(n, dtype=int),
    "texts": lambda rng, n: rng.choice(["no", "yes"], size=n),
    "nan": lambda rng, n: np.full(n, np.nan),
    "short": lambda rng, n: rng.normal(size=max(n - 1, 0)),
    "wide": lambda rng, n: rng.normal(size=(n, 2)),
    "mixed": lambda rng, n: [1, "a", None] * n,
    "huge": lambda rng, n: rng.normal(size=n) * 1e200,
    "some": lambda rng, n: np.where(np.arange(n) % 3, np.nan, rng.normal(size=n)),
}


class Silent:
    """A model whose losses are not numbers."""

    task = "density"

    def __init__(self, losses: Any) -> None:
        self.answer = losses

    def fit(self, pool: Any, rng: Any) -> Any:
        return self

    def losses(self, pool: Any) -> Any:
        return self.answer(len(pool))


def _wrong(answer: Callable[[int], Any]) -> Callable[[], Any]:
    return lambda: Silent(answer)


def _fitted() -> Any:
    from sklearn.linear_model import LinearRegression

    x = np.random.default_rng(5).normal(size=(30, 2))
    return Frozen(LinearRegression().fit(x, x[:, 0]), trained_on="neither")


def _estimator(name: str) -> Callable[[], Any]:
    def make() -> Any:
        from sklearn import dummy, linear_model, naive_bayes, tree

        kinds: dict[str, Any] = {
            "dummy": dummy.DummyClassifier,
            "tree": tree.DecisionTreeRegressor,
            "bayes": naive_bayes.GaussianNB,
            "linear": linear_model.LinearRegression,
        }
        return kinds[name]()

    return make


MODELS: dict[str, Callable[[], Any]] = {
    **{name: (lambda name=name: name) for name in ("ridge", "logistic", "gmm", "kde", "pca")},
    **{name: (lambda name=name: name) for name in ("mixed", "boosting", "", "no such")},
    "nothing": lambda: None,
    "object": lambda: Ridge(),
    "class": lambda: Ridge,
    "number": lambda: 3,
    "function": lambda: len,
    "frozen": _fitted,
    **{name: _estimator(name) for name in ("dummy", "tree", "bayes", "linear")},
    "infinite losses": _wrong(lambda n: np.full(n, np.inf)),
    "nan losses": _wrong(lambda n: np.full(n, np.nan)),
    "few losses": _wrong(lambda n: np.zeros(1)),
    "wide losses": _wrong(lambda n: np.zeros((n, 2))),
    "words for losses": _wrong(lambda n: ["a"] * n),
    "no losses": _wrong(lambda n: None),
    "equal losses": _wrong(lambda n: np.ones(n)),
    "huge losses": _wrong(lambda n: 1e308 * (-1.0) ** np.arange(n)),
}
"""Models that work, that do not fit the task, and that answer nonsense."""

_MANY = 10**30
_ODD: list[Any] = [None, 0, 1, -1, 2, 0.5, 1e400, float("nan"), "", "x", "y", "a", True, [], {}]
_ODD += [("a", "b"), b"x", 3 + 1j, _MANY, np.zeros(3), [None], np.float64(0.05), np.array("x")]
_PLAUSIBLE: dict[str, list[Any]] = {
    "target": ["y", None],
    "task": [None, "classification", "regression"],
    "folds": [None, 2, 3, 5],
    "alpha": [0.05, 0.1, 0.5],
    "n_resamples": [39, 19, 99],
    "rng": [0, 1, 2**63],
    "n_jobs": [None, 1],
    "groups": [None, "a", "y", ([0, 1] * 15, [2, 3] * 15)],
    "strata": [None, "a", "y"],
    "discrepancy": ["r-div", "score", "energy", "mmd-o", "inputs", "ks-loss", "in-use", "me"],
    "equivalence_margin": [None, 0.1],
    "not_worse_than": [None, 0.1],
    "train_share": [0.5, 0.3, 0.9],
    "drop": [(), "a", ["a"]],
    "prediction": [None, "a", {"no": "a", "yes": "b"}],
    "loss": [None, "a"],
    "retrain": ["same", None, "ridge"],
    "by": [None, "y", "a"],
    "correction": ["holm", "bh"],
    "estimand": ["fitted", "population"],
    "method": ["normal", "bootstrap"],
    "drivers": [True, False],
    "gap": [None, 0.2],
    "power": [0.8, 0.5],
    "ratio": [None, 1.0, 2.0],
    "sizes": [None, [20], (20, 40)],
    "trials": [3],
    "labels": ["all", "none"],
    "unit": ["row", "batch"],
    "batches": [None, "a", "y"],
    "min_gap": [None, 0.0, 0.5],
    "fit_rows": [1000, 100],
    "sample_rows": [1000, 100],
}


def watched(p: Any, q: Any, **options: Any) -> rdiv.MonitorState:
    """A monitor of one batch, given twice, and its state read back."""
    monitor = rdiv.Monitor(p, **options)
    state = monitor.update(monitor.start(), q, name="one")
    state = rdiv.MonitorState.from_json(monitor.update(state, q).to_json())
    monitor.check(state)
    return state


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "two_sample_test": rdiv.two_sample_test,
    "r_divergence": rdiv.r_divergence,
    "compare": rdiv.compare,
    "compare_many": rdiv.compare_many,
    "compare_models": rdiv.compare_models,
    "estimate_gap": rdiv.estimate_gap,
    "plan": rdiv.plan,
    "denoise": lambda x, y=None, **options: LabelNoiseDetector(
        options.pop("model", None) or "logistic", options.pop("noise_rate", "auto")
    ).fit(x, y, **options),
    "monitor": watched,
}
"""The public functions that take samples."""

_OF_DENOISE = {"target": [None, "y"], "rng": [0], "noise_rate": ["auto", "paper", 0.2, 1.0, "x"]}


@dataclass(frozen=True)
class Call:
    """A call by its parts: samples, target, model and settings."""

    function: str
    p: Recipe | Arrays
    q: Recipe | Arrays
    model: str = "nothing"
    target: str | None = None
    options: tuple[tuple[str, Any], ...] = field(default=())
    form: str = "polars"
    labels: str = "all"

    def run(self, call: Callable[..., Any]) -> Any:
        """Make the samples and call the function through ``call``."""
        p, q = _sample(self.p, 0), _sample(self.q, 1)
        if isinstance(p, pl.DataFrame):
            p = _shaped(p, self.form, "all")
        if isinstance(q, pl.DataFrame):
            q = _shaped(q, self.form, self.labels)
        if self.target is not None:
            p, q = self._with_target(p, 2), self._with_target(q, 3)
        kind = f"call of {self.function}"
        options = {**dict(self.options), "model": MODELS[self.model]()}
        if "n_resamples" in _settings(self.function):
            options = {"n_resamples": 39, **options}
        if self.function == "plan":  # 200 trials of six sizes take minutes, whatever the rows are
            options = {"trials": 3, **options}
        if self.function == "denoise":
            return call(FUNCTIONS[self.function], p, kind=kind, **options)
        given: tuple[Any, ...] = p, q
        if self.function == "compare_many":
            given = (p, q) if options.get("by") is not None else (p, {"one": q, "two": q})
        if self.function == "compare_models":
            model = options.pop("model")
            given = p, q, {"one": model, "two": "ridge"}
        return call(FUNCTIONS[self.function], *given, kind=kind, **options)

    def _with_target(self, sample: Any, shift: int) -> Any:
        rng = np.random.default_rng(shift)
        n = len(sample) if isinstance(sample, np.ndarray | list | pl.DataFrame) else 3
        return sample, _TARGETS[str(self.target)](rng, n)


def _settings(function: str) -> dict[str, list[Any]]:
    if function == "denoise":
        return _OF_DENOISE
    known: Any = rdiv.Monitor if function == "monitor" else FUNCTIONS[function]
    names = inspect.signature(known).parameters
    return {name: values for name, values in _PLAUSIBLE.items() if name in names}


_PLAIN_TABLES = st.builds(
    lambda y, more, rows, seed: Recipe((("a", "normal"), ("y", y), *more), rows, seed),
    st.sampled_from(["normal", "classes", "two", "whole"]),
    st.lists(
        st.tuples(st.sampled_from("bcd"), st.sampled_from(["normal", "classes", "holes", "dates"])),
        max_size=2,
    ),
    st.integers(24, 40),
    st.integers(0, 99),
)
_PLAIN_ARRAYS = st.builds(
    Arrays, st.sampled_from(["normal", "float32", "whole", "list"]), st.integers(24, 40)
)
_ANY_ARRAYS = st.builds(
    Arrays,
    st.sampled_from(sorted(ARRAYS)),
    st.integers(0, 40),
    st.sampled_from([2, 1, 3, 0]),
    st.integers(0, 99),
)
_NUMBER_MODELS = ["ridge", "linear", "tree", "object", "nothing"]
_CLASS_MODELS = ["logistic", "bayes", "dummy", "nothing"]
_DENSITIES = ["gmm", "kde", "pca", "mixed", "nothing"]
_WRONG = ("p", "q", "model", "target", "option")


def _fitting(p: Recipe | Arrays, target: str | None, named: bool) -> list[str]:
    """Models for the task of a sample."""
    if isinstance(p, Recipe):
        if not named:
            return _DENSITIES
        return _NUMBER_MODELS if dict(p.columns).get("y") in ("normal", "whole") else _CLASS_MODELS
    return {None: _DENSITIES, "numbers": _NUMBER_MODELS}.get(target, _CLASS_MODELS)


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """Calls of every function that should work, but for at most two things that are odd."""
    function = draw(st.sampled_from(sorted(FUNCTIONS)))
    odd = draw(st.lists(st.sampled_from(_WRONG), max_size=2))
    tables, named = draw(st.booleans()), draw(st.booleans()) or function == "denoise"
    plain: st.SearchStrategy[Any] = _PLAIN_TABLES if tables else _PLAIN_ARRAYS
    strange: st.SearchStrategy[Any] = recipes() if tables else _ANY_ARRAYS
    p = draw(strange if "p" in odd else plain)
    q = draw(st.one_of(strange, _ANY_ARRAYS)) if "q" in odd else p
    kinds = ["numbers", "classes", "texts"] if named else [None]
    target = None if tables else draw(st.sampled_from([*_TARGETS] if "target" in odd else kinds))
    model = draw(st.sampled_from([*MODELS] if "model" in odd else _fitting(p, target, named)))
    known = _settings(function)
    options: dict[str, Any] = {"target": "y"} if tables and named else {}
    for name in draw(st.lists(st.sampled_from(sorted(known)), max_size=2)):
        if name != "target" or "target" in odd:
            options[name] = draw(st.sampled_from(known[name]))
    if "option" in odd:
        name = draw(st.sampled_from(sorted(known)))
        quick = name not in ("n_resamples", "trials", "sizes")  # many permutations are no defect
        some = _ODD if quick else [one for one in _ODD if one is not _MANY]
        options[name] = draw(st.sampled_from(some))
    form = draw(st.sampled_from(["polars", "polars", *FORMS])) if tables else "polars"
    labels = draw(st.sampled_from(["all", "all", *LABELS])) if tables and named else "all"
    if (function == "monitor" or labels != "all") and draw(st.integers(0, 3)):
        p, q = (replace(one, rows=3 * one.rows) for one in (p, q))  # enough to train on a part
    return Call(function, p, q, model, target, tuple(options.items()), form, labels)
