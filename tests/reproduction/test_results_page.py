"""The results page is what its numbers say, and nobody has edited either."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from tests.reproduction.conftest import Measure
from tools import results_page
from tools.results_claims import CLAIMS, VERDICTS, Book, claims, levels, summary

from rdiv.reproduction import BY_NAME, Line
from rdiv.reproduction.power_table import COLUMNS, PowerTable, rate_and_interval
from rdiv.reproduction.running import as_csv, read_csv


@pytest.fixture(scope="module")
def measured(smoke: Measure, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A smoke run that is passed off as a laptop one."""
    folder = tmp_path_factory.mktemp("run")
    copytree(smoke("hdgm-size")[1], folder / "hdgm-size")
    path = folder / "hdgm-size" / "hdgm-size.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(",smoke,", ",laptop,"))
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
        assert {line["scale"] for line in read_csv(path)} == {"laptop"}


def test_an_untouched_page_passes(copy: Path) -> None:
    assert results_page.main(["--check"]) == 0
    assert (copy / "results" / "hdgm-size.svg").exists()
    page = (copy / "results.md").read_text(encoding="utf-8")
    assert "rdiv reproduce hdgm-size --scale laptop --seed 3" in page
    assert "Not measured at this scale yet: `higgs`" in page


@pytest.mark.parametrize("old", ["of 3 |", "of 1 |", "R-Div 0."])
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


def invented(table: PowerTable, rate: float, rng: np.random.Generator) -> list[Line]:
    """Lines as a laptop run would give them, with rejections from a binomial."""
    lines = []
    for part in table.scales["laptop"].parts:
        for n in part.sizes:
            for source in part.sources:
                for alpha in part.alphas:
                    cell = part.cell.format(n=n, source=source, alpha=f"{alpha:g}")
                    for method, test in part.tests.items():
                        learns = getattr(test, "learns", False)
                        line = dict.fromkeys(COLUMNS) | {
                            "table": table.name, "scale": "laptop", "seed": 0, "cell": cell,
                            "method": method, "test": method, "n_p": n, "n_q": n, "note": "",
                            "protocol": part.train if learns else "whole", "alpha": alpha,
                        }  # fmt: skip
                        told = table.paper.get(method, cell)
                        line["paper"] = None if told is None else told.rate
                        trials = part.trials * part.repeats
                        for side, share in (("", rate), ("null_", alpha)):
                            count = int(rng.binomial(trials, share))
                            numbers = (trials, count, *rate_and_interval(count, trials))
                            names = ("trials", "rejections", "rate", "low", "high")
                            line |= {side + k: v for k, v in zip(names, numbers, strict=True)}
                        lines.append(line)
    return lines


@pytest.mark.parametrize("rate", [0.05, 0.6, 1.0])
def test_the_page_can_be_written_whatever_was_found(rate: float) -> None:
    rng = np.random.default_rng(int(100 * rate))
    powers = {n: t for n, t in BY_NAME.items() if isinstance(t, PowerTable)}
    book = Book({name: invented(table, rate, rng) for name, table in powers.items()})
    found = list(claims(book))
    assert len(found) == len([name for name in powers if name in CLAIMS]) > 0
    assert levels(book).startswith("**The level holds.**")
    text = "\n".join(results_page.page(book))
    assert all(f"## {table.about}" in text for table in powers.values())
    assert "Not measured at this scale yet: `overfitting`, `noisy-symmetric`, `noisy-pair`." in text


def lines_of(name: str, **rates: float) -> list[Line]:
    """Lines of a laptop run with the given rates of some methods, exactly, and 0.1 of the rest."""
    table = BY_NAME[name]
    assert isinstance(table, PowerTable)
    lines = invented(table, 0.1, np.random.default_rng(0))
    for line in lines:
        count = round(rates.get(line["method"].replace("-", "_"), 0.1) * line["trials"])
        rate, low, high = rate_and_interval(count, line["trials"])
        line |= {"rejections": count, "rate": rate, "low": low, "high": high}
    return lines


