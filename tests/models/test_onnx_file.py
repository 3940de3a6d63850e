"""Models in ONNX files: inputs by order or by name, every kind of output, errors in a sentence."""

from __future__ import annotations

import builtins
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rdiv
from rdiv.errors import InputError, InputFileError, MissingExtraError, MissingFileError
from rdiv.models import Frozen, OnnxModel, same_model
from rdiv.samples import Pool

pytest.importorskip("onnxruntime")

DATA = Path(__file__).parent / "data"  # make_onnx.txt there has the weights
X = np.random.default_rng(0).normal(size=(10, 2))
CLASSES = np.arange(10) % 2
FRAMES = pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame], ids=["polars", "pandas"])


def model(name: str) -> OnnxModel:
    return OnnxModel(DATA / f"{name}.onnx")


def frozen(name: str) -> Frozen:
    return Frozen(model(name), trained_on="neither")


def pool_of(labels: Any, classes: Any, x: Any = X) -> Pool:
    return Pool(x, y=np.asarray(labels), classes=np.array(classes), task="classification")


def numbers(values: Any, x: Any = X) -> Pool:
    return Pool(x, y=np.asarray(values, dtype=float), task="regression")


def fitted_losses(name: str, pool: Pool) -> np.ndarray:
    return frozen(name).fit(pool, np.random.default_rng(0)).losses(pool)


def logistic(margin: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(np.where(labels, -margin, margin)))


@pytest.mark.parametrize("path", sorted(DATA.glob("*.onnx")), ids=lambda path: path.stem)
def test_the_files_are_small(path: Path) -> None:
    assert path.stat().st_size < 5000


@pytest.mark.parametrize("name", ["zipmap", "softmax", "batches_of_4", "sigmoid"])
def test_two_classes_however_they_come(name: str) -> None:
    pool = pool_of(CLASSES, ["no", "yes"])
    wanted = logistic(3 * X[:, 0], CLASSES)
    assert fitted_losses(name, pool) == pytest.approx(wanted, rel=1e-4)
    assert frozen(name).loss_name(pool) == "log loss"


def test_a_zipmap_says_its_classes() -> None:
    pool = pool_of(CLASSES, ["maybe", "yes"])
    found = fitted_losses("zipmap", pool)
    assert found[CLASSES == 0] == pytest.approx(-np.log(1e-12))
    assert found[CLASSES == 1] == pytest.approx(logistic(3 * X[:, 0], CLASSES)[CLASSES == 1], 1e-4)
    with pytest.raises(InputError, match=r"knows the classes \['no', 'yes'\], but the target has"):
        fitted_losses("zipmap", pool_of(CLASSES, [0, 1]))


def test_classes_and_an_array_of_three() -> None:
    labels = np.arange(10) % 3
    scores = np.stack([np.zeros(10), 2 * X[:, 0], 2 * X[:, 1]], axis=1)
    wanted = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(10), labels]
    pool = pool_of(labels, [5, 6, 7])  # in the order of the target's classes
    assert fitted_losses("array", pool) == pytest.approx(wanted, rel=1e-4)
    assert frozen("array").task == "classification"
    with pytest.raises(InputError, match=r"array\.onnx gives 3 probabilities .* has 2 classes"):
        fitted_losses("array", pool_of(CLASSES, ["no", "yes"]))


def test_values() -> None:
    assert frozen("value").task is None
    pool = numbers(X[:, 0])
    wanted = np.square(1 + 2 * X[:, 0] - X[:, 1] - X[:, 0])
    assert fitted_losses("value", pool) == pytest.approx(wanted, rel=1e-4)
    assert frozen("value").loss_name(pool) == "squared error"


def test_classes_alone() -> None:
    pool = pool_of(CLASSES, [0, 1])
    assert fitted_losses("labels", pool).tolist() == ((X[:, 0] > 0) != CLASSES).tolist()
    assert frozen("labels").loss_name(pool) == "0/1 loss"


def test_scores_are_no_probabilities() -> None:
    with pytest.raises(InputError, match=r"logits\.onnx must give probabilities between 0 and 1"):
        fitted_losses("logits", pool_of(CLASSES, ["no", "yes"]))
    with pytest.raises(InputError, match=r"value\.onnx predicts values such as .* the classes"):
        fitted_losses("value", pool_of(CLASSES, ["no", "yes"]))


