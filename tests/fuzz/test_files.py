"""Any file: a result or one sentence, never a crash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.fuzz.files import Made, files, written
from tests.fuzz.promise import call, examples, run, scratch
from tests.fuzz.tables import Recipe

import rdiv

FEW = ("--model", "ridge", "--resamples", "39")
"""A quick model and enough permutations for level 0.05, so that the arguments are used."""

CLASSES = ("--model", "logistic", "--resamples", "39", "--target", "y", "--task", "classification")

RUNS = {
    "compare": ["compare", "P", "Q", *FEW, "--target", "y"],
    "compare by logistic": ["compare", "P", "Q", *CLASSES, "--html", "page.html"],
    "compare inputs": ["compare", "P", "Q", "--resamples", "39", "--model", "gmm"],
    "test": ["test", "P", "Q", *FEW, "--target", "y"],
    "energy": ["test", "P", "Q", "--discrepancy", "energy", "--resamples", "39"],
    "inputs": ["test", "P", "Q", "--discrepancy", "inputs", "--resamples", "39"],
    "plan": ["plan", "P", "Q", *FEW, "--target", "y"],
    "denoise": ["denoise", "P", "--target", "y", "--model", "logistic", "--out", "clean.csv"],
}

_quiet = settings(
    max_examples=examples(30), suppress_health_check=list(HealthCheck), deadline=None, database=None
)


def _arguments(command: str, file: Made, p: Path, q: Path) -> list[str]:
    """A run of the command, with the model for this target, and without a target for arrays."""
    places, words = {"P": str(p), "Q": str(q)}, list(RUNS[command])
    if file.format in (".npy", ".npz") and "--target" in words:
        at = words.index("--target")
        del words[at : at + 2]
        places["ridge"] = "gmm"
    elif dict(file.recipe.columns).get("y") not in ("normal", "whole"):
        places["ridge"] = "logistic"
    return [places.get(word, word) for word in words]


WIDE = Recipe((("a", "normal"), ("y", "big integers"), ("b", "unsigned")), 34, 200)
"""Whole numbers of 64 bits with and without a sign, which polars reads from JSON as 128 bits."""

NESTED = Recipe((("a", "normal"), ("y", "two"), ("x 1", "lists")), 40)
"""Rows that a csv file cannot hold, and that `denoise --out` was asked to write to one."""


@_quiet
@example(Made(WIDE, ".ndjson"), None, "test", False)
@example(Made(NESTED, ".jsonl"), None, "denoise", False)
@given(
    files(), st.one_of(st.none(), st.none(), files()), st.sampled_from(list(RUNS)), st.booleans()
)
def test_no_file_makes_a_command_crash(
    p: Made, q: Made | None, command: str, swapped: bool
) -> None:
    """The second file is another draw of the first table, unless one of its own is drawn."""
    other = q or Made(replace(p.recipe, seed=p.recipe.seed + 1), p.format)
    if swapped:
        p, other = other, p
    with scratch() as folder:
        paths = written(p, folder, "p"), written(other, folder, "q")
        before = sorted(folder.iterdir())
        code, _, _ = run(_arguments(command, p, *paths), "file", folder)
        assert code == 0 or sorted(folder.iterdir()) == before, "a refused run left a file"


@_quiet
@given(files())
def test_no_file_makes_read_crash(file: Made) -> None:
    with scratch() as folder:
        call(rdiv.read, str(written(file, folder, "p")), kind="read")
