"""Columns by weight: gradients belong to their columns, and the family has its level."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import rdiv
from rdiv.discrepancies import Score
from rdiv.drivers import find as finding
from rdiv.drivers.weights import driving_weights
from rdiv.inference.engine import PermutationSettings, permute
from rdiv.models import CrossFit, Logistic
from rdiv.samples import Pool

SETTINGS = PermutationSettings(n_resamples=99)


def gradients(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Of three columns; the last one has two, which go together."""
    own = rng.normal(size=(n, 4))
    own[:, 3] += 3 * own[:, 2]
    return {"a": own[:, :1], "b": own[:, 1:2], "c": own[:, 2:]}


def found_in(own: dict[str, np.ndarray], is_p: np.ndarray, **design: Any) -> Any:
    pool = Pool(np.zeros((len(is_p), 1)), **design)
    owners = [name for name, numbers in own.items() for _ in range(numbers.shape[1])]
    numbers = np.concatenate([np.zeros((len(is_p), 0)), *own.values()], axis=1)
    return driving_weights(pool, numbers, owners, is_p, SETTINGS, rng=np.random.default_rng(0))


class TestTheFamily:
    def test_the_score_is_the_largest_studentised_gap(self) -> None:
        rng = np.random.default_rng(0)
        is_p = np.arange(300) < 120
        own = gradients(300, rng)
        own["c"][~is_p, 1] += 2.0
        found = found_in(own, is_p)
        assert found[0].name == "c"
        assert found[0].pvalue == 0.01
        for column in found:
            sides = own[column.name][~is_p], own[column.name][is_p]
            gap = sides[0].mean(axis=0) - sides[1].mean(axis=0)
            error = np.sqrt(sum(side.var(axis=0, ddof=1) / len(side) for side in sides))
            assert column.score == pytest.approx(np.abs(gap / error).max(), rel=0.01)
        assert [column.pvalue for column in found] == sorted(column.pvalue for column in found)

    def test_any_false_alarm(self) -> None:
        alarms = 0
        for seed in range(80):
            rng = np.random.default_rng([7, seed])
            found = found_in(gradients(120, rng), np.arange(120) < 50)
            alarms += found[0].pvalue <= 0.05
        assert alarms <= binom.isf(1e-3, 80, 0.05)

    def test_groups_are_permuted_whole(self) -> None:
        """Gradients that are the same in a group of ten are worth a tenth of the rows."""
        alarms, alone = 0, 0
        for seed in range(40):
            rng = np.random.default_rng([8, seed])
            own = {"a": np.repeat(rng.normal(size=(40, 1)), 10, axis=0)}
            is_p, codes = np.arange(400) < 200, np.arange(400) // 10
            alarms += found_in(own, is_p, groups=codes)[0].pvalue <= 0.05
            alone += found_in(own, is_p)[0].pvalue <= 0.05
        most = binom.isf(1e-3, 40, 0.05)
        assert alarms <= most < alone

    def test_no_gradients(self) -> None:
        assert found_in({}, np.arange(9) < 4) == ()
        assert found_in({"a": np.zeros((9, 0))}, np.arange(9) < 4) == ()


@pytest.mark.parametrize(("n_p", "leading"), [(90, "r-div"), (100, "in-use")])
def test_the_masks_are_those_of_the_verdict(
    monkeypatch: pytest.MonkeyPatch, n_p: int, leading: str
) -> None:
    """One column of gradients that is the loss itself: the null of the test of the losses."""
    seen = []

    def spying(*given: Any, known: Any, **how: Any) -> Any:
        assert known is not None  # drawn once, for the verdict
        seen.append(permute(*given, **how))
        own = permute(*given, known=known, **how)
        np.testing.assert_array_equal(own.parts, seen[-1].parts)
        return own

    find = finding.find_drivers

    def watching(losses: np.ndarray, *given: Any, searched: Any, **how: Any) -> Any:
        own = replace(searched, gradients=losses[:, None], owners=("loss",))
        return find(losses, *given, searched=own, **how)

    monkeypatch.setattr("rdiv.drivers.weights.permute", spying)
    monkeypatch.setattr("rdiv.comparison.compare.find_drivers", watching)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    found = rdiv.compare((x[:n_p], y[:n_p]), (x[n_p:], y[n_p:]), model="ridge", rng=0)
    assert found.leading == leading
    np.testing.assert_allclose(seen[0].parts[1:, 0], found.results[leading].null_distribution)


