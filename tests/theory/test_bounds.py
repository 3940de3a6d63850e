"""The bounds: printed formulas by hand, sharper ones below them, monotone, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdiv import theory

SAMPLE: dict[str, Any] = {"l_divergence": 0.1, "complexity_p": 0.02, "complexity_q": 0.03}
NETWORK: dict[str, Any] = {"lipschitz": 1.5, "radius": 2.0, "norms": [1.0, 3.0]}
GENERAL = (theory.general_bound, theory.sharp_general_bound)
DEVIATION = (theory.deviation_bound, theory.sharp_deviation_bound)
OF_NETWORK = (theory.network_bound, theory.sharp_network_bound)
CONDITIONAL = (theory.conditional_bound, theory.sharp_conditional_bound)


def test_the_printed_formulas_by_hand() -> None:
    deep = 1.5 * 2 * (math.sqrt(4 * math.log(2)) + 1) * 3 / 10
    tail = math.sqrt(math.log(160) / 100)
    assert theory.general_bound(n=100, c=2, delta=0.05, **SAMPLE) == pytest.approx(0.3 + 24 * tail)
    assert theory.deviation_bound(n=100, c=2, **SAMPLE) == pytest.approx(
        6.8 + math.sqrt(2 * math.pi) * 0.3
    )
    assert theory.network_bound(
        n=100, c=2, delta=0.05, l_divergence=0.1, **NETWORK
    ) == pytest.approx(0.2 + 4 * deep + 24 * tail)
    assert theory.conditional_bound(n=100, c=2, delta=0.05, **NETWORK) == pytest.approx(
        8 * deep + 44 * math.sqrt(math.log(320) / 100)
    )
    assert theory.limit_bound(l_divergence=0.4, r_divergence=0.1) == pytest.approx(0.9)


def test_the_sharper_formulas_by_hand() -> None:
    assert theory.sharp_general_bound(n=100, c=2, delta=0.05, **SAMPLE) == pytest.approx(
        0.2 + 12 * math.sqrt(math.log(60) / 100)
    )
    known = theory.sharp_general_bound(n=100, c=2, delta=0.05, expected=True, **SAMPLE)
    assert known == pytest.approx(0.2 + 4 * math.sqrt(math.log(40) / 100))
    assert theory.sharp_deviation_bound(n=100, c=2, **SAMPLE) == pytest.approx(
        0.2 + 0.4 * math.sqrt(1 + math.log(2))
    )


def test_more_outputs_cost_what_vector_contraction_costs() -> None:
    one = theory.network_complexity(n=9, **NETWORK)
    assert theory.network_complexity(n=9, outputs=5, **NETWORK) == pytest.approx(
        5 * math.sqrt(2) * one
    )


rows = st.integers(1, 10**7)
bound_of_loss = st.floats(1e-3, 1e3)
risk = st.floats(1e-6, 0.999)


def settings_of(bound: Callable[..., float], n: int, c: float, delta: float) -> dict[str, Any]:
    own: dict[str, Any] = {"n": n, "c": c}
    if bound not in DEVIATION:
        own["delta"] = delta
    if bound in (*GENERAL, *DEVIATION):
        own |= {"l_divergence": 1e-3, "complexity_p": 1e-4, "complexity_q": 0.0}
    if bound in OF_NETWORK:
        own["l_divergence"] = 1e-3
    return own | (NETWORK if bound in (*OF_NETWORK, *CONDITIONAL) else {})


@pytest.mark.parametrize("bound", [*GENERAL, *DEVIATION, *OF_NETWORK, *CONDITIONAL])
@given(n=rows, c=bound_of_loss, delta=risk, grown=st.floats(1.01, 5))
def test_monotone_in_rows_loss_and_risk(
    bound: Callable[..., float], n: int, c: float, delta: float, grown: float
) -> None:
    value = bound(**settings_of(bound, n, c, delta))
    assert bound(**settings_of(bound, n + max(1, n // 10), c, delta)) < value
    assert bound(**settings_of(bound, n, c * grown, delta)) > value
    if bound not in DEVIATION:
        assert bound(**settings_of(bound, n, c, delta / grown)) > value


@pytest.mark.parametrize("pair", [GENERAL, DEVIATION, OF_NETWORK, CONDITIONAL])
@given(n=rows, c=bound_of_loss, delta=risk)
def test_sharper_is_never_larger(
    pair: tuple[Callable[..., float], ...], n: int, c: float, delta: float
) -> None:
    printed, sharper = pair
    assert sharper(**settings_of(sharper, n, c, delta)) < printed(
        **settings_of(printed, n, c, delta)
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"delta": 0.0}, "delta must lie strictly between 0 and 1"),
        ({"delta": 1.0}, "delta must lie strictly between 0 and 1"),
        ({"delta": float("nan")}, "delta must lie strictly"),
        ({"n": 0}, "n must be a whole number"),
        ({"n": 2.5}, "n must be a whole number"),
        ({"c": 0.0}, "c must be larger than 0"),
        ({"c": -1.0}, "c must be a finite number"),
        ({"l_divergence": -0.1}, "l_divergence must be a finite number"),
        ({"l_divergence": 4.1}, "l_divergence must be at most 4"),
        ({"complexity_p": 2.1}, "complexity_p must be at most 2"),
        ({"complexity_q": float("inf")}, "complexity_q must be a finite number"),
    ],
)
@pytest.mark.parametrize("bound", GENERAL)
def test_impossible_arguments_are_refused(
    bound: Callable[..., float], change: dict[str, Any], words: str
) -> None:
    given: dict[str, Any] = {"n": 100, "c": 2.0, "delta": 0.05, **SAMPLE, **change}
    with pytest.raises(ValueError, match=words) as refused:
        bound(**given)
    assert str(refused.value).count(".") <= 3
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("norms", [[], [1.0, -2.0], [float("inf")], "12"])
def test_impossible_norms_are_refused(norms: Any) -> None:
    with pytest.raises(ValueError, match="norms"):
        theory.network_bound(
            n=9, c=1, delta=0.1, l_divergence=0, lipschitz=1, radius=1, norms=norms
        )


def test_an_r_divergence_above_the_l_divergence_is_refused() -> None:
    with pytest.raises(ValueError, match=r"r_divergence must be at most 0\.1"):
        theory.limit_bound(l_divergence=0.1, r_divergence=0.2)
