"""The figures on noisy labels: lines to a page and a picture; test_tables.py runs them."""

from __future__ import annotations

import pytest

pytest.importorskip("rdiv.reproduction.protocol")
pytest.importorskip("torch")

from rdiv.reproduction.tables.noisy_labels import NoiseTable, _crossings


def made_up(gains: tuple[float, ...] = (0.02, 0.05, -0.01)) -> list[dict[str, object]]:
    """Lines of three shares, in which every part catches what it can."""
    lines = []
    for share, gain in zip((0.2, 0.4, 0.6), gains, strict=True):
        caught = min(share, 0.2) * 0.9
        numbers = {
            "pretrained": 0.4, "retrained": 0.4 + gain, "gain": gain,
            "detection_accuracy": 0.8 - share + 2 * caught,
            "precision_clean": (0.8 - share + caught) / (1 - share),
            "recall_clean": (0.8 - share + caught) / 0.8,
            "precision_noisy": caught / share, "recall_noisy": caught / 0.2,
            "discrepancy": 3 - 2 * share,
        }  # fmt: skip
        line = {"table": "noisy-pair", "scale": "smoke", "seed": 0, "part": "sweep"}
        line |= {"method": "weighted", "share": share, "trials": 3, "diverged": 0, **numbers}  # type: ignore[dict-item]
        lines.append(line | {f"{name}_se": 0.001 for name in numbers})
    return lines


def test_the_page_says_what_of_the_paper_shows() -> None:
    page = NoiseTable("pair").markdown(made_up())
    assert "by a 95 % t interval for 0.2, 0.4; best at gamma = 0.4 (gain +0.050" in page
    assert "It does: 2.60, 2.20, 1.80" in page
    assert "precision of noisy and recall of noisy near 0.20" in page
    assert "That is at gamma = 0.4 here (mean 2.20)" in page
    worse = NoiseTable("pair").markdown(made_up((-0.02, -0.05, -0.01)))
    assert "by a 95 % t interval for no gamma; best at gamma = 0.6" in worse


def test_a_training_that_diverged_is_said_so() -> None:
    lines = made_up()
    for line in lines:
        line |= dict.fromkeys(("retrained", "retrained_se", "gain", "gain_se"))
        line["diverged"] = 3
    page = NoiseTable("pair").markdown(lines)
    assert "| 0.2 | diverged |" in page
    assert "`weighted`: training diverged everywhere" in page
    assert "Accuracy" in NoiseTable("pair").figure(lines)


def test_parts_have_sections_and_panels_of_their_own() -> None:
    lines = made_up()
    few = [{**line, "part": "memorises", "discrepancy": 1.4e-3} for line in made_up()[1:]]
    page = NoiseTable("pair").markdown([*lines, *few])
    assert page.index("`sweep`: width 8") < page.index("`memorises`: width 8")
    assert "It does not always: 1.40e-03, 1.40e-03" in page
    assert page.count("| gamma | accuracy | precision of clean |") == 2
    assert "accuracy and recall of noisy near 0.2" in page
    picture = NoiseTable("pair").figure([*lines, *few])
    assert picture.count("Detection") == 2 * NoiseTable("pair").figure(lines).count("Detection")


def test_lines_without_an_accuracy_of_detection_leave_it_out() -> None:
    lines = [
        line | {"detection_accuracy": None, "detection_accuracy_se": None} for line in made_up()
    ]
    page = NoiseTable("pair").markdown(lines)
    assert "| 0.2 |  | 0." in page
    assert "accuracy and recall of noisy near" not in page
    assert NoiseTable("pair").figure(lines)


def test_retraining_is_measured_where_it_was_asked_for() -> None:
    (line,) = NoiseTable("pair").narrowed("paper", ["memorises"], []).plan("paper").lines
    assert line.trials == 5 * (1 + 5)


def test_crossings_lie_between_the_points() -> None:
    lines = [{"share": 0.1, "a": 1.0, "b": 0.0}, {"share": 0.3, "a": 0.0, "b": 1.0}]
    assert _crossings(lines, "a", "b") == pytest.approx([0.2])
    assert _crossings(lines[:1], "a", "b") == []
