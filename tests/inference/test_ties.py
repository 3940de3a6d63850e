"""Ranks among all, with ties that do not depend on who came first."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rdiv.inference.ties import TIE_TOLERANCE, at_least, upper_counts

numbers = st.lists(
    st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6), st.just(np.inf)),
    min_size=1,
    max_size=30,
)


@given(numbers)
def test_counts_are_those_of_the_definition(values: list[float]) -> None:
    array = np.round(np.array(values), 3)  # either equal or far apart
    expected = [sum(other >= value for other in array) for value in array]
    assert upper_counts(array).tolist() == expected


@given(numbers, st.randoms())
def test_exchanging_rows_exchanges_counts(values: list[float], random: object) -> None:
    array = np.array(values)
    order = np.array(random.sample(range(len(array)), len(array)))
    assert upper_counts(array[order]).tolist() == upper_counts(array)[order].tolist()


def test_last_bits_do_not_break_ties() -> None:
    values = np.array([1.0, 1.0 + 1e-15, 1.0 - 1e-15, 2.0])
    assert upper_counts(values).tolist() == [4, 4, 4, 1]
    assert at_least(values, 1.0 + 1e-15).all()
    apart = np.array([1.0, 1.0 + 10 * TIE_TOLERANCE])
    assert upper_counts(apart).tolist() == [2, 1]
