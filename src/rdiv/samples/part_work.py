"""Passes over the parts of a table: here, in worker processes, or on a cluster; one order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

from rdiv.parallel.spreading import current_spread
from rdiv.progress import telling

__all__ = ["over_parts", "reading_rows"]

Found = TypeVar("Found")


def over_parts(
    call: Callable[[Any, Any], Iterator[Found]], shared: Any, tasks: Iterable[Any]
) -> Iterator[Found]:
    """What a call finds in the blocks of every part, in the order of the parts.

    Parameters
    ----------
    call : callable
        From what is shared and a task to an iterator; a function of a module, so that workers find
        it.
    shared : object
    tasks : iterable

    Examples
    --------
    >>> print([*over_parts(lambda base, task: iter([base + task]), 10, [1, 2])])
    [11, 12]
    """
    spread = current_spread()
    if spread is None:
        for task in tasks:
            yield from call(shared, task)
        return
    for found in spread(_all_of, (call, shared), tasks):
        yield from found


def _all_of(work: tuple[Callable[[Any, Any], Iterator[Any]], Any], task: Any) -> list[Any]:
    call, shared = work
    return list(call(shared, task))


@contextmanager
def reading_rows(total: int, what: str = "row") -> Iterator[Callable[[int], None]]:
    """Give a function that is told how many rows were read, and shows how long the rest takes.

    Examples
    --------
    >>> with reading_rows(2) as at:
    ...     at(1)
    """
    done, start = 0, monotonic()
    with telling() as say:

        def at(rows: int) -> None:
            nonlocal done
            done += rows
            say(f"{what} {done} of {total}{_time_left(done, total, monotonic() - start)}")

        yield at


def _time_left(done: int, total: int, seconds: float) -> str:
    """How long the rest takes at the rate so far, once that is known."""
    if seconds < 2 or not done:
        return ""
    left = seconds * (total - done) / done
    return f", {left / 60:.0f} min left" if left >= 90 else f", {left:.0f} s left"