def table(make: Any, **changed: Any) -> Any:
    kinds = np.array(["a", "b"])[np.arange(10) // 5]
    columns = {"extra": X[:, 1], "kind": kinds, "age": np.arange(10) % 3, "size": X[:, 0]}
    return make({**columns, **changed})


@FRAMES
def test_one_input_per_column(make: Any) -> None:
    margin = X[:, 0] + 2 * (np.arange(10) % 3) + np.where(np.arange(10) < 5, -1, 1)
    found = fitted_losses("columns", pool_of(CLASSES, ["no", "yes"], table(make)))
    assert found == pytest.approx(logistic(margin, CLASSES), rel=1e-4)


@FRAMES
def test_whole_floats_and_categories_fit_their_inputs(make: Any) -> None:
    plain = model("columns").run(table(make)).values
    kinds = np.array(["a", "b"])[np.arange(10) // 5].tolist()
    other = (
        pl.Series(kinds, dtype=pl.Categorical) if make is pl.DataFrame else pd.Categorical(kinds)
    )
    found = model("columns").run(table(make, age=np.arange(10) % 3 / 1.0, kind=other)).values
    assert found.tobytes() == plain.tobytes()


@FRAMES
def test_inputs_of_one_dimension(make: Any) -> None:
    rows = make({"b": X[:, 1], "a": X[:, 0]})
    assert model("flat").run(rows).values == pytest.approx(X[:, 0] + 10 * X[:, 1], rel=1e-4)


def test_one_array_gets_the_columns_in_their_order() -> None:
    found = model("value").run(pl.DataFrame({"z": X[:, 0], "a": X[:, 1]})).values
    assert found == pytest.approx(1 + 2 * X[:, 0] - X[:, 1], rel=1e-4)


def test_missing_cells() -> None:
    rows = pl.DataFrame({"a": [1.0, None], "b": [2, 3]})
    assert np.isnan(model("value").run(rows).values).tolist() == [False, True]
    with pytest.raises(InputError, match=r"'kind' \(tensor\(string\)\), and .* has 1 missing"):
        model("columns").run(table(pl.DataFrame, kind=["a"] * 9 + [None]))
    with pytest.raises(InputError, match=r"'age' \(tensor\(int64\)\), and .* has 2 missing"):
        model("columns").run(table(pl.DataFrame, age=[None] * 2 + [1] * 8))


@pytest.mark.parametrize(
    ("name", "rows", "words"),
    [
        ("zipmap", pl.DataFrame({"a": [1], "b": [2], "c": [3]}), r"\(n, 2\).*3 columns \('a', 'b'"),
        ("columns", pl.DataFrame({"size": [1], "AGE": [2]}), r"'size', 'age', 'kind'\).*'AGE'"),
        ("columns", X, r"3 inputs \('size', 'age', 'kind'\), and the samples are arrays"),
        ("zipmap", np.zeros((4, 5)), r"shape \(n, 2\).* rows of shape \(5,\)"),
        ("zipmap", np.zeros((4, 1, 2)), r"shape \(n, 2\).* rows of shape \(1, 2\)"),
        ("zipmap", pl.DataFrame({"a": ["u"], "b": [2]}), "wants numbers.* column 'a' holds text"),
        ("columns", table(pl.DataFrame, age=X[:, 0]), "wants whole numbers.* 'age' has"),
        ("columns", table(pl.DataFrame, age=[2**70 / 1.0] * 10), "wants whole numbers"),
        ("columns", table(pl.DataFrame, kind=X[:, 0]), "wants text in input 'kind'.*Float64"),
        ("columns", table(pl.DataFrame, kind=[True] * 10), "wants text in input 'kind'.*Boolean"),
        ("two_outputs", X, "in one output, got 'first: tensor"),
    ],
)
def test_rows_that_do_not_fit_are_one_sentence(name: str, rows: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as raised:
        model(name).run(rows)
    assert f"{name}.onnx" in str(raised.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"'nowhere\.onnx' does not exist"):
        OnnxModel("nowhere.onnx")
    with pytest.raises(InputError, match=r"ends in \.onnx, got 'model\.joblib'"):
        OnnxModel("model.joblib")
    folder = tmp_path / "folder.onnx"
    folder.mkdir()
    with pytest.raises(MissingFileError, match="is a folder"):
        OnnxModel(folder)
    for content in (b"", b"no model", (DATA / "columns.onnx").read_bytes()[:500]):
        (tmp_path / "broken.onnx").write_bytes(content)
        with pytest.raises(InputFileError, match="no ONNX model that onnxruntime can read"):
            Frozen(OnnxModel(tmp_path / "broken.onnx"), trained_on="neither")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name == "onnxruntime":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r'pip install "rdiv\[onnx\]"'):
        frozen("zipmap")


def test_it_pickles_without_its_session() -> None:
    one = model("zipmap")
    before = one.run(X).values
    copy = pickle.loads(pickle.dumps(frozen("zipmap")))
    assert "_session" not in pickle.loads(pickle.dumps(one)).__dict__
    assert copy.fitted.run(X).values.tobytes() == before.tobytes()


def test_batches_of_a_fixed_size_give_what_any_size_gives() -> None:
    long = np.random.default_rng(1).normal(size=(5003, 2))
    many, four = (model(name).run(long).values for name in ("softmax", "batches_of_4"))
    assert four == pytest.approx(many, rel=1e-5)
    assert len(four) == 5003


def test_in_a_comparison_with_several_jobs() -> None:
    rng = np.random.default_rng(2)
    p, q = rng.normal(size=(2, 60, 2))
    y_p, y_q = (np.array(["no", "yes"])[(x[:, 0] > 0).astype(int)] for x in (p, q))
    test = {"model": frozen("zipmap"), "n_resamples": 99, "rng": 0}
    once = rdiv.two_sample_test((p, y_p), (q, y_q), **test)
    twice = rdiv.two_sample_test((p, y_p), (q, y_q), n_jobs=2, **test)
    assert once.to_json() == twice.to_json()
    assert once.risk_p == pytest.approx(np.log1p(np.exp(-3 * np.abs(p[:, 0]))).mean(), rel=1e-4)
    assert once.model == "Frozen(zipmap.onnx)"


def test_its_training_is_unknown() -> None:
    assert same_model(frozen("zipmap")) is None
    assert str(model("zipmap")) == "zipmap.onnx"
    assert repr(model("zipmap")) == "OnnxModel('zipmap.onnx')"
