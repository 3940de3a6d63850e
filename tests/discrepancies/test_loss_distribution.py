"""ks-loss against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp, wasserstein_distance

from rdiv import two_sample_test
from rdiv.discrepancies import LossDistribution
from rdiv.inference.masks import random_subsets
from rdiv.samples.pool import Pool


class Given:
    """A model whose loss is the input itself."""

    def fit(self, pool, rng):
        del rng
        return self

    def losses(self, pool):
        return pool.numbers()[:, 0]


@pytest.mark.parametrize("ties", [False, True])
def test_agrees_with_scipy_for_every_mask(ties: bool) -> None:
    rng = np.random.default_rng(0)
    losses = rng.integers(4, size=40).astype(float) if ties else rng.normal(size=40)
    pool, masks = Pool(losses[:, None]), random_subsets(rng, 6, 40, 13)
    ks = LossDistribution(Given()).prepare(pool, rng).statistic(masks)
    area = LossDistribution(Given(), "wasserstein").prepare(pool, rng).statistic(masks)
    for i, mask in enumerate(masks):
        assert ks[i] == pytest.approx(ks_2samp(losses[mask], losses[~mask]).statistic)
        assert area[i] == pytest.approx(wasserstein_distance(losses[mask], losses[~mask]))


def test_sees_what_the_mean_does_not() -> None:
    rng = np.random.default_rng(1)
    p, q = rng.normal(size=(300, 1)), rng.choice([-1.0, 1.0], size=(300, 1))
    assert two_sample_test(p, q, LossDistribution(Given()), rng=0).pvalue == 0.001
    assert two_sample_test(p, q, "r-div", model=Given(), rng=0).pvalue > 0.05


def test_constant_losses_are_no_difference() -> None:
    x = np.zeros((20, 1))
    for distance in ("ks", "wasserstein"):
        result = two_sample_test(x[:8], x[8:], LossDistribution(Given(), distance), rng=0)
        assert (result.statistic, result.pvalue) == (0.0, 1.0)


def test_an_unknown_distance_is_refused() -> None:
    with pytest.raises(ValueError, match="'ks' or 'wasserstein'"):
        LossDistribution("kde", "energy")  # type: ignore[arg-type]
