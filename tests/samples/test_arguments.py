"""Odd calls of public functions: one sentence that says what to do, never another library's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import rdiv
from rdiv.errors import InputError, InputTypeError, naming
from rdiv.models import Frozen
from rdiv.samples.arguments import check_folds, check_settings

P, Q = np.random.default_rng(0).normal(size=(2, 40, 2))
Y = (P[:, 0] > 0).astype(int)
FRAME = pl.DataFrame({"a": P[:, 0], "y": P[:, 1]})


class Untagged:
    def fit(self, x: Any, y: Any = None) -> Any:
        return self

    def predict(self, x: Any) -> Any:
        return np.zeros(len(x))


class Failing(Ridge):
    def fit(self, X: Any, y: Any) -> Any:
        raise KeyError("price")


class Unfit:
    fit = 3


class Wide(Ridge):
    def predict(self, X: Any) -> Any:
        return np.zeros((len(X), 2))


SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"target": []}, "target must be the name of a column, got \\[\\]; give the values"),
    ({"target": 0}, "target must be the name of a column, got 0"),
    ({"by": 3}, "by must be the name of a column, got 3"),
    ({"drop": 3}, "drop must be the name of a column or a list of names, got 3"),
    ({"drop": ["a", None]}, "drop must be .* got None among them"),
    ({"task": 3}, "task must be a word, got 3"),
    ({"folds": "x"}, "folds must be a whole number of at least 2, got 'x'"),
    ({"folds": float("nan")}, "folds must be .*, got nan"),
    ({"folds": 1}, "folds must be a whole number of at least 2, got 1"),
    ({"folds": True}, "folds must be"),
    ({"groups": 3}, "groups must be the name of a column or a pair of arrays.*got 3"),
    ({"strata": np.zeros(5)}, "strata must be .* an array of shape \\(5,\\)"),
    ({"alpha": None}, "alpha must be a number strictly between 0 and 1, got None"),
    ({"alpha": "x"}, "alpha must be a number strictly between 0 and 1, got 'x'"),
    ({"alpha": float("nan")}, "alpha must lie strictly between 0 and 1, got nan"),
    ({"alphas": None}, "alpha must be a number or several, got None"),
    ({"alphas": [0.1, 2]}, "alpha must lie strictly between 0 and 1, got 2"),
    ({"n_resamples": "9"}, "n_resamples must be a whole number, got '9'"),
    ({"n_resamples": None}, "n_resamples must be a whole number, got None"),
    ({"n_resamples": float("nan")}, "n_resamples must be a whole number, got nan"),
    ({"trials": -1}, "trials must be .* at least 1, got -1"),
    ({"rng": "x"}, "rng must be an integer, a numpy Generator or None, got str"),
    ({"rng": [1]}, "rng must be .* got list"),
    ({"rng": True}, "rng must be .* got bool"),
    ({"n_jobs": 0}, "n_jobs must be a whole number other than 0, got 0; 1 runs"),
    ({"n_jobs": "all"}, "n_jobs must be a whole number other than 0, got 'all'"),
    ({"equivalence_margin": "x"}, "equivalence_margin must be a number, got 'x'"),
    ({"not_worse_than": []}, "not_worse_than must be a number, got \\[\\]"),
    ({"power": None}, "power must be a number, got None"),
    ({"sizes": None}, "sizes must be a number or several, got None"),
    ({"sizes": "x"}, "sizes must be a number or several, got 'x'"),
    ({"sizes": [1.5]}, "sizes must be whole numbers, got 1.5"),
    ({"curve": 5}, "sizes must be several whole numbers, got 5"),
    ({"trials": "x"}, "trials must be a whole number, got 'x'"),
    ({"drivers": P}, "drivers must be True or False, got an array"),
    ({"out": 3}, "out must be the path of a folder, got 3"),
    ({"shares": ["x"]}, "shares must be a number, got 'x'"),
    ({"correction": []}, "correction must be a word"),
]


@pytest.mark.parametrize(("setting", "sentence"), SETTINGS, ids=lambda value: str(value)[:30])
def test_odd_settings(setting: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        check_settings(**setting)


def test_usual_settings_pass() -> None:
    check_settings(
        target=None, task="regression", folds=5, groups=([1], [2]), strata="day", alpha=0.1,
        alphas=[0.1, 0.05], n_resamples=np.int64(99), rng=np.random.default_rng(0), n_jobs=-1,
        sizes=range(2, 5), curve=None, out="folder", gap=None, power=np.float32(0.5),
        drop=("a", "b"),
    )  # fmt: skip
    check_folds(0, least=0)


def frozen(model: Any) -> Frozen:
    return Frozen(model, trained_on="neither")


def ask(*samples: Any, **settings: Any) -> Any:
    return rdiv.two_sample_test(*samples, rng=0, **settings)


CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: ask((P, None), (Q, None)), "p is a pair \\(X, y\\) whose y is None; pass X alone"),
    (lambda: ask({"a": [1]}, Q), "got {'a': \\[1\\]}; make a frame of it"),
    (lambda: ask("data.csv", Q), "read the file first, with rdiv.read\\('data.csv'\\)"),
    (lambda: ask(None, Q), "p must be an array, .* got None"),
    (lambda: ask((row for row in P), Q), "p is an iterator, which can be read only once"),
    (lambda: ask(3, Q), "p must have rows, got a single number"),
    (lambda: ask((P, 3), (Q, 3)), "the target must be one value per row, got 3"),
    (lambda: ask((P, "abc"), (Q, "abc")), "the target must be one value per row, got 'abc'"),
    (lambda: ask((P, [[1], [1, 2]]), (Q, Y)), "reading the target failed"),
    (lambda: ask(P, Q, groups=(3, 4)), "a pair of arrays of 40 and 40 labels, got shapes"),
    (lambda: ask(P, Q, strata=([1, [2]], [3])), "reading strata= failed"),
    (lambda: ask(P, Q, model=3), "a model must be a name, .* got int"),
    (lambda: ask(P, Q, model=Unfit()), "a model must be a name, .* got Unfit"),
    (lambda: ask((P, Y), (Q, Y), model=Untagged()), "whether Untagged is a classifier or a"),
    (
        lambda: ask((P, Y), (Q, Y), model=Failing()),
        "fitting Failing failed \\(KeyError: 'price'",
    ),
    (
        lambda: ask((P, Y), (Q, Y), model=Wide()),
        "Wide must predict one number per row, got shape",
    ),
    (lambda: ask(P, Q, 3), "a discrepancy must be a name or have prepare"),
    (
        lambda: ask((P, Y), (Q, Y), model=frozen(LogisticRegression().fit(P[:, :1], Y))),
        "predict_proba of LogisticRegression failed .*check that the model fits the columns",
    ),
    (lambda: frozen(Ridge), "Frozen needs a fitted model, got the class Ridge"),
    (lambda: rdiv.compare_many(P, {"mon": "x.csv"}), "mon must be an array, .*rdiv.read"),
    (lambda: rdiv.plan(P, Q, sizes=5), "sizes must be several whole numbers"),
    (lambda: rdiv.power_study("blob", ["energy"], sizes=None), "sizes must be a number or several"),
    (lambda: rdiv.read(3), "path must be the path of a file, got 3"),
    (lambda: rdiv.noisy_labels.flip_labels([0, 1], rng="x"), "rng must be an integer"),
    (lambda: rdiv.noisy_labels.split_by_loss("x", 0.2), "reading the losses failed"),
    (lambda: rdiv.compare(P, Q, drivers="yes"), "drivers must be True or False, got 'yes'"),
]


@pytest.mark.parametrize(("call", "sentence"), CALLS, ids=[sentence for _, sentence in CALLS])
def test_odd_calls(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        call()


def test_sparse_matrices_are_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InputTypeError, match=r"with \.toarray\(\)"):
        ask(sparse.csr_matrix(P), Q)


def test_tensors_that_numpy_does_not_know() -> None:
    torch = pytest.importorskip("torch")
    short = [torch.tensor(x).bfloat16() for x in (P, Q)]
    long = [x.float() for x in short]
    assert ask(*short).pvalue == ask(*long).pvalue
    with pytest.raises(InputError, match="device 'meta' has a shape but no values"):
        ask(torch.zeros(4, 2, device="meta"), Q)
    with pytest.raises(InputError, match="must be dense"):
        ask(torch.tensor(P).to_sparse(), Q)


def test_what_another_library_raises_is_named() -> None:
    with (
        pytest.raises(InputError, match=r"step failed \(ZeroDivisionError: .*\); advice\.") as info,
        naming("step", "advice"),
    ):
        1 / 0  # noqa: B018
    assert isinstance(info.value.__cause__, ZeroDivisionError)
    for kept in (KeyboardInterrupt, MemoryError):
        with pytest.raises(kept), naming("step", "advice"):
            raise kept
