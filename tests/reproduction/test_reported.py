"""The paper's numbers: read as printed, with the averages that are not what they say."""

from __future__ import annotations

import pytest

from rdiv.reproduction import BY_NAME
from rdiv.reproduction.power_table import PowerTable
from rdiv.reproduction.protocol import paired, printed

COUNTS = {
    "higgs": 48, "mnist": 40, "pacs": 12, "colored-mnist": 8, "corruption-cifar10": 32,
    "corruption-imagenet": 32, "architectures": 24,
    "blob": 0, "hdgm-dimension": 0, "hdgm-size": 0, "pacs-size": 0,
}  # fmt: skip
# Sums of all numbers of a table, added up from the paper's own source.
SUMS = {
    "higgs": 27.172, "mnist": 30.719, "pacs": 9.38, "colored-mnist": 3.886,
    "corruption-cifar10": 9.484, "corruption-imagenet": 19.393, "architectures": 15.106,
}  # fmt: skip


def table(name: str) -> PowerTable:
    found = BY_NAME[name]
    assert isinstance(found, PowerTable)
    return found


@pytest.mark.parametrize("name", COUNTS)
def test_every_number_of_the_paper_is_there(name: str) -> None:
    assert len(table(name).paper.numbers) == COUNTS[name]


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_the_printed_numbers(name: str) -> None:
    numbers = table(name).paper.numbers.values()
    assert sum(number.rate for number in numbers) == pytest.approx(SUMS[name], abs=1e-9)


def test_only_one_average_is_wrong() -> None:
    wrong = {name: table(name).paper.misprints() for name in COUNTS}
    assert [name for name, found in wrong.items() if found] == ["higgs"]
    assert wrong["higgs"] == [
        "The average of H-Div is printed as 0.847; its 6 numbers have the mean 0.706."
    ]


def test_a_form_of_a_method_has_the_number_of_the_method() -> None:
    found = printed("N 100\nH-Div 0.5±0.1")
    assert found.get("H-Div (max)", "100") == found.get("H-Div", "100")
    assert found.get("R-Div", "100") is None
    assert str(found.get("H-Div", "100")) == "0.500 ± 0.100"


def test_many_cells_go_down_the_page() -> None:
    wide = paired("k a b c d e\nx 0/1 0/1 0/1 0/1 0/1\ny 0/1 0/1 0/1 0/1 0/1", "{row} {column}")
    assert wide.markdown()[0] == "| cell | H-Div | R-Div |"
    assert wide.markdown()[2] == "| x a | 0.000 | 1.000 |"
    assert printed("N 100 200\nR-Div 0.5 0.6").markdown()[2] == "| R-Div | 0.500 | 0.600 |"
