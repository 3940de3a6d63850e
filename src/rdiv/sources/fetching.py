"""Fetch public data and prepare the files that sources read."""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputFileError
from rdiv.names import chosen_from
from rdiv.sources.data_files import DATA_FILES, arrays_digest, data_dir, data_file
from rdiv.sources.downloads import Piece, download, downloader
from rdiv.whole_files import make_folder, put_in_place

__all__ = [
    "CIFAR10_PIECES",
    "MNIST_PIECES",
    "PACS_PIECES",
    "RECIPES",
    "Recipe",
    "contents_digest",
    "fetch",
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
MNIST_PIECES = {
    piece: Piece(f"{MNIST}/{piece}", size, digest)
    for piece, size, digest in (
        (
            "train-images-idx3-ubyte.gz",
            9_912_422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        (
            "train-labels-idx1-ubyte.gz",
            28_881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
        (
            "t10k-images-idx3-ubyte.gz",
            1_648_877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        (
            "t10k-labels-idx1-ubyte.gz",
            4_542,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    )
}


def prepare_mnist(folder: Path) -> Arrays:
    """All digits and labels, as they are."""
    return {name: _idx(folder / piece) for name, piece in MNIST_PARTS.items()}


def _idx(path: Path) -> NDArray[np.uint8]:
    """An array of bytes in the idx format: type and axes in four bytes, lengths, values."""
    with gzip.open(path) as stream:
        content = stream.read()
    axes = content[3]
    if content[:3] != b"\0\0\x08":
        raise InputError(f"{path.name} does not hold bytes in the idx format.")
    shape = np.frombuffer(content, ">u4", axes, offset=4).astype(int)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)


# CIFAR-10 in its binary form; the one for Python is a pickle, which could run code.

CIFAR10_PIECES = {
    "cifar.tar.gz": Piece(
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        170_052_171,
        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    )
}
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


UNPACKED = 400_000_000
"""Most bytes that an archive may hold; those of the recipes hold less than half of that."""


def _members(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files in the archives of a folder, in the order of the archive."""
    left = UNPACKED
    for path in sorted(folder.glob("*.tar.gz")):
        with tarfile.open(path) as archive:
            for member in archive:
                left -= member.size
                if left < 0:
                    raise InputError(f"{path.name} holds more than {UNPACKED} bytes.")
                stream = archive.extractfile(member)  # into memory: no path is ever written to
                if stream is not None:
                    yield member.name, stream.read()


# PACS (Li et al. 2017), as one public repository holds it: 227 x 227, PACS/domain/class/file.

_PACS = "MachineLearning2020/Homework3-PACS/tar.gz/d586a6cf3db84896fb6cc465c7bf51bdaf6d65d8"
PACS_PIECES = {"pacs.tar.gz": Piece(f"https://codeload.github.com/{_PACS}", 250_000_000)}
PACS_CONTENTS = "d022903fe8aa5f344b60655a838d18cbbda8f5f18ce477d3c8f6bb0392f5b4e0"
"""Digest of names and bytes of all images: the host packs the archive anew for each download."""
PACS_DOMAINS = ("photo", "art_painting", "cartoon", "sketch")
PACS_CLASSES = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")
PACS_SIZE = 64


def prepare_pacs(folder: Path) -> Arrays:
    """All images at 64 x 64, sorted by domain, class and file."""
    files = []
    for name, content in _members(folder):
        parts = tuple(name.split("/")[-3:])
        if len(parts) == 3 and parts[0] in PACS_DOMAINS and parts[1] in PACS_CLASSES:
            files.append((parts, content))
    files.sort(key=lambda pair: pair[0])
    if contents_digest(files) != PACS_CONTENTS:  # before Pillow sees any of them
        raise InputError("the archive does not hold the images of PACS.")
    found = [(parts, _reduced(content)) for parts, content in files]
    return {
        "x": np.stack([image for _, image in found]),
        "domain": np.array([PACS_DOMAINS.index(parts[0]) for parts, _ in found], np.uint8),
        "label": np.array([PACS_CLASSES.index(parts[1]) for parts, _ in found], np.uint8),
        "domain_names": np.array(PACS_DOMAINS),
        "class_names": np.array(PACS_CLASSES),
    }


def contents_digest(files: Iterable[tuple[tuple[str, ...], bytes]]) -> str:
    """SHA-256 of the names and bytes of files, in their order.

    Examples
    --------
    >>> print(contents_digest([(("a", "b"), b"1")])[:8])
    81b694e8
    """
    digest = hashlib.sha256()
    for parts, content in files:
        digest.update("/".join(parts).encode() + b"\0")
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


def _reduced(content: bytes) -> NDArray[np.uint8]:
    from PIL import Image

    size = (PACS_SIZE, PACS_SIZE)
    with Image.open(BytesIO(content)) as image:
        return np.asarray(image.convert("RGB").resize(size, Image.Resampling.LANCZOS))


@dataclass(frozen=True)
class Recipe:
    """How a data file is made.

    Parameters
    ----------
    pieces : mapping
        The files to download, by the name that each gets.
    prepare : callable
        From the folder with the pieces to the named arrays of the data file.
    decodes : bool
        Whether the pieces hold images that Pillow has to decode.
    """

    pieces: Mapping[str, Piece]
    prepare: Callable[[Path], Arrays]
    decodes: bool = False


def fetch(name: str, folder: str | Path | None = None, *, origin: str | None = None) -> Path:
    """Download the pieces of a data file from their public origin and prepare the file.

    Pieces come over https alone, are cut off beyond their size, and are read only after their
    SHA-256 was found right. The digest of the arrays decides in the end: what does not match the
    one in ``DATA_FILES`` is not kept, whatever the reason. The file appears whole or not at all.
    One that is there already and whole is left alone.

    Parameters
    ----------
    name : str
        A name in ``DATA_FILES``.
    folder : path, optional
        Where to put it; by default ``RDIV_DATA``, then the cache.
    origin : str, optional
        Scheme and host to use in place of those of the public addresses, for a mirror; by default
        the one in the environment variable ``RDIV_DATA_ORIGIN``, if there is one. https, or http
        on this machine.

    Returns
    -------
    Path
        Of the prepared file.

    Examples
    --------
    >>> fetch("higs")
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: unknown data file 'higs'; did you mean 'higgs'? Known: higgs, mnist, ...
    """
    known = chosen_from(DATA_FILES, name, "data file")
    try:
        return data_file(name, folder)
    except (FileNotFoundError, ValueError):  # absent, or damaged and to be replaced
        if known.made is not None:
            raise
        place = data_dir(folder) / known.file
    recipe = RECIPES[name]
    fetcher, origin = downloader(recipe.decodes), origin or os.environ.get("RDIV_DATA_ORIGIN")
    try:
        make_folder(place.parent)
        with TemporaryDirectory(prefix=".fetch-", dir=place.parent) as scratch:
            for file, piece in recipe.pieces.items():
                download(fetcher, piece, _moved(piece.address, origin), Path(scratch, file))
            arrays: Any = _prepared(name, recipe, Path(scratch))
            draft = Path(scratch, "draft.npz")
            np.savez_compressed(draft, **arrays)
            put_in_place(draft, place)
    except OSError as error:
        if error.errno is None:  # a sentence of our own
            raise
        raise InputFileError(
            f"{place} cannot be written: {error.strerror}; choose another folder."
        ) from error
    return place


def _moved(address: str, origin: str | None) -> str:
    return address if origin is None else origin.rstrip("/") + urlsplit(address).path


def _prepared(name: str, recipe: Recipe, folder: Path) -> Arrays:
    """The arrays, if they are those that the data file must hold."""
    try:
        arrays = recipe.prepare(folder)
        same = arrays_digest(arrays) == DATA_FILES[name].digest
    except Exception:  # a page of an error, a truncated file, another format
        same = False
    if not same:
        raise InputError(
            f"what was downloaded for {name} has a wrong checksum and was not kept; try again, "
            "and if that does not help, the public files have changed: please report it."
        )
    return arrays


# HIGGS (Baldi et al. 2014), 11 million rows at UCI: the parts of it that three public repositories
# hold. Where rows overlap, the first stays.

RAW = "https://raw.githubusercontent.com"
CATBOOST = f"{RAW}/catboost/catboost/b638d17041d8410c9277209bc15ab38c4e59340d"
DDPM = f"{RAW}/ruheyun/tab-ddpm-dp/73a7f5ecae76b4031cd87b450e84256f6ecb50bb"
VIYA = f"{RAW}/sassoftware/sas-viya-workbench-examples/f180274bbf5d5cfc3598cfa2696780a4c228ab4d"
PHI_COLUMNS = (7, 11, 15, 19)


def prepare_higgs(folder: Path) -> Arrays:
    """Background and signal events from the pieces: joined, without duplicates, shuffled."""
    first = np.loadtxt(folder / "train_5K", delimiter="\t")  # the label comes first, no header
    sampled = np.loadtxt(folder / "higgs.csv", delimiter=",", skiprows=1)  # and here last
    parts = [
        (first[:, 1:], first[:, 0]),
        (np.load(folder / "X_num_val.npy"), np.load(folder / "y_val.npy")),
        (np.load(folder / "X_num_test.npy"), np.load(folder / "y_test.npy")),
        (sampled[:, :-1], sampled[:, -1]),
    ]
    rows = np.concatenate([x.astype(np.float32) for x, _ in parts])
    is_signal = np.concatenate([np.ravel(y) for _, y in parts]) == 1
    source = np.repeat(np.arange(len(parts), dtype=np.uint8), [len(x) for x, _ in parts])
    rounded = np.round(rows.astype(np.float64), 4) + 0.0  # the parts keep different digits
    kept = np.sort(np.unique(rounded, axis=0, return_index=True)[1])
    order = kept[np.random.default_rng(0).permutation(len(kept))]
    background, signal = order[~is_signal[order]], order[is_signal[order]]
    with open(folder / "higgs.csv", encoding="utf-8") as lines:
        names = lines.readline().strip().split(",")[:-1]
    return {
        "background": rows[background],
        "signal": rows[signal],
        "background_source": source[background],
        "signal_source": source[signal],
        "columns": np.array(names),
        "phi_columns": np.array(PHI_COLUMNS, dtype=np.int64),
    }


RECIPES: dict[str, Recipe] = {
    "higgs": Recipe(
        {
            "train_5K": Piece(
                f"{CATBOOST}/catboost/pytest/data/higgs/train_5K",
                3_537_532,
                "95ae92018cf9438bf6a9c8c989195234a9037b0301e28e9eebc362e7d0f4ea06",
            ),
            "X_num_val.npy": Piece(
                f"{DDPM}/data/higgs-small/X_num_val.npy",
                1_757_184,
                "b44efc5cabfb183fd342d746d8fb2d11bd61f63240fac730c7e0b6d34511443f",
            ),
            "y_val.npy": Piece(
                f"{DDPM}/data/higgs-small/y_val.npy",
                125_632,
                "ee4f8cb3db339cbf0601b413da12f856d063ce6bb1f842ab49945a4335e8f30b",
            ),
            "X_num_test.npy": Piece(
                f"{DDPM}/data/higgs-small/X_num_test.npy",
                2_196_448,
                "d6bb596fa4e6eda90868a42ad4929385067e32599c4a8d70d744c4893ed4617f",
            ),
            "y_test.npy": Piece(
                f"{DDPM}/data/higgs-small/y_test.npy",
                157_008,
                "b11cb8e1768037d615c8d25122f86c4daf39872f1bacce8c44c45a4bd776bee0",
            ),
            "higgs.csv": Piece(
                f"{VIYA}/data/higgs.csv",
                3_501_672,
                "21f8b95e4aaed9e631a76d69c724bb0ca94456bc1ac01e18fd81b968dd3c9724",
            ),
        },
        prepare_higgs,
    ),
    "mnist": Recipe(MNIST_PIECES, prepare_mnist),
    "cifar10": Recipe(CIFAR10_PIECES, prepare_cifar10),
    "pacs": Recipe(PACS_PIECES, prepare_pacs, decodes=True),
}
