"""The page says why: the bar of two parts, the columns, the relation, the inputs that moved."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.report.hostile import SCRIPT
from tests.report.test_pages import Read, first_screen

from rdiv import Comparison
from rdiv.comparison.sentences import INPUTS, RELATION, inputs_matter
from rdiv.comparison.split import Split
from rdiv.drivers.contributions import LEFTOVER, ColumnGroup, Contributions
from rdiv.drivers.moved_column import Distribution, MovedColumn
from rdiv.drivers.result import SliceDriver, WeightDriver
from rdiv.inference.intervals import Estimate, Interval
from rdiv.report import comparison_page, tables
from rdiv.report.line_charts import group_label
from rdiv.report.moved_charts import moved_chart
from rdiv.report.moved_view import MOST_CHARTS, moved_columns, moved_view
from rdiv.report.split_chart import bar_parts, no_split, split_chart, split_sentences
from rdiv.report.why_view import carriers, driver_parts
from rdiv.report.wording import signed

SHOWN, BELOW = Estimate(0.2, 0.1, 0.3), Estimate(-0.15, -0.2, -0.1)
UNSHOWN = Estimate(0.01, -0.1, 0.12)


def with_split(found: Comparison, inputs: Estimate, relation: Estimate) -> Comparison:
    return replace(found, split=Split(inputs, relation, 321.0))


def test_the_bar_is_on_the_first_screen_with_its_words_and_numbers(
    moved: Comparison, pages: dict[str, str]
) -> None:
    assert moved.split is not None
    text = first_screen(pages["moved"])
    assert text.index("another relation?") < text.index("Gap of the model in use")
    for words in (INPUTS, RELATION):
        assert words in text
    for part in moved.split.inputs, moved.split.relation:
        assert f"{signed(part.low, 3)} to {signed(part.high, 3)}" in text


@pytest.mark.parametrize(
    ("inputs", "relation", "said", "unsaid"),
    [
        (SHOWN, SHOWN, ["is explained by", "is there because"], ["not shown", "pale"]),
        (SHOWN, BELOW, ["is explained by", "is there because"], ["not shown", "pale"]),
        (SHOWN, UNSHOWN, ["is explained by", "That a changed relation", "not shown", "pale"],
         ["is there because"]),
        (UNSHOWN, SHOWN, ["That other inputs change", "not shown", "pale"], ["is explained by"]),
        (UNSHOWN, UNSHOWN, ["That other inputs", "That a changed relation"], ["is explained by"]),
    ],
)  # fmt: skip
def test_a_part_whose_interval_covers_0_was_not_shown(
    found: Comparison, inputs: Estimate, relation: Estimate, said: list[str], unsaid: list[str]
) -> None:
    chart = split_chart(with_split(found, inputs, relation))
    assert chart is not None
    text = f"{chart.description} {chart.caption}"
    for words in said:
        assert words in text, words
    for words in unsaid:
        assert words not in text, words
    assert chart.svg.count("not shown: ") == (inputs == UNSHOWN) + (relation == UNSHOWN)
    assert "url(#split-" in chart.svg  # the pattern of the second part is there
    assert set(re.findall(r"url\(#([^)]+)\)", chart.svg)) <= set(
        re.findall(r'id="([^"]+)"', chart.svg)
    )


def test_parts_of_one_sign_are_stacked_and_others_start_at_0(found: Comparison) -> None:
    same, opposite = (bar_parts(with_split(found, SHOWN, part)) for part in (SHOWN, BELOW))
    assert [part.start for part in same] == [0.0, SHOWN.value]
    assert [part.start for part in opposite] == [0.0, 0.0]


def test_without_a_split_a_sentence_says_why(found: Comparison) -> None:
    apart = replace(found, split=None, notes={**found.notes, "split": "no overlap: <i>far</i>"})
    assert split_chart(apart) is None
    assert no_split(apart) == "Inputs or relation? No overlap: <i>far</i>."
    assert no_split(apart) in first_screen(comparison_page(apart))
    assert no_split(replace(apart, notes={})) == ""
    assert split_sentences(apart) == []


def test_no_slice_of_the_relation_is_named_without_overlap(found: Comparison) -> None:
    assert found.drivers is not None
    part = SliceDriver(("age < 3",), 1.0, 0.0, None, 0.2, 0.2, 20, 20, 0.001)
    told = replace(found, drivers=replace(found.drivers, slices=(), relation_slices=(part,)))
    with_overlap = with_split(told, SHOWN, SHOWN)
    assert any("loss at equal inputs" in line for line in carriers(with_overlap))
    assert "at equal inputs changed" in str(with_overlap)
    apart = replace(told, split=None)
    assert not any("equal inputs" in line for line in carriers(apart))
    assert "at equal inputs changed" not in str(apart)
    assert "age < 3" not in Read(comparison_page(apart)).text


def grouped(found: Comparison) -> Comparison:
    """With columns that add up to 0.2."""
    assert found.drivers is not None
    groups = (
        ColumnGroup(("age", "<pension>"), 0.15, Interval(0.1, 0.2), 0.75),
        ColumnGroup(("town",), -0.02, Interval(-0.1, 0.06), -0.1),
    )
    columns = Contributions(groups, 0.07, 0.2)
    return replace(found, drivers=replace(found.drivers, columns=columns))


def test_the_lines_of_the_columns_sum_to_the_inputs_part(found: Comparison) -> None:
    one = grouped(found)
    assert one.drivers is not None
    assert one.drivers.columns is not None
    lines = tables.columns(one.drivers.columns, Interval(0.1, 0.3)).rows
    assert [line[0] for line in lines] == [
        "age, <pension>", "town", f"correction: {LEFTOVER}", "sum"
    ]  # fmt: skip
    values = [float(line[1].replace("\u2212", "-")) for line in lines]
    assert sum(values[:-1]) == pytest.approx(values[-1])
    assert lines[-1][2] == "+0.1 to +0.3"
    shares = [float(line[3].split()[0].replace("\u2212", "-")) for line in lines]
    assert shares == [75.0, -10.0, 35.0, 100.0]


def test_the_lines_sum_also_where_most_columns_are_left_out(hostile: Comparison) -> None:
    assert hostile.drivers is not None
    assert hostile.drivers.columns is not None
    lines = tables.columns(hostile.drivers.columns, None).rows
    values = [float(line[1].replace("\u2212", "-")) for line in lines]
    assert sum(values[:-1]) == pytest.approx(values[-1], rel=0.01)  # three digits are shown


def test_columns_are_findings_only_where_the_inputs_part_was_shown(found: Comparison) -> None:
    shown, unshown = (with_split(grouped(found), part, SHOWN) for part in (SHOWN, UNSHOWN))
    assert inputs_matter(shown)
    assert not inputs_matter(unshown)
    open_, folded = (driver_parts(one, rows=True)[0] for one in (shown, unshown))
    assert open_["folded"] == ""
    assert folded["folded"] == "Columns: the inputs part was not shown"
    assert "no column is named as a finding" in folded["notes"][0]
    assert any(line.startswith("Column: age") for line in carriers(shown))
    assert not any("town" in line for line in carriers(shown))  # its interval covers 0
    assert any(LEFTOVER in line for line in carriers(shown))
    assert not any("Column: " in line for line in carriers(unshown))
    assert "<pension>" in Read(comparison_page(shown)).text
    assert "<pension>" not in comparison_page(shown)


def test_a_label_names_the_first_member_and_counts_the_others() -> None:
    group = ColumnGroup(("a" * 90, "b", "c"), 0.1, None, None)
    assert group_label(group) == f"{'a' * 15}\u2026 +2 more"
    assert len(group_label(group)) == 24
    assert group_label(replace(group, members=("a",))) == "a"
    assert group_label(replace(group, others=True)) == "3 other columns"


def test_what_was_not_confirmed_is_folded_away(found: Comparison) -> None:
    assert found.drivers is not None
    for pvalue, folded in ((0.5, True), (0.01, False)):
        part = SliceDriver(("age < 3",), 1.0, 0.0, None, 0.2, 0.2, 20, 20, pvalue)
        weight = WeightDriver("age", 2.0, pvalue)
        told = replace(
            found.drivers, slices=(part,), relation_slices=(part,), weights=(weight,), columns=None
        )
        one = with_split(replace(found, drivers=told), SHOWN, SHOWN)
        parts = {part["title"]: part for part in driver_parts(one, rows=False)}
        for title in (
            "Where the relation changed: slices at equal inputs",
            "Slices of the gap of the model in use",
            "Columns that would get another weight",
        ):
            assert bool(parts[title]["folded"]) == folded, title
        assert (parts[title]["table"].rows[0]) == ("age", "2", f"{pvalue}")


def test_flagged_columns_come_first_and_the_energy_test_stands_beside(
    moved: Comparison, pages: dict[str, str]
) -> None:
    view = moved_view(moved)
    assert view is not None
    assert moved.input_columns is not None
    names = [line[0] for line in view["table"].rows]
    assert set(names[:3]) == {"town", "kind", "income"}
    assert "age" in names[3:]
    assert "other" not in names
    assert "other" in [line[0] for line in view["others"].rows]
    changes = {line[0]: line[1] for line in view["table"].rows}
    assert "a level that reference lacks, such as 'west'" in changes["town"]
    assert changes["kind"] == "constant in current ('a'), several values in reference"
    assert changes["income"] == "missing 0 % \u2192 20 %"
    assert changes["age"].startswith("mean ")
    text = Read(pages["moved"]).text
    text = text[text.index("Inputs that moved", text.index("The evidence")) :]
    assert moved.input_test is not None
    assert f"without a model: shift found, p = {moved.input_test.pvalue:.3g}" in text
    assert "not part of the verdict" in text
    assert len(view["charts"]) == min(MOST_CHARTS, len(moved_columns(moved)))


def test_no_chart_where_nothing_moved(found: Comparison) -> None:
    still = MovedColumn("age", "number", 0.4, "location", 0.1, 1.0, 1.1)
    view = moved_view(replace(found, input_columns=(still,)))
    assert view is not None
    assert view["summary"][0] == "No column was shown to move."
    assert (view["table"], view["charts"]) == (None, [])
    assert view["folded"] == "1 column that was not shown to move"
    assert moved_view(replace(found, input_columns=())) is None
    assert moved_view(replace(found, input_columns=None)) is None


def test_equal_quartiles_are_not_told_as_a_change(found: Comparison) -> None:
    same = (4.0, 4.0, 4.0)
    column = MovedColumn("a", "number", 0.001, "spread", 0.5, 3.1, 3.6, same, same)
    view = moved_view(replace(found, input_columns=(column,)))
    assert view is not None
    assert view["table"].rows[0][1] == "mean 3.10 \u2192 3.60 (+0.50 standard deviations)"


def test_a_distribution_has_its_edges_and_missing_cells_apart() -> None:
    shown = Distribution(
        ("< 10", "10 to 20", ">= 20", "missing"), (10.0, 20.0), (0.5, 0.3, 0.2, 0), (0.1, 0, 0, 0.9)
    )
    column = MovedColumn(SCRIPT, "number", 0.01, "missing", distribution=shown)
    chart = moved_chart(column, "one", "It moved.")
    assert chart is not None
    written = re.findall(r"<text[^>]*>([^<]*)</text>", chart.svg)
    assert {"10", "missing", "reference", "current"} <= set(written)
    assert "missing: 0\u00a0% and 90\u00a0%" in chart.description
    assert SCRIPT not in chart.svg
    assert moved_chart(replace(column, distribution=None), "one", "") is None


def test_the_methods_name_g_w_and_what_is_exact(moved: Comparison, pages: dict[str, str]) -> None:
    text = Read(pages["moved"]).text
    assert moved.split is not None
    for words in ("doubly robust", "asymptotic", "g, the loss to be expected", "step-down max-T",
                  f"{round(moved.split.effective_rows)} effective reference rows"):  # fmt: skip
        assert words in text, words
