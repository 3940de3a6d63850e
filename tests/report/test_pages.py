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
from rdiv.drivers.result import SliceDriver
from rdiv.inference.intervals import Interval
from rdiv.report import InputFile, Provenance, comparison_page, many_page, short_form, tables
from rdiv.report.line_charts import gap_lines
from rdiv.report.wording import amount, signed, typeset

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
        if "style" not in self.open:
            self.text += data


@pytest.fixture(scope="session", params=["found", "hostile", "dated", "moved", "many", "models"])
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
        assert not re.search(r"#0[1-8]0[1-8]0[1-8]", chart), "a colour was left to no variable"


def first_screen(page: str) -> str:
    """The text above the evidence."""
    text = Read(page).text
    return text[: text.index("The evidence")]


def test_the_first_screen_has_the_verdict_and_the_numbers_of_the_result(
    found: Comparison, pages: dict[str, str]
) -> None:
    text = first_screen(pages["found"])
    start = text.index(typeset(found.headline()))
    assert start < text.index(found.advice) < text.index("Gap of the model in use")
    assert found.gap is not None
    assert found.shared_gap is not None
    assert found.gap_interval is not None
    assert found.shared_gap_interval is not None
    assert found.retraining is not None
    used, shared = found.results["in-use"], found.results["r-div"]
    for words in (
        signed(found.gap),
        f"{signed(found.gap_interval.low)} to {signed(found.gap_interval.high)}",
        f"log loss {amount(used.risk_p)} \u2192 {amount(used.risk_q)}",
        signed(found.shared_gap),
        f"{signed(found.shared_gap_interval.low)} to {signed(found.shared_gap_interval.high)}",
        f"log loss {amount(shared.risk_p)} \u2192 {amount(shared.risk_q)}",
        signed(-found.retraining.current.value, 3),
        f"on reference {signed(-found.retraining.reference.value, 3)}",
        f"p-value{found.pvalue:.3g}of all 3 questions",
        amount(found.smallest_detectable_gap, 3),
        "150 + 120",
        "75 reference rows trained the model in use, the other 195 rows were compared",
        "logistic, 5 folds",
        "What do these words mean?",
    ):
        assert words in text, words
    for test in (found.equivalence, found.not_worse):
        assert test is not None
        assert test.statement()[1:] in text


def test_the_smallest_possible_pvalue_is_that_of_the_permutations(
    found: Comparison, partial: dict[str, Comparison]
) -> None:
    assert "the smallest possible is 0.002" in Read(comparison_page(found)).text  # twice 1 in 1000
    assert "the smallest possible is 0.01" in Read(comparison_page(partial["losses alone"])).text


def test_files_loss_and_date_are_at_the_top(found: Comparison) -> None:
    files = tuple(
        InputFile(role, f"data/{name}", "ab" * 32, 5)
        for role, name in (("reference", "<b>jan.csv"), ("current", "feb.csv"))
    )
    text = Read(comparison_page(found, provenance=Provenance(inputs=files, date="2031-02-03"))).text
    top = text[: text.index(typeset(found.headline()), text.index("Skip to"))]
    for words in ("<b>jan.csv", "feb.csv", "log loss", "classification", "2031-02-03"):
        assert words in top, words
    assert "data/" not in top
    assert "Date" not in first_screen(comparison_page(found))


def test_no_shift_never_stands_without_its_warnings(
    dated: Comparison, pages: dict[str, str]
) -> None:
    assert dated.verdict == "no shift"
    assert dated.warnings
    text = Read(pages["dated"]).text
    start = text.index("No shift found for", text.index("Skip to"))
    assert start < text.index(dated.warnings[0]) < text.index("Nothing was found to act on")
    short = Read(dated._repr_html_()).text
    assert short.index("No shift found for") < short.index(dated.warnings[0][-40:])


