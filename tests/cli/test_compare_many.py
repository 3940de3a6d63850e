"""rdiv compare with several files or --by: one verdict for the whole, in words, JSON and code."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Run, table

import rdiv

FAST = ("--target", "bought", "--model", "logistic", "--folds", 2)


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reference, and a table of months of which the third went bad and the fourth is short."""
    folder = tmp_path_factory.mktemp("months")
    table(150, seed=0).write_csv(folder / "reference.csv")
    parts = [(1, 80, 0.0), (2, 80, 0.0), (3, 80, 0.45), (4, 6, 0.0)]
    frames = [table(n, seed=m, turned=t).with_columns(month=pl.lit(m)) for m, n, t in parts]
    pl.concat(frames).write_csv(folder / "year.csv")
    for frame, name in zip(frames, ("jan", "feb", "mar", "apr"), strict=True):
        frame.drop("month").write_csv(folder / f"{name}.csv")
    return folder


def test_one_line_a_level_and_what_looking_again_costs(run: Run, months: Path) -> None:
    pair = months / "reference.csv", months / "year.csv"
    ran = run("compare", *pair, "--by", "month", *FAST)
    lines = ran.out.splitlines()
    found = rdiv.compare_many(
        *map(rdiv.read, pair), by="month", target="bought", model="logistic", folds=2, rng=0
    )
    assert (ran.code, ran.err) == (0, "")
    assert lines[0] == found.headline() == "1 of 3 levels of month shifted: 3 (worse)."
    assert lines[1 : 1 + len(found.details())] == found.details()
    assert "4: skipped, 6 rows, fewer than the 20 that a level needs" in lines
    assert "Every further look adds false alarms" in lines[-1]


def test_several_files_are_levels_by_their_names(run: Run, months: Path, tmp_path: Path) -> None:
    again = tmp_path / "jan.csv"
    again.write_bytes((months / "jan.csv").read_bytes())
    current = months / "jan.csv", months / "mar.csv", again
    ran = run("compare", months / "reference.csv", *current, *FAST, "--json", "-")
    document = json.loads(ran.out)
    assert [level["name"] for level in document["levels"]] == ["jan.csv", "mar.csv", "jan.csv (2)"]
    first, _, third = document["levels"]
    assert first["comparison"] == third["comparison"]
    assert str(months) not in ran.out  # a document names no place


@pytest.mark.parametrize(
    ("files", "options", "code"),
    [
        (["jan", "mar"], ["--fail-on-shift"], 1),
        (["jan", "feb", "apr"], ["--fail-on-shift"], 0),
        (["jan", "mar"], [], 0),
        (["jan", "mar"], ["--fail-on-shift", "--min-gap", "9"], 0),
        (["jan", "mar"], ["--fail-on-shift", "--min-gap", "0.01"], 1),
        (["jan", "mar"], ["--fail-on-shift", "--correction", "bh"], 1),
    ],
)
def test_the_exit_code_speaks_for_the_whole(
    run: Run, months: Path, files: list[str], options: list[str], code: int
) -> None:
    current = [months / f"{name}.csv" for name in files]
    ran = run("compare", months / "reference.csv", *current, *FAST, *options)
    assert ran.code == code
    assert ("--min-gap" in options) == ("--min-gap" in ran.out)


def test_a_report_of_all_levels(run: Run, months: Path, tmp_path: Path) -> None:
    page = tmp_path / "levels.html"
    ran = run("compare", months / "reference.csv", months / "year.csv", "--by", "month", *FAST,
              "--html", page, "--not-worse-than", 5)  # fmt: skip
    assert ran.code == 0
    assert f"report: {page}" in ran.out
    assert "shown not worse than 5" in ran.out
    text = page.read_text(encoding="utf-8")
    assert "1 of 3 levels of month shifted: 3 (worse)." in text
    assert "--by month" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["jan.csv", "feb.csv", "--by", "age"], ["--by splits one CURRENT"]),
        (["year.csv", "--by", "moth"], ["'moth'", "is not in current"]),
        (["year.csv", "--by", "month", "--resamples", "40"], ["40 permutations", "at least 79"]),
        (["jan.csv", "feb.csv", "--correction", "none"], ["unknown correction", "holm, bh"]),
        (["-", "-"], ["only one table"]),
        (["apr.csv", "apr.csv"], ["no level to compare", "fewer than the 20"]),
        (["year.csv", "--by", "bought"], ["is the target"]),
    ],
)
def test_what_makes_no_sense_is_refused(
    run: Run, months: Path, arguments: list[str], words: list[str]
) -> None:
    given = [str(months / a) if a.endswith(".csv") else a for a in arguments]
    ran = run("compare", months / "reference.csv", *given, *FAST)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert all(word in ran.err for word in words), ran.err


def test_ten_worse_days_count_together(run: Run, tmp_path: Path) -> None:
    """No day alone is shown to be worse; as one sample they are, in words, JSON, page and code."""
    from tests.comparison.test_levels import days

    gaps = [0.33, 0.61, 0.45, 0.38, 0.52, 0.41, 0.36, 0.47, 0.55, 0.4]
    reference, current = days(gaps, seed=1)
    reference.write_csv(tmp_path / "reference.csv")
    current.write_csv(tmp_path / "days.csv")
    given = ("compare", tmp_path / "reference.csv", tmp_path / "days.csv", "--by", "day")
    given = (*given, "--loss", "loss", "--html", tmp_path / "page.html", "--fail-on-shift")
    ran = run(*given)
    assert ran.code == 1
    assert "No shift was shown in any of 10 levels of day alone, but d00 to d09 together" in ran.out
    assert "in a row: d00 to d09 all lie above the reference; as one sample: worse" in ran.out
    document = json.loads(run(*given, "--json", "-").out)
    assert (document["verdict"], document["run"]["shown"]) == ("risk shift", True)
    assert {level["verdict"] for level in document["levels"]} == {"no shift"}
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "In a row: d00 to d09 all lie above the reference" in page
    assert "No level alone is enough to show it" in page
    assert run(*given, "--min-gap", 5).code == 0
