"""The model in use on the command line: columns, files, own code, a third table, several models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Run, table

import rdiv
from rdiv.cli.model_in_use import prediction_from
from rdiv.errors import InputError
from rdiv.models import Frozen, Trained

TARGET = ("--target", "bought")
CODE = """
import numpy as np

class Rule:
    def predict(self, x):
        return np.where(x["age"].to_numpy() > 0, "yes", "no")

def rule():
    return Rule()

class Failing:
    def predict(self, x):
        raise RuntimeError("no licence")

failing = Failing()
number = 3
"""


def logged(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with what a model logged: probabilities, its loss, the class it says."""
    chance = 1 / (1 + np.exp(-2 * frame["age"].to_numpy()))
    right = np.where(frame["bought"].to_numpy() == "yes", chance, 1 - chance)
    said = np.where(chance > 0.5, "yes", "no")
    columns = {"p_yes": chance, "p_no": 1 - chance, "error": -np.log(right), "said": said}
    return frame.with_columns(**{name: pl.Series(values) for name, values in columns.items()})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reference, a worse current sample, a table to train on, and code of the user's own."""
    place = tmp_path_factory.mktemp("in_use")
    logged(table(120, seed=0)).write_csv(place / "reference.csv")
    logged(table(100, seed=2, turned=0.4)).write_csv(place / "current.csv")
    for name in ("reference", "current"):
        rdiv.read(place / f"{name}.csv").select("age", "visits", "bought").write_csv(
            place / f"plain_{name}.csv"
        )
    other = table(300, seed=5).with_columns(day=pl.lit("monday"))
    other.write_csv(place / "dated.csv")
    other.drop("day").write_csv(place / "other.csv")
    (place / "own_models.py").write_text(CODE)
    return place


def compared(run: Run, folder: Path, *options: object, plain: bool = False) -> dict[str, Any]:
    start = "plain_" if plain else ""
    pair = folder / f"{start}reference.csv", folder / f"{start}current.csv"
    ran = run("compare", *pair, *options, "--json", "-")
    assert (ran.code, ran.err) == (0, "")
    document: dict[str, Any] = json.loads(ran.out)
    return document


def by_hand(folder: Path, *, plain: bool = False, **settings: Any) -> dict[str, Any]:
    start = "plain_" if plain else ""
    pair = [rdiv.read(folder / f"{start}{name}.csv") for name in ("reference", "current")]
    return rdiv.compare(*pair, rng=0, **settings).to_dict()


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["--prediction", "p_yes"], {"prediction": "p_yes"}),
        (
            ["--prediction", "yes=p_yes", "--prediction", "no=p_no"],
            {"prediction": {"yes": "p_yes", "no": "p_no"}},
        ),
        (["--prediction", "said"], {"prediction": "said"}),
        (["--loss", "error"], {"loss": "error"}),
        (["--loss", "error", "--retrain", "none"], {"loss": "error", "retrain": None}),
    ],
)
def test_logged_columns(
    run: Run, folder: Path, options: list[str], settings: dict[str, Any]
) -> None:
    named = {"p_yes", "p_no", "error", "said"} - {text.split("=")[-1] for text in options}
    drop = [part for name in sorted(named) for part in ("--drop", name)]
    retrain = {} if "retrain" in settings else {"retrain": "logistic"}
    more = [] if "retrain" in settings else ["--retrain", "logistic"]
    document = compared(run, folder, *TARGET, *options, *drop, *more)
    wanted = by_hand(folder, target="bought", drop=sorted(named), **retrain, **settings)
    assert document == wanted
    assert (document["verdict"], document["direction"]) == ("risk shift", "worse")


def test_losses_alone_have_no_task_and_no_shared_model(run: Run, folder: Path) -> None:
    pair = folder / "reference.csv", folder / "current.csv"
    ran = run("compare", *pair, "--loss", "error")
    lines = ran.out.splitlines()
    assert lines[0].startswith(
        "Risk shift: the model in use (losses in column error) does worse on current: error "
    )
    assert "task:" not in ran.out
    assert "remark: what a model that has seen both samples would do was not asked" in lines
    assert any(line.startswith("p-value: in-use ") for line in lines)


def test_a_column_may_have_an_equals_sign() -> None:
    assert prediction_from([], []) is None
    assert prediction_from(["p=1"], ["p=1"]) == "p=1"
    assert prediction_from(["p"], []) == "p"
    assert prediction_from(["a=b=c", "d=e"], ["b=c", "e"]) == {"a": "b=c", "d": "e"}
    assert prediction_from(["a=b=c", "d=e"], ["c", "e"]) == {"a=b": "c", "d": "e"}
    with pytest.raises(InputError, match="two columns for the class 'a'"):
        prediction_from(["a=b", "a=c"], [])
    with pytest.raises(InputError, match="got 'p' beside others"):
        prediction_from(["p", "a=b"], [])


def test_a_share_of_the_reference_to_train_on(run: Run, folder: Path) -> None:
    options = (*TARGET, "--model", "logistic", "--train-share", 0.7)
    document = compared(run, folder, *options, plain=True)
    wanted = by_hand(folder, plain=True, target="bought", model="logistic", train_share=0.7)
    assert document == wanted
    assert document["results"]["in-use"]["notes"]["rows trained on"] == 84


