"""Tasks that begin beside other work: the same results, errors where they are asked for."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable

import pytest

from rdiv.parallel import later
from rdiv.parallel.later import Later

TASKS = [(i,) for i in range(6)]


@pytest.fixture(autouse=True)
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many jobs as asked for, on any machine."""
    monkeypatch.setattr(later, "useful_jobs", lambda n_jobs, tasks: min(n_jobs or 1, tasks))


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.mark.parametrize("jobs", [None, 1, 2, 5])
@pytest.mark.parametrize("begin", [False, True])
def test_results_come_in_order(jobs: int | None, begin: bool) -> None:
    squares = Later(lambda i: i**2, TASKS, jobs)
    if begin:
        squares.begin()
    assert list(squares.results()) == [0, 1, 4, 9, 16, 25]


def test_with_one_job_a_task_runs_when_it_is_asked_for() -> None:
    seen: list[int] = []
    numbers = Later(seen.append, TASKS, 1)
    numbers.begin()
    results = numbers.results()
    assert not seen
    next(results)
    assert seen == [0]


def test_all_is_done_before_anybody_asks() -> None:
    threads = set()

    def which(i: int) -> int:
        threads.add(threading.get_ident())
        return i

    numbers = Later(which, TASKS, 2)
    numbers.begin()
    numbers.begin()  # as often as one likes: there is one thread beside the one that asks
    wait_for(lambda: len(numbers.done) == len(TASKS))
    assert len(threads) == 1
    assert threads != {threading.get_ident()}
    assert list(numbers.results()) == list(range(6))


def test_who_asks_does_what_is_left() -> None:
    asked = threading.Event()
    by = {}

    def slow(i: int) -> int:
        by[i] = threading.get_ident()
        if by[i] != threading.main_thread().ident:
            asked.wait(30)  # the first task, until all others are done
        elif len(by) == len(TASKS):
            asked.set()
        return i

    numbers = Later(slow, TASKS, 2)
    numbers.begin()
    wait_for(lambda: bool(by))
    assert list(numbers.results()) == list(range(6))
    assert [who == threading.get_ident() for who in by.values()] == [False] + 5 * [True]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_is_raised_at_its_place_and_ends_all(jobs: int) -> None:
    def root(i: int) -> float:
        return 1 / (i - 2)

    roots = Later(root, TASKS, jobs)
    roots.begin()
    results = roots.results()
    assert [next(results), next(results)] == [-0.5, -1.0]
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert not roots.work()


def test_what_ends_a_thread_is_not_waited_for_forever() -> None:
    def leave(i: int) -> None:
        raise SystemExit(i)

    numbers = Later(leave, TASKS, 2)
    numbers.begin()
    wait_for(lambda: len(numbers.done) == len(TASKS))
    with pytest.raises(SystemExit):
        next(numbers.results())


def test_tasks_of_nobody_are_not_begun() -> None:
    first, go_on, seen = threading.Event(), threading.Event(), []

    def slow(i: int) -> None:
        seen.append(i)
        first.set()
        go_on.wait(30)

    numbers = Later(slow, TASKS, 2)
    numbers.begin()
    first.wait(30)
    before = threading.active_count()
    del numbers
    gc.collect()
    go_on.set()
    wait_for(lambda: threading.active_count() < before)
    assert seen == [0]
