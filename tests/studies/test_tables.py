"""Tables: counted by hand, Wilson intervals by their formula, Markdown and CSV read back."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

import numpy as np
import pytest
from tests.studies.test_study import study
from tests.studies.toys import Learning, Plain, shifted

import rdiv
from rdiv.sources import Higgs, Pair
from rdiv.studies.tables import COLUMNS, as_csv, as_markdown, rate_table

STATED = "source discrepancy model n_p n_q null alpha trials rejections rate low high se seconds"


def rows(pvalues: list[list[float]], **fields: Any) -> list[dict[str, Any]]:
    """Rows of one cell: a list of p-values for each repeat."""
    common = {
        "source": "blob", "test": "energy", "n": 10, "null": False, "discrepancy": "energy",
        "model": None, "n_p": 10, "n_q": 20, "protocol": "whole", "statistic": 1.0, "seconds": 0.5,
    }  # fmt: skip
    return [
        {**common, "repeat": repeat, "trial": trial, "pvalue": pvalue, **fields}
        for repeat, values in enumerate(pvalues)
        for trial, pvalue in enumerate(values)
    ]


def lines_of(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]


def wilson(count: int, trials: int) -> tuple[float, float]:
    """The 95 % score interval (Wilson 1927)."""
    z, rate = 1.959963984540054, count / trials
    centre = (rate + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * (rate * (1 - rate) / trials + z**2 / (4 * trials**2)) ** 0.5
    return centre - half, centre + half


def test_columns_are_those_of_the_contract() -> None:
    assert list(COLUMNS) == [*STATED.split(), "protocol", "note"]
    table = rdiv.power_study(shifted, "energy", sizes=10, trials=2).table()
    assert list(table) == list(COLUMNS)
    assert {len(column) for column in table.values()} == {1}


@pytest.mark.parametrize(("count", "trials"), [(0, 7), (7, 7), (3, 20), (94, 100), (1, 1000)])
def test_wilson_intervals(count: int, trials: int) -> None:
    values = [0.01] * count + [0.5] * (trials - count)
    (line,) = lines_of(rate_table(rows([values]), study()))
    assert (line["trials"], line["rejections"], line["rate"]) == (trials, count, count / trials)
    low, high = wilson(count, trials)
    assert line["low"] == pytest.approx(max(low, 0), abs=1e-12)
    assert line["high"] == pytest.approx(min(high, 1), abs=1e-12)
    assert 0 <= line["low"] <= line["rate"] <= line["high"] <= 1


def test_a_pvalue_equal_to_the_level_rejects() -> None:
    asked = study(alpha=(0.05, 0.1))
    table = rate_table(rows([[0.05, 0.050001, 0.1, 0.2]]), asked)
    assert table["alpha"] == [0.05, 0.1]
    assert table["rejections"] == [1, 3]


def test_levels_are_read_off_the_same_rows() -> None:
    levels = (0.05, 0.1, 0.25, 0.5)
    asked = {"sizes": [10], "trials": 30, "null": True, "n_resamples": 39}
    together = rdiv.power_study(shifted, ["energy", Plain()], alpha=levels, **asked)
    assert len(together.rows) == 30 * 2 * 2
    table = together.table()
    assert table["alpha"] == [level for level in levels for _ in range(4)]
    for place, level in enumerate(levels):
        alone = rdiv.power_study(shifted, ["energy", Plain()], alpha=level, **asked).table()
        for name in set(COLUMNS) - {"seconds"}:
            assert table[name][4 * place : 4 * place + 4] == alone[name]
        for line in range(4):
            assert table["rejections"][4 * place + line] == sum(
                row["pvalue"] <= level
                for row in together.rows
                if (row["discrepancy"], row["null"])
                == (table["discrepancy"][line], table["null"][line])
            )


def test_the_standard_error_across_repeats() -> None:
    """As the paper prints it: the spread of the repeats' rates over the root of their number."""
    values = [[0.01, 0.01, 0.5, 0.5], [0.01, 0.5, 0.5, 0.5], [0.01, 0.01, 0.01, 0.01]]
    (line,) = lines_of(rate_table(rows(values), study()))
    rates = np.array([0.5, 0.25, 1.0])
    spread = np.sqrt(((rates - rates.mean()) ** 2).sum() / 2)
    assert line["se"] == pytest.approx(spread / 3**0.5)
    assert (line["trials"], line["rejections"]) == (12, 7)


