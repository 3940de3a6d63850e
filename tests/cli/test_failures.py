"""Which failures are the user's to solve, and which are ours."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Run

import rdiv.comparison.compare
from rdiv import errors
from rdiv.cli.failures import CRASH, INTERRUPTED, MISUSE, report
from rdiv.results import as_json


def raised(code: str) -> BaseException:
    """The exception of a line of code."""
    try:
        exec(code, {"np": np, "as_json": as_json, **vars(errors)})
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise InputError('bad')", MISUSE),
        ("raise InputTypeError('bad')", MISUSE),
        ("raise InputFileError('bad')", MISUSE),
        ("raise MissingFileError('bad')", MISUSE),
        ("raise MissingExtraError('bad')", MISUSE),
        ("raise DivergedError('bad')", MISUSE),
        ("raise WorkerError('bad')", MISUSE),
        ("raise SchedulerError('bad')", MISUSE),
        ("raise ValueError('bad')", CRASH),
        ("raise TypeError('bad')", CRASH),
        ("int('x')", CRASH),
        ("np.zeros(2) @ np.zeros(3)", CRASH),
        ("as_json({'a': float('nan')})", CRASH),
        ("raise RuntimeError('bad')", CRASH),
        ("raise KeyError('bad')", CRASH),
        ("assert False", CRASH),
        ("raise MemoryError", CRASH),
        ("open('/nowhere/at/all')", CRASH),
        ("raise KeyboardInterrupt", INTERRUPTED),
    ],
)
def test_codes(capsys: pytest.CaptureFixture[str], code: str, expected: int) -> None:
    assert report(raised(code)) == expected
    err = capsys.readouterr().err
    assert err.startswith("rdiv: ")
    assert err.count("\n") == 1
    assert ("bug in rdiv" in err) == (expected == CRASH)


def test_crash_of_ours_exits_3(
    run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*samples: Any, **options: Any) -> None:
        raise RuntimeError("boom\nbang")

    monkeypatch.setattr(rdiv.comparison.compare, "compare", crash)
    monkeypatch.delenv("RDIV_TRACEBACK", raising=False)
    arguments = ["compare", files / "reference.csv", files / "same.csv", "--fail-on-shift"]
    ran = run(*arguments, "--json", tmp_path / "out.json")
    assert (ran.code, ran.out, list(tmp_path.iterdir())) == (3, "", [])
    assert "bug in rdiv" in ran.err
    assert "RuntimeError: boom bang" in ran.err
    assert "RDIV_TRACEBACK=1" in ran.err
    assert ran.err.count("\n") == 1
    monkeypatch.setenv("RDIV_TRACEBACK", "1")
    assert "Traceback (most recent call last)" in run(*arguments).err


def test_interrupt_exits_130_and_leaves_nothing(
    run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*samples: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rdiv.comparison.compare, "compare", interrupt)
    ran = run("compare", files / "reference.csv", files / "same.csv", "--json", tmp_path / "out")
    assert ran == (130, "", "rdiv: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_trouble_with_a_file_is_bad_input(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "read_bytes", fail)
    ran = run("compare", files / "reference.csv", files / "same.csv")
    assert ran.code == 2
    assert "reference.csv could not be read: Input/output error" in ran.err


def test_missing_extra_is_named(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    ran = run("compare", files / "reference.csv", files / "same.csv")
    assert ran.code == 2
    assert 'pip install "rdiv[cli]"' in ran.err
    assert ran.err.count("\n") == 1


def test_sentences_of_the_library_say_which_sample_is_which(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report(errors.InputError("got 0 in p and 9 in q; look."))
    report(errors.InputError("no column 'p' here."))
    assert capsys.readouterr().err.splitlines() == [
        "rdiv: got 0 in p and 9 in q; look (p is REFERENCE, q is CURRENT).",
        "rdiv: no column 'p' here.",
    ]


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name != "InputError"])
def test_every_mistake_is_an_input_error_and_travels(name: str) -> None:
    """Workers send exceptions as pickles; the class and the sentence arrive."""
    error = pickle.loads(pickle.dumps(getattr(errors, name)("what to do.")))
    assert isinstance(error, errors.InputError)
    assert (type(error).__name__, str(error)) == (name, "what to do.")
