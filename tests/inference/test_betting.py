"""E-processes: fair bets, the same numbers with and without numba, false alarms within alpha."""

from itertools import pairwise, permutations
from math import exp, sqrt

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.integrate import quad

from rdiv.inference.betting import (
    BETS,
    ENOUGH,
    MEAN_BETS,
    Wealth,
    bet_on_mean,
    bet_on_ranks,
    e_detector,
    e_process,
)
from rdiv.inference.conformal import conformal_pvalues


@pytest.mark.parametrize("bet", BETS, ids=lambda bet: bet.name)
def test_bets_on_ranks_are_fair(bet) -> None:
    area, _ = quad(lambda p: float(bet.at(np.array(p))), 0, 1)
    assert abs(area - 1) < 1e-6
    assert (bet.at(np.linspace(1e-9, 1, 1000)) >= 0).all()


def test_weights_add_up() -> None:
    assert abs(sum(bet.weight for bet in BETS) - 1) < 1e-12


def _quadrature(breaks: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights for means over (0, 1) of functions with steps and powers at 0."""
    points, weights = [], []
    for low, high in pairwise(breaks):
        nodes, own = leggauss(12 if low == 0 else 3)
        base, own = (nodes + 1) / 2, own / 2
        if low == 0:  # u = v^20: all powers that are bet on become whole powers of v
            base, own = base**20, own * 20 * base**19
        points.append(low + (high - low) * base)
        weights.append((high - low) * own)
    return np.concatenate(points), np.concatenate(weights)


def test_the_wealth_is_a_martingale_by_enumeration() -> None:
    # Every order of four numbers, two of them the reference; means over draws by quadrature.
    draws, mass = _quadrature((0, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1))  # where 3 or 4 p has a step
    ends, count = np.zeros(2), 0
    for order in permutations([0.3, 1.0, 2.0, 7.0]):
        reference, stream = np.array(order[:2]), np.array(order[2:])
        for u, share in zip(draws, mass, strict=True):
            first, last = conformal_pvalues(reference, stream, np.array([u, 1.0]))
            wealth, _ = Wealth.at_start(2).after(bet_on_ranks(np.array([first])))
            ends[0] += share * wealth.value
            bets = bet_on_ranks((round(4 * last) - 1 + draws) / 4)  # no ties: one gap of four
            ends[1] += share * sum(
                own * wealth.after(bet[:, None])[0].value
                for bet, own in zip(bets.T, mass, strict=True)
            )
        count += 1
    assert np.abs(ends / count - 1).max() < 1e-5


def test_a_mean_at_the_limit_wins_nothing_and_no_factor_is_negative() -> None:
    losses = np.array([0.0, 0.5, 2.5])
    bets = bet_on_mean(losses, 1.0)
    assert bets.shape == (len(MEAN_BETS), 3)
    assert np.allclose(bets.mean(axis=1), 1)
    assert (bets >= 0).all()


@pytest.mark.parametrize("reference", [20.0, float("inf")])
def test_compiled_and_plain_loops_agree_to_the_bit(reference: float) -> None:
    pytest.importorskip("numba")
    bets = bet_on_ranks(1 - np.random.default_rng(0).random(3000))
    start = Wealth.at_start(reference)
    (one, first), (two, second) = (start.after(bets, compiled=how) for how in (True, False))
    assert np.abs(first / second - 1).max() < 1e-12
    assert np.array_equal(one.parts, two.parts)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("compiled", [True, False])
def test_batches_give_the_wealth_of_the_whole_stream(compiled: bool) -> None:
    bets = bet_on_ranks(1 - np.random.default_rng(1).random(700))
    whole, values = Wealth.at_start(50).after(bets, compiled=compiled)
    wealth, found = Wealth.at_start(50), []
    for part in (slice(0, 1), slice(1, 300), slice(300, 700)):
        wealth, more = wealth.after(bets[:, part], compiled=compiled)
        found.append(more)
    assert np.array_equal(np.concatenate(found), values)
    assert np.array_equal(wealth.parts, whole.parts)
    assert (wealth.value, wealth.largest) == (whole.value, values.max())


@pytest.mark.parametrize("compiled", [True, False])
def test_betting_ends_before_numbers_overflow(compiled: bool) -> None:
    bets = bet_on_ranks(np.full(4000, 1e-3))
    wealth, values = Wealth.at_start(1e9).after(bets, compiled=compiled)
    assert ENOUGH <= wealth.value < 1e130
    assert (values[-10:] == wealth.value).all()
    again, more = wealth.after(bets[:, :5], compiled=compiled)
    assert (more == wealth.value).all()
    assert again.rows == 4005


def slow_wealth(pvalues, reference):
    """The mixture written out: every bet from the start, and from every later row."""
    bets, t = bet_on_ranks(pvalues), len(pvalues)
    shares = [bet.weight for bet in BETS]
    waiting = 0.55 / (1 + np.log1p(np.arange(t + 1) / 1000))
    total = waiting[t]
    for share, factors in zip(shares, bets, strict=True):
        shrunk = 1 + (factors - 1) / (1 + np.arange(t) / reference)
        total += 0.45 * share * shrunk.prod()
        for s in range(t):
            total += share * (waiting[s] - waiting[s + 1]) * factors[s:].prod()
    return total


def test_the_wealth_is_the_mixture_over_starts() -> None:
    p = np.random.default_rng(2).random(40) ** 1.5
    assert abs(e_process(p, 30)[-1] / slow_wealth(p, 30) - 1) < 1e-12


@pytest.mark.parametrize("size", [1, 50])
def test_a_quiet_stream_seldom_reaches_the_alarm(size: int) -> None:
    rng, streams = np.random.default_rng(3), 400
    alarms = sum(
        (e_process(conformal_pvalues(x[:size], x[size:], 1 - rng.random(300)), size) >= 10).any()
        for x in rng.standard_t(3, size=(streams, size + 300))
    )
    assert alarms <= streams * 0.1 + 3 * sqrt(streams * 0.09)


def test_a_changed_stream_is_found_early_and_late() -> None:
    rng = np.random.default_rng(4)
    for quiet in (0, 3000):
        x = rng.exponential(size=1000 + quiet + 1000)
        x[1000 + quiet :] *= 1.6
        p = conformal_pvalues(x[:1000], x[1000:], 1 - rng.random(quiet + 1000))
        e = e_process(p, 1000)
        assert e[:quiet].max(initial=0) < 20 < e[quiet:].max()


def test_an_improvement_is_found_too() -> None:
    rng = np.random.default_rng(5)
    x = rng.exponential(size=3000)
    x[1500:] /= 1.6
    assert e_process(conformal_pvalues(x[:1500], x[1500:], 1 - rng.random(1500)), 1500).max() > 20


def test_an_e_detector_restarts_and_seldom_alarms() -> None:
    rng = np.random.default_rng(6)
    weights = np.array([bet.weight for bet in BETS])
    alarms = sum(
        len(e_detector(np.log(bet_on_ranks(1 - rng.random(2000))).T, weights, 200.0))
        for _ in range(30)
    )
    assert alarms <= 30 * 2000 / 200 + 3 * sqrt(300)
    steady = np.full((60, len(weights)), 0.5)
    found = e_detector(steady, weights, 50.0)
    assert len(set(np.diff(found))) == 1
    sums = [0.0]
    while sums[-1] < 50:
        sums.append((sums[-1] + 1) * exp(0.5))
    assert found[0] == len(sums) - 2