def test_a_folded_level_does_not_hide_a_warning(many: Comparisons) -> None:
    one = many.levels[0]
    assert one.comparison is not None
    warned = replace(one.comparison, warnings=("Column '<i>' is a date.",))
    levels = (replace(one, comparison=warned), *many.levels[1:])
    found = replace(many, levels=levels)
    text = Read(many_page(found)).text
    said = "jan.csv: Column '<i>' is a date."
    assert text.index("Warning") < text.index(said) < text.index("All levels")  # as it was named
    assert f"warning: {said}" in str(found)


@pytest.mark.parametrize(
    ("name", "shown", "absent"),
    [
        ("few rows", ["fewer than 50", "none was measured"], ["trained the model in use"]),
        ("in-sample", ["in-sample losses give no valid interval"], ["out-of-fold losses"]),
        ("losses alone", ["not asked", "of the one question asked", "losses in column error",
                          "Only one question was asked"], ["R-div: one model", "Score:"]),
        ("losses and target", ["error (model in use), log loss (shared model)",
                               "do not compare the sizes"], ["what retraining changes"]),
        ("given", ["trained on neither sample is the user's word", "100 reference and 120"],
         ["drawn at random to train"]),
        ("given, not retrained", ["not asked", "No model was trained on both samples"],
         ["R-div: one model", "what retraining changes"]),
        ("without gradients", ["score was not asked", "of both questions together"],
         ["Score:", "Columns behind", "explained by the inputs that moved (", "Doubly robust"]),
        ("density", ["negative log density", "trained on 75 reference rows",
                     "Without a target all of the gap is a matter of inputs"],
         ["Task", "doubly robust", "Where the relation changed"]),
    ],
)  # fmt: skip
def test_what_was_not_asked_is_not_spoken_of(
    partial: dict[str, Comparison], name: str, shown: list[str], absent: list[str]
) -> None:
    text = Read(comparison_page(partial[name])).text
    for words in shown:
        assert words in text, words
    for words in absent:
        assert words not in text, words
    assert "None" not in text
    assert "nan" not in text
    Read(short_form(partial[name]))


def test_the_table_has_raw_and_adjusted_pvalues(found: Comparison) -> None:
    table = tables.tests(found)
    lines = {line[0]: line for line in table.rows}
    assert set(lines) == {
        "in-use", "r-div", "score", "r-div, score", "together", "inputs"
    }  # fmt: skip
    for name, adjusted in found.adjusted_pvalues.items():
        assert lines[name][4:] == (f"{found.results[name].pvalue:.3g}", f"{adjusted:.3g}")
    assert lines["in-use"][2] == "logistic"
    assert lines["together"][5] == f"{found.pvalue:.3g}"
    assert found.input_test is not None
    assert lines["inputs"][4:] == (f"{found.input_test.pvalue:.3g}", "outside")


def test_the_chart_has_a_line_for_each_number_that_was_measured(
    found: Comparison, partial: dict[str, Comparison]
) -> None:
    lines = {line.label: line for line in gap_lines(found)}
    assert found.retraining is not None
    assert lines["model in use"].value == found.gap
    won = found.retraining.current
    assert lines["retraining, on current"][1:4] == (-won.value, -won.high, -won.low)
    assert len(lines) == 4
    assert [line.label for line in gap_lines(partial["losses alone"])] == ["model in use"]
    assert [line.label for line in gap_lines(partial["few rows"])] == ["shared model"]
    plain = gap_lines(partial["in-sample"])[1]
    assert (plain.low, plain.high, plain.marked) == (None, None, False)


def test_charts_name_the_model_that_they_are_about(
    found: Comparison, partial: dict[str, Comparison]
) -> None:
    assert "Losses of the model in use on both samples" in Read(comparison_page(found)).text
    text = Read(comparison_page(partial["few rows"])).text
    assert "Gap of the shared model under random permutations" in text
    assert "about the shared model" in text


