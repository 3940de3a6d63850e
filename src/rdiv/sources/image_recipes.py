"""How the data files of images are made from what their public origins offer."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CIFAR10_PIECES",
    "MNIST_PIECES",
    "PACS_PIECES",
    "prepare_cifar10",
    "prepare_mnist",
    "prepare_pacs",
]

Arrays = dict[str, NDArray[Any]]

MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
MNIST_PARTS = {
    "x_train": "train-images-idx3-ubyte.gz",
    "y_train": "train-labels-idx1-ubyte.gz",
    "x_test": "t10k-images-idx3-ubyte.gz",
    "y_test": "t10k-labels-idx1-ubyte.gz",
}
MNIST_PIECES = {piece: f"{MNIST}/{piece}" for piece in MNIST_PARTS.values()}


def prepare_mnist(folder: Path) -> Arrays:
    """All digits and labels, as they are."""
    return {name: _idx(folder / piece) for name, piece in MNIST_PARTS.items()}


def _idx(path: Path) -> NDArray[np.uint8]:
    """An array of bytes in the idx format: type and axes in four bytes, lengths, values."""
    with gzip.open(path) as stream:
        content = stream.read()
    axes = content[3]
    if content[:3] != b"\0\0\x08":
        raise ValueError(f"{path.name} does not hold bytes in the idx format.")
    shape = np.frombuffer(content, ">u4", axes, offset=4).astype(int)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)


# CIFAR-10 in its binary form; the one for Python is a pickle, which could run code.

CIFAR10_PIECES = {"cifar.tar.gz": "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"}
CIFAR10_CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
CIFAR10_KEPT = {"train": 1000, "test": 500}  # of each class, the first ones


def prepare_cifar10(folder: Path) -> Arrays:
    """The first 1000 training and 500 test images of each class, in their order."""
    batches = {name.rsplit("/", 1)[-1]: content for name, content in _members(folder)}
    files = {
        "train": [f"data_batch_{i}.bin" for i in range(1, 6)],
        "test": ["test_batch.bin"],
    }
    arrays: Arrays = {}
    for part, kept in CIFAR10_KEPT.items():
        records = np.frombuffer(b"".join(batches[file] for file in files[part]), np.uint8)
        records = records.reshape(-1, 1 + 3 * 32 * 32)
        first = [np.flatnonzero(records[:, 0] == label)[:kept] for label in range(10)]
        rows = np.sort(np.concatenate(first))
        planes = records[rows, 1:].reshape(-1, 3, 32, 32)
        arrays[f"x_{part}"] = np.moveaxis(planes, 1, -1)
        arrays[f"y_{part}"] = records[rows, 0]
        arrays[f"{part}_index"] = rows.astype(np.int32)
    return arrays | {"class_names": np.array(CIFAR10_CLASSES)}


def _members(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files in the archives of a folder, in the order of the archive."""
    for path in sorted(folder.glob("*.tar.gz")):
        with tarfile.open(path) as archive:
            for member in archive:
                stream = archive.extractfile(member)  # into memory: no path is ever written to
                if stream is not None:
                    yield member.name, stream.read()


# PACS (Li et al. 2017), as one public repository holds it: 227 x 227, PACS/domain/class/file.

_PACS = "MachineLearning2020/Homework3-PACS/tar.gz/d586a6cf3db84896fb6cc465c7bf51bdaf6d65d8"
PACS_PIECES = {"pacs.tar.gz": f"https://codeload.github.com/{_PACS}"}
PACS_DOMAINS = ("photo", "art_painting", "cartoon", "sketch")
PACS_CLASSES = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")
PACS_SIZE = 64


def prepare_pacs(folder: Path) -> Arrays:
    """All images at 64 x 64, sorted by domain, class and file."""
    found = []
    for name, content in _members(folder):
        parts = tuple(name.split("/")[-3:])
        if len(parts) == 3 and parts[0] in PACS_DOMAINS and parts[1] in PACS_CLASSES:
            found.append((parts, _reduced(content)))
    found.sort(key=lambda pair: pair[0])
    return {
        "x": np.stack([image for _, image in found]),
        "domain": np.array([PACS_DOMAINS.index(parts[0]) for parts, _ in found], np.uint8),
        "label": np.array([PACS_CLASSES.index(parts[1]) for parts, _ in found], np.uint8),
        "domain_names": np.array(PACS_DOMAINS),
        "class_names": np.array(PACS_CLASSES),
    }


def _reduced(content: bytes) -> NDArray[np.uint8]:
    from PIL import Image

    size = (PACS_SIZE, PACS_SIZE)
    with Image.open(BytesIO(content)) as image:
        return np.asarray(image.convert("RGB").resize(size, Image.Resampling.LANCZOS))
