"""Kernel density against scipy and against slow loops; bad shapes of data simply work."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import gaussian_kde, multivariate_normal

from rdiv.models import kernel_density
from rdiv.models.kernel_density import FittedKernelDensity, KernelDensity, tiled_sums
from rdiv.samples.pool import Pool

pytestmark = pytest.mark.trains

RNG = np.random.default_rng(99)  # handed to fits, which do not use it


def correlated(n: int, d: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 5.0


def fit(x: np.ndarray, **settings: Any) -> FittedKernelDensity:
    return KernelDensity(**settings).fit(Pool(x), RNG)


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("bandwidth", ["scott", "silverman", 0.3, 1])
def test_agrees_with_scipy(d: int, bandwidth: Any) -> None:
    x = correlated(700, d)
    fresh = x[:300] + 0.5 * correlated(300, d, seed=1) - 2.5
    expected = gaussian_kde(x.T, bw_method=bandwidth)
    fitted = fit(x, bandwidth=bandwidth)
    np.testing.assert_allclose(fitted.factor, expected.factor, rtol=1e-14)
    for rows in (x, fresh):
        np.testing.assert_allclose(
            fitted.log_density(rows), expected.logpdf(rows.T), rtol=0, atol=1e-8
        )
    np.testing.assert_allclose(
        -fitted.losses(Pool(x)), np.log(expected.evaluate(x.T)), rtol=0, atol=1e-8
    )


def test_agrees_with_scipy_when_rows_repeat() -> None:
    x = correlated(300, 2)[np.random.default_rng(1).integers(0, 100, size=300)]
    expected = gaussian_kde(x.T).logpdf(x.T)
    np.testing.assert_allclose(-fit(x, bandwidth="scott").losses(Pool(x)), expected, atol=1e-8)


def test_diagonal_whitening_is_a_product_of_normal_densities() -> None:
    x, h = correlated(60, 3), 0.4
    fresh = correlated(20, 3, seed=1)
    widths = h * x.std(axis=0, ddof=1)
    expected = np.empty(len(fresh))
    for i, row in enumerate(fresh):
        terms = [
            sum(
                -0.5 * ((a - b) / w) ** 2 - np.log(w) - 0.5 * np.log(2 * np.pi)
                for a, b, w in zip(row, other, widths, strict=True)
            )
            for other in x
        ]
        expected[i] = logsumexp(terms) - np.log(len(x))
    fitted = fit(x, bandwidth=h, whitening="diagonal")
    np.testing.assert_allclose(fitted.log_density(fresh), expected, atol=1e-10)


def loo_on_a_grid(x: np.ndarray, covariance: np.ndarray) -> float:
    """Factor with the largest leave-one-out likelihood, a row's copies left out with it."""
    n, d = x.shape
    difference = x[:, None] - x
    distance = np.einsum("ijk,kl,ijl->ij", difference, np.linalg.inv(covariance), difference)
    distance[(difference == 0).all(axis=2)] = np.inf
    grid = np.geomspace(0.05, 3, 400) * n ** (-1 / (d + 4))
    likelihood = [logsumexp(-distance / (2 * h**2), axis=1).mean() - d * np.log(h) for h in grid]
    return float(grid[np.argmax(likelihood)])


@pytest.mark.parametrize("case", ["normal", "two clusters", "heavy tails", "copies"])
def test_loo_factor_maximises_the_likelihood(case: str) -> None:
    rng = np.random.default_rng(3)
    x = {
        "normal": correlated(120, 2),
        "two clusters": rng.normal(size=(120, 2)) + 9.0 * rng.integers(0, 2, size=(120, 1)),
        "heavy tails": rng.standard_t(3, size=(120, 1)),
        "copies": correlated(60, 2)[rng.integers(0, 60, size=120)],
    }[case]
    covariance = np.atleast_2d(np.cov(x.T))
    np.testing.assert_allclose(fit(x).factor, loo_on_a_grid(x, covariance), rtol=0.02)


def test_loo_on_many_rows_uses_the_first_and_rescales(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_density, "LOO_ROWS", 100)
    x = correlated(400, 2)
    expected = loo_on_a_grid(x[:100], np.cov(x.T)) * (100 / 400) ** (1 / 6)
    np.testing.assert_allclose(fit(x).factor, expected, rtol=0.02)


def test_each_row_twice_has_the_factor_of_half_the_rows() -> None:
    x = correlated(200, 2)
    once, twice = fit(x).factor, fit(np.repeat(x, 2, axis=0)).factor
    np.testing.assert_allclose(twice, once, rtol=0.02)