def test_a_third_table_to_train_on(run: Run, folder: Path) -> None:
    options = (*TARGET, "--model", "logistic", "--train", folder / "other.csv")
    document = compared(run, folder, *options, plain=True)
    model = Trained("logistic", rdiv.read(folder / "other.csv"), target="bought")
    assert document == by_hand(folder, plain=True, target="bought", model=model)
    assert document["model"] == "logistic trained on 300 other rows"
    assert document["shared_model"] == "logistic, 5 folds"  # the same kind of model, retrained
    default = compared(run, folder, *TARGET, "--train", folder / "other.csv", plain=True)
    assert default["model"] == "boosting trained on 300 other rows"


def test_a_column_of_the_training_table_alone_can_be_dropped(run: Run, folder: Path) -> None:
    options = (*TARGET, "--model", "logistic", "--train", folder / "dated.csv")
    dropped = compared(run, folder, *options, "--drop", "day", plain=True)
    assert dropped["model"] == "logistic trained on 300 other rows"
    pair = folder / "plain_reference.csv", folder / "plain_current.csv"
    refused = run("compare", *pair, *options)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "the training table cannot be used: it has 'day'" in refused.err


@pytest.mark.parametrize("name", ["rule", "Rule"])
def test_code_of_ones_own(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    options = (*TARGET, "--model", f"own_models:{name}", "--retrain", "none")
    document = compared(run, folder, *options, plain=True)
    from own_models import Rule  # type: ignore[import-not-found]

    model = Frozen(Rule(), trained_on="neither")
    wanted = by_hand(folder, plain=True, target="bought", model=model, retrain=None)
    assert document == wanted
    wrong = [
        (frame["bought"] != np.where(frame["age"] > 0, "yes", "no")).mean()
        for frame in (rdiv.read(folder / f"plain_{one}.csv") for one in ("reference", "current"))
    ]
    assert document["gap"] == pytest.approx(wrong[1] - wrong[0])  # type: ignore[operator]


def test_where_own_code_fails(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    pair = folder / "plain_reference.csv", folder / "plain_current.csv"
    for command in ("compare", "test"):
        ran = run(command, *pair, *TARGET, "--model", "own_models:failing")
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert "line 13 of own_models.py failed" in ran.err
        assert "no licence" in ran.err


def test_several_models(run: Run, folder: Path, tmp_path: Path) -> None:
    pair = folder / "plain_reference.csv", folder / "plain_current.csv"
    options = (*TARGET, "--model", "logistic", "--model", "kde", "--resamples", 199)
    found = rdiv.compare_models(
        *map(rdiv.read, pair), {"logistic": "logistic", "kde": "kde"}, target="bought",
        n_resamples=199, rng=0,
    )  # fmt: skip
    ran = run("compare", *pair, *options, "--json", tmp_path / "out.json", "--fail-on-shift")
    lines = ran.out.splitlines()
    assert json.loads((tmp_path / "out.json").read_text()) == found.to_dict()
    assert (ran.code, ran.err) == (1, "")
    assert lines[0] == found.headline() == "The samples differ for 1 of 2 models: logistic (worse)."
    assert lines[1 : 1 + len(found.details())] == found.details()
    assert f"files: {pair[0]} (reference), {pair[1]} (current)" in lines
    assert "further look" not in ran.out  # one pair is looked at once


def test_warnings_of_many_comparisons_are_said_once(run: Run, tmp_path: Path) -> None:
    for place, name in enumerate(("p", "a", "b")):
        days = pl.lit(f"2024-0{place + 1}-01") if name != "b" else pl.lit("2024-01-01")
        table(100, seed=place).with_columns(day=days).write_csv(tmp_path / f"{name}.csv")
    files = [tmp_path / f"{name}.csv" for name in ("p", "a", "b")]
    fast = (*TARGET, "--model", "logistic", "--folds", 2)
    several = run("compare", *files[:2], *fast, "--model", "ridge", "--task", "classification")
    assert several.code == 2  # ridge does regression
    several = run("compare", *files[:2], *fast, "--model", "boosting").out
    assert several.count("warning: Column 'day', a date, alone tells the files apart") == 1
    assert "leave it out with --drop day." in several
    assert "in Python" not in several
    levels = run("compare", *files, *fast).out
    assert "warning: a.csv: Column 'day', a date, alone tells the files apart" in levels
    dropped = run("compare", *files, *fast, "--drop", "day").out
    assert "warning:" not in dropped


def test_min_gap_needs_an_interval(run: Run, files: Path, tmp_path: Path) -> None:
    """In-sample losses have none, where too few rows are left to train a model in use."""
    for name in ("reference", "same"):
        rdiv.read(files / f"{name}.csv").head(60).write_csv(tmp_path / f"{name}.csv")
    pair = tmp_path / "reference.csv", tmp_path / "same.csv"
    ran = run(
        "compare", *pair, *TARGET, "--model", "logistic", "--folds", 0, "--min-gap", 0.1, "--json",
        tmp_path / "out.json",
    )  # fmt: skip
    assert (ran.code, ran.out) == (2, "")
    assert "--min-gap needs the interval of the gap" in ran.err
    assert not (tmp_path / "out.json").exists()
    enough = files / "reference.csv", files / "same.csv"
    options = (*TARGET, "--model", "logistic", "--folds", 0, "--min-gap", 0.1)
    assert run("compare", *enough, *options).code == 0
