"""Mistakes that only the person who made them can mend: what was given, what to do instead.

The command ends with exit code 2 for these, and with 3 for whatever nobody foresaw.
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
    "SchedulerError",
    "WorkerError",
]


class InputError(ValueError):
    """What was given cannot be used. The sentence says what was expected and what to do.

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
    """A thing of a kind that cannot be used here."""


# Python's class comes first where it has a constructor of its own: pickles ask the first one.


class InputFileError(OSError, InputError):
    """A file that cannot be read or written."""


class MissingFileError(FileNotFoundError, InputFileError):
    """A file that is not there."""


class MissingExtraError(ImportError, InputError):
    """A package that this needs and that is not installed; the sentence names the extra."""


class WorkerError(ChildProcessError, InputError):
    """Worker processes that died, usually for want of memory."""


class SchedulerError(ConnectionError, InputError):
    """A cluster that does not answer."""


class DivergedError(InputError):
    """Training whose loss is no number any more; smaller steps may help."""


@contextmanager
def naming(step: str, advice: str) -> Iterator[None]:
    """Turn what another library raises on the user's data into an `InputError` that names the step.

    Parameters
    ----------
    step : str
        What was being done, such as ``"fitting Ridge"``.
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
        panic = type(error).__name__ == "PanicException"  # of polars, and no Exception
        if not isinstance(error, Exception) and not panic:
            raise
        reason = (str(error).strip().splitlines() or [""])[0].rstrip(".:")
        what = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
        raise InputError(f"{step} failed ({what}); {advice}.") from error
