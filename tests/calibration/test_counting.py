"""Counts that were stopped go on to the same page, which says what is counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.calibration import counting, margins
from benchmarks.calibration.checks import check_pvalues
from benchmarks.calibration.counting import Counts
from tools.calibrate import PAGES

ROOT = Path(__file__).resolve().parents[2]
CELL = {"cell": "fair"}


def uniform(cell: dict[str, Any], draws: range) -> Any:
    """A right test with 19 permutations, or one that rejects too often."""
    values = [np.random.default_rng([7, i]).integers(1, 21) / 20 for i in draws]
    return np.array(values) if cell["cell"] == "fair" else np.minimum(values, 0.5)


def level(counts: Counts, cell: dict[str, Any] = CELL, **kind: bool) -> str:
    return counts.level(uniform, cell, 200, 30, lambda found: check_pvalues(found, 19), **kind)


def impatient(patch: pytest.MonkeyPatch, looks: int) -> None:
    """Let time stand still for some looks at the clock, and then be over."""
    clock = iter([0.0] * looks + [100.0] * 1000)
    patch.setattr("rdiv.studies.execution.time.monotonic", lambda: next(clock))


def test_a_count_that_was_stopped_gives_the_same_line(tmp_path: Path) -> None:
    whole = level(Counts(tmp_path / "whole.jsonl"))
    file = tmp_path / "parts.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        impatient(patch, 6)
        stopped = Counts(file, seconds=50)
        line = level(stopped)
    done = stopped.made
    assert 0 < done < 200
    assert line.startswith(f"{done} of 200 | ")
    assert line.endswith(counting.UNFINISHED)
    assert stopped.footer().startswith(f"Counted so far: {done} of 200 draws, with the code of ")
    resumed = Counts(file)
    assert level(resumed) == whole
    assert whole.endswith("| holds")
    assert resumed.footer() == f"All 200 draws were counted with the code of {resumed.code}."
    assert len(file.read_text().splitlines()) == 7


def test_without_time_nothing_is_counted(tmp_path: Path) -> None:
    counts = Counts(tmp_path / "none.jsonl", seconds=0)
    assert level(counts) == f"0 of 200 | | | | {counting.NOT_YET}"
    assert counts.footer().startswith("Counted so far: 0 of 200 draws. ")


def test_a_failure_is_counted_again_with_four_times_as_many_draws(tmp_path: Path) -> None:
    wrong = {"cell": "unfair"}
    assert level(Counts(tmp_path / "a.jsonl"), wrong).startswith("800 | ")
    assert level(Counts(tmp_path / "a.jsonl"), wrong).endswith("| FAILS")
    broken = level(Counts(tmp_path / "b.jsonl"), wrong, broken=True)
    assert broken.startswith("200 | ")
    assert broken.endswith("| caught")
    assert level(Counts(tmp_path / "c.jsonl"), broken=True).endswith("| NOT CAUGHT")


def test_a_page_that_was_stopped_is_the_same_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(margins, "PART", 2)
    monkeypatch.setattr(margins, "LINES", margins.SMALL[:2])
    whole = [*margins.page(Counts(tmp_path / "whole.jsonl", share=0.003))]
    file = tmp_path / "parts.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        impatient(patch, 5)
        stopped = [*margins.page(Counts(file, share=0.003, seconds=50))]
    assert len(stopped) == len(whole)
    assert counting.NOT_YET in stopped[-1]
    assert [*margins.page(Counts(file, share=0.003))] == whole


def test_the_code_of_two_commits_is_told(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    Counts(file, code="commit a").count(rejections, CELL, range(10), 10)
    counts = Counts(file, code="commit b")
    found = counts.count(rejections, CELL, range(20), 10)
    assert found.total("rejected") == 20
    assert counts.footer().endswith("the code of commit a (10 draws) and commit b (10 draws).")


def rejections(cell: dict[str, Any], draws: range) -> dict[str, Any]:
    return {"rejected": len(draws)}


def test_a_page_with_a_wrong_line_is_written_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def page(counts: Counts) -> Iterator[str]:
        yield f"| {level(counts, {'cell': 'unfair'})} |"

    out, rows = tmp_path / "page.md", tmp_path / "rows.jsonl"
    monkeypatch.setattr("sys.argv", ["x", "--out", str(out), "--journal", str(rows), "--jobs", "1"])
    with pytest.raises(SystemExit, match=r"not as it should be:\n.*FAILS"):
        counting.write_page(page, "About.", "x")
    assert out.read_text().splitlines()[-1].startswith("All 1,000 draws were counted")
    assert "FAILS" in capsys.readouterr().out


def test_make_calibrate_runs_every_script_that_counts() -> None:
    scripts = {
        path.stem: path.read_text() for path in (ROOT / "benchmarks/calibration").glob("*.py")
    }
    counting_ones = {name for name, text in scripts.items() if "write_page(page" in text}
    assert counting_ones - {"counting"} == set(PAGES)
    for name, page in PAGES.items():
        assert f"{name}.py --out docs/measured/{page}.md`" in scripts[name], name
        assert f"from benchmarks.calibration.{name} import main" in scripts[name]
        assert (ROOT / f"docs/measured/{page}.md").is_file()
