"""The demo keeps its promises, and not only for one lucky seed."""

from __future__ import annotations

import io
import json
from functools import cache

import pytest
from rich.console import Console
from tests.cli.conftest import Run

import rdiv
from rdiv.cli import demo
from rdiv.cli.demo import MODEL, digit_cases
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
    assert [case["verdict"] for case in cases] == ["no shift", "no shift", "risk shift"]
    assert [case["direction"] for case in cases] == [None, None, "worse"]
    assert [case["inputs"]["rejected"] for case in cases] == [False, True, False]
    assert cases[2] == found(0, 2).to_dict()


def test_cases_differ_in_what_they_say(run: Run) -> None:
    none, margin, labels = digit_cases(0)
    assert (none.reference[0] == margin.reference[0]).all()
    assert (none.current[1] == margin.current[1]).all()
    assert (none.current[0] == labels.current[0]).all()
    wrong = (none.current[1] != labels.current[1]).mean()
    assert 0.06 < wrong < 0.14  # one in ten of 899, four standard errors either way
    changed = (none.current[0] != margin.current[0]).any(axis=0)
    assert changed.nonzero()[0].tolist() == list(range(0, 64, 8))
    assert (none.current[0][:, ::8] > 0).mean() < 0.01


def test_moved_inputs_rarely_matter_to_the_model() -> None:
    results = [found(seed, 1) for seed in range(1, 5)]
    assert all(result.inputs is not None and result.inputs.rejected for result in results)
    assert sum(result.shifted for result in results) <= 1


def test_wrong_labels_are_always_found() -> None:
    results = [found(seed, 2) for seed in range(1, 5)]
    assert all(result.direction == "worse" for result in results)
    assert all(result.gap_interval and result.gap_interval.low > 0.2 for result in results)


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
    assert out.count("verdict: no shift") == 2
    assert out.count("verdict: risk shift, worse") == 1
    assert out.endswith("rdiv compare --help\n")
