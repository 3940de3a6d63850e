"""Prepared data files: where they lie, whether they are whole."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rdiv.errors import InputError, MissingFileError
from rdiv.names import chosen_from

__all__ = ["DATA_FILES", "DataFile", "arrays_digest", "data_dir", "data_file"]


@dataclass(frozen=True)
class DataFile:
    """One prepared file: its name, what it holds, the digest of its arrays.

    `made` is for a file that cannot be fetched: how it came about.
    """

    file: str
    about: str
    digest: str
    made: str | None = None


DATA_FILES = {
    "higgs": DataFile(
        "higgs_tst.npz",
        "HIGGS collision events (Baldi et al. 2014): 23262 background and 26166 signal rows",
        "be099709eff8444ecae357741d612c567529109bd49d3fdc763d77744ff7ed76",
    ),
    "mnist": DataFile(
        "mnist.npz",
        "MNIST (LeCun et al. 1998): all 70000 handwritten digits, 28 x 28",
        "51ea33bae9f51e6756a3648edb97929917a6645bdcda51a9229a2a37956685cd",
    ),
    "fake-mnist": DataFile(
        "fake_mnist.npz",
        "10000 digits drawn by a DCGAN, 28 x 28, in place of the lost file of the literature",
        "6300428105e73d51899f586720c3bd98438c455912d8d5e9ed1a6cf60646ffd7",
        "it was drawn once from a network whose weights are published as a pickle",
    ),
    "cifar10": DataFile(
        "cifar10.npz",
        "CIFAR-10 (Krizhevsky 2009): 10000 training and 5000 test images, 32 x 32, by class",
        "6c38aa0b7feecb83e0104466c0369308d1c9bd484565dc4e2d3072d3cb129bc4",
    ),
    "pacs": DataFile(
        "pacs_64.npz",
        "PACS (Li et al. 2017): all 9991 images of four domains, reduced to 64 x 64",
        "0b6d896670b8b92c1ab7497d360b0e2c5c99f23f80b71b756b6049ddb80fab1b",
    ),
    "imagenet": DataFile(
        "imagenet_sample_64.npz",
        "ImageNet (Deng et al. 2009): one image of each of 1000 classes, 64 x 64",
        "1fc0a79e0f5415ae54bf089da0c107dd01ab1c75066aa58d07eef1935b238453",
        "ImageNet gives its images only to those who accept its terms",
    ),
    "census": DataFile(
        "acs_employment_ma.npz",
        "American Community Survey, Massachusetts 2015 to 2018: 277677 people, who is employed",
        "b18983d4ca09baadbdcc90fd53194a6fcd903da14d0a44ea733aedc24bf385a9",
        "it was joined from the example data of another package",
    ),
    "bikes": DataFile(
        "bike_sharing_hour.npz",
        "Bike sharing in Washington, 2011 and 2012 (Fanaee-T and Gama 2014): 17379 hours",
        "64e3efbbbe634b71c1c0f08abaf5902559406c678cb073481adf505ea491311d",
        "it was copied from a public collection of examples",
    ),
}


def data_dir(given: str | Path | None = None) -> Path:
    """The folder of prepared files: the one given, ``RDIV_DATA``, or the cache.

    Examples
    --------
    >>> print(data_dir("somewhere"))
    somewhere
    """
    if given is not None:
        return Path(given).expanduser()
    named = os.environ.get("RDIV_DATA")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "rdiv"


def data_file(file: str, folder: str | Path | None = None) -> Path:
    """The path of a prepared file, refused if it is absent or not what it should be."""
    name = next((name for name, known in DATA_FILES.items() if known.file == file), file)
    known = chosen_from(DATA_FILES, name, "data file")
    path = data_dir(folder) / known.file
    if not os.path.isfile(path):  # False for a name that is too long, too
        raise MissingFileError(
            f"the data file {known.file} is not in {path.parent}; {_how_to_get(name)}"
        )
    stat = path.stat()
    if _digest_of(path, stat.st_mtime_ns, stat.st_size) != known.digest:
        raise InputError(
            f"{path} has a wrong checksum, so it is damaged or another file; delete it and "
            + (f"run 'rdiv data fetch {name}'." if known.made is None else "copy it again.")
        )
    return path


def _how_to_get(name: str) -> str:
    known = DATA_FILES[name]
    if known.made is not None:
        return (
            f"it cannot be fetched, because {known.made}: set RDIV_DATA (or --data-dir) to a "
            "folder that has it."
        )
    return (
        f"fetch it with 'rdiv data fetch {name}', or set RDIV_DATA (or --data-dir) to the folder "
        "that has it."
    )


def arrays_digest(arrays: dict[str, NDArray[np.generic]]) -> str:
    """Digest of named arrays, whatever file format holds them.

    Examples
    --------
    >>> print(arrays_digest({"x": np.arange(3)})[:8])
    6d406f81
    """
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()


@lru_cache(maxsize=32)
def _digest_of(path: Path, modified: int, size: int) -> str:
    """Digest of a file as it was at that time; a file that cannot be read has none."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as data:
            return arrays_digest({name: data[name] for name in data.files})
    except Exception:  # truncated, not a zip, pickled objects: in any case not our file
        return ""
