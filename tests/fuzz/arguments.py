"""Arguments of every command: a run that works, changed in some places.

Options and their kinds are read off the commands themselves, so that a new command only needs a
line in `BASES`, and a new option none.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from rdiv.cli.application import command
from rdiv.discrepancies import BY_NAME as DISCREPANCIES
from rdiv.models import BY_NAME as MODELS

__all__ = ["BASES", "PAIR", "RIDGE", "SLOW", "WATCHED", "arguments", "commands", "options_of"]

QUICK = ["--model", "ridge", "--resamples", "39", "--target", "visits"]
RIDGE = ["--model", "ridge"]
BOARD = ["--trials", "4", "--trained-trials", "0", "--resamples", "39"]
SMALL = ["--sizes", "20", "--trials", "1", "--resamples", "39"]
PAIR = ["reference.csv", "current.csv"]
ARRAYS = ["arrays.npz", "other.npz"]
PARTS = ["parts", "parts/*.parquet"]
WATCHED = ["--loss", "error"]
BASES: dict[str, list[list[str]]] = {
    "compare": [
        ["compare", *PAIR, *QUICK],
        ["compare", *PAIR, "--target", "bought", "--model", "logistic", "--resamples", "39"],
        ["compare", *PAIR, "--loss", "error", "--resamples", "39"],
        ["compare", *PAIR, "--target", "bought", "--prediction", "chance", "--resamples", "39"],
        ["compare", *PAIR, *QUICK, "--by", "month"],
        ["compare", *ARRAYS, "--model", "logistic", "--resamples", "39"],
        ["compare", "long.csv", "unlabelled.csv", *QUICK],
        ["compare", "long.csv", "labels_later.csv", *QUICK],
        ["compare", *PARTS, *QUICK],
    ],
    "test": [
        ["test", *PAIR, *QUICK],
        ["test", *ARRAYS, "--discrepancy", "energy", "--resamples", "39"],
    ],
    "plan": [
        ["plan", *PAIR, *QUICK, "--trials", "4"],
        ["plan", PAIR[0], *QUICK, "--gap", "0.5"],
        ["plan", "long.csv", *QUICK, "--labels", "none", "--gap", "0.5"],
    ],
    "denoise": [["denoise", PAIR[0], "--target", "bought", "--model", "logistic"]],
    "power": [
        ["power", "blob", *SMALL, "--discrepancy", "energy"],
        ["power", "--pair", *ARRAYS, *SMALL, "--discrepancy", "r-div:gmm"],
    ],
    "leaderboard": [
        ["leaderboard", "--cells", "blob, 50", "--discrepancy", "energy", "--minutes", "0"],
        ["leaderboard", "--cells", "blob, 50", "--discrepancy", "energy", *BOARD],
    ],
    "bound": [
        ["bound", "--complexity-p", "0.1"],
        ["bound", "--norms", "1,2", "--rows", "100"],
        ["bound", "--network", "weights.safetensors"],
    ],
    "reproduce": [["reproduce", "hdgm-size", "--plan"], ["reproduce"]],
    "watch start": [
        ["watch", "start", PAIR[0], "--state", "new.json", *WATCHED],
        ["watch", "start", "long.csv", "--state", "new.json", "--target", "visits", *RIDGE],
    ],
    "watch add": [
        ["watch", "add", PAIR[1], "--state", "state.json"],
        ["watch", "add", PAIR[1], "labels_later.csv", "--state", "trained.json"],
    ],
    "watch show": [["watch", "show", "--state", "state.json"]],
    "data list": [["data", "list"]],
    "data path": [["data", "path", "higgs"]],
    "data fetch": [["data", "fetch", "mnist", "--data-dir", "nowhere"]],
}
"""Runs that take about a second, by command; the files are made by `test_arguments.py`."""

SLOW = {"demo"}
"""Commands that have nothing small to run."""

_SKIPPED = {"--jobs", "--scheduler", "--plan", "--help"}  # processes; tables that take minutes
_COUNTS = ["20", "1000", "0", "x"]
_NUMBERS = ["0", "1", "-1", "2", "5", "0.5", "0.05", "1e-300", "1e400", "nan", "inf", "-0.0"]
_ODD = ["", " ", "x", "é\u202e", "\udcff", "-", "--", "'", "a,b", "1,2", "None", "../..", "a" * 300]
_COLUMNS = ["age", "visits", "bought", "shop", "month", "error", "chance", "day", "no such"]
_FILES = [
    *PAIR,
    *ARRAYS,
    *PARTS,
    "unlabelled.csv",
    "labels_later.csv",
    "arrays.npz::x",
    "empty.csv",
    "absent.csv",
    "folder",
    "/dev/null",
]
_OUT = ["out.json", "-", "folder", "absent/out.json", "reference.csv", "out.csv", "/dev/full", ""]
_SMALL_MODELS = [name for name in MODELS if name in ("mixed", "kde", "gmm", "pca", "ridge")]
_BY_OPTION: dict[str, list[str]] = {
    **dict.fromkeys(["--target", "--loss", "--drop", "--groups", "--strata", "--by"], _COLUMNS),
    "--prediction": [*_COLUMNS, "yes=chance", "no=chance", "=chance", "yes="],
    "--model": [*_SMALL_MODELS, "logistic", "os:getcwd", "x.onnx", "os", "json:loads", "a:b:c"],
    "--retrain": ["none", "ridge", "logistic", "x"],
    "--discrepancy": [name for name in DISCREPANCIES if name not in ("mmd-d", "h-div")],
    "--method": ["os:getcwd", "absent:Thing", "collections:OrderedDict"],
    "--resamples": ["39", "19", "0", "-5", "18", "99", "x"],
    "--trials": ["1", "2", "0"],
    "--trained-trials": ["0", "x"],
    "--labels": ["all", "none", "x"],
    **dict.fromkeys(["--fit-rows", "--sample-rows"], _COUNTS),
    "--repeats": ["1", "2", "0"],
    "--cells": ["blob, 50", "digits source, 20", "blob", "*, 7", "no such", "bl*,50"],
    "--minutes": ["0", "0.001"],
    "--sizes": ["20", "10,20", "1", "0", "-3", "20,", "2e1"],
    "--rows": ["100", "1", "0", "10,1e6", "x"],
    "--folds": ["0", "1", "2", "3", "7", "200"],
    "--train": _FILES,
    "--data-dir": ["folder", "absent", ""],
    **dict.fromkeys(["--json", "--html", "--out", "--plot", "--picture"], _OUT),
    "--pair": _FILES,
    "--network": ["weights.safetensors", "reference.csv", "absent"],
    "--norms": ["1", "1,2,3", "0", "-1", "1e200,1e200"],
    "--state": [
        "state.json",
        "trained.json",
        "new.json",
        "absent.json",
        "reference.csv",
        "folder",
        "",
    ],
    "--reference": _FILES,
    "--batches": _COLUMNS,
    "--unit": ["row", "batch", "x"],
    "--noise-rate": ["auto", "paper", "0.1", "0", "1", "nan", "x"],
}


def commands() -> dict[str, Any]:
    """Every command by its words, those in groups as ``"data list"``."""
    top = command().commands
    found = {name: one for name, one in top.items() if not hasattr(one, "commands")}
    for group in (name for name, one in top.items() if hasattr(one, "commands")):
        found |= {f"{group} {name}": one for name, one in top[group].commands.items()}
    return found


def options_of(name: str) -> dict[str, tuple[bool, int]]:
    """The options of a command: whether each is a flag, and how many values it takes."""
    options = [one for one in commands()[name].params if one.param_type_name == "option"]
    return {
        one.opts[-1]: (bool(one.is_flag), one.nargs)
        for one in options
        if one.opts[-1] not in _SKIPPED
    }


@st.composite
def arguments(draw: st.DrawFn, name: str | None = None) -> list[str]:
    """A run that works, with options added, and sometimes a word replaced or removed."""
    name = name or draw(st.sampled_from(sorted(BASES)))
    words = list(draw(st.sampled_from(BASES[name])))
    known = options_of(name)
    for option in draw(st.lists(st.sampled_from(sorted(known)), max_size=3)) if known else []:
        flag, values = known[option]
        plausible = _BY_OPTION.get(option, _NUMBERS)
        value = st.one_of(*[st.sampled_from(plausible)] * 4, st.sampled_from(_ODD + _NUMBERS))
        words += [option] if flag else [option, *(draw(value) for _ in range(values))]
    if len(words) > 1 and draw(st.integers(0, 3)) == 0:
        place = draw(st.integers(1, len(words) - 1))
        other = draw(st.one_of(st.sampled_from([*_FILES, *_ODD, *_NUMBERS]), st.text(max_size=8)))
        words[place : place + 1] = draw(st.sampled_from([[], [other], [words[place], other]]))
    return words
