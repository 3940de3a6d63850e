"""Fetch public data and prepare the files that sources read."""

from __future__ import annotations

import gzip
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, InputFileError, MissingExtraError
from rdiv.names import chosen_from
from rdiv.samples.whole_files import put_in_place
from rdiv.sources.data_files import DATA_FILES, arrays_digest, data_dir, data_file

__all__ = [
    "CIFAR10_PIECES",
    "MNIST_PIECES",
    "PACS_PIECES",
    "RECIPES",
    "Recipe",
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
        raise InputError(f"{path.name} does not hold bytes in the idx format.")
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


TIMEOUT = 60
"""Seconds without an answer after which a download is given up."""


@dataclass(frozen=True)
class Recipe:
    """How a data file is made.

    Parameters
    ----------
    pieces : mapping
        The files to download: the name that each gets, and its public address.
    prepare : callable
        From the folder with the pieces to the named arrays of the data file.
    decodes : bool
        Whether the pieces hold images that Pillow has to decode.
    """

    pieces: Mapping[str, str]
    prepare: Callable[[Path], Arrays]
    decodes: bool = False


def fetch(name: str, folder: str | Path | None = None, *, origin: str | None = None) -> Path:
    """Download the pieces of a data file from their public origin and prepare the file.

    The digest of the arrays decides: what does not match the one in ``DATA_FILES`` is not kept,
    whatever the reason. The file appears whole or not at all. One that is there already and whole
    is left alone.

    Parameters
    ----------
    name : str
        A name in ``DATA_FILES``.
    folder : path, optional
        Where to put it; by default ``RDIV_DATA``, then the cache.
    origin : str, optional
        Scheme and host to use in place of those of the public addresses, for a mirror; by default
        the one in the environment variable ``RDIV_DATA_ORIGIN``, if there is one.

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
    download, origin = _downloader(recipe), origin or os.environ.get("RDIV_DATA_ORIGIN")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".fetch-", dir=place.parent) as scratch:
            for piece, address in recipe.pieces.items():
                _download(download, _moved(address, origin), Path(scratch, piece))
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


def _downloader(recipe: Recipe) -> Any:
    try:
        from pooch import HTTPDownloader

        if recipe.decodes:
            import PIL.Image  # noqa: F401
    except ImportError as error:
        what = "pooch" if error.name == "pooch" else "Pillow"
        raise MissingExtraError(
            f'fetching data needs {what}; install it with pip install "rdiv[data]".'
        ) from None
    return HTTPDownloader(timeout=TIMEOUT)


def _download(download: Any, address: str, place: Path) -> None:
    try:
        download(address, str(place), None)
    except OSError as error:
        answer = getattr(error, "response", None)
        said = error.strerror or type(error).__name__
        reason = said if answer is None else f"the server answers {answer.status_code}"
        raise InputFileError(
            f"{address} could not be downloaded ({reason}) and nothing was kept; "
            "check the connection and try again."
        ) from error


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
            "train_5K": f"{CATBOOST}/catboost/pytest/data/higgs/train_5K",
            "X_num_val.npy": f"{DDPM}/data/higgs-small/X_num_val.npy",
            "y_val.npy": f"{DDPM}/data/higgs-small/y_val.npy",
            "X_num_test.npy": f"{DDPM}/data/higgs-small/X_num_test.npy",
            "y_test.npy": f"{DDPM}/data/higgs-small/y_test.npy",
            "higgs.csv": f"{VIYA}/data/higgs.csv",
        },
        prepare_higgs,
    ),
    "mnist": Recipe(MNIST_PIECES, prepare_mnist),
    "cifar10": Recipe(CIFAR10_PIECES, prepare_cifar10),
    "pacs": Recipe(PACS_PIECES, prepare_pacs, decodes=True),
}
