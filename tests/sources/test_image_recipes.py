"""Data files of images from pieces in the formats of their origins, over a loopback server too."""

from __future__ import annotations

import gzip
import sys
import tarfile
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from tests.sources.test_fetching import Served, server  # noqa: F401

from rdiv.sources import fetching
from rdiv.sources.data_files import DATA_FILES, DataFile, arrays_digest, data_file
from rdiv.sources.downloads import Piece
from rdiv.sources.fetching import (
    MNIST_PARTS,
    MNIST_PIECES,
    PACS_CLASSES,
    PACS_DOMAINS,
    RECIPES,
    Recipe,
    contents_digest,
    fetch,
    prepare_cifar10,
    prepare_mnist,
    prepare_pacs,
)

RNG = np.random.default_rng


def idx(array: np.ndarray) -> bytes:
    lengths = np.array(array.shape, ">u4").tobytes()
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + lengths + array.tobytes(), 0)


def tar(files: dict[str, bytes]) -> bytes:
    place = BytesIO()
    with tarfile.open(fileobj=place, mode="w:gz", compresslevel=0) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, BytesIO(content))
    return place.getvalue()


def cifar_archive(train: np.ndarray, test: np.ndarray) -> bytes:
    """Records of a label and three planes, in five batches and one."""
    batches = {f"data_batch_{i}.bin": part for i, part in enumerate(np.array_split(train, 5), 1)}
    files = {name: part.tobytes() for name, part in reversed(batches.items())}
    files |= {"test_batch.bin": test.tobytes(), "readme.html": b"<html>"}
    return tar({f"cifar-10-batches-bin/{name}": content for name, content in files.items()})


def records(labels: np.ndarray) -> np.ndarray:
    pixels = RNG(len(labels)).integers(256, size=(len(labels), 3072), dtype=np.uint8)
    return np.c_[labels.astype(np.uint8), pixels]


def test_mnist_from_idx_files(tmp_path: Path) -> None:
    arrays = {
        "x_train": RNG(0).integers(256, size=(7, 28, 28), dtype=np.uint8),
        "y_train": np.arange(7, dtype=np.uint8),
        "x_test": RNG(1).integers(256, size=(3, 28, 28), dtype=np.uint8),
        "y_test": np.array([9, 8, 7], np.uint8),
    }
    for name, piece in MNIST_PARTS.items():
        (tmp_path / piece).write_bytes(idx(arrays[name]))
    made = prepare_mnist(tmp_path)
    assert arrays_digest(made) == arrays_digest(arrays)
    (tmp_path / MNIST_PARTS["y_test"]).write_bytes(gzip.compress(b"\0\0\x0d\x01 floats"))
    with pytest.raises(ValueError, match="does not hold bytes in the idx format"):
        prepare_mnist(tmp_path)


def test_cifar10_keeps_the_first_of_each_class(tmp_path: Path) -> None:
    train = records(RNG(0).permutation(np.repeat(np.arange(10), 1010)))
    test = records(np.repeat(np.arange(10), 501))
    (tmp_path / "cifar.tar.gz").write_bytes(cifar_archive(train, test))
    made = prepare_cifar10(tmp_path)
    assert np.bincount(made["y_train"]).tolist() == [1000] * 10
    assert np.bincount(made["y_test"]).tolist() == [500] * 10
    for part, rows in (("train", train), ("test", test)):
        index = made[f"{part}_index"]
        assert (np.diff(index) > 0).all()
        np.testing.assert_array_equal(made[f"y_{part}"], rows[index, 0])
        left_out = np.setdiff1d(np.arange(len(rows)), index)
        for label in range(10):
            last = index[made[f"y_{part}"] == label].max()
            assert (left_out[rows[left_out, 0] == label] > last).all()
    row = train[made["train_index"][4], 1:]
    assert made["x_train"][4, 2, 5].tolist() == [
        row[plane * 1024 + 2 * 32 + 5] for plane in (0, 1, 2)
    ]
    assert made["class_names"][3] == "cat"


def jpeg(grey: int) -> bytes:
    image = pytest.importorskip("PIL.Image")
    place = BytesIO()
    image.new("RGB", (227, 227), (grey, grey, 0)).save(place, "JPEG")
    return place.getvalue()


def pacs_archive() -> bytes:
    """Two images of every class and domain, in no order, beside files of other kinds."""
    paths = [
        f"top-1234/PACS/{domain}/{name}/pic_{i:03}.jpg"
        for domain in PACS_DOMAINS
        for name in PACS_CLASSES
        for i in (2, 1)
    ]
    files = {path: jpeg(3 * i) for i, path in enumerate(paths)}
    return tar({"top-1234/README.md": b"hello", "top-1234/PACS/photo.txt": b"", **files})


def images_of(archive: bytes) -> str:
    """The digest of the images in an archive, sorted by path."""
    with tarfile.open(fileobj=BytesIO(archive)) as opened:
        files = [
            (tuple(member.name.split("/")[-3:]), opened.extractfile(member).read())  # type: ignore[union-attr]
            for member in opened
            if member.name.endswith(".jpg")
        ]
    return contents_digest(sorted(files))


def test_other_images_are_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pacs.tar.gz").write_bytes(pacs_archive())
    monkeypatch.setattr(fetching, "_reduced", lambda content: pytest.fail("it was decoded"))
    with pytest.raises(ValueError, match="does not hold the images of PACS"):
        prepare_pacs(tmp_path)


