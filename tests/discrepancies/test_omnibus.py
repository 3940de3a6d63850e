"""Omnibus: its members on the same permutations, one fit, and learners on the held-out half."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

import rdiv
from rdiv.discrepancies import Energy, GaussianMmd, Omnibus, Prepared, RDivergence, Score
from rdiv.inference.combining import min_p
from rdiv.inference.engine import PermutationSettings, permutation_pvalue, permute
from rdiv.models import KernelDensity, Ridge
from rdiv.samples import Pool

RNG = np.random.default_rng
X = RNG(0).normal(size=(80, 2))
Y = X[:, 0] + RNG(1).normal(size=80)
P, Q = (X[:40], Y[:40]), (X[40:], Y[40:])


def test_it_is_the_nested_minimum_of_its_members() -> None:
    pool, is_p = Pool(X, y=Y, task="regression"), np.arange(80) < 40
    prepared = Omnibus(Ridge()).prepare(pool, RNG(0))
    assert prepared.parts == ("r-div", "score ridge", "score l4")
    null = permute(prepared, is_p, PermutationSettings(n_resamples=99), rng=RNG(1))
    members = [test.prepare(pool, RNG(0)) for test in (RDivergence(Ridge()), Score(Ridge()))]
    columns = [
        permute(m, is_p, PermutationSettings(n_resamples=99), rng=RNG(1)).parts for m in members
    ]
    np.testing.assert_allclose(null.parts, np.concatenate(columns, axis=1), rtol=1e-12)
    combined = min_p(np.stack([columns[0][:, 0], min_p(columns[1])], axis=1))
    assert null.pvalue == permutation_pvalue(combined[0], combined[1:])


def test_the_result_has_the_p_values_of_its_parts() -> None:
    result = rdiv.two_sample_test(P, Q, "omnibus", model="ridge", n_resamples=99, rng=0)
    assert result.model == "ridge"
    alone = rdiv.two_sample_test(P, Q, "r-div", model="ridge", n_resamples=99, rng=0)
    assert result.notes["pvalues"]["r-div"] == alone.pvalue
    assert f"parts: r-div p = {alone.pvalue:.3g}, score ridge p = " in str(result)
    assert (result.risk_p, result.risk_q) == (alone.risk_p, alone.risk_q)


@dataclass(frozen=True)
class Counting:
    """Ridge regression that counts its fits."""

    fits: list[int] = field(default_factory=list, compare=False, hash=False)

    task = "regression"

    def fit(self, pool: Pool, rng: np.random.Generator) -> Any:
        self.fits.append(len(pool))
        return Ridge().fit(pool, rng)


def test_equal_models_are_fitted_once() -> None:
    model = Counting()
    rdiv.two_sample_test(P, Q, "omnibus", model=model, n_resamples=19, rng=0)
    assert model.fits == [80]
    members = [RDivergence(model), Score(model), RDivergence(Counting())]
    rdiv.two_sample_test(P, Q, Omnibus(members=members), n_resamples=19, rng=0)
    assert model.fits == [80, 80]


def test_any_members_in_levels() -> None:
    members = [
        (RDivergence(KernelDensity()), RDivergence("gmm")),
        (Score("gmm"), Score(KernelDensity())),
        Energy(),
    ]
    omnibus = Omnibus(members=members)
    result = rdiv.two_sample_test(X[:40], X[40:] + 1, omnibus, n_resamples=99, rng=0)
    assert result.rejected
    assert list(result.notes["pvalues"]) == [
        "r-div kde or r-div gmm r-div kde",
        "r-div kde or r-div gmm r-div gmm",
        "score gmm or score kde score gmm ridge",
        "score gmm or score kde score gmm l4",
        "score gmm or score kde score kde ridge",
        "score gmm or score kde score kde l4",
        "energy",
    ]


def test_with_a_learner_all_members_work_on_the_held_out_half() -> None:
    omnibus = Omnibus(members=[GaussianMmd("power"), Energy()])
    assert omnibus.learns
    result = rdiv.two_sample_test(X[:40], X[40:] + 2, omnibus, n_resamples=99, rng=0)
    assert result.notes["rows tested"] == 40
    assert result.rejected
    assert not Omnibus(members=[Energy()]).learns


class TestInputs:
    def test_they_take_part_where_there_is_no_target(self) -> None:
        pool = Pool(X)
        beside, alone = (Omnibus("gmm", inputs=how).prepare(pool, RNG(0)) for how in (None, False))
        assert beside.parts == (
            "r-div", "score ridge", "score l4", "distances of values", "distances of scores",
            "columns", "pairs", "relations",
        )  # fmt: skip
        assert alone.parts == ("r-div", "score ridge", "score l4")
        supervised = Pool(X, y=Y, task="regression")
        assert "columns" not in Omnibus("ridge").prepare(supervised, RNG(0)).parts
        assert "columns" in Omnibus("ridge", inputs=True).prepare(supervised, RNG(0)).parts

    @pytest.mark.parametrize("wide", [False, True])
    def test_their_p_values_are_weighted(self, wide: bool) -> None:
        """Few continuous columns: r-div and score count most; in other tables distances do."""
        x = RNG(3).normal(size=(80, 12)) if wide else X
        null = permute(
            Omnibus("gmm").prepare(Pool(x), RNG(0)), np.arange(80) < 40,
            PermutationSettings(n_resamples=99), rng=RNG(1),
        )  # fmt: skip
        pvalues = np.array([[(c >= v * (1 - 1e-10)).mean() for v in c] for c in null.parts.T])
        weights = (
            [0.12, 0.20, 0.10, 0.3375, 0.1125, 0.12, 0.08, 0.08]
            if wide
            else [0.35, 0.25, 0.05, 0.1956522, 0.0543478, 0.07, 0.03, 0.03]
        )
        strength = ((np.array(weights)[:, None] / pvalues) ** 2).sum(axis=0)
        assert null.pvalue == permutation_pvalue(strength[0], strength[1:])

    def test_a_model_without_gradients_has_r_div_beside_them(self) -> None:
        forest = IsolationForest(n_estimators=10)
        result = rdiv.two_sample_test(
            X[:40], X[40:] + 1, "omnibus", model=forest, n_resamples=99, rng=0
        )
        assert result.rejected
        assert list(result.notes["pvalues"]) == [
            "r-div", "distances of values", "distances of scores", "columns", "pairs", "relations"
        ]  # fmt: skip

    def test_they_go_with_a_model(self) -> None:
        with pytest.raises(ValueError, match="goes with a model"):
            Omnibus(members=[Energy()], inputs=True)

    def test_ten_rows_of_current_are_enough_for_a_shift(self) -> None:
        found = [
            rdiv.two_sample_test(
                RNG([1, k]).normal(size=(150, 6)), RNG([2, k]).normal(0.8, 1, size=(10, 6)),
                "omnibus", model="gmm", n_resamples=99, rng=k,
            ).rejected
            for k in range(12)
        ]  # fmt: skip
        assert sum(found) >= 10  # with power .95 this fails once in 50


def test_a_single_member_is_that_member() -> None:
    one = rdiv.two_sample_test(X[:40], X[40:], Omnibus(members=[Energy()]), n_resamples=99, rng=0)
    alone = rdiv.two_sample_test(X[:40], X[40:], Energy(), n_resamples=99, rng=0)
    assert one.pvalue == alone.pvalue


def test_tests_that_refit_are_refused() -> None:
    class Refitting:
        def prepare(self, pool: Pool, rng: np.random.Generator) -> Prepared:
            return Prepared(lambda masks: masks[:, 0] * 1.0, refits=True)

    with pytest.raises(ValueError, match="cannot be combined"):
        rdiv.two_sample_test(X[:40], X[40:], Omnibus(members=[Refitting(), Energy()]))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "got neither"),
        ({"model": Ridge(), "members": [Energy()]}, "got both"),
        ({"members": []}, "at least one"),
        ({"members": "energy"}, "as an object"),
    ],
)
def test_bad_settings(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Omnibus(**settings)


def test_members_must_be_discrepancies() -> None:
    for wrong in ("energy", Energy, 3):
        with pytest.raises(TypeError, match="must be a discrepancy"):
            Omnibus(members=[wrong, Energy()])
