"""The sources of images: what every one of them keeps, on small images whose number is in them."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import rdiv
from rdiv.names import spelled
from rdiv.sources import BY_NAME, ColoredMnist, CorruptedCifar10, CorruptedImagenet, Mnist, Pacs

RNG = np.random.default_rng
MODELS = {
    "mnist": "vae",
    "colored-mnist": "mlp",
    "pacs": "alexnet",
    "cifar10-corrupted": "resnet18",
    "imagenet-corrupted": "resnet18",
}


def numbered(n: int, shape: tuple[int, ...], first: int = 0) -> np.ndarray:
    """Images ``(n, *shape)`` of noise with their number in the four corners, however turned."""
    images = RNG(first).integers(60, 200, size=(n, *shape), dtype=np.uint8)
    high, low = np.divmod(first + np.arange(n), 200)
    for rows in (0, -1):
        for columns in (0, -1):
            images[..., rows, columns] = (1 + high).reshape(-1, *[1] * (len(shape) - 2))
    images[..., 1, 1] = images[..., -2, -2] = images[..., 1, -2] = images[..., -2, 1] = (
        1 + low
    ).reshape(-1, *[1] * (len(shape) - 2))
    return images


def numbers(sample: Any) -> np.ndarray:
    """The numbers of images; a channel that is black says nothing."""
    x = (sample[0] if isinstance(sample, tuple) else sample).max(axis=1).astype(int)
    return 200 * (x[:, 0, 0] - 1) + x[:, 1, 1] - 1


def toy(name: str, **settings: Any) -> Any:
    """A source with 300 small images of its own (and as many for a second domain or kind)."""
    labels = RNG(7).integers(10, size=300).astype(np.int64)
    rows: Any = {
        "mnist": (numbered(300, (28, 28)), numbered(300, (28, 28), 300)),
        "colored-mnist": (numbered(300, (14, 14)), labels.astype(np.uint8)),
        "pacs": (
            (numbered(300, (3, 16, 16)), labels % 7),
            (numbered(300, (3, 16, 16), 300), labels % 7),
        ),
        "cifar10-corrupted": (numbered(300, (3, 16, 16)), labels),
        "imagenet-corrupted": numbered(300, (3, 16, 16)),
    }[name]
    sizes = {} if name == "colored-mnist" else {"size": 28 if name == "mnist" else 16}
    return BY_NAME[name](rows=rows, **(sizes | settings))


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_model_of_the_paper(name: str) -> None:
    assert BY_NAME[name].model == MODELS[name]
    assert MODELS[name] in rdiv.models.BY_NAME


def test_samples_are_bytes_with_the_channels_first(name: str) -> None:
    supervised = name != "mnist"
    channels = {"mnist": 1, "colored-mnist": 2}.get(name, 3)
    for null in (False, True):
        for sample, rows in zip(toy(name, ratio=1.5).draw(20, RNG(0), null), (20, 30), strict=True):
            assert isinstance(sample, tuple) == supervised
            x = sample[0] if supervised else sample
            assert x.dtype == np.uint8
            assert x.shape[:2] == (rows, channels)
            if supervised:
                assert (sample[1].dtype, sample[1].shape) == (np.int64, (rows,))


def test_no_image_is_drawn_twice_and_a_null_is_of_p_alone(name: str) -> None:
    p, q = toy(name).draw(150, RNG(0), null=True)
    assert sorted([*numbers(p), *numbers(q)]) == list(range(300))


@pytest.mark.parametrize("name", ["mnist", "pacs"])
def test_p_and_q_come_from_their_own_part(name: str) -> None:
    p, q = toy(name).draw(300, RNG(0))
    assert sorted(numbers(p)) == list(range(300))
    assert sorted(numbers(q)) == list(range(300, 600))


@pytest.mark.parametrize("name", ["colored-mnist", "cifar10-corrupted", "imagenet-corrupted"])
def test_p_and_q_share_no_image(name: str) -> None:
    settings = {} if name == "colored-mnist" else {"fraction": 1e-9}
    p, q = toy(name, **settings).draw(100, RNG(0))
    assert len({*numbers(p), *numbers(q)}) == 200
    null = toy(name, **settings).draw(100, RNG(0), null=True)  # the same images, for a fair pair
    np.testing.assert_array_equal(numbers(p), numbers(null[0]))
    np.testing.assert_array_equal(numbers(q), numbers(null[1]))


def test_draws_repeat_by_the_seed_alone(name: str) -> None:
    first, again, other = (pickle.dumps(toy(name).draw(30, RNG(s))) for s in (1, 1, 2))
    assert first == again != other
    source = pickle.loads(pickle.dumps(toy(name)))
    assert pickle.dumps(source.draw(30, RNG(1))) == first
    assert source.loaded() is source


@pytest.mark.parametrize(
    ("name", "n", "null", "sentence"),
    [
        ("mnist", 301, False, r"mnist has 300 real and 300 generated digits, .*301 \+ 301"),
        ("mnist", 151, True, r"mnist has 300 real digits, got a draw of 151 \+ 151 disjoint"),
        ("colored-mnist", 151, False, "colored-mnist has 300 digits"),
        ("pacs", 301, False, "pacs has 300 art_painting and 300 cartoon images"),
        ("pacs", 151, True, "pacs has 300 art_painting images"),
        ("cifar10-corrupted", 151, False, "cifar10-corrupted has 300 images"),
        ("imagenet-corrupted", 151, True, "imagenet-corrupted has 300 images"),
    ],
)
def test_too_many_rows_are_one_sentence(name: str, n: int, null: bool, sentence: str) -> None:
    toy(name).draw(n - 1, RNG(0), null=null)
    with pytest.raises(ValueError, match=sentence) as caught:
        toy(name).draw(n, RNG(0), null=null)
    assert str(caught.value).endswith("; ask for fewer.")


def test_the_permutation_level_holds_under_the_null(name: str) -> None:
    """With unequal sizes, and a third of all images in a draw."""
    source = toy(name, ratio=1.5, **({"size": 8} if name == "mnist" else {}))

    def nulls(n: int, rng: np.random.Generator, null: bool) -> Any:
        return source.draw(n, rng, null=True)

    found = rdiv.power_study(nulls, "energy", sizes=40, trials=120, n_resamples=39)
    assert found.table()["rejections"][0] <= binom.ppf(1 - 1e-5, 120, 0.05)


SMALL = {
    "vae": {"hidden": (8,)},
    "mlp": {"hidden": (8,)},
    "alexnet": {"width": 8},
    "resnet18": {"width": 8, "blocks": (1, 1)},
}


def test_the_model_of_the_paper_fits_the_draws(name: str) -> None:
    """A small one, trained for one epoch, gives a finite loss for every row."""
    pytest.importorskip("torch")
    source = toy(name, **({"size": 28} if name == "pacs" else {}))
    model = rdiv.models.BY_NAME[source.model](epochs=1, **SMALL[source.model])
    result = rdiv.two_sample_test(*source.draw(12, RNG(0)), model=model, n_resamples=19, rng=0)
    assert np.isfinite([result.statistic, result.risk_p, result.risk_q]).all()
    assert result.n_p == result.n_q == 12


def test_text_and_folder(name: str, tmp_path: Path) -> None:
    assert spelled(replace(toy(name), data_dir=tmp_path), BY_NAME).startswith(name)
    assert spelled(BY_NAME[name](data_dir=tmp_path), BY_NAME) == name
    with pytest.raises(FileNotFoundError, match=r"\.npz is not in"):
        BY_NAME[name](data_dir=tmp_path).draw(5, RNG(0))


@pytest.mark.parametrize(
    ("source", "quiet", "loud", "words"),
    [
        (ColoredMnist(), 3500, 3501, "7002 of 70000 digits"),
        (CorruptedCifar10(ratio=0.5), 1000, 1002, "1503 of 15000 images"),
        (Pacs(), 102, 103, "206 of 2048 art_painting images for a null"),
        (Pacs("sketch", "photo", ratio=3), 55, 56, "168 of 1670 photo images"),
    ],
)
def test_large_draws_are_said_to_overlap(source: Any, quiet: int, loud: int, words: str) -> None:
    assert source.caveat(quiet) is None
    assert words in source.caveat(loud)


def test_stand_ins_are_always_named() -> None:
    assert "stand in for the file of the literature" in str(Mnist().caveat(10))
    assert "overlap" not in str(Mnist().caveat(1000))
    assert "1001 of 10000 generated digits" in str(Mnist().caveat(1001))
    assert "target is the rotation" in str(CorruptedImagenet().caveat(10))
    assert "1000 of 1000 images" in str(CorruptedImagenet().caveat(500))


@pytest.mark.parametrize("name", ["cifar10-corrupted", "imagenet-corrupted"])
class TestCorrupted:
    def test_about_the_asked_fraction_of_q_is_hit(self, name: str) -> None:
        source = toy(name, fraction=0.3)
        hits = 0
        for seed in range(10):
            (p, _), (q, _) = source.draw(100, RNG(seed))
            assert clean(p, source).all()
            hits += (~clean(q, source)).sum()
        low, high = binom.ppf([1e-6, 1 - 1e-6], 1000, 0.3)
        assert low <= hits <= high

    def test_kind_and_severity_reach_the_images(self, name: str) -> None:
        made = {
            (kind, severity): toy(name, kind=kind, severity=severity, fraction=1.0).draw(20, RNG(0))
            for kind in ("gauss", "snow", "speckle", "impulse")
            for severity in (1, 5)
        }
        assert len({pair[1][0].tobytes() for pair in made.values()}) == 8

    def test_settings_are_refused_at_once(self, name: str) -> None:
        for setting, sentence in (
            ({"kind": "gaus"}, "unknown corruption 'gaus'; did you mean 'gauss'"),
            ({"severity": 6}, "severity must be a whole number from 1 to 5, got 6"),
            ({"fraction": 0.0}, "fraction must be above 0 and at most 1, got 0.0"),
            ({"fraction": 5}, "so 5 % is 0.05"),
            ({"size": 4}, "at least 8 pixels"),
        ):
            with pytest.raises(ValueError, match=sentence):
                BY_NAME[name](**setting)


def clean(images: np.ndarray, source: Any) -> np.ndarray:
    """Which images are in the file, turned or not."""
    rows = source.rows[0] if isinstance(source.rows, tuple) else source.rows
    there = {np.rot90(x, k, axes=(1, 2)).tobytes() for x in rows for k in range(4)}
    return np.array([image.tobytes() in there for image in images])


def test_constants_of_each_benchmark() -> None:
    """Noise of the same severity is larger on ImageNet, as published."""
    flat = np.full((200, 3, 16, 16), 128, np.uint8)
    labels = np.zeros(200, dtype=np.int64)
    for cls, rows, scale in (
        (CorruptedCifar10, (flat, labels), 0.10),
        (CorruptedImagenet, flat, 0.18),
    ):
        _, (q, _) = cls(rows=rows, size=16, fraction=1.0).draw(50, RNG(0))
        assert q.std() / 255 == pytest.approx(scale, rel=5 / (2 * q.size) ** 0.5 + 0.005)


def test_rotations_are_uniform_and_are_the_target() -> None:
    source = toy("imagenet-corrupted")
    counts = np.zeros(4)
    for seed in range(5):
        (p, turns), _ = source.draw(150, RNG(seed))
        originals = source.rows[numbers(p)]
        for image, turn, original in zip(p, turns, originals, strict=True):
            np.testing.assert_array_equal(np.rot90(image, -turn, axes=(1, 2)), original)
        counts += np.bincount(turns, minlength=4)
    assert (np.abs(counts - 750 / 4) < 5 * (750 * 3 / 16) ** 0.5).all()


def test_colours_follow_the_label() -> None:
    zeros = np.zeros(20_000, np.uint8)
    zeros[10_000:] = 7
    rows = np.full((20_000, 14, 14), 255, np.uint8), zeros
    source = ColoredMnist(rows=rows)
    (x_p, y_p), (x_q, y_q) = source.draw(10_000, RNG(0))
    assert (x_p == 255).all()  # plain: in both channels
    lit = x_q[:, :, 0, 0] > 0
    assert (lit.sum(axis=1) == 1).all()  # coloured: in one
    assert_share(lit[:, 1] == (y_q == 1), 0.9)
    assert_share(y_p == 1, 0.5)
    (x_p, y_p), _ = ColoredMnist(rows=rows, p_colour="random").draw(10_000, RNG(0))
    assert_share((x_p[:, 1, 0, 0] > 0) == (y_p == 1), 0.5)
    for null in (False, True):
        (x, _), (other, _) = ColoredMnist(rows=rows, p_colour="random").draw(100, RNG(0), null)
        assert ((x[:, :, 0, 0] > 0).sum(axis=1) == 1).all()
        assert ((other[:, :, 0, 0] > 0).sum(axis=1) == 1).all()


def test_labels_are_digits_below_five_with_noise() -> None:
    rows = np.zeros((20_000, 14, 14), np.uint8), np.repeat(np.arange(10, dtype=np.uint8), 2000)
    rows[0][:, 0, 0] = rows[1] + 1
    for noise in (0.25, 0.0):
        source = ColoredMnist(rows=rows, label_noise=noise)
        for x, y in source.draw(10_000, RNG(0)):
            below = x[:, :, 0, 0].max(axis=1) <= 5
            assert_share((y == 1) != below, noise)


def assert_share(found: np.ndarray, share: float) -> None:
    low, high = binom.ppf([1e-6, 1 - 1e-6], len(found), share)
    assert low <= found.sum() <= high


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"p_colour": "red"}, "unknown p_colour 'red';.* Known: none, random"),
        ({"colour_noise": 1.5}, r"colour_noise must be a probability, got 1\.5"),
        ({"label_noise": -0.1}, r"label_noise must be a probability, got -0\.1"),
    ],
)
def test_settings_of_colours(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ColoredMnist(**settings)


def test_domains() -> None:
    with pytest.raises(ValueError, match=r"unknown domain 'A'; .*art_painting, cartoon, sketch"):
        Pacs("A", "photo")
    with pytest.raises(ValueError, match="must differ, got 'photo' twice"):
        Pacs("photo", "photo")


@pytest.mark.data
class TestWithTheFiles:
    def test_rows_of_every_source(self, name: str, data_dir: Path) -> None:
        source = BY_NAME[name](data_dir=data_dir)
        first = source.draw(8, RNG(0))
        if name in ("colored-mnist", "imagenet-corrupted"):  # the files that are read fastest
            assert pickle.dumps(first) == pickle.dumps(source.loaded().draw(8, RNG(0)))
        x = first[0][0] if isinstance(first[0], tuple) else first[0]
        sides = {"mnist": 32, "colored-mnist": 14, "cifar10-corrupted": 32}
        assert x.shape[2:] == (sides.get(name, 64),) * 2

    def test_digits(self, data_dir: Path) -> None:
        with np.load(data_dir / "mnist.npz") as data, np.load(data_dir / "fake_mnist.npz") as fake:
            p, q = Mnist(size=28, data_dir=data_dir).draw(50, RNG(0))
            real = {*map(bytes, data["x_train"]), *map(bytes, data["x_test"])}
            assert {*map(bytes, p[:, 0])} <= real
            assert {*map(bytes, q[:, 0])} <= {*map(bytes, fake["x"])}
            small = {*map(bytes, data["x_train"][:, ::2, ::2].copy())}
            small |= {*map(bytes, data["x_test"][:, ::2, ::2].copy())}
        (x, _), _ = ColoredMnist(data_dir=data_dir).draw(50, RNG(0))
        assert {*map(bytes, x[:, 0].copy())} <= small

    def test_domains_have_the_stated_sizes(self, data_dir: Path) -> None:
        from rdiv.sources.pacs import DOMAINS

        with np.load(data_dir / "pacs_64.npz") as data:
            counts = np.bincount(data["domain"])
            assert dict(zip(data["domain_names"].tolist(), counts, strict=True)) == DOMAINS
        source = Pacs("photo", "sketch", data_dir=data_dir).loaded()
        (x, y), (sketches, _) = source.draw(1670, RNG(0))
        assert np.bincount(y).tolist() == [189, 202, 182, 186, 199, 280, 432]
        assert sketches.mean() > 1.5 * x.mean()  # black lines on white

    def test_whole_files_can_be_drawn(self, data_dir: Path) -> None:
        p, q = CorruptedImagenet(size=16, data_dir=data_dir).draw(500, RNG(0))
        assert len(p[0]) == len(q[0]) == 500
        p, q = CorruptedCifar10(size=8, data_dir=data_dir).draw(7500, RNG(0))
        assert np.bincount(np.concatenate([p[1], q[1]])).tolist() == [1500] * 10
