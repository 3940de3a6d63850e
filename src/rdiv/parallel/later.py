"""Tasks whose results are needed later, begun beside other work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import Context
from threading import Condition, Thread
from typing import Any, Generic, TypeVar
from weakref import ref

from rdiv.parallel.workers import useful_jobs

__all__ = ["Later"]

Result = TypeVar("Result")


class Later(Generic[Result]):
    """``call(*task)`` for every task, in several threads: some of them begin before others.

    Who asks for the results works on what is left. Tasks that are asked for by nobody any more are
    not begun, because threads keep no `Later` alive.

    Parameters
    ----------
    call : callable
        Its results must depend on the tasks alone. It should release Python's lock.
    tasks : sequence of tuples
    n_jobs : int, optional
        Threads in all, with the one that asks.

    Examples
    --------
    >>> powers = Later(pow, [(2, 3), (2, 4)], 2)
    >>> powers.begin()
    >>> print(list(powers.results()))
    [8, 16]
    """

    def __init__(
        self, call: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], n_jobs: int | None
    ) -> None:
        self.call, self.tasks = call, tasks
        self.helpers = useful_jobs(n_jobs, len(tasks)) - 1
        self.begun = 0
        self.done: dict[int, Result | BaseException] = {}
        self.changed = Condition()

    def begin(self) -> None:
        """Begin with as many threads as there are jobs beside the one that asks.

        They have no progress to show and no jobs of their own.
        """
        helpers, self.helpers = self.helpers, 0
        for _ in range(helpers):
            Thread(target=Context().run, args=(_help, ref(self)), daemon=True).start()

    def results(self) -> Iterator[Result]:
        """The results in the order of the tasks, each once it is there; an error is raised here."""
        self.begin()
        for place in range(len(self.tasks)):
            while place not in self.done and self.work(asking=True):
                pass
            with self.changed:
                while place not in self.done:
                    self.changed.wait()
                found = self.done.pop(place)
            if isinstance(found, BaseException):
                self.tasks = ()
                raise found
            yield found

    def work(self, *, asking: bool = False) -> bool:
        """Do one task that is left; False if there is none.

        An error is kept for `results`; what ends the program ends the thread that asks at once.
        """
        with self.changed:
            place = self.begun
            if place >= len(self.tasks):
                return False
            self.begun += 1
        try:
            found: Result | BaseException = self.call(*self.tasks[place])
        except BaseException as error:
            if asking and not isinstance(error, Exception):
                raise
            found = error
        with self.changed:
            self.done[place] = found
            self.changed.notify_all()
        return True


def _help(tasks: ref[Later[Any]]) -> None:
    """Do tasks as long as some are left and somebody may ask for them."""
    while (there := tasks()) is not None and there.work():
        del there
