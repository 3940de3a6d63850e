"""Settings shared by all tests; the thread limits come before numpy is loaded."""

from __future__ import annotations

import os
import sys

# More threads only where they are asked for: small fits are far slower when they fight for cores.
_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
os.environ.update(dict.fromkeys(_LIMITS, os.environ.get("RDIV_TEST_THREADS", "1")))
os.environ["MPLBACKEND"] = "agg"  # plot() opens no window

from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("rdiv", deadline=None, print_blob=True)
settings.register_profile("ci", settings.get_profile("rdiv"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "rdiv")


@pytest.fixture(scope="session", autouse=True)
def no_fork() -> Iterator[None]:
    """No test forks this process: polars hangs in a forked child that inherited its threads."""

    def refuse() -> int:
        raise AssertionError("a process was forked")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fork", refuse)
        yield


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    """No figure outlives its test: pyplot keeps those that `plot()` opens, and warns at 20."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of prepared benchmark files; the test is skipped where there is none."""
    given = os.environ.get("RDIV_DATA")
    if not given:
        pytest.skip("RDIV_DATA is not set; point it at the folder of prepared .npz files")
    if not Path(given).is_dir():
        pytest.skip(f"RDIV_DATA names {given}, which is not a folder")
    return Path(given)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Doctests carry the mark of tests that train: most fit something and print what they found."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.add_marker(pytest.mark.trains)
