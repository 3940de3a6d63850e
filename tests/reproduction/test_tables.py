"""Every table: smoke runs, survives its own CSV, has a page, a picture and a plan of any size."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.reproduction.conftest import Measure
from tests.reproduction.rehearsal import rehearsed

from rdiv.cli.reproduce import TABLES
from rdiv.errors import InputError
from rdiv.reproduction import BY_NAME, SCALES, Reproduced, Run, Table, reproduce
from rdiv.reproduction.parts import Part, rows_tested
from rdiv.reproduction.power_table import PowerTable, rate_and_interval
from rdiv.reproduction.running import as_csv, narrowed, read_csv
from rdiv.studies.trial import run_trial

DRAWN = ("blob", "hdgm-dimension", "hdgm-size")  # the others read data files
READ = [name for name in BY_NAME if name not in DRAWN]
POWERS = [name for name in BY_NAME if isinstance(BY_NAME[name], PowerTable)]
EIGHT = {"ME", "SCF", "C2ST-S", "C2ST-L", "MMD-O", "MMD-D", "H-Div", "R-Div"}


def check_smoke(name: str, found: Reproduced, folder: Path) -> None:
    assert found.lines[0]["table"] == name
    assert found.lines[0]["seed"] == 3
    back = read_csv(folder / f"{name}.csv")
    assert back == found.lines
    assert found.table.markdown(back) == found.table.markdown(found.lines)
    assert found.to_markdown() == (folder / f"{name}.md").read_text(encoding="utf-8")
    assert f"rdiv reproduce {name} --scale smoke --seed 3" in found.to_markdown()
    picture = ElementTree.parse(folder / f"{name}.svg").getroot()
    assert picture.tag.endswith("svg")
    if isinstance(found.table, PowerTable):
        told = any(line["paper"] is not None for line in found.lines)
        assert ("in the paper" in found.table.figure(back)) == told
    for line in found.lines if isinstance(found.table, PowerTable) else []:
        for side in ("", "null_"):
            numbers = tuple(line[side + part] for part in ("rate", "low", "high"))
            assert numbers == rate_and_interval(line[f"{side}rejections"], line[f"{side}trials"])


@pytest.mark.parametrize("name", DRAWN)
def test_smoke(name: str, smoke: Measure) -> None:
    check_smoke(name, *smoke(name))


@pytest.mark.data
@pytest.mark.parametrize("name", READ)
def test_smoke_on_data(name: str, smoke: Measure, data_dir: Path) -> None:
    del data_dir
    check_smoke(name, *smoke(name))


@pytest.mark.data
@pytest.mark.parametrize("name", ["noisy-symmetric", "noisy-pair"])
def test_a_finished_run_is_read_back(name: str, smoke: Measure, data_dir: Path) -> None:
    found, folder = smoke(name)
    assert [line["part"] for line in found.lines] == ["sweep"] * 6 + ["memorises"] * 5
    again = reproduce(name, scale="smoke", out=folder, seed=3, data_dir=data_dir)
    assert again.lines == found.lines
    assert BY_NAME[name].plan("paper").hours > 24


@pytest.mark.parametrize("name", BY_NAME)
def test_plans(name: str) -> None:
    table = BY_NAME[name]
    assert isinstance(table, Table)
    assert table.name == name
    hours = [table.plan(scale).hours for scale in SCALES]
    assert hours[0] < 0.02 < 10 * hours[1], "smoke takes seconds"
    assert hours[1] < 1.0, "laptop takes at most half an hour on two cores"
    assert hours[2] > hours[1]
    assert str(table.plan("paper")).endswith("on one core")


def test_the_command_knows_all_tables() -> None:
    assert TABLES.split(", ") == list(BY_NAME)


@pytest.mark.parametrize("name", POWERS)
def test_laptop_and_paper_have_the_trials_and_tests_they_should(name: str) -> None:
    table = BY_NAME[name]
    assert isinstance(table, PowerTable)
    images = name not in ("blob", "higgs", "hdgm-dimension", "hdgm-size", "mnist")
    for scale in ("laptop", "paper"):
        parts = table.scales[scale].parts
        methods = {method for part in parts for method in part.tests}
        wanted = {"R-Div", "H-Div", "score", "omnibus"}
        wanted |= set() if images else EIGHT | {"cross-risk"}
        assert wanted <= methods
        for part in parts:
            least = 20 if images or part.name == "gmm-refits" else 40
            least = 100 if part.name == "one-fit" and not images else least
            assert part.trials * part.repeats >= (100 if scale == "paper" else least), part.name
        protocols = {
            p.train for p in parts if any(getattr(t, "learns", 0) for t in p.tests.values())
        }
        assert protocols in (set(), {"half", "fresh"})
    if table.paper.cells:
        for scale in ("laptop", "paper"):
            known = {cell for p in table.scales[scale].parts for cell in _cells(p)}
            other = scale == "laptop" and name in ("architectures", "mnist")  # fewer rows or pixels
            assert bool(known & set(table.paper.cells)) != other, scale


def _cells(part: Part) -> list[str]:
    return [
        part.label(n, source, 0.05, tested=rows_tested(n, "whole"))
        for n in part.sizes
        for source in part.sources
    ]


@pytest.mark.parametrize("name", ["higgs", "mnist"])
def test_cells_of_the_paper_hold_the_tests_of_half_as_many_rows(name: str) -> None:
    table = BY_NAME[name]
    assert isinstance(table, PowerTable)
    sizes = {int(cell) for cell in table.paper.cells}
    for part in table.scales["paper"].parts:
        if part.name == "script":
            continue  # its cells say how the digits were prepared
        learns = any(getattr(test, "learns", False) for test in part.tests.values())
        protocol = part.train if learns else "whole"
        assert {2 * rows_tested(n, protocol) for n in part.sizes} == sizes, part.name
        for n in part.sizes:
            tested = rows_tested(n, protocol)
            assert part.label(n, name, 0.05, tested=tested) == str(2 * tested)


@pytest.mark.parametrize("name", POWERS)
def test_h_div_has_r_div_beside_it_with_as_many_permutations(name: str) -> None:
    table = BY_NAME[name]
    assert isinstance(table, PowerTable)
    for scale in ("laptop", "paper"):
        parts = table.scales[scale].parts
        for part in parts:
            if "H-Div" not in part.tests:
                continue
            model = part.tests["H-Div"].model
            alike = [
                other
                for other in parts
                if "R-Div" in other.tests
                and other.tests["R-Div"].model == model
                and other.n_resamples == part.n_resamples
                and set(part.sizes) <= set(other.sizes)
                and set(part.sources) <= set(other.sources)
                and other.trials * other.repeats >= part.trials * part.repeats
            ]
            assert alike, f"{part.name} at {scale} scale"


def test_a_part_at_other_sizes(tmp_path: Path) -> None:
    part = ["gmm-one-fit"]
    found = reproduce("hdgm-size", scale="smoke", seed=3, out=tmp_path, parts=part, sizes=[24])
    assert {(line["part"], line["n_p"], line["tested"]) for line in found.lines} == {
        ("gmm-one-fit", 24, 24)
    }
    assert "--part gmm-one-fit --sizes 24 --seed 3" in found.to_markdown()
    again = reproduce("hdgm-size", scale="smoke", seed=3, out=tmp_path, parts=part, sizes=[24])
    assert again.lines == found.lines, "the trials of these sizes were kept"
    assert reproduce("hdgm-size", scale="smoke", seed=3, out=tmp_path, parts=part, sizes=[26]).lines


@pytest.mark.parametrize(
    ("parts", "sizes", "sentence"),
    [
        (["one-fot"], [], "unknown part of blob at smoke scale 'one-fot'; did you mean 'one-fit'"),
        ([], [3], "a size is a number of rows a side of at least 8, got 3"),
    ],
)
def test_parts_and_sizes_that_make_no_sense(
    parts: list[str], sizes: list[int], sentence: str
) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        reproduce("blob", scale="smoke", parts=parts, sizes=sizes)


def test_a_table_of_ones_own_may_have_no_parts() -> None:
    own: Any = SimpleNamespace(name="own")
    assert narrowed(own, "smoke", [], []) is own
    with pytest.raises(InputError, match="own is measured as a whole; leave out --part"):
        narrowed(own, "smoke", ["one-fit"], [])


@pytest.mark.data
@pytest.mark.parametrize("name", POWERS)
def test_the_first_trial_of_the_paper_plan(name: str, data_dir: Path) -> None:
    run_first_trials(name, data_dir, most=8, parts=1, tests=1)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.timeout(3600)  # full networks, on a machine that may do other work
@pytest.mark.parametrize("name", POWERS)
def test_the_first_trial_of_every_part_of_the_paper_plan(name: str, data_dir: Path) -> None:
    run_first_trials(name, data_dir, most=64, parts=99, tests=99)


def run_first_trials(name: str, data_dir: Path, *, most: int, parts: int, tests: int) -> None:
    """The first trial of some parts, with full networks, one epoch and few rows."""
    table = BY_NAME[name]
    assert isinstance(table, PowerTable)
    for part in table.scales["paper"].parts[:parts]:
        small = rehearsed(part, most)
        study = small.study(Run("paper", data_dir=data_dir))
        for i, key in enumerate(study.all_keys()):
            if key.null or i >= tests:
                break
            row = run_trial(study, key)
            assert 0 < row["pvalue"] <= 1
            assert row["n_p"] == min(most, part.sizes[0])


def test_a_cell_has_its_null_the_paper_and_the_order(smoke: Measure) -> None:
    found, folder = smoke("hdgm-size")
    page = found.to_markdown()
    assert "**d = 10, 40 rows a side (N = 80)** (level 0.05)" in page
    assert "| test | model | rows tested a side | permutations | here, 95 % interval |" in page
    assert "| R-Div | `kde`, leave-one-out bandwidth | 40 | 99 | " in page
    assert "| R-Div | `gmm`, 4 components | 40 | 99 | " in page
    assert "| MMD-D |  | 20, learned on 20 | 99 | " in page
    assert "| MMD-D |  | 40, learned on 40 others (1 training) | 99 | " in page
    assert page.index("R-Div") < page.index("MMD-D")
    assert as_csv(found.lines) == (folder / "hdgm-size.csv").read_text(encoding="utf-8")


def test_levels_are_read_off_the_same_trials() -> None:
    table = BY_NAME["blob"]
    assert isinstance(table, PowerTable)
    part = replace(table.scales["smoke"].parts[0], trials=2)
    small = replace(table, scales={"smoke": replace(table.scales["smoke"], parts=(part,))})
    lines = reproduce(small, scale="smoke").lines
    strict = {x["method"]: x["rejections"] for x in lines if x["alpha"] == 0.01}
    loose = {x["method"]: x["rejections"] for x in lines if x["alpha"] == 0.05}
    assert strict.keys() == loose.keys()
    assert all(strict[method] <= loose[method] for method in strict)
