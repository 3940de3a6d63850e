"""One thread inside, and everything as it was outside."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from rdiv.parallel.threads import one_thread


def threads() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info()}


def threads_of_blas() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_every_library_has_one_thread_inside() -> None:
    with threadpool_limits(2):
        with one_thread():
            assert threads() == {1}
        assert 2 in threads()


def test_torch_too() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_all_is_put_back_after_an_error_and_when_nested() -> None:
    with threadpool_limits(2):
        with pytest.raises(RuntimeError, match="inside"), one_thread(), one_thread():
            raise RuntimeError("inside")
        assert 2 in threads()
        with one_thread():
            with one_thread():
                pass
            assert threads() == {1}  # the inner block does not lift the outer limit


def test_many_threads_may_enter() -> None:
    failures = []

    def enter() -> None:
        try:
            for _ in range(5):
                with one_thread():
                    np.ones((3, 3)) @ np.ones((3, 3))
        except Exception as error:  # pragma: no cover
            failures.append(error)

    workers = [threading.Thread(target=enter) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def test_who_leaves_first_does_not_lift_the_limit_of_the_others() -> None:
    entered, left, seen = threading.Event(), threading.Event(), []

    def stay() -> None:
        with one_thread():
            entered.set()
            left.wait(timeout=30)
            seen.append(threads_of_blas())

    with threadpool_limits(2):
        with one_thread():
            other = threading.Thread(target=stay)
            other.start()
            assert entered.wait(timeout=30)
        left.set()
        other.join()
        assert seen == [{1}]
        with one_thread():  # the thread that may change BLAS is here again
            pass
        assert threads_of_blas() == {2}