class TestOwners:
    def test_they_belong_to_their_columns(self) -> None:
        """A slope that turns round in one column, in a table with levels and missing cells."""
        rng = np.random.default_rng(2)
        n = 2000
        is_p = np.arange(n) < n // 2
        town = rng.choice(["A", "B", "C"], size=n)
        x = rng.normal(size=n)
        y = np.where(is_p, 1, -1) * (town == "B") + rng.normal(size=n)
        frame = pl.DataFrame(
            {"x": np.where(rng.random(n) < 0.1, None, x), "town": town, "z": x + rng.normal(size=n)}
        )
        found = rdiv.compare(
            (frame[: n // 2], y[: n // 2]), (frame[n // 2 :], y[n // 2 :]), model="ridge", rng=0,
            n_resamples=99,
        )  # fmt: skip
        assert [column.name for column in found.drivers.confirmed_weights()] == ["town"]
        named = {column.name: column for column in found.drivers.weights}
        assert named["town"].score > 5 > named["x"].score
        assert "input: town " in str(found)

    @pytest.mark.parametrize("classes", [2, 3])
    @pytest.mark.parametrize("folds", [None, 3])
    def test_gradients_say_which_column_they_belong_to(
        self, classes: int, folds: int | None
    ) -> None:
        """Moving one column changes the gradients that belong to it, and no others of that row."""
        rng = np.random.default_rng(0)
        x, y = rng.normal(3, 2, size=(400, 2)), np.arange(400) % classes
        pool = Pool(x, y=y, task="classification", classes=np.arange(classes))
        model = Logistic() if folds is None else CrossFit(Logistic(), folds)
        prepared = Score(model).prepare(pool, np.random.default_rng(1))
        outputs = 1 if classes == 2 else classes
        assert prepared.gradient_owners == (None, "column 0", "column 1") * outputs
        table = prepared.gradients.reshape(400, outputs, 3)
        scale = (x - x.mean(axis=0)) / x.std(axis=0)
        for j, own in enumerate((1, 2)):
            np.testing.assert_allclose(table[..., own], table[..., 0] * scale[:, j, None])

    def test_gradients_are_taken_by_their_owners(self) -> None:
        """In any order, and those without a column left out: as if each column came alone."""
        rng, is_p = np.random.default_rng(0), np.arange(90) < 40
        own, owners = rng.normal(size=(90, 6)), (None, "a", "b") * 2
        own[~is_p, 0] += 9.0
        found = driving_weights(
            Pool(np.zeros((90, 1))), own, owners, is_p, SETTINGS, rng=np.random.default_rng(0)
        )
        alone = found_in({"a": own[:, 1::3], "b": own[:, 2::3]}, is_p)
        assert [(own.name, own.pvalue) for own in found] == [(o.name, o.pvalue) for o in alone]
        assert [own.score for own in found] == pytest.approx([own.score for own in alone])

    def test_what_has_no_owners_is_said(self) -> None:
        own = np.zeros((5, 6))
        chosen, owners, _ = finding._owned(own, ("a",) * 6, None)
        assert chosen is own
        assert owners == ("a",) * 6
        assert finding._owned(own, ("a",) * 6, np.arange(2))[0].shape == (2, 6)
        other = finding._owned(own, None, None)
        assert other[1] == ()
        assert "parameters" in other[2]
        assert finding._owned(None, None, None)[1] == ()

    def test_a_density_model_has_no_score_by_column(self) -> None:
        rng = np.random.default_rng(0)
        found = rdiv.compare(
            rng.normal(size=(80, 2)), rng.normal(size=(80, 2)), model="gmm", rng=0, n_resamples=39
        )
        assert found.drivers.weights == ()
        assert "parameters" in found.drivers.notes["weights"]
