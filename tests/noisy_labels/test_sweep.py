"""The sweep of the figures: rows are kept, and a sweep that was cut off goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from rdiv.errors import DivergedError, InputError
from rdiv.models import Mlp, Training
from rdiv.noisy_labels import noise_sweep
from rdiv.noisy_labels import sweep as module

pytestmark = pytest.mark.trains

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
DATA = (X[:200], np.digitize(X[:200, 0], [0])), (X[200:], np.digitize(X[200:, 0], [0]))
NETWORK = Mlp(hidden=(8,), training=Training(epochs=4, learning_rate=0.01, batch_size=50))
SETTINGS: dict[str, Any] = {
    "model": NETWORK,
    "shares": (0.2, 0.5),
    "objectives": ("complementary", "weighted"),
    "trials": 2,
}


def test_a_sweep_that_was_cut_off_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = noise_sweep(*DATA, out=tmp_path, **SETTINGS)
    (file,) = tmp_path.iterdir()
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:6]) + lines[6][:30])  # killed while it wrote
    made = []
    real = module.retrain
    monkeypatch.setattr(module, "retrain", lambda *args: made.append(args[4]) or real(*args))
    again = noise_sweep(*DATA, out=tmp_path, **SETTINGS)
    assert again.rows == whole.rows
    assert made == [0.5, 0.5]
    noise_sweep(*DATA, out=tmp_path, **SETTINGS)
    assert made == [0.5, 0.5]


def test_a_trial_is_pretrained_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    real = module._pretrain
    monkeypatch.setattr(
        module, "_pretrain", lambda sweep, trial: made.append(trial) or real(sweep, trial)
    )
    noise_sweep(*DATA, **SETTINGS)
    assert made == [0, 1]


@pytest.mark.parametrize("place", [{"n_jobs": 2}, {"scheduler": "local:2"}], ids=str)
def test_rows_are_the_same_wherever_they_are_found(place: dict[str, Any]) -> None:
    if "scheduler" in place:
        pytest.importorskip("distributed")
    assert noise_sweep(*DATA, **SETTINGS, **place).rows == noise_sweep(*DATA, **SETTINGS).rows


def test_other_settings_do_not_share_rows(tmp_path: Path) -> None:
    first = noise_sweep(*DATA, out=tmp_path, **SETTINGS)
    other = {**SETTINGS, "model": Mlp(hidden=(4,), epochs=1)}
    assert noise_sweep(*DATA, out=tmp_path, **other).rows == noise_sweep(*DATA, **other).rows
    assert noise_sweep(*DATA, out=tmp_path, **SETTINGS).rows == first.rows


def test_precision_and_recall_meet_where_as_many_rows_are_noisy_as_are_wrong() -> None:
    found = noise_sweep(*DATA, rate=0.25, **{**SETTINGS, "shares": (0.24, 0.48)})
    for row in found.rows:
        wrong = row["precision_noisy"] * row["share"] / row["recall_noisy"]
        assert row["precision_clean"] * (1 - row["share"]) == pytest.approx(
            row["recall_clean"] * (1 - wrong)
        )
        right = row["recall_clean"] * (1 - wrong) + row["recall_noisy"] * wrong
        assert row["detection_accuracy"] == pytest.approx(right)
    assert len({row["pretrained"] for row in found.rows if row["trial"] == 0}) == 1


def test_means_count_what_diverged(monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(*_: Any) -> Any:
        raise DivergedError("training diverged: the loss became nan")

    monkeypatch.setattr(module, "retrain", diverge)
    found = noise_sweep(*DATA, **{**SETTINGS, "objectives": ("difference",)})
    cell = found.means()[0]
    assert (cell["retrained"], cell["gain"], cell["diverged"], cell["trials"]) == (None, None, 2, 2)
    assert cell["discrepancy"] > 0


def test_other_errors_are_not_taken_for_divergence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise ValueError("something else")

    monkeypatch.setattr(module, "retrain", fail)
    with pytest.raises(ValueError, match="something else"):
        noise_sweep(*DATA, **SETTINGS)


def test_retraining_helps_where_the_objective_is_bounded() -> None:
    """A trial gains 0.03 with a spread of 0.01; the same training once more gains nothing."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 10))
    centres *= 3 / np.linalg.norm(centres, axis=1, keepdims=True)
    y = rng.integers(4, size=2400)
    x = centres[y] + rng.normal(size=(2400, 10))
    settings = {**SETTINGS, "shares": (0.3,), "objectives": ("complementary",), "trials": 3}
    settings["model"] = Mlp(hidden=(64,), training=Training(epochs=20, learning_rate=0.01))
    found = noise_sweep((x[:400], y[:400]), (x[400:], y[400:]), rate=0.3, **settings)
    assert np.mean([row["retrained"] - row["pretrained"] for row in found.rows]) > 0.015


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown objective 'harsh'"):
        noise_sweep(*DATA, objectives=["harsh"])
    with pytest.raises(ValueError, match="rate must be a share"):
        noise_sweep(*DATA, rate=1.5)


@pytest.mark.parametrize(
    ("train", "test", "sentence"),
    [
        (3, 4, r"train must be a pair \(X, y\) of rows and their labels, got 3\.$"),
        (DATA[0], 4, r"test must be a pair \(X, y\)"),
        ((X, X[:5, 0] > 0), DATA[1], "as many rows, got 300 and 5 in train"),
        ((3, 4), DATA[1], "train must have rows, got a single number"),
        (DATA[0], (X, X[:, 0]), "labels must be classes"),
    ],
)
def test_rows_and_labels_come_in_pairs(train: Any, test: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        noise_sweep(train, test)
