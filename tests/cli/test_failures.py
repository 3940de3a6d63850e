"""Which failures are the user's to solve, and which are ours."""

from __future__ import annotations

import pickle
import signal
import sys
from contextlib import suppress
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
        ("raise MemoryError", MISUSE),
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


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("got 0 in p and 9 in q; look.", "got 0 in REFERENCE and 9 in CURRENT; look."),
        ("p of shape (4, 2) and q of", "REFERENCE of shape (4, 2) and CURRENT of"),
        ("no column 'p' in p.csv or /data/q/x.csv.", "no column 'p' in p.csv or /data/q/x.csv."),
        ("the smallest p-value, p = 0.1.", "the smallest p-value, p = 0.1."),
        (
            "name the column with target= or pass each sample as a pair (X, y).",
            "name the column with --target or give npz files of x and y.",
        ),
        ("got groups='day'; use strata=.", "got --groups 'day'; use --strata."),
        ("n_resamples=9 is too few.", "--resamples 9 is too few."),
    ],
)
def test_sentences_of_the_library_in_the_words_of_the_command(
    said: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report(errors.InputError(said))
    report(errors.InputError(said), files=False)
    assert capsys.readouterr().err == f"rdiv: {shown}\nrdiv: {said}\n"


@pytest.mark.parametrize(
    "code",
    [
        "try: raise KeyboardInterrupt\nfinally: 1 / 0",
        "try: raise KeyboardInterrupt\nexcept BaseException as e: raise InputError('x') from e",
        "with naming('fitting', 'x'):\n try: raise KeyboardInterrupt\n finally: int('x')",
    ],
)
def test_what_an_interrupt_became_is_an_interrupt(code: str) -> None:
    assert report(raised(code)) == INTERRUPTED


def test_a_swallowed_interrupt_is_remembered(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imports and compiled code may raise something else, or nothing at all."""

    def interrupt(*samples: Any, **options: Any) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise SystemError("returned a result with an exception set") from None

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(rdiv.comparison.compare, "compare", interrupt)
    try:
        ran = run("compare", files / "reference.csv", files / "same.csv")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert ran == (130, "", "rdiv: interrupted\n")


@pytest.mark.parametrize(
    "name", [name for name in errors.__all__ if name.endswith("Error") and name != "InputError"]
)
def test_every_mistake_is_an_input_error_and_travels(name: str) -> None:
    """Workers send exceptions as pickles; the class and the sentence arrive."""
    error = pickle.loads(pickle.dumps(getattr(errors, name)("what to do.")))
    assert type(error).__new__(type(error)).args == ()  # as distributed makes them anew
    assert isinstance(error, errors.InputError)
    assert (type(error).__name__, str(error)) == (name, "what to do.")
