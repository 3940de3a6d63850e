"""Memory that runs out at any heavy step: one sentence, exit code 2, nothing written."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest
from tests.fuzz.promise import run, scratch
from tests.fuzz.tables import Recipe, made

TABLE = Recipe((("a", "normal"), ("b", "holes"), ("c", "classes"), ("y", "normal")), 40)
COMPARE = ["compare", "p.csv", "q.csv", "--target", "y", "--model", "ridge", "--resamples", "39"]
COMPARE += ["--html", "page.html", "--json", "out.json"]
STEPS = [
    "polars.read_csv",
    "numpy.concatenate",
    "numpy.empty",
    "numpy.stack",
    "numpy.where",
    "rdiv.comparison.compare.find_drivers",
    "rdiv.comparison.compare.data_warnings",
    "rdiv.samples.pooling.content_keys",
    "rdiv.two_sample.permute",
    "rdiv.models.linear.Ridge.fit",
    "rdiv.comparison.compare.ask",
    "rdiv.report.pages.render",
]
"""Where large arrays, tables or texts come into being."""


def failing(real: Callable[..., Any], calls: int) -> Callable[..., Any]:
    """The same function, out of memory at one of its calls."""
    left = [calls]

    @wraps(real)
    def wrapped(*given: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise MemoryError("Unable to allocate 40. GiB for an array")
        return real(*given, **options)

    return wrapped


def named(step: str) -> tuple[Any, str] | None:
    """The module or class that holds a step, and its name there; None where it has moved."""
    from importlib import import_module

    words = step.split(".")
    for cut in range(len(words) - 1, 0, -1):
        try:
            holder: Any = import_module(".".join(words[:cut]))
        except ImportError:
            continue
        for word in words[cut:-1]:
            holder = getattr(holder, word, None)
        return (holder, words[-1]) if hasattr(holder, words[-1]) else None
    return None


@pytest.mark.trains
@pytest.mark.parametrize("step", STEPS)
def test_no_memory_at_a_heavy_step(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = named(step)
    if found is None:
        pytest.skip(f"there is no {step}")
    holder, name = found
    with scratch() as folder:
        for seed, file in enumerate(("p.csv", "q.csv")):
            made(Recipe(TABLE.columns, TABLE.rows, seed)).write_csv(folder / file)
        before = sorted(folder.iterdir())
        with monkeypatch.context() as patch:
            patch.setattr(holder, name, failing(getattr(holder, name), calls=1))
            code, _, said = run(COMPARE, "fault", folder)
        assert code == 2, "the step is not on the way of this run"
        assert "there is not enough memory (unable to allocate 40. GiB" in said
        assert sorted(folder.iterdir()) == before
