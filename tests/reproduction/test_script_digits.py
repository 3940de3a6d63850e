"""Digits as the published script prepares them: who drew them and how they were enlarged."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t

torch = pytest.importorskip("torch")

from rdiv.reproduction.tables.overfitting import TABLE, one_draw, t_interval  # noqa: E402
from rdiv.reproduction.tables.script_digits import (  # noqa: E402
    PAIRS,
    SCRIPT,
    ScriptDigits,
    nearest,
)
from rdiv.sources.images import resized  # noqa: E402


class Digits:
    """Real digits have bright pixels, those of a network dark ones; the last draw is kept."""

    def draw(
        self, n: int, rng: np.random.Generator, null: bool = False
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        bright = rng.integers(200, 256, size=(2, n, 1, 28, 28), dtype=np.uint8)
        self.drawn = bright[0], bright[1] if null else bright[1] - np.uint8(200)
        return self.drawn


def test_nearest_is_what_torch_does_by_default() -> None:
    images = np.random.default_rng(0).integers(0, 256, size=(3, 1, 28, 28), dtype=np.uint8)
    theirs = torch.nn.functional.interpolate(torch.from_numpy(images).float(), 32)
    assert np.array_equal(nearest(images, 32), theirs.numpy().astype(np.uint8))


@pytest.mark.parametrize(
    ("pair", "q_is_real", "q_nearest"),
    [("script", False, False), ("alike", False, True), ("real", True, False), ("null", True, True)],
)
def test_a_pair_differs_in_what_it_says(pair: str, q_is_real: bool, q_nearest: bool) -> None:
    digits = Digits()
    source = ScriptDigits(pair, digits=digits)  # type: ignore[arg-type]
    p, q = source.draw(5, np.random.default_rng(1))
    before = digits.drawn
    assert np.array_equal(p, nearest(before[0], 32))
    assert bool(before[1].min() >= 200) == q_is_real
    assert np.array_equal(q, nearest(before[1], 32) if q_nearest else resized(before[1], 32))
    _, same = source.draw(5, np.random.default_rng(1), null=True)
    assert np.array_equal(same, nearest(digits.drawn[1], 32))


def test_settings_are_those_of_the_script() -> None:
    training = SCRIPT.training
    assert (training.epochs, training.batch_size, training.learning_rate) == (500, 100, 5e-3)
    assert (SCRIPT.hidden, SCRIPT.latent, SCRIPT.samples) == ((128, 64), 8, 1)


def test_the_interval_is_students() -> None:
    assert t_interval(2.0, 3.0, 5) == pytest.approx(t.interval(0.95, 4, 2.0, 3.0 / 5**0.5))


@pytest.mark.data
def test_climbing_never_ends_below_r_div(data_dir: object) -> None:
    del data_dir
    key = {"pair": "script", "n": 12, "pixels": 8, "epochs": 2, "seed": 0, "draw": 0}
    found = one_draw(key)
    gaps = {name: abs(found[name][0] - found[name][1]) for name in found if name != "pvalue"}
    assert gaps["L-Div (ascent)"] >= gaps["R-Div"]
    assert 0 < found["pvalue"] <= 1
    assert found == one_draw(key)


def test_pairs_can_be_chosen() -> None:
    some = TABLE.narrowed("smoke", ["real", "script"], [])
    assert some.pairs == ("script", "real")
    assert [line.what for line in some.plan("smoke").lines] == ["script", "real"]
    assert TABLE.pairs == tuple(PAIRS)
