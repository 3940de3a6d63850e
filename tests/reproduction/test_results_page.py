"""The results page is what its numbers say, and nobody has edited either."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from tests.reproduction.conftest import Measure
from tools import results_page
from tools.results_book import FOUR, KDE, OWN, Book, Statement, best_lines
from tools.results_claims import (
    CLAIMS,
    FALLS,
    OPEN,
    STANDS,
    VERDICTS,
    blob_best,
    blob_variance,
    hdgm_dimension,
    hdgm_size,
    higgs_larger,
    higgs_power,
    higgs_rank,
    levels,
    mnist,
    noisy,
    overfitting_gap,
    statements,
    summary,
    supervised,
    tally,
)
from tools.results_evidence import SCRIPTS, evidence

from rdiv.models import BY_NAME as MODELS
from rdiv.names import spelled
from rdiv.reproduction import BY_NAME, SCALES, Line
from rdiv.reproduction.parts import rows_tested
from rdiv.reproduction.power_table import COLUMNS, PowerTable, rate_and_interval
from rdiv.reproduction.running import as_csv, read_csv


@pytest.fixture(scope="module")
def measured(smoke: Measure, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A smoke run: the page takes results of any scale."""
    folder = tmp_path_factory.mktemp("run")
    copytree(smoke("hdgm-size")[1], folder / "hdgm-size")
    return folder


