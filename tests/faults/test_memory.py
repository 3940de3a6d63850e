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


ALLOCATIONS = ("empty", "zeros", "full", "concatenate", "stack", "where", "asarray", "repeat")
FEW = ["--model", "ridge", "--resamples", "39", "--target", "y"]
COMMANDS: dict[str, list[str]] = {
    "compare": ["compare", "p.csv", "q.csv", *FEW, "--json", "out.json"],
    "no labels": ["compare", "long.csv", "unlabelled.csv", *FEW, "--json", "out.json"],
    "no target": ["compare", "p.csv", "q.csv", "--resamples", "39", "--json", "out.json"],
    "levels": ["compare", "p.csv", "q.csv", *FEW, "--by", "c", "--html", "page.html"],
    "partitions": ["compare", "parts", "parts", *FEW, "--json", "out.json"],
    "test": ["test", "p.csv", "q.csv", *FEW, "--discrepancy", "omnibus", "--json", "out.json"],
    "plan": ["plan", "p.csv", "q.csv", *FEW, "--gap", "1", "--picture", "curve.svg"],
    "denoise": ["denoise", "p.csv", "--target", "c", "--model", "logistic", "--out", "clean.csv"],
    "watch": ["watch", "start", "long.csv", "--target", "y", "--model", "ridge", "--state", "s"],
}
PLACES = (0.0, 0.45, 0.95)
"""Which of the allocations of a run fails, as a share of their number."""


def allocating(patch: pytest.MonkeyPatch, fail_at: int | None) -> list[int]:
    """Count the arrays that rdiv itself makes; one of them does not fit."""
    import sys

    import numpy as np

    made_so_far = [0]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(real)
        def wrapped(*given: Any, **options: Any) -> Any:
            if sys._getframe(1).f_globals.get("__name__", "").startswith("rdiv."):
                made_so_far[0] += 1
                if made_so_far[0] == fail_at:
                    raise MemoryError("Unable to allocate 40. GiB for an array")
            return real(*given, **options)

        return wrapped

    for name in ALLOCATIONS:
        patch.setattr(np, name, counted(getattr(np, name)))
    return made_so_far


@pytest.mark.trains
@pytest.mark.parametrize("name", COMMANDS)
def test_no_memory_anywhere_on_the_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch() as folder:
        for seed, (file, rows) in enumerate((("p", 40), ("q", 40), ("long", 120))):
            made(Recipe(TABLE.columns, rows, seed)).write_csv(folder / f"{file}.csv")
        made(Recipe(TABLE.columns, 120, 5)).drop("y").write_csv(folder / "unlabelled.csv")
        (folder / "parts").mkdir()
        for k in range(2):
            made(Recipe(TABLE.columns, 40, k)).write_parquet(folder / "parts" / f"{k}.parquet")
        before = {file: file.stat().st_mtime_ns for file in folder.rglob("*")}

        def ran(fail_at: int | None) -> tuple[int, str, int]:
            with monkeypatch.context() as patch:
                arrays = allocating(patch, fail_at)
                code, _, said = run(COMMANDS[name], "fault", folder)
            return code, said, arrays[0]

        for place in PLACES:
            if place == 0.0:
                code, said, arrays = ran(None)
                assert (code, arrays > 50) == (0, True), said
                for file in set(folder.rglob("*")) - set(before):
                    file.unlink()
            code, said, _ = ran(1 + int(place * arrays))
            assert code == 2, (place, said)
            assert "not enough memory (unable to allocate 40. GiB" in said
            left = {file for file in folder.rglob("*") if file.suffix != ".lock"}
            assert left == set(before)
