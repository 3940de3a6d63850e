"""The model in use by its logged predictions or losses, and the one that is retrained."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.comparison.conftest import X, quick

from rdiv.comparison.models import choose_models
from rdiv.models import CrossFit, Frozen, LoggedLosses, LoggedPredictions, Ridge

RNG = np.random.default_rng(7)
NOISE = RNG.normal(size=200)
Y = X[:, 0] + NOISE * np.where(np.arange(200) < 90, 1.0, 2.0)
TABLE = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y})


def gap(losses: np.ndarray) -> float:
    """Mean over current minus mean over reference, the first 90 rows."""
    return float(losses[90:].mean() - losses[:90].mean())


def compared(frame: pl.DataFrame, **how: Any) -> Any:
    return quick(frame[:90], frame[90:], **({"target": "y", "retrain": None} | how))


class TestPredictions:
    def test_values(self) -> None:
        found = compared(TABLE.with_columns(f=pl.col("a") + 0.5), prediction="f")
        assert found.gap == pytest.approx(gap(np.square(Y - X[:, 0] - 0.5)))
        assert found.notes["loss"] == "squared error"
        assert found.results["in-use"].model == "predictions in column f"
        assert list(found.results) == list(found.adjusted_pvalues) == ["in-use"]
        assert found.pvalue == found.results["in-use"].pvalue
        assert (found.verdict, found.direction) == ("risk shift", "worse")

    def test_probabilities_of_the_last_of_two_classes(self) -> None:
        label = np.where(Y > 0, "b", "a")
        chance = 1 / (1 + np.exp(-X[:, 0]))
        frame = TABLE.with_columns(y=pl.Series(label), p=pl.Series(chance))
        found = compared(frame, prediction="p")
        losses = -np.log(np.where(label == "b", chance, 1 - chance))
        assert found.gap == pytest.approx(gap(losses))
        assert found.notes["classes"] == ["a", "b"]
        assert found.notes["loss"] == "log loss"

    def test_a_column_for_every_class(self) -> None:
        label = np.digitize(Y, [-1, 1])  # 0, 1, 2
        chances = RNG.dirichlet([1, 1, 1], size=200)
        columns = {f"p{k}": chances[:, k] for k in range(3)}
        frame = TABLE.with_columns(
            y=pl.Series(label), **{k: pl.Series(v) for k, v in columns.items()}
        )
        names = {2: "p2", 0: "p0", 1: "p1"}
        found = compared(frame, prediction=names)
        assert found.gap == pytest.approx(gap(-np.log(chances[np.arange(200), label])))
        assert found.notes["classes"] == ["0", "1", "2"]
        as_text = compared(frame, prediction={str(k): name for k, name in names.items()})
        assert as_text.gap == found.gap
        swapped = compared(frame, prediction={0: "p1", 1: "p0", 2: "p2"})
        assert swapped.gap != found.gap

    def test_predicted_classes_have_the_0_1_loss(self) -> None:
        label = np.where(Y > 0, "b", "a")
        said = np.where(X[:, 0] > 0, "b", "a")
        said[3] = "c"  # a class that never occurs is wrong
        frame = TABLE.with_columns(y=pl.Series(label), said=pl.Series(said))
        found = compared(frame, prediction="said")
        assert found.gap == pytest.approx(gap((label != said).astype(float)))
        assert found.notes["loss"] == "0/1 loss"

    def test_they_are_no_inputs(self) -> None:
        """A prediction that is the target itself must not help the model that is retrained."""
        with_it = compared(TABLE.with_columns(f=pl.col("y")), prediction="f", retrain="ridge")
        without = quick(TABLE[:90], TABLE[90:], target="y", model="ridge")
        assert with_it.gap == 0
        assert with_it.results["in-use"].pvalue == 1
        assert with_it.results["r-div"].risk_q == pytest.approx(
            without.results["r-div"].risk_q, rel=0.1
        )
        assert with_it.results["r-div"].risk_q > 1

    @pytest.mark.parametrize(
        ("frame", "prediction", "words"),
        [
            (TABLE, "nothing", "'nothing'"),
            (TABLE.with_columns(f=pl.lit("x")), "f", "must hold numbers, got 'x'"),
            (TABLE.with_columns(f=pl.lit(None, dtype=pl.Float64)), "f", "200 missing or infinite"),
            (TABLE.with_columns(f=pl.col("a")), {"yes": "f"}, "prediction= for regression is one"),
            (
                TABLE.with_columns(y=pl.Series(np.where(Y > 0, "b", "a")), f=pl.col("a")),
                "f",
                "must hold probabilities between 0 and 1",
            ),
            (
                TABLE.with_columns(y=pl.Series(np.where(Y > 0, "b", "a")), f=pl.lit(0.5)),
                {"b": "f"},
                "needs a column for every class of the target, got none for 'a'",
            ),
        ],
    )
    def test_refused(self, frame: pl.DataFrame, prediction: Any, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            compared(frame, prediction=prediction)

    def test_without_a_target(self) -> None:
        frame = TABLE.with_columns(f=pl.col("a"))
        with pytest.raises(ValueError, match="prediction= needs the target that was predicted"):
            compared(frame, target=None, prediction="f")

    @pytest.mark.parametrize("prediction", [{}, 5, ["f"]])
    def test_what_names_no_column(self, prediction: Any) -> None:
        with pytest.raises(
            TypeError, match="prediction must be the name of a column, or a mapping"
        ):
            compared(TABLE, prediction=prediction)


class TestLosses:
    ERROR = np.abs(NOISE) * np.where(np.arange(200) < 90, 1.0, 2.0)

    def frame(self) -> pl.DataFrame:
        return TABLE.with_columns(error=pl.Series(self.ERROR))

    def test_with_a_target_the_shared_questions_are_asked(self) -> None:
        found = compared(self.frame(), loss="error", retrain="same")
        assert list(found.results) == ["in-use", "r-div", "score", "omnibus"]
        assert found.results["r-div"].model == "boosting, 5 folds"
        assert found.results["in-use"].model == "losses in column error"
        assert found.gap == pytest.approx(gap(self.ERROR))
        assert found.notes["loss"] == "error"
        assert found.retraining is None  # an error and a squared error
        assert found.labels == "all"

    def test_without_a_target_they_are_not(self) -> None:
        found = compared(self.frame().drop("y"), target=None, loss="error", retrain="same")
        assert list(found.results) == ["in-use"]
        assert (found.shared_gap, found.shared_gap_interval, found.retraining) == (None, None, None)
        assert found.gap == pytest.approx(gap(self.ERROR))
        assert (found.labels, found.direction) == (None, "worse")
        assert found.input_test is not None
        assert "a model that has seen both samples would do was not asked" in str(found)

    def test_with_nothing_else_in_the_table(self) -> None:
        frame = pl.DataFrame({"error": self.ERROR})
        found = quick(frame[:90], frame[90:], loss="error", drivers=True)
        wide = compared(self.frame().drop("y"), target=None, loss="error", retrain="same")
        assert found.gap == wide.gap
        assert found.verdict == "risk shift"
        assert found.input_test is None
        assert found.drivers.columns is None
        assert found.drivers.slices == ()
        document = found.to_dict()
        assert document["split"] is document["input_test"] is None
        assert document["input_columns"] == []
        assert found.to_frame()["question"].to_list() == ["in-use"]
        assert "No" not in found.headline()

    def test_not_a_number(self) -> None:
        values = self.ERROR.copy()
        values[[5, 20]] = np.nan
        frame = TABLE.with_columns(error=pl.Series(values))
        words = "'error' must have no missing values in the reference, got 2 of 90"
        with pytest.raises(ValueError, match=words):
            compared(frame, loss="error")
        frame = TABLE.with_columns(error=pl.Series(np.where(np.arange(len(X)) == 95, np.inf, 1.0)))
        with pytest.raises(ValueError, match="got 1 missing or infinite, the first in row 5 of q"):
            compared(frame, loss="error")


class TestRetrain:
    FITTED = LinearRegression(fit_intercept=False).fit(X, X[:, 0])

    def compared(self, fitted: Any, **how: Any) -> Any:
        model = Frozen(fitted, trained_on="neither")
        pair = (X[:90], Y[:90]), (X[90:], Y[90:])
        return quick(*pair, model=model, **how)

    def test_the_same(self) -> None:
        """An unfitted copy, with the settings of the one in use."""
        found = self.compared(self.FITTED)
        assert found.results["r-div"].model == "LinearRegression(fit_intercept=False), 5 folds"
        alone = quick((X[:90], Y[:90]), (X[90:], Y[90:]), model=self.FITTED)
        assert found.results["r-div"].to_json() == alone.results["r-div"].to_json()
        assert found.gap == pytest.approx(gap(np.square(Y - X[:, 0])))
        assert self.FITTED.coef_ == pytest.approx([1, 0])  # not fitted anew

    def test_a_name_a_model_or_none(self) -> None:
        named = self.compared(self.FITTED, retrain="ridge")
        assert named.results["r-div"].model == "ridge, 5 folds"
        built = self.compared(self.FITTED, retrain=Ridge())
        assert built.to_json() == named.to_json()
        nothing = self.compared(self.FITTED, retrain=None)
        assert list(nothing.results) == ["in-use"]
        assert nothing.results["in-use"].to_json() == named.results["in-use"].to_json()
        assert (nothing.shared_gap, nothing.retraining) == (None, None)

    def test_a_copy_that_cannot_be_made_is_the_default(self) -> None:
        found = compared(TABLE.with_columns(f=pl.col("a")), prediction="f", retrain="same")
        assert found.results["r-div"].model == "boosting, 5 folds"

    def test_retraining_the_wrong_kind(self) -> None:
        with pytest.raises(ValueError, match="does regression and the one to retrain classif"):
            self.compared(self.FITTED, retrain=LogisticRegression())


class TestTheChoice:
    def chosen(self, model: Any = None, **how: Any) -> Any:
        return choose_models(model, **({"folds": 5, "supervised": True} | how))

    def test_what_is_given(self) -> None:
        forest = RandomForestRegressor()
        frozen = Frozen(forest, trained_on="neither")
        assert self.chosen("ridge").given is None
        assert self.chosen(forest).given is None
        assert self.chosen(frozen).given is frozen
        assert self.chosen(prediction="f").given == LoggedPredictions("f")
        assert self.chosen(prediction={"a": "x", "b": "y"}).given == LoggedPredictions("x, y")
        assert self.chosen(loss="e").given == LoggedLosses("e")
        assert self.chosen(loss="e", supervised=False).shared is None

    def test_the_model_in_use_is_trained_without_folds(self) -> None:
        used, shared = self.chosen("ridge").settled(None)  # type: ignore[arg-type]
        assert (used, shared) == (Ridge(), CrossFit(Ridge(), 5))

    @pytest.mark.parametrize(
        ("how", "words"),
        [
            ({"model": "ridge", "prediction": "f"}, "model= and prediction= each stand for"),
            ({"model": "ridge", "loss": "e"}, "model= and loss= each stand for the model in use"),
            ({"prediction": "f", "loss": "e"}, "prediction= and loss= each stand for"),
            ({"model": "a", "prediction": "f", "loss": "e"}, "model= and prediction= and loss="),
            ({"model": "ridge", "retrain": "ridge"}, "so leave retrain= out"),
            ({"retrain": None}, "rdiv trains this one anyway, so leave retrain= out"),
            ({"model": "ridge", "retrain": Ridge()}, "so leave retrain= out"),
            (
                {"loss": "e", "retrain": "ridge", "supervised": False},
                "retrain= needs a target to train for, got losses without one",
            ),
        ],
        ids=str,
    )
    def test_refused(self, how: dict[str, Any], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            self.chosen(**how)

    def test_losses_without_a_target_may_say_what_is_done_anyway(self) -> None:
        for retrain in ("same", None):
            assert self.chosen(loss="e", retrain=retrain, supervised=False).shared is None