@pytest.fixture
def copy(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A results page of one table."""
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(results_page, "FOLDER", tmp_path / "results")
    monkeypatch.setattr(results_page, "PAGE", tmp_path / "results.md")
    assert results_page.main(["--take", str(measured)]) == 0
    return tmp_path


def test_the_numbers_in_the_documentation_have_pictures() -> None:
    for path in results_page.FOLDER.glob("*.csv"):
        assert path.stem in BY_NAME
        assert path.with_suffix(".svg").exists()
        assert {line["scale"] for line in read_csv(path)} <= set(SCALES)


def test_an_untouched_page_passes(copy: Path) -> None:
    assert results_page.main(["--check"]) == 0
    assert (copy / "results" / "hdgm-size.svg").exists()
    page = (copy / "results.md").read_text(encoding="utf-8")
    assert "rdiv reproduce hdgm-size --scale smoke --seed 3" in page
    assert "Not measured yet: `higgs`" in page


@pytest.mark.parametrize("old", ["of 3 |", "of 1 |", "true nulls"])
def test_a_number_edited_on_the_page_fails(
    copy: Path, capsys: pytest.CaptureFixture[str], old: str
) -> None:
    page = copy / "results.md"
    text = page.read_text(encoding="utf-8")
    assert old in text
    page.write_text(text.replace(old, old.replace(old[-3], "7"), 1), encoding="utf-8")
    assert results_page.main(["--check"]) == 1
    assert "not what its numbers say" in capsys.readouterr().err


@pytest.mark.parametrize("column", ["rate", "null_high", "rejections", "paper"])
def test_a_number_edited_in_the_file_fails(copy: Path, column: str) -> None:
    path = copy / "results" / "hdgm-size.csv"
    lines = read_csv(path)
    lines[0][column] = 1
    path.write_text(as_csv(lines), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"hdgm-size\.csv: "):
        results_page.main(["--check"])


def test_lines_of_other_parts_and_scales_are_added(copy: Path, tmp_path: Path) -> None:
    path = copy / "results" / "hdgm-size.csv"
    before = read_csv(path)
    more = [{**line, "scale": "laptop", "n_p": 800, "tested": 800} for line in before[:2]]
    for line in more:
        line["cell"] = "d = 10, 800 rows a side (N = 1600)"
    changed = {**before[1], "seconds": 7.0}
    folder = tmp_path / "new" / "any-name"
    folder.mkdir(parents=True)
    (folder / "hdgm-size.csv").write_text(as_csv([*more, changed]), encoding="utf-8")
    assert results_page.main(["--take", str(folder.parent)]) == 0
    after = read_csv(path)
    assert len(after) == len(before) + 2, "a line of the same test and place is replaced"
    assert sum(line["seconds"] == 7.0 for line in after) == 1
    assert {line["scale"] for line in after} == {"smoke", "laptop"}
    page = (copy / "results.md").read_text(encoding="utf-8")
    assert "`rdiv reproduce hdgm-size --scale laptop --seed 3`" in page
    assert "Scale `smoke`" in page
    assert "Scale `laptop`" in page


def invented(table: PowerTable, rate: float, rng: np.random.Generator) -> list[Line]:
    """Lines as a laptop run would give them, with rejections from a binomial."""
    lines = []
    for part in table.scales["laptop"].parts:
        for n in part.sizes:
            for source in part.sources:
                for alpha in part.alphas:
                    for method, test in part.tests.items():
                        lines.append(_line(table, part, n, source, alpha, method, test, rate, rng))
    return lines


def _line(
    table: PowerTable, part: Any, n: int, source: str, alpha: float, method: str, test: Any,
    rate: float, rng: np.random.Generator,
) -> Line:  # fmt: skip
    protocol = part.train if getattr(test, "learns", False) else "whole"
    tested = rows_tested(n, protocol)
    cell = part.label(n, source, alpha, tested=tested)
    model = getattr(test, "model", None)
    told = table.paper.get(method, cell)
    line = dict.fromkeys(COLUMNS) | {
        "table": table.name, "scale": "laptop", "seed": 0, "part": part.name, "cell": cell,
        "method": method, "test": method, "n_p": n, "n_q": n, "note": "", "protocol": protocol,
        "alpha": alpha, "tested": tested, "resamples": part.n_resamples, "repeats": part.repeats,
        "model": None if model is None else spelled(model, MODELS), "se": 0.01, "seconds": 0.1,
        "paper": None if told is None else told.rate,
    }  # fmt: skip
    trials = part.trials * part.repeats
    for side, share in (("", rate), ("null_", alpha)):
        count = int(rng.binomial(trials, share))
        line |= counted(side, count, trials)
    return line


def counted(side: str, count: int, trials: int) -> Line:
    names = ("trials", "rejections", "rate", "low", "high")
    numbers = (trials, count, *rate_and_interval(count, trials))
    return {side + name: value for name, value in zip(names, numbers, strict=True)}


@pytest.mark.parametrize("rate", [0.05, 0.6, 1.0])
def test_the_page_can_be_written_whatever_was_found(rate: float) -> None:
    rng = np.random.default_rng(int(100 * rate))
    powers = {n: t for n, t in BY_NAME.items() if isinstance(t, PowerTable)}
    book = Book({name: invented(table, rate, rng) for name, table in powers.items()})
    found = list(statements(book))
    assert len(found) >= 8
    level = levels(book)
    assert level is not None
    assert level.verdict == STANDS
    text = "\n".join(results_page.page(book))
    assert all(f"## {table.about}" in text for table in powers.values())
    assert "Not measured yet: `overfitting`, `noisy-symmetric`, `noisy-pair`." in text


def lines_of(name: str, model: str | None = None, **rates: float) -> list[Line]:
    """Lines of a laptop run with the given rates of some methods, exactly, and 0.1 of the rest.

    With `model`, the rates are those of that model only.
    """
    table = BY_NAME[name]
    assert isinstance(table, PowerTable)
    lines = invented(table, 0.1, np.random.default_rng(0))
    for line in lines:
        mine = model is None or line["model"] == model
        rate = rates.get(line["method"].replace("-", "_"), 0.1) if mine else 0.1
        line |= counted("", round(rate * line["trials"]), line["trials"])
    return lines


def verdict_of(claim: Any, name: str, lines: list[Line]) -> str | None:
    found = claim(Book({name: lines}))
    return None if found is None else found.verdict


@pytest.mark.parametrize(
    ("claim", "name", "rates", "verdict"),
    [
        (higgs_power, "higgs", {"R_Div": 0.55}, FALLS),
        (higgs_power, "higgs", {"R_Div": 1.0}, STANDS),
        (higgs_larger, "higgs", {"R_Div": 1.0}, STANDS),
        (higgs_larger, "higgs", {"R_Div": 0.9}, None),
        (higgs_rank, "higgs", {"R_Div": 0.6}, STANDS),
        (higgs_rank, "higgs", {"R_Div": 0.6, "MMD_D": 0.6}, OPEN),
        (higgs_rank, "higgs", {"R_Div": 0.1, "H_Div": 0.9}, FALLS),
        (blob_best, "blob", {"H_Div": 0.9}, FALLS),
        (blob_best, "blob", {"R_Div": 0.9, "cross_risk": 1.0}, OPEN),
        (blob_variance, "blob", {"H_Div": 0.9}, FALLS),
        (blob_variance, "blob", {}, OPEN),
        (hdgm_dimension, "hdgm-dimension", {"H_Div": 0.9}, FALLS),
        (hdgm_dimension, "hdgm-dimension", {"score": 0.9}, OPEN),
        (hdgm_size, "hdgm-size", {"H_Div": 0.9}, FALLS),
        (hdgm_size, "hdgm-size", {"cross_risk": 0.9}, OPEN),
        (supervised, "pacs", {"R_Div": 0.9}, OPEN),
    ],
)
def test_verdicts_follow_the_numbers(
    claim: Any, name: str, rates: dict[str, float], verdict: str | None
) -> None:
    assert verdict_of(claim, name, lines_of(name, None, **rates)) == verdict


def test_a_claim_about_n_4000_rests_on_2000_rows_a_side() -> None:
    lines = lines_of("hdgm-dimension", H_Div=0.9)
    small = [line for line in lines if line["n_p"] < 2000]
    assert hdgm_dimension(Book({"hdgm-dimension": small})) is None
    large = [line for line in lines if line["n_p"] == 2000]
    assert verdict_of(hdgm_dimension, "hdgm-dimension", large) == FALLS


def test_tests_with_other_numbers_of_permutations_are_not_compared() -> None:
    lines = lines_of("pacs", R_Div=0.9)
    found = supervised(Book({"pacs": lines}))
    assert found is not None
    assert "has R-Div ahead in 2 and H-Div in 0 of 2 cells" in found.found
    unequal = [line for line in lines if line["part"] != "one-fit-19"]
    assert {line["resamples"] for line in unequal if line["method"] == "R-Div"} == {99}
    assert supervised(Book({"pacs": unequal})) is None


def test_one_model_is_not_compared_with_another() -> None:
    lines = lines_of("hdgm-dimension", model=FOUR, H_Div=1.0)
    kept = [x for x in lines if (x["method"], x["model"]) in (("R-Div", KDE), ("H-Div", FOUR))]
    assert hdgm_dimension(Book({"hdgm-dimension": kept})) is None


def test_trials_that_share_trainings_show_nothing_against_r_div() -> None:
    lines = lines_of("higgs", MMD_D=1.0)
    kept = [x for x in lines if x["method"] != "MMD-D" or x["protocol"] == "fresh"]
    assert verdict_of(higgs_rank, "higgs", kept) == OPEN
    kept = [x for x in lines if x["method"] != "MMD-D" or x["protocol"] == "half"]
    assert verdict_of(higgs_rank, "higgs", kept) == FALLS


def test_gains_of_three_trials_are_weighed_by_t_with_two_degrees_of_freedom() -> None:
    lines = [x for x in read_csv(results_page.FOLDER / "noisy-pair.csv") if x["part"] == "sweep"]
    for line in lines:
        line |= {"gain": 0.03, "gain_se": 0.01, "trials": 3, "diverged": 0}
    found = noisy(Book({"noisy-pair": lines}))
    assert found is not None
    assert "never gains" in found.found, "3 standard errors are less than the 4.3 of t"
    for line in lines:
        line["gain_se"] = 0.005
    found = noisy(Book({"noisy-pair": lines}))
    assert found is not None
    assert "pair flips at gamma 0.1, 0.2" in found.found
    assert "3 trials" in found.found


def test_noisy_labels_are_judged_by_networks_that_fit_them_once_both_kinds_have_them() -> None:
    names = ("noisy-symmetric", "noisy-pair")
    book = Book({name: read_csv(results_page.FOLDER / f"{name}.csv") for name in names})
    book = Book({n: [x for x in lines if x["part"] == "sweep"] for n, lines in book.lines.items()})
    numbers = {"gain": 0.1, "gain_se": 0.01, "trials": 5, "diverged": 0, "scale": "paper"}
    for name in names:
        before = noisy(book)
        assert before is not None
        assert "3 trials of 2000 images and 8 epochs" in before.found
        line = book.lines[name][0] | numbers
        book.lines[name].append(line | {"part": "memorises", "method": "weighted", "share": 0.4})
    found = noisy(book)
    assert found is not None
    assert "5 trials of 1000 images and 100 epochs" in found.found
    assert "the script's objective gains for symmetric flips at gamma 0.4, pair" in found.found
    assert found.found.endswith("(tried: 0.4); ours was not tried")


def test_the_power_of_mnist_is_that_of_the_part_with_the_settings_of_the_script() -> None:
    table = BY_NAME["mnist"]
    assert isinstance(table, PowerTable)
    part = next(part for part in table.scales["paper"].parts if part.name == "script")
    rng = np.random.default_rng(0)
    lines = [
        _line(table, part, 100, source, 0.05, method, test, 0.9, rng)
        for source in part.sources
        for method, test in part.tests.items()
    ]
    found = mnist(Book({"mnist": lines}))
    assert found is not None
    assert found.found.startswith("on stand-in GAN digits, 100 a side, 100 trials: rejections")
    assert "nothing differs" in found.found
    assert "autoencoder" not in found.found
    few = [line | {"trials": 19} for line in lines]
    assert mnist(Book({"mnist": few})) is None
    own = [x for x in lines_of("mnist", R_Div=0.1, score=0.9) if x["n_p"] == 200]
    own = [x | {"model": OWN} for x in own if x["model"] and x["resamples"] == 99]
    found = mnist(Book({"mnist": lines + own}))
    assert found is not None
    said = "both alike R-Div 10, score 90 of 100 at 200 a side with rdiv's autoencoder"
    assert found.found.endswith(said)


def test_hdgm_is_judged_by_both_readings_of_n_and_few_trials_say_nothing() -> None:
    lines = lines_of("hdgm-dimension", H_Div=0.9)
    large = [x for x in lines if x["n_p"] == 2000 and x["part"] == "one-fit-large"]
    double = [
        x | {"n_p": 4000, "tested": 4000, "cell": x["cell"].replace("4000", "8000")} for x in large
    ]
    double = [x | {"cell": x["cell"].replace("2000", "4000")} for x in double]
    found = hdgm_dimension(Book({"hdgm-dimension": large + double}))
    assert found is not None
    assert found.found == (
        "rejections at 2000 rows a side: R-Div 4 each, H-Div 36 each of 40 at d = 3, 10 with a "
        "kernel density; at 4000 H-Div is ahead in 2 of 2 cells of 40 trials"
    )
    assert found.verdict == FALLS
    even = [x | counted("", 40, 40) for x in double]
    assert verdict_of(hdgm_dimension, "hdgm-dimension", large + even) == OPEN
    few = [x | {"trials": 19} for x in large]
    assert hdgm_dimension(Book({"hdgm-dimension": few})) is None


def test_a_size_with_few_trials_takes_no_part_in_a_verdict() -> None:
    lines = lines_of("higgs", R_Div=1.0)
    found = higgs_larger(Book({"higgs": lines}))
    assert found is not None
    assert "N = 2000, 3000, 5000" in found.claim
    begun = [x | {"trials": 19} if x["cell"] == "5000" else x for x in lines]
    found = higgs_larger(Book({"higgs": begun}))
    assert found is not None
    assert found.claim.endswith("N = 2000, 3000")


def test_a_line_with_more_trials_takes_the_place_of_one_of_another_scale() -> None:
    (line,) = [x for x in lines_of("blob") if x["part"] == "repeats"][:1]
    small = line | {"part": "one-fit", "trials": 100}
    larger = line | {"scale": "paper", "trials": 1000}
    kept = results_page.without_doubles([small, line, larger])
    assert kept == [larger], "as many trials at the larger scale"
    begun = larger | {"trials": 60}
    assert results_page.without_doubles([small, line, begun]) == [small, line]
    other = larger | {"n_p": 91}
    assert results_page.without_doubles([line, other]) == [line, other]


def test_the_same_trials_of_two_parts_have_one_line() -> None:
    line = next(x for x in lines_of("blob") if x["method"] == "R-Div")
    again = line | {"part": "another"}
    assert results_page.without_doubles([line, again]) == [line]
    fewer = again | {"trials": line["trials"] - 1}
    assert results_page.without_doubles([line, fewer]) == [line, fewer], "for tests with as few"


def test_tests_of_the_same_draws_stay_together() -> None:
    """The only line of H-Div keeps the R-Div that it is compared with."""
    r = next(x for x in lines_of("blob") if x["part"] == "repeats" and x["method"] == "R-Div")
    r = r | {"part": "gmm-refits", "trials": 40}
    h = r | {"method": "H-Div"}
    larger = r | {"scale": "paper", "part": "gmm-repeats", "trials": 1000}
    assert results_page.without_doubles([r, h, larger]) == [r, h, larger]
    assert best_lines([r, h, larger]) == [h, larger], "their draws count once for the level"
    whole = [larger | {"part": "gmm-refits", "method": name} for name in ("R-Div", "H-Div")]
    assert results_page.without_doubles([r, h, *whole]) == whole


def test_false_alarms_are_said() -> None:
    lines = lines_of("higgs")
    held = levels(Book({"higgs": lines}))
    assert held is not None
    assert held.verdict == STANDS
    lines[2] |= {"null_rejections": 25}
    said = levels(Book({"higgs": lines}))
    assert said is not None
    assert said.verdict == FALLS
    assert "omnibus (whole) in higgs, 1000" in said.found


def published() -> list[Statement]:
    return list(statements(results_page.read_book(results_page.FOLDER)))


def test_every_statement_on_the_page_has_a_number_rows_and_a_command() -> None:
    found = published()
    assert len(found) >= 10
    assert {x.verdict for x in found} == set(VERDICTS)
    for x in found:
        assert re.search(r"\d", x.found), x
        assert x.command.startswith("rdiv reproduce "), x
        assert x.command.split()[2] in BY_NAME
        assert re.search(r"\d+ (of|trials|draws|rows|a side)|\d+ \+ \d+", x.found), x


def test_no_statement_hides_few_trials_or_other_data() -> None:
    for x in published():
        counts = [int(n) for n in re.findall(r"\d of (\d+)\b", x.found)]
        assert all(n >= 20 for n in counts) or "supervised" in x.claim or "cells" in x.found, x
        if "GAN" in x.found or x.claim.startswith(("MNIST", "Overfitting")):
            assert "stand-in" in x.found, x


def test_the_first_screen_comes_before_anything_else() -> None:
    text = results_page.PAGE.read_text(encoding="utf-8")
    heads = re.findall(r"^\*\*(.*)\*\*$", text, flags=re.MULTILINE)
    assert heads[:3] == list(VERDICTS)
    before = text.partition("The tables: ")[0]
    prose = re.sub(r"`[^`]*`|---.*?---|<!--.*?-->", "", before, flags=re.DOTALL)
    assert len(prose.split()) < 700, "it must be read in a minute or two"


def test_the_list_of_pages_counts_the_same_statements() -> None:
    pages = (results_page.PAGE.parent / "index.md").read_text(encoding="utf-8")
    assert f"[The paper, measured again](results.md) | {tally(published())} |" in pages


def test_what_is_said_of_the_scripts_has_its_lines() -> None:
    text = "\n".join(evidence())
    assert "86d1587" in text
    assert text.count("https://github.com/Lawliet-zzl/R-div/blob/86d1587/") == len(SCRIPTS)
    assert all(first <= last for _, _, first, last in SCRIPTS)
    assert "no code for PACS, Colored-MNIST, corrupted images and architectures" in text


def test_the_gaps_of_overfitting_stay_open_and_name_the_stand_in() -> None:
    lines = read_csv(results_page.FOLDER / "overfitting.csv")
    found = overfitting_gap(Book({"overfitting": lines}))
    assert found is not None
    assert found.verdict == OPEN
    assert found.found.startswith("on stand-in GAN digits, 100 a side")


def test_statements_are_listed_under_their_verdicts() -> None:
    some = Statement("Claim", "Found 1 of 2", FALLS, "rdiv reproduce blob --seed 0")
    assert list(summary([some])) == [
        f"**{FALLS}**", "", "- *Claim:* Found 1 of 2. `rdiv reproduce blob`", "",
    ]  # fmt: skip
    assert len(CLAIMS) == 14