@pytest.mark.parametrize("distinct", [1, 2])
def test_fewer_than_three_distinct_rows_fall_back_to_scott(distinct: int) -> None:
    x = np.repeat(correlated(distinct, 2), 6 // distinct, axis=0)
    assert fit(x, whitening="diagonal").factor == pytest.approx(
        fit(x, bandwidth="scott", whitening="diagonal").factor
    )


def awkward_tables() -> dict[str, np.ndarray]:
    x = correlated(40, 3)
    scales = 10.0 ** np.array([-300, 0, 300])
    outlier = np.random.default_rng(5).normal(size=(40, 2))
    outlier[7, 0] = 1e300
    return {
        "constant column": np.column_stack([x, np.full(40, 0.1)]),
        "constant, huge": np.column_stack([x, np.full(40, 1e308)]),
        "duplicated rows": np.repeat(x, 5, axis=0),
        "all rows equal": np.full((10, 3), 0.1),
        "more columns than rows": correlated(10, 3)[:, :1] + correlated(10, 50, seed=2),
        "as many columns as rows": correlated(12, 12),
        "perfectly correlated": np.column_stack([x, x @ [1.0, -2.0, 3.0], x[:, 0]]),
        "mixed scales": (x - 5) * scales,
        "largest floats": np.sign(x - 5) * 1.7e308 * np.abs(np.sin(x)),
        "subnormal": np.round(4 * x) * 5e-324,
        "nearly constant": 1.0 + np.spacing(1.0) * np.round(x),
        "far outlier": outlier,
        "two rows": x[:2],
        "one row": x[:1],
        "integers": np.round(x).astype(int).astype(float),
        "images": np.random.default_rng(0).random((20, 1, 4, 4)),
        "float32 input": x.astype(np.float32),
    }


@pytest.mark.parametrize("whitening", ["full", "diagonal"])
@pytest.mark.parametrize("name", list(awkward_tables()))
def test_awkward_tables_simply_work(name: str, whitening: Any) -> None:
    x = awkward_tables()[name]
    before = x.copy()
    fitted = fit(x, whitening=whitening)
    losses = fitted.losses(Pool(x))
    assert losses.shape == (len(x),)
    assert losses.dtype == np.float64
    assert np.isfinite(losses).all()
    assert np.isfinite(fitted.log_density(x[::-1] * 0.5 + 1)).all()
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(fit(x, whitening=whitening).losses(Pool(x)), losses)


@pytest.mark.parametrize("whitening", ["full", "diagonal"])
def test_losses_follow_the_units_of_the_columns(whitening: Any) -> None:
    x = correlated(80, 3)
    units = 2.0 ** np.array([-900, 3, 900])
    plain, scaled = (fit(v, whitening=whitening).losses(Pool(v)) for v in (x, x * units))
    np.testing.assert_allclose(scaled - plain, np.log(units).sum(), atol=1e-9)


def test_full_whitening_does_not_see_a_linear_map() -> None:
    x = correlated(80, 3)
    mixing = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0], [1.0, 0.0, 1.0]])
    assert fit(x @ mixing).factor == pytest.approx(fit(x).factor, rel=0.01)
    plain, mixed = (fit(v, bandwidth="scott").losses(Pool(v)) for v in (x, x @ mixing))
    np.testing.assert_allclose(mixed - plain, np.log(abs(np.linalg.det(mixing))), atol=1e-8)


def test_columns_without_news_change_no_difference_of_losses() -> None:
    x = correlated(80, 2)
    plain = fit(x).losses(Pool(x))
    constant = np.column_stack([x, np.full(80, 7.0)])
    wider = fit(constant).losses(Pool(constant))
    np.testing.assert_allclose(wider - wider[0], plain - plain[0], atol=1e-10)


def test_few_rows_in_many_columns_agree_with_the_floored_covariance() -> None:
    x, fresh = correlated(8, 20), correlated(3, 20, seed=1)
    scale = x.std(axis=0, ddof=1)
    variances, axes = np.linalg.eigh(np.corrcoef(x.T))
    variances = np.maximum(variances, 1e-6 * variances.max())
    whiten = axes / np.sqrt(variances) / scale[:, None]
    distances = (((fresh[:, None] - x) @ whiten) ** 2).sum(axis=2)
    volume = 10 * np.log(2 * np.pi) + np.log(scale).sum() + np.log(variances).sum() / 2
    expected = logsumexp(-distances / 2, axis=1) - np.log(8) - volume
    np.testing.assert_allclose(fit(x, bandwidth=1.0).log_density(fresh), expected, rtol=1e-9)


