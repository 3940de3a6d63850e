"""The samples that a command was given."""

from __future__ import annotations

from typing import Any

__all__ = ["read_sample"]


def read_sample(path: str, data_dir: str | None) -> Any:
    """Read one sample; trouble of the system with the file is the user's to solve.

    Parameters
    ----------
    path : str
        A file, or ``file.npz::name``.
    data_dir : str or None
        Second place to look.
    """
    from rdiv.samples.files import read

    try:
        return read(path, data_dir=data_dir)
    except OSError as error:
        if error.errno is None:  # a sentence of our own
            raise
        raise ValueError(f"{path} could not be read: {error.strerror}; check the file.") from error
