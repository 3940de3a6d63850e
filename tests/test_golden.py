"""Results at fixed seeds are those of tests/golden, and the rules that say so can tell."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tools.golden_names import without_modules
from tools.golden_rules import CLOSENESS, Closeness, committed, differences, shape, shortened

ROOT = Path(__file__).resolve().parents[1]
TOOL = ROOT / "tools" / "golden.py"


def test_results_are_those_of_the_committed_files() -> None:
    check = [sys.executable, str(TOOL), "check"]
    run = subprocess.run(check, capture_output=True, text=True)
    assert run.returncode == 0, f"{run.stdout}{run.stderr}see the head of tools/golden.py"


@pytest.mark.parametrize("section", ["commands", "calls", "names"])
def test_committed_files_hold_no_path_and_are_small(section: str) -> None:
    path = ROOT / "tests" / "golden" / f"{section}.json"
    text = path.read_text(encoding="utf-8")
    assert len(text) < 350_000
    assert "/tmp" not in text
    assert str(ROOT) not in text


def test_every_discrepancy_has_a_case() -> None:
    from rdiv.discrepancies import BY_NAME

    cases = json.loads((ROOT / "tests" / "golden" / "commands.json").read_text(encoding="utf-8"))
    missing = [name for name in BY_NAME if not any(f"--discrepancy {name} " in c for c in cases)]
    assert not missing


RESULT: dict[str, Any] = {
    "pvalue": 0.01,
    "statistic": 1.5,
    "n_p": 60,
    "verdict": "no shift",
    "model": "ridge, 5 folds",
    "notes": {"folds": "ask for folds", "parameters": 3},
    "null_distribution": [0.5 + place for place in range(20)],
}


def found(close: Closeness, **changed: Any) -> list[str]:
    old, new = shortened(RESULT, 10), shortened({**RESULT, **changed}, 10)
    return list(differences(old, new, close))


@pytest.mark.parametrize(
    "changed",
    [
        {"pvalue": 0.01 + 1e-12},
        {"statistic": 1.5 + 1e-6},
        {"statistic": 2},
        {"statistic": None},
        {"n_p": 61},
        {"verdict": "risk shift"},
        {"model": "ridge, 4 folds"},
        {"notes": {"folds": "ask for folds"}},
        {"notes": {"folds": None, "parameters": 3}},
        {"notes": {"parameters": 3, "folds": "ask for folds"}},
        {"null_distribution": RESULT["null_distribution"][::-1]},
        {"null_distribution": RESULT["null_distribution"][:-1]},
        {"more": 1},
    ],
)
def test_what_may_not_change(changed: dict[str, Any]) -> None:
    assert found(CLOSENESS["exact"], **changed)


def test_what_may_change() -> None:
    close = CLOSENESS["exact"]
    assert not found(close, statistic=1.5 * (1 + 1e-10))
    assert not found(close, notes={"folds": "please ask for folds", "parameters": 3})
    assert not found(CLOSENESS["iterative"], statistic=1.50001)


def test_two_runs_agree_bit_for_bit_and_words_on_demand() -> None:
    old = {"gap": 0.0, "words": {"stdout": "a gap"}, "nan": float("nan")}
    assert list(differences(old, {**old, "gap": -0.0}, Closeness())) == ["gap: 0.0 -> -0.0"]
    said = {**old, "words": {"stdout": "no gap"}}
    assert not list(differences(old, said, Closeness()))
    assert list(differences(old, said, Closeness(words=True)))


def test_a_trained_network_keeps_its_structure_only() -> None:
    case = {"kept": "structure", "exit": 0, "result": RESULT, "words": {"stdout": "trained"}}
    kept = committed(case)
    assert kept == {"kept": "structure", "exit": 0, "result": shape(RESULT)}
    assert kept["result"]["null_distribution"] == ["number"]


def test_signatures_do_not_know_where_a_module_lies() -> None:
    text = "model: rdiv.models.boosting.Boosting | None = <function fit at 0x7f00>"
    assert without_modules(text) == "model: Boosting | None = <function fit>"


def test_compare_refuses_what_is_no_checkout(tmp_path: Path) -> None:
    compare = [sys.executable, str(TOOL), "compare", str(tmp_path), str(ROOT)]
    run = subprocess.run(compare, capture_output=True, text=True)
    assert run.returncode == 2
    assert "no checkout of rdiv" in run.stderr