@pytest.mark.parametrize("n", [1300, 1024])
def test_symmetric_tiles_equal_general_tiles(n: int) -> None:
    rows = np.random.default_rng(0).normal(size=(n, 4)) / 0.3
    counts = np.random.default_rng(1).integers(1, 4, size=n).astype(float)
    symmetric = tiled_sums(rows, None, counts)
    general = tiled_sums(rows, rows, counts)
    np.testing.assert_allclose(np.log(symmetric), np.log(general), rtol=0, atol=1e-12)


def test_own_rows_equal_the_same_rows_among_others() -> None:
    x = correlated(1200, 3)
    fitted = fit(x)
    among_others = fitted.log_density(np.vstack([correlated(50, 3, seed=4), x]))[50:]
    np.testing.assert_allclose(-fitted.losses(Pool(x)), among_others, rtol=0, atol=1e-12)


def test_far_rows_have_large_finite_losses() -> None:
    x = np.random.default_rng(0).normal(size=(50, 2))
    fitted = fit(x, bandwidth=0.5)
    away = np.array([20.0, 60.0, 1e3, 1e6, 1e12])[:, None] * [1.0, 1.0]
    expected = gaussian_kde(x.T, bw_method=0.5).logpdf(away.T)
    np.testing.assert_allclose(fitted.log_density(away), expected, rtol=1e-9)
    losses = fitted.losses(Pool(np.array([[1e50, 0.0], [1e300, 0.0], [-1e308, 1e308]])))
    assert np.isfinite(losses).all()
    assert losses.min() > 1e90


def test_tiny_bandwidth_keeps_its_digits() -> None:
    x = np.random.default_rng(0).normal(size=(200, 1))
    fitted = fit(x, bandwidth=1e-6)
    expected = gaussian_kde(x.T, bw_method=1e-6).logpdf(x.T)
    np.testing.assert_allclose(-fitted.losses(Pool(x)), expected, atol=1e-8)


def test_rows_off_a_constant_column_pay_for_it() -> None:
    x = np.column_stack([correlated(50, 1), np.full(50, 3.0)])
    at, off = fit(x).log_density(x[:1]), fit(x).log_density(x[:1] + np.array([0.0, 1.0]))
    np.testing.assert_allclose(at - off, 0.5 / fit(x).factor ** 2)


def test_equal_rows_have_equal_losses_and_the_order_does_not_matter() -> None:
    x = np.repeat(correlated(700, 3), 2, axis=0)
    order = np.random.default_rng(0).permutation(len(x))
    losses = fit(x, bandwidth="scott").losses(Pool(x))
    np.testing.assert_array_equal(losses[::2], losses[1::2])
    shuffled = fit(x[order], bandwidth="scott").losses(Pool(x[order]))
    np.testing.assert_array_equal(shuffled, losses[order])


def test_pickles() -> None:
    x = correlated(30, 2)
    fitted = fit(x)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.losses(Pool(x)), fitted.losses(Pool(x)))
    assert pickle.loads(pickle.dumps(KernelDensity(0.5))) == KernelDensity(0.5)


def test_bad_inputs_are_named() -> None:
    x = correlated(30, 2)
    x[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"kde needs finite inputs, got 1 NaN .* column 1"):
        fit(x)
    with pytest.raises(ValueError, match="fitted to 2 columns, got 3"):
        fit(correlated(30, 2)).log_density(np.zeros((4, 3)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bandwidth": "scot"}, "bandwidth must be one of loo, scott, silverman, got 'scot'"),
        ({"bandwidth": 0.0}, "bandwidth must be a positive number, got 0.0"),
        ({"bandwidth": float("nan")}, "bandwidth must be a positive number, got nan"),
        ({"whitening": "none"}, "whitening must be one of full, diagonal, got 'none'"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KernelDensity(**settings)


def test_a_refit_keeps_bandwidth_and_whitening() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2)) * [1.0, 5.0]
    fitted = KernelDensity().fit(Pool(x), rng)
    again = fitted.refit(Pool(x[:20]), rng)
    covariance = np.cov(x.T) * fitted.factor**2
    expected = [
        -np.log(np.mean([multivariate_normal(row, covariance).pdf(x[3]) for row in x[:20]]))
    ]
    np.testing.assert_allclose(again.losses(Pool(x[3:4])), expected, rtol=1e-6)
    np.testing.assert_allclose(fitted.refit(Pool(x), rng).losses(Pool(x)), fitted.losses(Pool(x)))
