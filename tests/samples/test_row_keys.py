"""Row keys: equal content, equal key, wherever the row stands; anything else, another key."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdiv.samples import row_keys as row_keys_module
from rdiv.samples.row_keys import (
    array_keys,
    digest,
    number_words,
    places_among,
    row_keys,
    sorted_digest,
    sorted_places,
    text_words,
    tied_places,
)

RNG = np.random.default_rng(0)
PINNED = [
    ["0x17e1eeff8673c8cd", "0xa6dcdb87957c1dba"],
    ["0xe04bf3712dc7c06b", "0x9904891b4c121424"],
]
PINNED_DIGEST = "0xc6d7eb306c68f5fb1a4d54289c31daba"


def distinct(keys: np.ndarray) -> int:
    return len(np.unique(keys, axis=0))


def test_a_key_is_a_function_of_the_row_alone() -> None:
    x = RNG.normal(size=(500, 7))
    keys = array_keys(x)
    order = RNG.permutation(500)
    assert array_keys(x[order]).tobytes() == keys[order].tobytes()
    assert array_keys(x[123:124]).tobytes() == keys[123:124].tobytes()
    assert distinct(keys) == 500


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    from rdiv.samples import row_keys as module

    x = RNG.normal(size=(300, 5))
    keys = array_keys(x)
    monkeypatch.setattr(module, "_BLOCK_WORDS", 64)
    assert array_keys(x).tobytes() == keys.tobytes()


def test_keys_are_the_same_on_every_machine_and_version() -> None:
    """Pinned: another hash would silently change every seeded result."""
    keys = row_keys([np.array([[1, 2], [3, 4]], dtype=np.uint64)])
    assert [[hex(word) for word in row] for row in keys.tolist()] == PINNED
    assert hex(digest(keys)) == PINNED_DIGEST


def test_where_a_value_stands_matters() -> None:
    swapped = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [3.0, 2.0, 1.0], [1.0, 3.0, 2.0]])
    assert distinct(array_keys(swapped)) == 4
    moved = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]])
    assert distinct(array_keys(moved)) == 4
    words = number_words(moved)
    together, apart = row_keys([words]), row_keys([words[:, :1], words[:, 1:]])
    assert together.tobytes() == apart.tobytes()


def test_small_integers_do_not_collide() -> None:
    grid = np.stack(np.meshgrid(*[np.arange(12)] * 4), axis=-1).reshape(-1, 4)
    assert distinct(array_keys(grid)) == 12**4
    assert distinct(array_keys(grid.astype(np.float64))) == 12**4
    assert distinct(array_keys(grid)[:, :1]) == 12**4  # each half of the key does it alone


def test_one_bit_changes_half_of_the_key() -> None:
    words = RNG.integers(0, 2**63, size=(200, 3)).astype(np.uint64)
    before = row_keys([words])
    for bit in (0, 17, 63):
        changed = words.copy()
        changed[:, 1] ^= np.uint64(1) << np.uint64(bit)
        flips = np.unpackbits((row_keys([changed]) ^ before).view(np.uint8)).mean()
        assert abs(flips - 0.5) < 5 * 0.5 / np.sqrt(200 * 128)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64, np.float16, np.float32, np.bool_])
@pytest.mark.parametrize("columns", [1, 3, 8, 9])
def test_keys_are_of_numbers_not_of_their_type(dtype: type, columns: int) -> None:
    x = RNG.integers(0, 2, size=(64, columns)).astype(dtype)
    assert array_keys(x).tobytes() == array_keys(x.astype(np.float64)).tobytes()
    assert distinct(array_keys(x)) == len(np.unique(x, axis=0))


def test_floats_keep_the_keys_they_always_had() -> None:
    """Pinned before integers and single precision got the keys of the same numbers."""
    x = np.array([[0.1, -2.5], [1e300, np.nan]])
    assert array_keys(x).tobytes() == row_keys([x.view(np.uint64)]).tobytes()
    assert hex(digest(array_keys(x))) == "0xcdfe003988ef2747ea08159e35cacbaf"


def test_zero_has_no_sign_and_nan_is_one() -> None:
    zeros = np.array([[0.0, 1.0], [-0.0, 1.0]])
    assert distinct(array_keys(zeros)) == 1
    odd = np.array([np.nan, -np.nan, np.inf - np.inf])
    odd.view(np.uint64)[0] ^= 1
    assert len(np.unique(number_words(odd))) == 1


def test_whole_numbers_beyond_floats_stay_apart() -> None:
    near = 2**53 + np.arange(4)
    assert len(np.unique(number_words(near))) == 4
    even = near[::2]
    assert number_words(even).tobytes() == number_words(even.astype(np.float64)).tobytes()
    low = np.array([-(2**63), -(2**63) + 1, -1])
    high = low.view(np.uint64)  # the same bits, other numbers
    assert len(np.unique(np.concatenate([number_words(low), number_words(high)]))) == 6
    top = np.array([2**63 - 1])
    assert number_words(top).tobytes() == number_words(top.astype(np.uint64)).tobytes()


def test_memory_layout_does_not_matter() -> None:
    x = RNG.normal(size=(20, 6))
    keys = array_keys(x)
    assert array_keys(np.asfortranarray(x)).tobytes() == keys.tobytes()
    assert array_keys(np.repeat(x, 2, axis=1)[:, ::2]).tobytes() == keys.tobytes()
    assert array_keys(x[::-1]).tobytes() == keys[::-1].tobytes()
    assert array_keys(x.reshape(20, 2, 3)).tobytes() == keys.tobytes()


def test_text_has_one_word_a_level() -> None:
    words = text_words(["a", None, "None", "b", "a", "", "1", 1, "é", "\ud800"])
    assert words.shape == (10, 1)
    assert len(np.unique(words)) == 9
    assert words[0] == words[4]
    reordered = text_words(["b", "a"])
    assert reordered[:, 0].tolist() == [words[3, 0], words[0, 0]]


def test_numbers_have_a_word_each() -> None:
    floats = np.array([0.5, 0.25, 1e300, 5e-324, np.nan])
    assert len(np.unique(number_words(floats))) == 5
    assert number_words(floats[:2].astype("f4")).tobytes() == number_words(floats[:2]).tobytes()


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6, unique=True))
def test_the_digest_sees_order_and_content(values: list[int]) -> None:
    keys = row_keys([np.array(values, dtype=np.uint64)[:, None]])
    assert digest(keys) == digest(keys.copy())
    assert digest(keys) >= 0
    if len(values) > 1:
        assert digest(keys) != digest(keys[::-1])
        assert digest(keys) != digest(keys[1:])


def test_places_among_keys_that_share_words() -> None:
    """Both words count, also where many keys share the first one, and the first copy is found."""
    rng = np.random.default_rng(0)
    known = rng.integers(0, 4, size=(40, 2)).astype(np.uint64)
    keys = rng.integers(0, 6, size=(200, 2)).astype(np.uint64)
    slow = [
        next((i for i, own in enumerate(known.tolist()) if own == key), -1) for key in keys.tolist()
    ]
    assert places_among(keys, known).tolist() == slow
    assert places_among(keys, known[:0]).tolist() == [-1] * 200


@pytest.mark.parametrize("words", [3, 2**63], ids=["copies", "hashes"])
@pytest.mark.parametrize("some", [False, True], ids=["all", "some"])
def test_many_keys_are_sorted_by_shares(
    words: int, some: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order, ties and digest are those of one sort of all keys."""
    rng = np.random.default_rng(0)
    keys = rng.integers(0, words, size=(2000, 2)).astype(np.uint64)
    among = rng.permutation(2000)[:900].astype(np.int32) if some else None
    own = keys if among is None else keys[among]
    expected = np.lexsort((own[:, 1], own[:, 0]))
    for at_once, block in ((1 << 21, 1 << 20), (7, 11), (1, 64)):
        monkeypatch.setattr(row_keys_module, "_SORTED_AT_ONCE", at_once)
        monkeypatch.setattr(row_keys_module, "_LOOKED_UP", block)
        np.testing.assert_array_equal(sorted_places(keys, among), expected)
        first = own[expected, 0]
        alike = np.append(first[1:] == first[:-1], False)
        alike[1:] |= alike[:-1].copy()
        np.testing.assert_array_equal(tied_places(keys, expected, among), np.flatnonzero(alike))
        assert sorted_digest(keys, among) == digest(own, expected)


@pytest.mark.parametrize("n", [1, 2, 300])
@pytest.mark.parametrize("leading", [1, 5, 1 << 20])
def test_keys_that_begin_alike_are_sorted_to_their_last_bit(
    monkeypatch: pytest.MonkeyPatch, n: int, leading: int
) -> None:
    """First words that agree in their leading 32 bits, or in all: the order of a stable sort."""
    monkeypatch.setattr(row_keys_module, "_FEWEST_COUNTED", 0)
    rng = np.random.default_rng(n + leading)
    first = rng.integers(leading, size=n).astype(np.uint64) << np.uint64(40)
    first |= rng.integers(3, size=n).astype(np.uint64)
    keys = np.stack([first, rng.integers(2, size=n).astype(np.uint64)], axis=1)
    expected = np.lexsort((keys[:, 1], keys[:, 0]))
    np.testing.assert_array_equal(sorted_places(keys), expected)
