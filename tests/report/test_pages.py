"""Pages: the finding in words, well formed, small, and foreign text is only ever text."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.report.hostile import NAMES, SCRIPT

import rdiv
from rdiv import Comparison, Comparisons
from rdiv.inference.intervals import Interval
from rdiv.report import InputFile, Provenance, comparison_page, many_page, short_form

LIMIT = 1_500_000
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Read(HTMLParser):
    """The elements of a page, and whether they nest."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.wanted: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), f"{tag} has {name}"
            if name == "id":
                self.ids.append(value or "")
            if name == "aria-labelledby":
                self.wanted.update((value or "").split())
            if name in ("src", "href", "xlink:href", "action", "data"):
                self.links.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        closed = self.open.pop() if self.open else None
        assert closed == tag, f"</{tag}> closes {closed}"

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="session", params=["found", "hostile", "many"])
def page(request: pytest.FixtureRequest, pages: dict[str, str]) -> str:
    return pages[request.param]


def test_a_page_is_well_formed_and_loads_nothing(page: str) -> None:
    read = Read(page)
    assert len(read.ids) == len(set(read.ids))
    assert read.wanted <= set(read.ids)
    assert all(link.startswith("#") and link[1:] in read.ids for link in read.links)
    assert not {"script", "img", "link", "iframe", "object", "form"} & set(read.tags)
    assert "http:" not in page
    assert "https:" not in page
    assert "@import" not in page
    assert read.tags.count("h1") == 1
    assert read.tags.count("main") == 1
    assert len(page.encode()) < LIMIT / 4


def test_charts_are_text_with_words_for_those_who_do_not_see_them(page: str) -> None:
    charts = re.findall(r"<svg class=\"chart\".*?</svg>", page, flags=re.DOTALL)
    assert len(charts) >= 3
    for chart in charts:
        assert 'role="img"' in chart
        assert re.search(
            r"<title id=\"[^\"]+\">[^<]{5,}</title><desc id=\"[^\"]+\">[^<]{20,}", chart
        )
        assert "<text" in chart  # not outlines of letters
        assert "<metadata" not in chart
        assert "var(--" in chart
        assert not re.search(r"#0[1-6]0[1-6]0[1-6]", chart), "a colour was left to no variable"


def test_the_verdict_comes_first_and_the_numbers_are_those_of_the_result(
    found: Comparison, pages: dict[str, str]
) -> None:
    read = Read(pages["found"])
    start = read.text.index(found.headline())
    assert start < read.text.index("Gap in mean loss")
    for number in (f"{found.results['r-div'].pvalue:.3g}", f"{found.gap:+.4g}"):
        assert number in read.text
    assert found.gap_interval is not None
    assert f"{found.gap_interval.low:+.4g} to {found.gap_interval.high:+.4g}" in read.text
    for test in (found.equivalence, found.not_worse):
        assert test is not None
        assert test.statement()[1:] in read.text


def test_hostile_text_is_shown_as_text(pages: dict[str, str]) -> None:
    page = pages["hostile"]
    read = Read(page)
    assert SCRIPT in read.text
    assert "{{ 7 * 7 }}" in read.text
    assert "\u202e" not in page
    assert "(3000 characters)" in read.text
    assert "1\u2009980 more columns" in read.text
    assert "x" * 400 not in read.text  # a cell of 5000 letters
    assert len(page.encode()) < LIMIT / 4
    rows = read.text[read.text.index("counted from 0") :]
    assert any(name in rows for name in NAMES)


def test_no_rows_means_none(found: Comparison, pages: dict[str, str]) -> None:
    assert found.drivers is not None
    assert found.drivers.rows
    with_rows, without = pages["found"], comparison_page(found, rows=False)
    head = f"{found.drivers.rows[0].sample} {found.drivers.rows[0].index}"
    assert f">{head}<" in with_rows
    assert f">{head}<" not in without
    assert "left out of this page on purpose" in without


def test_how_to_do_it_again(found: Comparison) -> None:
    file = InputFile("reference", "a & <b>.csv", "ab" * 32, 1234)
    made = Provenance("rdiv compare 'a & <b>.csv' q.csv", {"rdiv": "9.9"}, (file,))
    text = Read(comparison_page(found, provenance=made)).text
    for words in (
        "rdiv compare 'a & <b>.csv' q.csv",
        "ab" * 32,
        "rdiv 9.9",
        "Seed 0",
        "a & <b>.csv",
    ):
        assert words in text


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict": "no shift", "direction": None},
        {"verdict": "hidden shift", "direction": None},
        {"verdict": "risk shift", "direction": "better", "gap": -0.2},
        {"gap_interval": Interval(float("-inf"), float("inf"))},
        {"gap_interval": None},
        {"losses": None, "drivers": None, "inputs": None, "equivalence": None, "not_worse": None},
    ],
)
def test_every_kind_of_finding_has_a_page(found: Comparison, changes: dict[str, object]) -> None:
    one = replace(found, **changes)
    assert one.headline() in Read(comparison_page(one)).text
    Read(short_form(one))


def test_one_result_alone_has_a_page(found: Comparison) -> None:
    alone = replace(found, results={"r-div": found.results["r-div"]})
    assert "hidden shifts were not looked for" in Read(comparison_page(alone)).text


def test_a_page_is_the_same_every_time(found: Comparison, pages: dict[str, str]) -> None:
    assert comparison_page(found) == pages["found"]


def test_many_levels_in_one_page(many: Comparisons, pages: dict[str, str]) -> None:
    read = Read(pages["many"])
    assert read.text.index(many.headline()) < read.text.index("All levels")
    for words in ("<script>feb</script>", "april", "7 rows, fewer than", many.warning(), "Holm"):
        assert words in read.text


def test_very_many_levels_stay_small(many: Comparisons) -> None:
    shifted = next(level for level in many.levels if level.shifted)
    assert shifted.comparison is not None
    shifted = replace(shifted, comparison=replace(shifted.comparison, losses=None))
    levels = tuple(replace(shifted, name=f"level {i} " + "n" * 300) for i in range(3000))
    page = many_page(replace(many, levels=levels))
    assert len(page.encode()) < LIMIT
    assert "2\u2009992 more levels shifted" in Read(page).text


def test_files_are_written(found: Comparison, many: Comparisons, tmp_path: Path) -> None:
    for name, one in (("one", found), ("many", many)):
        one.to_html(tmp_path / f"{name}.html")
        assert (tmp_path / f"{name}.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_short_form_is_small_and_escaped(hostile: Comparison, many: Comparisons) -> None:
    for one in (hostile, many):
        short = one._repr_html_()
        read = Read(short)
        assert one.headline() in read.text
        assert "script" not in read.tags
        assert len(short) < 20_000


def test_images_have_a_page() -> None:
    rng = np.random.default_rng(0)
    p, q = rng.random((2, 40, 1, 4, 4))
    assert "No shift" in comparison_page(rdiv.compare(p, q, model="pca", rng=0, n_resamples=39))
