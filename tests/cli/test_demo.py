"""The demo keeps its promises, and not only for one lucky seed."""

from __future__ import annotations

import io
import json
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console
from tests.cli.conftest import Run

import rdiv
from rdiv.cli import demo
from rdiv.cli.demo import DUST, MODEL, digit_cases
from rdiv.comparison.compare import Comparison


@cache
def found(seed: int, case: int) -> Comparison:
    """A comparison of the demo; its drivers, which no verdict depends on, for the first seed."""
    pair = digit_cases(seed)[case]
    return rdiv.compare(pair.reference, pair.current, model=MODEL, rng=seed, drivers=seed == 0)


@pytest.mark.trains
def test_document_has_the_three_outcomes(run: Run) -> None:
    ran = run("demo", "--json", "-")
    assert (ran.code, ran.err) == (0, "")
    cases = [case["comparison"] for case in json.loads(ran.out)["cases"]]
    assert [case["verdict"] for case in cases] == ["no shift", "risk shift", "risk shift"]
    assert [case["direction"] for case in cases] == [None, "worse", "worse"]
    assert [case["input_test"]["rejected"] for case in cases] == [True, True, False]
    assert cases[2] == found(0, 2).to_dict()


def test_cases_differ_in_what_they_say(run: Run) -> None:
    dust, pale, labels = digit_cases(0)
    assert (dust.reference[0] == pale.reference[0]).all()
    assert (dust.current[1] == pale.current[1]).all()
    wrong = (dust.current[1] != labels.current[1]).mean()
    assert 0.06 < wrong < 0.14  # one in ten of 899, four standard errors either way
    changed = (labels.current[0] != dust.current[0]).any(axis=0)
    assert changed.nonzero()[0].tolist() == list(DUST)
    assert (labels.current[0][:, DUST] == 0).all()
    assert (dust.reference[0][:, DUST] == 0).all()  # no digit reaches these pixels
    assert (pale.current[0] == labels.current[0] // 2).all()


def test_dust_rarely_matters_to_the_model() -> None:
    results = [found(seed, 0) for seed in range(1, 5)]
    assert all(result.input_test is not None and result.input_test.rejected for result in results)
    assert sum(result.shifted for result in results) <= 1  # two of four at 0.05: one in 70


def test_retraining_repairs_pale_scans_and_not_wrong_labels() -> None:
    for seed in range(1, 5):
        pale, labels = found(seed, 1), found(seed, 2)
        assert pale.direction == labels.direction == "worse"
        assert pale.gap is not None
        assert pale.shared_gap is not None
        assert pale.retraining is not None
        assert pale.shared_gap < pale.gap / 3
        assert pale.retraining.current.low > 0
        assert labels.gap_interval is not None
        assert labels.shared_gap_interval is not None
        assert labels.gap_interval.low > 0.2
        assert labels.shared_gap_interval.low > 0.2


@pytest.mark.parametrize("width", [60, 80, 120])
def test_table_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    cases = digit_cases(0)
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    monkeypatch.setattr(demo, "terminal", lambda: console)
    demo._show(cases, [found(0, case) for case in range(3)])
    out = capsys.readouterr().out
    assert all(len(line) <= width for line in out.splitlines())
    assert "rdiv compare a.csv b.csv --target y" in out


def test_plain_text_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    demo._show(digit_cases(0), [found(0, case) for case in range(3)])
    out = capsys.readouterr().out
    assert out.isascii()
    assert out.count("verdict: no shift") == 1
    assert out.count("verdict: risk shift, worse") == 2
    assert out.count("gap in use: +") == out.count("shared gap: +") == 3
    assert out.count("retraining: -") == 3
    assert "-0.00" not in out
    assert out.endswith("rdiv compare --help\n")


def test_tables_can_be_saved_and_compared(run: Run, tmp_path: Path) -> None:
    from rdiv.cli.demo import digit_cases, save_cases

    reference, _, pale, _ = save_cases(digit_cases(0), str(tmp_path / "tables"))
    ran = run(
        "compare", reference, pale, "--target", "digit", "--model", "logistic", "--resamples", 99
    )
    assert ran.code == 0
    assert ran.out.startswith("Risk shift")


def test_a_folder_that_cannot_be_made(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = run("demo", "--save", tmp_path / "file" / "tables")
    assert (ran.code, ran.out) == (2, "")
    assert "cannot be made" in ran.err