def test_hostile_text_is_shown_as_text(pages: dict[str, str]) -> None:
    page = pages["hostile"]
    read = Read(page)
    assert SCRIPT in read.text
    assert "{{ 7 * 7 }}" in read.text
    assert "\u202e" not in page
    assert "(3000 characters)" in read.text
    assert "1\u202f961 more columns together" in read.text  # of 1981 groups, 20 are listed
    assert "1\u202f980 more columns, none with smaller p-values" in read.text
    assert "1\u202f981 more columns are in the JSON" in read.text  # of 2001 that moved
    assert "new levels" not in read.text
    assert "7 current rows have a level that reference lacks" in read.text
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
        {"verdict": "shift, kind not established", "direction": None},
        {"verdict": "risk shift", "direction": "better", "gap": -0.2},
        {"gap_interval": Interval(float("-inf"), float("inf"))},
        {"shared_gap_interval": None, "retraining": None},
        {"losses": None, "drivers": None, "input_test": None, "equivalence": None},
        {"smallest_detectable_gap": float("nan")},
    ],
)
def test_every_kind_of_finding_has_a_page(found: Comparison, changes: dict[str, object]) -> None:
    one = replace(found, **changes)
    assert typeset(one.headline()) in Read(comparison_page(one)).text
    Read(short_form(one))


def test_a_page_is_the_same_every_time(found: Comparison, pages: dict[str, str]) -> None:
    assert comparison_page(found) == pages["found"]


def test_many_levels_in_one_page(many: Comparisons, pages: dict[str, str]) -> None:
    read = Read(pages["many"])
    assert read.text.index(many.headline()) < read.text.index("All levels")
    for words in ("<script>feb</script>", "april", "7 rows, fewer than", many.warning(), "Holm"):
        assert words in read.text
    sections = pages["many"].count('<details class="level">')
    assert sections == sum(level.shifted for level in many.levels) == 1
    shifted = next(level.comparison for level in many.levels if level.shifted)
    assert shifted is not None
    assert typeset(shifted.headline()) in read.text


def test_many_models_are_called_models(models: Comparisons, pages: dict[str, str]) -> None:
    read = Read(pages["models"])
    assert [level.verdict for level in models.levels] == ["risk shift", "no shift"]
    for words in (models.headline(), "All models", "<script>all</script>", "squared error",
                  "1 of 2 models shifted", "not the same for every model"):  # fmt: skip
        assert words in read.text, words
    assert "level" not in read.text.replace("at level", "")
    assert "2 models" in Read(models._repr_html_()).text


def test_very_many_levels_stay_small(many: Comparisons) -> None:
    shifted = next(level for level in many.levels if level.shifted)
    assert shifted.comparison is not None
    shifted = replace(shifted, comparison=replace(shifted.comparison, losses=None))
    levels = tuple(replace(shifted, name=f"level {i} " + "n" * 300) for i in range(3000))
    page = many_page(replace(many, levels=levels))
    assert len(page.encode()) < LIMIT
    text = Read(page).text
    assert "2\u202f992 more levels shifted" in text
    assert "276 more levels" in text
    assert "2\u202f700 more levels are in the JSON" in text


def test_levels_without_a_shift_never_say_that_nothing_is_to_be_done_above_a_slice(
    many: Comparisons,
) -> None:
    """A slice that was confirmed in one level comes before the words on all of them."""
    quiet = [level for level in many.tested if not level.shifted]
    one = quiet[0].comparison
    assert one is not None
    assert one.drivers is not None
    part = SliceDriver(("age < 3",), 1.0, 0.0, None, 0.2, 0.2, 20, 20, 0.001)
    told = replace(one, drivers=replace(one.drivers, slices=(part,)))
    levels = (replace(quiet[0], comparison=told), *quiet[1:])
    text = Read(many_page(replace(many, levels=levels, run=None))).text
    assert "the loss did change where age < 3" in text
    assert "Nothing was found to act on" not in text


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
