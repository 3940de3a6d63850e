"""The density of mixed tables: bounded losses, few gradients, blind to the samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.calibration import mixed_tables as calibration
from numpy.typing import NDArray
from scipy.special import ndtri

import rdiv
from rdiv.discrepancies import Omnibus, Score
from rdiv.models import GaussianMixture, KernelDensity, MixedDensity, PrincipalComponents
from rdiv.models.encoding import LARGEST, fit_encoding
from rdiv.models.gaussian_mixture import (
    MIXTURE_GRADIENTS,
    bounded_mixture_gradients,
    mixture_gradients,
)
from rdiv.models.gradient_width import MOST_GRADIENTS, column_sums, gradient_width
from rdiv.models.mixed import FittedFewColumns, FittedMixedDensity, _gaussian
from rdiv.samples import Pool, pool_samples

RNG = np.random.default_rng


def encoded(frame: pl.DataFrame) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    found = Pool(frame).by_kind()
    encoding = fit_encoding(found)
    return encoding.owners, encoding.apply(found)


HOSTILE = {
    "wild numbers": lambda n, rng: pl.DataFrame(
        {
            "huge": 10.0 ** rng.uniform(-300, 300, n) * rng.choice([-1, 1], n),
            "cauchy": rng.standard_cauchy(n),
            "mostly 0": np.where(rng.random(n) < 0.95, 0.0, rng.lognormal(5, 3, n)),
            "one far": np.where(np.arange(n) == 0, 1e18, rng.normal(size=n)),
        }
    ),
    "a level per row": lambda n, rng: pl.DataFrame(
        {
            "code": [f"{v:x}" for v in rng.integers(10**12, size=n)],
            "rare": [str(v) for v in rng.zipf(1.3, size=n)],
            "yes": [None if v < 0.5 else bool(v < 0.6) for v in rng.random(n)],
        }
    ),
    "long and short texts": lambda n, rng: pl.DataFrame(
        {"note": ["x " * int(v) + str(v) for v in rng.zipf(1.5, size=n).clip(max=2000)]}
    ),
    "lists with holes": lambda n, rng: pl.DataFrame(
        {"list": [[None if u < 0.5 else float(u) for u in row] for row in rng.random((n, 12))]}
    ),
}


class TestEncoding:
    def test_scores_by_hand(self) -> None:
        _, numbers = encoded(pl.DataFrame({"a": [3.0, None, 1.0, 1.0, 9.0]}))
        scores = ndtri([0.25, 0.25, 0.625, 0.875])
        scores = (scores - scores.mean()) / scores.std()
        np.testing.assert_allclose(numbers[:, 0], [scores[2], 0, scores[0], scores[0], scores[3]])

    def test_missing_cells_and_levels_by_hand(self) -> None:
        owners, numbers = encoded(
            pl.DataFrame({"a": [1.0, None, 2.0, 3.0], "t": ["x", "y", "x", "x"]})
        )
        assert owners == ("a", "a", "t")
        units = np.array([-1, 3, -1, -1]) / np.sqrt(3) * np.sqrt(1 / 11)
        np.testing.assert_allclose(numbers[:, 1], units)
        np.testing.assert_allclose(numbers[:, 2], units)

    def test_the_loss_of_a_level_is_its_smoothed_log_frequency(self) -> None:
        found = Pool(pl.DataFrame({"t": ["x", "y", "x", "x"]})).by_kind()
        losses = fit_encoding(found).level_losses(found)
        np.testing.assert_allclose(losses[:2], -np.log([3.5 / 6, 1.5 / 6]))  # 4 codes, 0.5 each

    def test_units_and_monotone_changes_do_not_matter(self) -> None:
        x = RNG(0).normal(size=50)
        _, numbers = encoded(pl.DataFrame({"a": x, "b": np.exp(x), "c": 1e300 * x}))
        np.testing.assert_array_equal(numbers[:, 0], numbers[:, 1])
        np.testing.assert_array_equal(numbers[:, 0], numbers[:, 2])

    def test_columns_over_all_magnitudes_have_finite_scores(self) -> None:
        """Slopes between values of 1e-300 and 1e300 of one another must not overflow."""
        rng = RNG(0)
        x = 10.0 ** rng.uniform(-320, 300, size=(200, 1))
        some, all_rows = Pool(x[:100]).by_kind(), Pool(x).by_kind()
        scores = fit_encoding(some).apply(all_rows)[:, 0]
        assert np.isfinite(scores).all()
        assert (np.diff(scores[np.argsort(x[:, 0])]) >= 0).all()

    def test_rows_never_seen(self) -> None:
        known = Pool(pl.DataFrame({"a": [1.0, 2.0, 4.0], "t": ["x", "y", "x"]}))
        encoding = fit_encoding(known.by_kind())
        later = Pool(pl.DataFrame({"a": [1e300, 3.0, None], "t": ["new", "x", None]})).like(known)
        numbers = encoding.apply(later.by_kind())
        inside = encoding.apply(known.by_kind())
        assert numbers[0, 0] == inside[:, 0].max() + 1
        assert inside[1, 0] < numbers[1, 0] < inside[2, 0]
        assert np.abs(numbers).max() <= LARGEST
        assert np.isfinite(encoding.level_losses(later.by_kind())).all()


class TestLosses:
    def test_against_the_formula(self) -> None:
        """Without shrinkage worth a name: marginals and the Gaussian ratio, computed plainly."""
        x = RNG(1).normal(size=(3000, 12)) @ (np.eye(12) + 0.3 * np.eye(12, k=1))
        pool = Pool(x)
        fitted = MixedDensity().fit(pool, RNG(0))
        assert isinstance(fitted, FittedMixedDensity)
        u = fitted.encoding.apply(pool.by_kind())
        covariance = fitted.basis @ np.diag(fitted.variances) @ fitted.basis.T
        np.testing.assert_allclose(covariance, u.T @ u / len(u), atol=0.02)
        inverse = np.linalg.inv(covariance)
        ratio = np.einsum("ij,jk,ik->i", u, inverse - np.eye(12), u)
        ratio = (ratio + np.linalg.slogdet(covariance)[1]) / 2
        bound = 5 * np.sqrt(13)
        expected = 0.5 * (u**2).sum(axis=1) + bound * np.arcsinh(ratio / bound)
        np.testing.assert_allclose(fitted.losses(pool), expected, rtol=1e-9)

    def test_more_columns_than_rows_by_the_dual(self) -> None:
        """The same directions and variances as from the covariance itself."""
        x = RNG(2).normal(size=(20, 30))
        basis, variances, rest = _gaussian(x)
        values = np.linalg.eigvalsh(x.T @ x / 20)[::-1]
        slope, offset = np.polyfit(values[:20], variances, 1)
        np.testing.assert_allclose(variances, offset + slope * values[:20], rtol=1e-8)
        np.testing.assert_allclose(basis.T @ basis, np.eye(20), atol=1e-8)
        assert 0 < slope <= 1
        assert rest == pytest.approx(offset, rel=1e-6)

    @pytest.mark.parametrize("table", [*calibration.TABLES, *HOSTILE])
    def test_random_halves_have_about_the_same_mean_loss(self, table: str) -> None:
        make = calibration.TABLES.get(table) or HOSTILE[table]
        gaps = []
        for seed in range(40):
            rng = RNG([seed, 5])
            pool = pool_samples(*(make(30, rng) for _ in range(2)), rng=seed).pool
            losses = MixedDensity().fit(pool, RNG(0)).losses(pool)
            half = rng.permutation(len(pool)) < 30
            error = np.sqrt(losses[half].var(ddof=1) / 30 + losses[~half].var(ddof=1) / 30)
            gaps.append(abs(losses[half].mean() - losses[~half].mean()) / error)
        assert (np.array(gaps) > 3).sum() <= 2  # normal: 0.0027 of 40 draws; 3 have chance 2e-4

    def test_no_row_decides(self) -> None:
        """Wild numbers, texts and levels in one file: losses stay of one size."""
        rng = RNG(3)
        p = calibration.mixed(60, rng)
        q = calibration.mixed(60, rng).with_columns(
            a=1e300 * (1 + pl.col("b")), level=pl.lit("new")
        )
        result = rdiv.two_sample_test(p, q, folds=5, rng=0, n_resamples=99)
        assert abs(result.statistic) < 30
        assert result.rejected

    def test_few_continuous_columns_have_clusters(self) -> None:
        x = RNG(4).normal(size=(300, 2)) + 6 * RNG(5).integers(2, size=(300, 1))
        pool = Pool(x)
        fitted = MixedDensity().fit(pool, RNG(0))
        assert isinstance(fitted, FittedFewColumns)
        between, inside = fitted.losses(Pool(np.array([[3.0, 3.0], [6.0, 6.0]])))
        assert between > inside + 1
        plain = KernelDensity().fit(pool, RNG(0)).losses(pool)
        assert np.corrcoef(plain, fitted.losses(pool))[0, 1] > 0.99
        far = fitted.losses(Pool(np.array([[1e300, 0.0], [1e9, 1e9]])))
        assert (far < 200).all()

    @pytest.mark.parametrize(
        "frame",
        [
            pl.DataFrame({"a": [1.0] * 9, "t": ["x"] * 9}),
            pl.DataFrame({"a": [None] * 8 + [1.0], "t": [None] * 8 + ["x"]}),
            pl.DataFrame({"t": [f"text {i}" for i in range(9)]}),
        ],
    )
    def test_tables_with_next_to_nothing(self, frame: pl.DataFrame) -> None:
        pool = Pool(frame)
        fitted = MixedDensity().fit(pool, RNG(0))
        assert np.isfinite(fitted.losses(pool)).all()
        gradients = fitted.gradients(pool)
        assert gradients.shape[1] >= 1
        assert np.isfinite(gradients).all()

    @pytest.mark.parametrize("table", calibration.TABLES)
    def test_a_loss_has_the_same_bits_in_any_block(self, table: str) -> None:
        pool = Pool(calibration.TABLES[table](60, RNG(0)))
        fitted = MixedDensity().fit(pool, RNG(0))
        whole = fitted.losses(pool)
        for rows in (np.arange(7), np.array([41]), np.arange(59, 20, -3)):
            assert fitted.losses(pool.take(rows)).tobytes() == whole[rows].tobytes()

    def test_a_refit_keeps_the_encoding(self) -> None:
        pool = Pool(calibration.mixed(60, RNG(0)))
        fitted = MixedDensity().fit(pool, RNG(0))
        again = fitted.refit(pool.take(np.arange(30)), RNG(0))
        assert again.encoding is fitted.encoding
        assert fitted.refit(pool, RNG(0)).losses(pool) == pytest.approx(fitted.losses(pool))


class TestGradients:
    def test_their_columns_and_owners(self) -> None:
        pool = Pool(calibration.mixed(200, RNG(0)))
        fitted = MixedDensity().fit(pool, RNG(0))
        gradients, owners = fitted.gradients(pool), fitted.gradient_owners(pool)
        assert gradients.shape == (200, len(owners))
        u = fitted.encoding.apply(pool.by_kind())
        m, k = u.shape[1], fitted.encoding.n_scores
        np.testing.assert_array_equal(gradients[:, :m], u)
        np.testing.assert_array_equal(gradients[:, m : m + k], u[:, :k] ** 2)
        factors = 1 / fitted.variances - 1 / fitted.rest
        inverse = fitted.basis * factors @ fitted.basis.T
        np.fill_diagonal(inverse, 0.0)
        coupled = u * (u @ inverse)
        own = np.array(fitted.encoding.owners) == "b"
        assert owners[m + k + 1] == "b"
        np.testing.assert_allclose(gradients[:, m + k + 1], coupled[:, own].sum(axis=1), atol=1e-12)

    @pytest.mark.parametrize(
        ("model", "most"),
        [
            (MixedDensity(), MOST_GRADIENTS),
            (GaussianMixture(), MIXTURE_GRADIENTS),
            (PrincipalComponents(), MOST_GRADIENTS),
            (KernelDensity(), MIXTURE_GRADIENTS),
        ],
    )
    def test_they_stay_few(self, model: Any, most: int) -> None:
        pool = Pool(RNG(0).normal(size=(300, 150)))
        gradients = model.fit(pool, RNG(0)).gradients(pool)
        assert gradients.shape[0] == 300
        assert 100 <= gradients.shape[1] <= most

    def test_a_gigabyte_for_a_million_rows(self) -> None:
        assert 8 * 10**6 * gradient_width(10**6) < 1e9
        assert gradient_width(1000) == MOST_GRADIENTS

    def test_sums_of_groups(self) -> None:
        sums = column_sums(10, 4)
        x = RNG(0).normal(size=(5, 10))
        expected = np.zeros((5, 4))
        for j in range(10):
            expected[:, sums.group[j]] += sums.signs[j] * x[:, j]
        np.testing.assert_allclose(sums.apply(x), expected)
        assert column_sums(3, 4).apply(x[:, :3]) is not None
        assert column_sums(10, 4).group.tolist() == sums.group.tolist()

    def test_the_bounded_gradients_of_a_mixture_are_sums_of_its_own(self) -> None:
        from sklearn.mixture import GaussianMixture as Mixture

        x = RNG(0).normal(size=(1100, 25))
        mixture = Mixture(3, random_state=0).fit(x)
        whole, few = mixture_gradients(mixture, x), bounded_mixture_gradients(mixture, x)
        left = np.linalg.lstsq(whole, few, rcond=None)[0]
        np.testing.assert_allclose(whole @ left, few, atol=1e-6)
        assert few.shape[1] == MIXTURE_GRADIENTS < whole.shape[1] < len(x)

    def test_four_components_of_twenty_columns_keep_all_of_theirs(self) -> None:
        from sklearn.mixture import GaussianMixture as Mixture

        x = RNG(0).normal(size=(300, 20))
        mixture = Mixture(4, random_state=0).fit(x)
        few = bounded_mixture_gradients(mixture, x)
        np.testing.assert_array_equal(few, mixture_gradients(mixture, x))

    def test_components_that_move_against_each_other_are_seen_when_bounded(self) -> None:
        from sklearn.mixture import GaussianMixture as Mixture

        def draw(correlation: float, rng: np.random.Generator) -> NDArray[np.float64]:
            x, second = rng.normal(size=(3000, 34)), rng.random(3000) < 0.5
            turned = np.where(second, -correlation, correlation)
            x[:, 1] = turned * x[:, 0] + np.sqrt(1 - correlation**2) * x[:, 1]
            x[second, 2:] += 3.0
            return x

        p, q = draw(0.0, RNG(0)), draw(0.6, RNG(1))
        mixture = Mixture(2, random_state=0).fit(np.vstack([p, q]))
        of_p, of_q = bounded_mixture_gradients(mixture, p), bounded_mixture_gradients(mixture, q)
        moved = of_p.mean(axis=0) - of_q.mean(axis=0)
        z = np.abs(moved) / np.sqrt((of_p.var(axis=0) + of_q.var(axis=0)) / 3000)
        pairs = 34 * 33 // 2
        summed, apart = z[2 + 4 * 34 :][:pairs], z[2 + 4 * 34 + pairs :]
        assert summed.max() < 4.5 < 6 < apart.max()

    @pytest.mark.parametrize("change", ["mean", "scale", "level", "missing", "pair"])
    def test_score_and_r_div_see_what_they_should(self, change: str) -> None:
        rng = RNG(7)

        def draw(moved: str) -> pl.DataFrame:
            x = rng.normal(size=(250, 4))
            x[:, 1] = 0.8 * x[:, 0] + 0.6 * x[:, 1]
            level = rng.choice(list("abc"), 250, p=[0.1, 0.3, 0.6] if moved == "level" else None)
            if moved == "mean":
                x[:, 2] += 0.6
            if moved == "scale":
                x[:, 3] *= 1.8
            if moved == "pair":
                x[:, 1] = rng.permutation(x[:, 1])
            hole = rng.random(250) < (0.35 if moved == "missing" else 0.1)
            x[hole, 3] = np.nan
            return pl.DataFrame(x, schema=list("wxyz"), nan_to_null=True).with_columns(level=level)

        p, q = draw(""), draw(change)
        assert rdiv.two_sample_test(p, q, Omnibus(MixedDensity()), n_resamples=199, rng=0).rejected


class TestCalibration:
    @pytest.mark.parametrize("table", calibration.TABLES)
    def test_false_alarms(self, table: str) -> None:
        found = sum(calibration.false_alarm(table, 10**6 + draw) for draw in range(60))
        assert calibration.within(found, 60)

    @pytest.mark.parametrize("table", ["mixed columns", "90 % missing", "free text"])
    def test_a_preparation_learned_from_p_is_caught(self, table: str) -> None:
        found = sum(calibration.false_alarm(table, 10**6 + k, broken=True) for k in range(20))
        assert not calibration.within(found, 20)

    @pytest.mark.slow
    @pytest.mark.parametrize("table", calibration.TABLES)
    def test_five_thousand_false_alarms(self, table: str) -> None:
        found = sum(calibration.false_alarm(table, draw) for draw in range(5000))
        assert calibration.within(found, 5000)


@pytest.mark.parametrize("table", calibration.TABLES)
def test_moving_rows_between_the_files_changes_no_bit(table: str) -> None:
    whole = calibration.TABLES[table](40, RNG(0))
    evidence = []
    for seed, n_p in ((0, 15), (1, 15), (2, 30)):
        order = RNG(seed).permutation(40)
        pooled = pool_samples(whole[order[:n_p]], whole[order[n_p:]], rng=3)
        fitted = MixedDensity().fit(pooled.pool, pooled.stream("fit"))
        parts = fitted.losses(pooled.pool), fitted.gradients(pooled.pool), pooled.pool.numbers()
        evidence.append([part.tobytes() for part in parts])
    assert evidence[0] == evidence[1] == evidence[2]


TWO = GaussianMixture(components=2, covariance="full")


@dataclass(frozen=True)
class _OfP:
    """Deliberately broken variant: a mixture that is fitted to the rows of p alone."""

    rows: NDArray[np.float64]

    def fit(self, pool: Pool, rng: np.random.Generator) -> Any:
        return TWO.fit(Pool(self.rows), rng)


class TestManyGradientsOfAMixture:
    """45 columns and two components have 2162 gradients, of which 1000 sums are left."""

    def test_moving_rows_between_the_files_changes_no_bit(self) -> None:
        whole, evidence = RNG(0).normal(size=(120, 45)), []
        for seed, n_p in ((0, 50), (1, 50), (2, 90)):
            order = RNG(seed).permutation(120)
            pooled = pool_samples(whole[order[:n_p]], whole[order[n_p:]], rng=3)
            fitted = TWO.fit(pooled.pool, pooled.stream("fit"))
            gradients = fitted.gradients(pooled.pool)
            assert gradients.shape == (120, MIXTURE_GRADIENTS)
            evidence.append(gradients.tobytes())
        assert evidence[0] == evidence[1] == evidence[2]

    @pytest.mark.parametrize("broken", [False, True])
    def test_the_level_of_score(self, broken: bool) -> None:
        alarms = 0
        for seed in range(20 if broken else 100):
            p, q = RNG(seed).normal(size=(2, 60, 45))
            model: Any = _OfP(p) if broken else TWO
            alarms += rdiv.two_sample_test(p, q, Score(model), n_resamples=99, rng=seed).rejected
        assert calibration.within(alarms, 20 if broken else 100) is not broken


def test_the_check_catches_a_preparation_that_sees_the_files() -> None:
    """Deliberately broken variant: ranks of one file only."""
    whole = calibration.mixed(40, RNG(0))
    evidence = []
    for seed in (0, 1):
        order = RNG(seed).permutation(40)
        pooled = pool_samples(whole[order[:15]], whole[order[15:]], rng=3)
        model = calibration.LearnedFromP(pooled.is_p)
        evidence.append(model.fit(pooled.pool, RNG(0)).losses(pooled.pool).tobytes())
    assert evidence[0] != evidence[1]


def test_boosting_splits_categories_by_their_levels() -> None:
    """The target of each of 200 levels is a coin flip: 20 columns of 0 and 1 see little of it."""
    rng = RNG(0)
    levels = rng.integers(0, 200, size=4000)
    coin = rng.integers(2, size=200)
    y = np.where(rng.random(4000) < 0.05, 1 - coin[levels], coin[levels])
    frame = pl.DataFrame({"shop": [f"shop {v}" for v in levels], "x": rng.normal(size=4000)})
    pool = replace(Pool(frame), y=y, task="classification", classes=np.array(["no", "yes"]))
    fitted = rdiv.models.Boosting(iterations=40).fit(pool.take(np.arange(3000)), rng)
    assert fitted.losses(pool.take(np.arange(3000, 4000))).mean() < 0.45  # a coin has 0.69
