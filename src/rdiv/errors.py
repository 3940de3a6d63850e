"""Errors that only the user can fix: each says what was given and what to do instead.

The command ends with exit code 2 for these, and with 3 for all other exceptions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "DivergedError",
    "InputError",
    "InputFileError",
    "InputTypeError",
    "MissingExtraError",
    "MissingFileError",
    "OutOfMemoryError",
    "OutOfReachError",
    "SchedulerError",
    "WorkerError",
]


class InputError(ValueError):
    """An input that cannot be used. The message says what was expected and what to do.

    Examples
    --------
    >>> import rdiv
    >>> try:
    ...     rdiv.two_sample_test([1.0, 2.0], [1.0, 2.0], alpha=2)
    ... except rdiv.errors.InputError as error:
    ...     print(error)
    alpha must lie strictly between 0 and 1, got 2.
    """


class InputTypeError(InputError, TypeError):
    """An input of a type that cannot be used."""


# The built-in class comes first where it has its own constructor, because pickle uses the first.


class InputFileError(OSError, InputError):
    """A file that cannot be read or written."""


class MissingFileError(FileNotFoundError, InputFileError):
    """A file that does not exist."""


class MissingExtraError(ImportError, InputError):
    """A required package that is not installed; the message names the extra."""


class OutOfMemoryError(MemoryError, InputError):
    """Work that does not fit into the memory there is."""


class WorkerError(ChildProcessError, InputError):
    """Worker processes that died, usually because memory ran out."""


class SchedulerError(ConnectionError, InputError):
    """A cluster that does not answer."""


class OutOfReachError(InputError):
    """Too few rows or groups for any p-value to reach the level."""


class DivergedError(InputError):
    """Training whose loss became NaN or infinite; smaller steps may help."""


@contextmanager
def naming(step: str, advice: str) -> Iterator[None]:
    """Turn an exception of another library into an `InputError` that names the step.

    Parameters
    ----------
    step : str
        The step that failed, such as ``"fitting Ridge"``.
    advice : str
        What to do, without a full stop.

    Examples
    --------
    >>> with naming("reading column 'age' as numbers", "convert it first"):
    ...     float("old")
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: reading column 'age' as numbers failed (ValueError: could not ...
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except BaseException as error:
        panic = type(error).__name__ == "PanicException"  # of polars; it is not an Exception
        if not isinstance(error, Exception) and not panic:
            raise
        reason = (str(error).strip().splitlines() or [""])[0].rstrip(".:")
        what = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
        raise InputError(f"{step} failed ({what}); {advice}.") from error