def test_an_archive_that_swells_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pacs.tar.gz").write_bytes(tar({"PACS/photo/dog/a.jpg": bytes(5000)}))
    monkeypatch.setattr(fetching, "UNPACKED", 4000)
    with pytest.raises(ValueError, match="holds more than 4000 bytes"):
        prepare_pacs(tmp_path)


def test_pacs_is_sorted_by_path_and_reduced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = pacs_archive()
    monkeypatch.setattr(fetching, "PACS_CONTENTS", images_of(archive))
    (tmp_path / "pacs.tar.gz").write_bytes(archive)
    made = prepare_pacs(tmp_path)
    assert (made["x"].shape, made["x"].dtype) == ((56, 64, 64, 3), np.uint8)
    domains = [PACS_DOMAINS[i] for i in made["domain"]]
    assert domains == sorted(domains)
    assert made["label"].tolist() == np.tile(np.repeat(np.arange(7), 2), 4).tolist()
    first = 3 * (14 + 1)  # art_painting comes after photo in the archive, pic_001 after pic_002
    assert np.abs(made["x"][0, :, :, 0].astype(int) - first).max() <= 2
    assert made["x"][..., 2].max() <= 4


@pytest.mark.parametrize("name", ["mnist", "cifar10", "pacs"])
def test_recipes_over_a_loopback_server(
    name: str,
    server: Served,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The real addresses on another host, and a digest of small arrays in place of the real one."""
    contents = {
        "mnist": {
            piece: idx(np.full((2, 28, 28)[: 3 - 2 * ("y_" in part)], 5, np.uint8))
            for part, piece in MNIST_PARTS.items()
        },
        "cifar10": {
            "cifar.tar.gz": cifar_archive(records(np.arange(50) % 10), records(np.arange(10)))
        },
        "pacs": {"pacs.tar.gz": pacs_archive()} if name == "pacs" else {},
    }[name]
    if name == "pacs":
        monkeypatch.setattr(fetching, "PACS_CONTENTS", images_of(contents["pacs.tar.gz"]))
    pieces = {}
    for file, content in contents.items():
        address = RECIPES_BEFORE[name].pieces[file].address
        server.content["/" + address.split("/", 3)[3]] = content
        pieces[file] = Piece(address, len(content), sha256(content).hexdigest())
    made: list[str] = []

    def recorded(folder: Path) -> dict[str, np.ndarray]:
        arrays = RECIPES_BEFORE[name].prepare(folder)
        digest = arrays_digest(arrays)
        made.append(digest)
        known = DATA_FILES[name]
        monkeypatch.setitem(DATA_FILES, name, DataFile(known.file, known.about, digest))
        return arrays

    monkeypatch.setitem(RECIPES, name, Recipe(pieces, recorded, name == "pacs"))
    path = fetch(name, tmp_path)
    assert data_file(name, tmp_path) == path
    assert [path.name] == sorted(file.name for file in tmp_path.iterdir())
    assert len(made) == 1
    assert len(server.asked) == len(contents)


RECIPES_BEFORE = dict(RECIPES)


def test_other_images_than_ours_are_not_kept(
    server: Served,  # noqa: F811
    tmp_path: Path,
) -> None:
    for piece in MNIST_PIECES.values():
        path = "/" + piece.address.split("/", 3)[3]
        server.content[path] = idx(np.zeros((2, 28, 28), np.uint8))
    with pytest.raises(ValueError, match=r"ubyte.gz has a wrong checksum and was not kept"):
        fetch("mnist", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("server")
def test_missing_pillow_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r'needs Pillow; .*pip install "rdiv\[data\]"'):
        fetch("pacs", tmp_path)


@pytest.mark.parametrize("name", ["fake-mnist", "imagenet"])
def test_what_cannot_be_fetched_says_why(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"cannot be fetched, because .*: set RDIV_DATA"):
        fetch(name, tmp_path)
    (tmp_path / DATA_FILES[name].file).write_bytes(b"")
    with pytest.raises(ValueError, match=r"wrong checksum.*delete it and copy it again"):
        fetch(name, tmp_path)
    assert (tmp_path / DATA_FILES[name].file).exists()


@pytest.mark.data
def test_recipes_give_the_files_that_studies_use(data_dir: Path, tmp_path: Path) -> None:
    """From the arrays back to the formats of the origins, and again to the arrays."""
    with np.load(data_file("mnist", data_dir)) as data:
        for name, piece in MNIST_PARTS.items():
            (tmp_path / piece).write_bytes(idx(data[name]))
    assert arrays_digest(prepare_mnist(tmp_path)) == DATA_FILES["mnist"].digest
    whole = []
    with np.load(data_file("cifar10", data_dir)) as data:
        for part in ("train", "test"):
            index = data[f"{part}_index"]
            gaps = np.setdiff1d(np.arange(index.max() + 1), index)
            rows = np.zeros((index.max() + 1, 3073), np.uint8)
            rows[index, 0] = data[f"y_{part}"]
            rows[index, 1:] = np.moveaxis(data[f"x_{part}"], -1, 1).reshape(len(index), -1)
            full = [index[data[f"y_{part}"] == label].max() for label in range(10)]
            for gap in gaps:  # what was left out is of a class that was complete by then
                rows[gap, 0] = next(label for label in range(10) if full[label] < gap)
            whole.append(rows)
    (tmp_path / "cifar.tar.gz").write_bytes(cifar_archive(*whole))
    assert arrays_digest(prepare_cifar10(tmp_path)) == DATA_FILES["cifar10"].digest