@pytest.mark.parametrize(
    ("name", "rates", "verdict"),
    [
        ("higgs", {"R_Div": 0.08}, "does not stand"),
        ("higgs", {"R_Div": 0.9}, "nearly stands"),
        ("higgs", {"R_Div": 1.0}, "stands"),
        ("mnist", {"R_Div": 1.0, "H_Div": 1.0}, "stands"),
        ("mnist", {"R_Div": 1.0}, "stands in part"),
        ("mnist", {"R_Div": 1.0, "H_Div": 1.0, "MMD_D": 1.0}, "stands in part"),
        ("mnist", {"MMD_D": 1.0}, "does not show here"),
        ("hdgm-dimension", {"H_Div": 0.9}, "does not show here"),
        ("hdgm-size", {"H_Div": 0.9}, "does not stand"),
        ("hdgm-size", {"score": 0.9}, "stays open"),
        ("blob", {"H_Div": 0.9}, "does not stand"),
        ("blob", {"R_Div": 0.9, "cross_risk": 1.0}, "stands"),
        ("pacs", {"R_Div": 0.9}, "stands"),
        ("pacs", {"H_Div": 0.9}, "does not show here"),
        ("pacs", {}, "stays open"),
        ("colored-mnist", {"R_Div": 1.0, "H_Div": 0.95}, "stands"),
        ("colored-mnist", {}, "does not show here"),
    ],
)
def test_verdicts_follow_the_numbers(name: str, rates: dict[str, float], verdict: str) -> None:
    claim = CLAIMS[name](Book({name: lines_of(name, **rates)}))
    assert claim.verdict == verdict
    assert claim.verdict in VERDICTS
    assert list(summary([claim])) == [f"- **{verdict.capitalize()}** (1): {claim.says}."]


def test_trials_that_share_trainings_show_nothing_against_r_div() -> None:
    verdicts = {}
    for protocol in ("half", "fresh"):
        lines = lines_of("hdgm-size", MMD_D=0.6)
        kept = [x for x in lines if x["method"] != "MMD-D" or x["protocol"] == protocol]
        verdicts[protocol] = CLAIMS["hdgm-size"](Book({"hdgm-size": kept})).verdict
        higgs = [
            x
            for x in lines_of("higgs", R_Div=1.0, MMD_D=1.0)
            if x["method"] != "MMD-D" or x["protocol"] == protocol
        ]
        assert CLAIMS["higgs"](Book({"higgs": higgs})).verdict == "does not stand"
    assert verdicts == {"half": "does not show here", "fresh": "stays open"}


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ({"difference": 0.1}, "stands"),
        ({"weighted": 0.1}, "stands in part"),
        ({"complementary": 0.1}, "does not show here"),
    ],
)
def test_noisy_labels_are_judged_by_the_objectives_of_the_paper(
    gains: dict[str, float], verdict: str
) -> None:
    lines = read_csv(results_page.FOLDER / "noisy-pair.csv")
    for line in lines:
        line |= {"gain": gains.get(line["method"], -0.1), "gain_se": 0.01}
    assert CLAIMS["noisy-pair"](Book({"noisy-pair": lines})).verdict == verdict


@pytest.mark.parametrize(
    ("gap", "verdict"), [(40.0, "stands"), (14.0, "stays open"), (7.0, "does not show here")]
)
def test_the_gaps_of_overfitting_are_weighed_by_their_error(gap: float, verdict: str) -> None:
    lines = read_csv(results_page.FOLDER / "overfitting.csv")
    for line in lines:
        line |= {"gap": gap if line["method"] == "R-Div" else 7.0, "gap_sd": 3.0}
    assert CLAIMS["overfitting"](Book({"overfitting": lines})).verdict == verdict


def test_false_alarms_are_said() -> None:
    rng = np.random.default_rng(0)
    table = BY_NAME["higgs"]
    assert isinstance(table, PowerTable)
    lines = invented(table, 0.1, rng)
    assert levels(Book({"higgs": lines})).startswith("**The level holds.**")
    lines[2] |= {"null_rejections": 20}
    said = levels(Book({"higgs": lines}))
    assert said.startswith("**The level needs a look.**")
    assert "omnibus (whole) in higgs, 1000." in said
