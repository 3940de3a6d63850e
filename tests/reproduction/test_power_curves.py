"""Powers along an axis: which cells share a panel, and what a panel shows."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from rdiv.reproduction.power_curves import curves, panels_of, picture
from rdiv.reproduction.power_page import dots

LINE = {
    "method": "R-Div",
    "model": "kde",
    "protocol": "whole",
    "resamples": 99,
    "alpha": 0.05,
    "trials": 100,
    "repeats": 1,
    "tested": 500,
    "paper": None,
    "paper_se": None,
    **{"rate": 0.6, "low": 0.5, "high": 0.7},
    **{"null_rate": 0.05, "null_low": 0.02, "null_high": 0.11},
}


def along_dimensions(**changes: Any) -> list[dict[str, Any]]:
    rows = changes.get("tested", 500)
    name = f"{rows} rows a side (N = {2 * rows})"
    return [LINE | {"cell": f"d = {d}, {name}"} | changes for d in (3, 10, 20)]


def along_rows(*sizes: int, level: float = 0.05, **changes: Any) -> list[dict[str, Any]]:
    return [
        LINE | {"cell": f"level {level:g}, {n} rows a side", "tested": n, "alpha": level} | changes
        for n in sizes
    ]


def numbers(text: str) -> list[str]:
    """The texts of a picture, in their order."""
    root = ElementTree.fromstring(text)
    return ["".join(part.itertext()).strip() for part in root.iter() if part.tag.endswith("text")]


class TestPanels:
    def test_one_for_every_number_of_rows_and_model(self) -> None:
        lines = [
            *along_dimensions(),
            *along_dimensions(model="gmm(components=4)"),
            *along_dimensions(tested=2000),
        ]
        found = panels_of(lines)
        assert [panel.title for panel in found] == [
            "500 rows a side (N = 1000)\nkde, leave-one-out bandwidth",
            "500 rows a side (N = 1000)\ngmm, 4 components",
            "2000 rows a side (N = 4000)\nkde, leave-one-out bandwidth",
        ]
        assert {panel.axis for panel in found} == {"dimensions"}
        assert all(panel.places == [3.0, 10.0, 20.0] for panel in found)

    def test_tests_that_learn_share_one(self) -> None:
        lines = along_rows(45, 90, 180)
        lines += along_rows(180, method="ME", model="", protocol="half")
        lines += along_rows(180, method="MMD-O (median)", model="")
        first, second = panels_of(lines)
        assert (first.axis, first.places) == ("rows a side", [45.0, 90.0, 180.0])
        assert second.title.endswith("other tests")
        assert [line["method"] for _, line in second.lines] == ["ME", "MMD-O (median)"]

    def test_levels_are_apart(self) -> None:
        found = panels_of([*along_rows(1, 2, 3), *along_rows(1, 2, 3, level=0.01)])
        assert [panel.title.split("\n")[0] for panel in found] == ["level 0.05", "level 0.01"]

    def test_bare_numbers_of_the_paper_are_sizes(self) -> None:
        lines = [LINE | {"cell": str(2 * n), "tested": n} for n in (500, 1000, 1500)]
        [panel] = panels_of(lines)
        assert panel.places == [500.0, 1000.0, 1500.0]

    def test_places_far_apart_are_shown_by_their_ratios(self) -> None:
        [near], [far] = panels_of(along_rows(45, 90, 180)), panels_of(along_rows(500, 1000, 10000))
        assert not near.logarithmic
        assert near.shifted(90.0, 0.1) == pytest.approx(90 + 13.5)
        assert far.logarithmic
        assert far.shifted(1000.0, 0.5) == pytest.approx(1000 * 20**0.5)
        assert far.shifted(500.0, 1.0) == pytest.approx(10000)
        assert {"500", "1000", "10000"} <= set(numbers(curves([far])))

    def test_a_cell_off_every_axis_leaves_the_dots(self) -> None:
        lines = [*along_rows(45, 90, 180), LINE | {"cell": "A+C", "n_p": 500}]
        assert panels_of(lines) == []
        assert numbers(picture(lines)) == numbers(dots(lines))

    def test_networks_with_other_settings_have_panels_of_their_own(self) -> None:
        settings = "width=8, training=Training(epochs={}, batch_size=32, optimizer='sgd')"
        networks = [f"alexnet({settings.format(epochs)})" for epochs in (15, 30)]
        lines = [
            x for model in ("alexnet", *networks) for x in along_rows(45, 90, 180, model=model)
        ]
        found = panels_of(lines)
        assert [len(panel.lines) for panel in found] == [3, 3, 3]
        names = [panel.title.split("\n")[1] for panel in found]
        assert names == ["alexnet", "alexnet(width=8, …)", "alexnet(width=8, …)"]

    def test_two_points_are_no_curve(self) -> None:
        assert panels_of(along_rows(45, 90)) == []


class TestCurves:
    def test_shows_every_test_once_with_how_it_learned(self) -> None:
        lines = along_rows(45, 90, 180)
        lines += along_rows(45, 90, 180, method="ME", model="", protocol="fresh")
        lines += along_rows(45, 90, 180, method="H-Div", resamples=39)
        shown = numbers(curves(panels_of(lines)))
        legend = ["R-Div", "ME, learned on another draw", "H-Div, 39 permutations"]
        assert sorted(set(shown) & set(legend)) == sorted(legend)
        assert len([text for text in shown if text == "R-Div"]) == 1
        assert shown.count("power") == shown.count("type-I error") == 2

    @pytest.mark.parametrize("told", [True, False])
    def test_the_paper_is_named_where_it_says_something(self, told: bool) -> None:
        lines = along_rows(45, 90, 180, paper=0.4 if told else None)
        shown = numbers(curves(panels_of(lines)))
        assert ("in the paper, in the colour of the test" in shown) == told

    def test_a_test_has_the_same_colour_in_every_picture(self) -> None:
        blue, orange = "#1f77b4", "#ff7f0e"
        score = along_rows(45, 90, 180, method="score")
        alone, beside = (curves(panels_of(x)) for x in (score, [*score, *along_rows(45, 90, 180)]))
        assert orange in alone
        assert blue not in alone
        assert orange in beside
        assert blue in beside

    def test_numbers_too_close_together_are_left_out(self) -> None:
        shown = numbers(curves(panels_of(along_rows(45, 50, 900))))
        assert {"45", "900"} <= set(shown)
        assert "50" not in shown

    def test_more_trials_of_the_same_test_replace_fewer(self) -> None:
        few = along_rows(45, 90, 180, rate=0.1, low=0.0, high=0.4, trials=20)
        many = along_rows(45, 90, 180)
        assert curves(panels_of([*few, *many])) == curves(panels_of([*many, *few]))
        assert curves(panels_of(many)) == curves(panels_of([*many, *few]))
