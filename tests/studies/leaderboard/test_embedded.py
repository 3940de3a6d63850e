"""Images by a fixed random network: the network itself, and what is planted in the images."""

from __future__ import annotations

import numpy as np
import pytest

from rdiv.errors import InputError
from rdiv.studies.leaderboard import embedded
from rdiv.studies.leaderboard.embedded import COLUMNS, FILTERS, SIDE, STRIDE, Embedded, embed

IMAGES = np.random.default_rng(0).integers(0, 256, size=(300, 1, 28, 28), dtype=np.uint8)
LABELS = np.arange(300) % 10
FAKE = np.random.default_rng(1).integers(0, 256, size=(200, 1, 28, 28), dtype=np.uint8)


@pytest.fixture(autouse=True)
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_read", lambda images, folder: (IMAGES, LABELS))
    monkeypatch.setattr(embedded, "_read_fake", lambda folder: FAKE)


def slow_embed(image: np.ndarray) -> np.ndarray:
    """The same network, patch by patch."""
    channels = len(image)
    rng = np.random.default_rng([embedded._WEIGHTS, channels])
    filters = rng.normal(size=(channels * SIDE * SIDE, FILTERS)) / SIDE
    filters = filters - filters.mean(axis=0)
    bias = rng.normal(scale=0.1, size=FILTERS)
    starts = range(0, image.shape[1] - SIDE + 1, STRIDE)
    half = len(starts) // 2
    quarters: dict[tuple[bool, bool], list[np.ndarray]] = {}
    for i, top in enumerate(starts):
        for j, left in enumerate(starts):
            patch = image[:, top : top + SIDE, left : left + SIDE].ravel() / 255
            seen = np.maximum(patch @ filters + bias, 0)
            quarters.setdefault((i >= half, j >= half), []).append(seen)
    features = [np.mean(quarters[key], axis=0) for key in sorted(quarters)]
    return np.concatenate(features) @ rng.normal(size=(4 * FILTERS, COLUMNS))


def owners(rows: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every row the nearest image, and how far it is."""
    apart = np.linalg.norm(rows[:, None] - embed(images), axis=2)
    return apart.argmin(axis=1), apart.min(axis=1)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32)])
def test_the_network_agrees_with_loops(shape: tuple[int, ...]) -> None:
    images = np.random.default_rng(2).integers(0, 256, size=(2, *shape), dtype=np.uint8)
    expected = [slow_embed(image.astype(float)) for image in images]
    np.testing.assert_allclose(embed(images), expected, rtol=1e-9, atol=1e-9)


def test_different_images_have_different_rows() -> None:
    found, apart = owners(embed(IMAGES), IMAGES)
    np.testing.assert_array_equal(found, np.arange(len(IMAGES)))
    assert apart.max() < 1e-6


@pytest.mark.parametrize("change", embedded.IMAGE_CHANGES)
def test_under_the_null_both_samples_are_different_images(change: str) -> None:
    p, q = Embedded("mnist", change, 0.5, 0.5).draw(100, np.random.default_rng(0), null=True)
    found, apart = owners(np.concatenate([p, q]), IMAGES)
    assert (len(p), len(q)) == (100, 50)
    assert apart.max() < 1e-6
    assert len({*found}) == 150


def test_a_class_is_missing() -> None:
    p, q = Embedded("mnist", "class", 1.0).draw(100, np.random.default_rng(0))
    assert 3 in LABELS[owners(p, IMAGES)[0]]
    assert 3 not in LABELS[owners(q, IMAGES)[0]]


def test_a_share_was_generated() -> None:
    p, q = Embedded("mnist", "generated", 0.6).draw(100, np.random.default_rng(0))
    share = np.mean(owners(q, FAKE)[1] < 1e-6)
    assert abs(share - 0.6) < 4 * (0.24 / 100) ** 0.5
    assert np.mean(owners(p, FAKE)[1] < 1e-6) == 0


def test_a_share_is_darker_by_half() -> None:
    _, q = Embedded("mnist", "darker", 0.2).draw(100, np.random.default_rng(0))
    share = np.mean(owners(q, IMAGES // 2)[1] < 1e-6)
    assert abs(share - 0.2) < 4 * (0.16 / 100) ** 0.5
    assert np.sum(owners(q, IMAGES)[1] < 1e-6) == round(100 * (1 - share))


def test_every_image_is_noisy() -> None:
    p, q = Embedded("mnist", "noise", 0.1).draw(100, np.random.default_rng(0))
    assert owners(p, IMAGES)[1].max() < 1e-6 < owners(q, IMAGES)[1].min()


def test_only_mnist_has_generated_images() -> None:
    with pytest.raises(InputError, match="only mnist"):
        Embedded("cifar10", "generated", 0.5)
    with pytest.raises(InputError, match="did you mean 'darker'"):
        Embedded("mnist", "darke", 0.5)
