"""Passes over the parts of a table: here, in worker processes, or on a cluster; one order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from rdiv.parallel.spreading import current_spread

__all__ = ["over_parts"]

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