def test_the_standard_error_of_one_repeat_is_binomial() -> None:
    (line,) = lines_of(rate_table(rows([[0.01, 0.5, 0.5, 0.5]]), study()))
    assert line["se"] == pytest.approx((0.25 * 0.75 / 4) ** 0.5)


def test_seconds_are_the_mean() -> None:
    members = rows([[0.1, 0.2, 0.3]])
    for row, seconds in zip(members, (0.1, 0.2, 0.6), strict=True):
        row["seconds"] = seconds
    assert rate_table(members, study())["seconds"] == [pytest.approx(0.3)]


def test_cells_are_told_apart() -> None:
    members = [
        row
        for fields in ({}, {"null": True}, {"n": 20, "n_p": 20}, {"test": "x", "discrepancy": "x"})
        for row in rows([[0.01, 0.5]], **fields)
    ]
    table = rate_table(members, study())
    assert table["trials"] == [2, 2, 2, 2]
    assert table["null"] == [False, True, False, False]
    assert table["n_p"] == [10, 10, 20, 10]
    assert table["discrepancy"] == ["energy", "energy", "energy", "x"]


def test_protocols_are_stated() -> None:
    for train in ("half", "fresh"):
        found = rdiv.power_study(shifted, ["energy", Learning()], sizes=20, trials=2, train=train)
        assert found.table()["protocol"] == ["whole", train]
        assert f"| 20 + 20 | {train} |" in found.to_markdown()


def test_the_note_of_large_higgs_draws() -> None:
    asked = study(Higgs(), "energy", sizes=(2500, 3000))
    members = rows([[0.1]], source="higgs", n=2500) + rows([[0.1]], source="higgs", n=3000)
    table = rate_table(members, asked)
    assert table["note"][0] == ""
    assert table["note"][1].startswith("draws overlap: 3000 of 23262 background rows")
    assert "this file, not the population" in as_markdown(table)


def test_csv_reads_back() -> None:
    source = Pair(np.arange(40.0), np.arange(40.0), name='a, "b"\nc')
    table = rdiv.power_study(source, ["energy", "r-div:gmm"], sizes=9, trials=3, null=True).table()
    read = [*csv.DictReader(StringIO(as_csv(table)))]
    assert len(read) == 4
    for number, line in enumerate(read):
        assert list(line) == list(COLUMNS)
        for name, text in line.items():
            value = table[name][number]
            assert text == ("" if value is None else str(value))
    assert [float(line["low"]) for line in read] == table["low"]


def markdown_cells(text: str) -> list[dict[str, str]]:
    """A Markdown table as dicts; a pipe inside a cell is escaped."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    split = [
        [cell.strip().replace("\0", "|") for cell in line.replace("\\|", "\0").split("|")[1:-1]]
        for line in lines
    ]
    header, rule, *body = split
    assert {*rule} == {"---"}
    return [dict(zip(header, line, strict=True)) for line in body]


def test_markdown_reads_back_with_power_and_level_side_by_side() -> None:
    source = Pair(np.arange(90.0), np.arange(90.0) + 60, name="a|b")
    found = rdiv.power_study(
        source, ["energy", "r-div:gmm"], sizes=[10, 12], trials=5, null=True, alpha=(0.05, 0.2)
    )
    table, cells = lines_of(found.table()), markdown_cells(found.to_markdown())
    assert len(cells) == len(table) / 2 == 8
    for cell in cells:
        power, level = (
            next(
                line for line in table
                if (line["source"], line["discrepancy"], line["model"] or "", null)
                == (cell["source"], cell["test"], cell["model"], line["null"])
                and f"{line['n_p']} + {line['n_q']}" == cell["n_p + n_q"]
                and f"{line['alpha']:g}" == cell["alpha"]
            )
            for null in (False, True)
        )  # fmt: skip
        for line, text in ((power, cell["power"]), (level, cell["type-I"])):
            rate, low, high, trials = numbers_in(text)
            assert rate == pytest.approx(line["rate"], abs=5e-4)
            assert low == pytest.approx(line["low"], abs=5e-3)
            assert high == pytest.approx(line["high"], abs=5e-3)
            assert trials == line["trials"]
        assert float(cell["s / test"]) > 0
    assert str(found) == repr(found) == found.to_markdown()


def test_markdown_without_nulls_leaves_the_column_empty() -> None:
    found = rdiv.power_study(shifted, "energy", sizes=10, trials=2)
    assert [cell["type-I"] for cell in markdown_cells(found.to_markdown())] == [""]


def numbers_in(text: str) -> list[float]:
    for sign in "[],":
        text = text.replace(sign, " ")
    return [float(word) for word in text.split() if word != "of"]
