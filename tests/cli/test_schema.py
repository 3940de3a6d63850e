"""What --json writes follows the schema that the documentation publishes, and the schema bites."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Run, table

import rdiv
from rdiv.results import SCHEMA

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "schema"
jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = json.loads((FOLDER / f"compare-{SCHEMA}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def documents() -> dict[str, dict[str, Any]]:
    p, q = table(120, 0), table(50, 1, turned=0.4)
    fast = {"target": "bought", "model": "logistic", "n_resamples": 99, "rng": 0}
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 30, 2))
    lost = [one.with_columns(error=pl.Series(rng.random(len(one)))) for one in (p, q)]
    logged = {"loss": "error", "n_resamples": 99, "rng": 0}
    return {
        "all of it": rdiv.compare(p, q, equivalence_margin=1, not_worse_than=1, **fast).to_dict(),
        "in-sample": rdiv.compare(p, q, folds=None, **fast).to_dict(),
        "few rows": rdiv.compare(p.head(60), q, **fast).to_dict(),
        "logged losses": rdiv.compare(*lost, target="bought", **logged).to_dict(),
        "losses alone": rdiv.compare(*(one.select("error") for one in lost), **logged).to_dict(),
        "no labels": rdiv.compare(p, q.drop("bought"), **fast).to_dict(),
        "few labels": rdiv.compare(
            p, q.with_columns(bought=pl.when(pl.int_range(pl.len()) < 20).then("bought")), **fast
        ).to_dict(),
        "levels without labels": rdiv.compare_many(
            p, {"a": q.drop("bought"), "b": q.drop("bought")}, **fast
        ).to_dict(),
        "arrays": rdiv.compare(x[0], x[1], model="kde", n_resamples=99, rng=0).to_dict(),
        "the same": rdiv.compare(p, p, **fast).to_dict(),
        "a constant loss": rdiv.compare(
            (x[0], np.zeros(30)), (x[1], np.zeros(30)), model="ridge", task="regression",
            n_resamples=99, rng=0,
        ).to_dict(),
        "in a row": rdiv.compare_many(
            lost[0].select("error"),
            {name: lost[1].select(pl.col("error") + 1) for name in ("a", "b", "c")},
            **logged,
        ).to_dict(),
        "many": rdiv.compare_many(p, {"a": q, "b": q.head(5)}, **fast).to_dict(),
        "by": rdiv.compare_many(p.drop("age"), q.with_columns(age=1), by="age", **fast).to_dict(),
        "models": rdiv.compare_models(
            p, q, {"a": "logistic", "b": "boosting"}, target="bought", n_resamples=99, rng=0
        ).to_dict(),
    }  # fmt: skip


@pytest.fixture(scope="module")
def made() -> dict[str, dict[str, Any]]:
    return documents()


def test_documents_follow_the_schema(validator: Any, made: dict[str, dict[str, Any]]) -> None:
    for name, document in made.items():
        errors = [f"{e.json_path}: {e.message}"[:300] for e in validator.iter_errors(document)]
        assert not errors, (name, errors)


def test_the_command_writes_such_a_document(validator: Any, run: Run, tmp_path: Path) -> None:
    for name, seed in (("p", 0), ("q", 1)):
        table(40, seed).write_csv(tmp_path / f"{name}.csv")
    ran = run("compare", tmp_path / "p.csv", tmp_path / "q.csv", "--target", "bought", "--model",
              "logistic", "--resamples", 99, "--json", "-")  # fmt: skip
    validator.validate(json.loads(ran.out))


def paths(node: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where every key of every object of a document is, except inside free-form notes."""
    found = []
    if isinstance(node, dict):
        for key, value in node.items():
            found.append((*here, key))
            found += [] if key in ("notes", "cells") else paths(value, (*here, key))
    elif isinstance(node, list) and node:
        found += paths(node[0], (*here, 0))
    return found


def short(node: Any) -> Any:
    """The same document with one item in every list."""
    if isinstance(node, dict):
        return {key: short(value) for key, value in node.items()}
    return [short(item) for item in node[:1]] if isinstance(node, list) else node


def test_a_missing_or_unknown_field_is_noticed(
    validator: Any, made: dict[str, dict[str, Any]]
) -> None:
    document = short(made["all of it"])
    optional = {("results", name) for name in document["results"]}  # what was not asked is absent
    for path in paths(document):
        changed = deepcopy(document)
        inside: Any = changed
        for step in path[:-1]:
            inside = inside[step]
        renamed = inside.pop(path[-1])
        if path not in optional and path[0] != "adjusted_pvalues":
            assert not validator.is_valid(changed), f"{path} may be left out"
        inside["something new"] = renamed
        assert not validator.is_valid(changed), f"{path} may be renamed"


def test_some_question_was_asked(validator: Any, made: dict[str, dict[str, Any]]) -> None:
    nothing = {**made["all of it"], "results": {}}
    assert not validator.is_valid(nothing)
    assert not validator.is_valid({**made["all of it"], "adjusted_pvalues": {}})


def test_questions_that_were_not_asked_are_null_or_absent(made: dict[str, dict[str, Any]]) -> None:
    few, alone = made["few rows"], made["losses alone"]
    assert (few["gap"], few["gap_interval"], few["retraining"]) == (None, None, None)
    assert set(few["results"]) == {"r-div", "score", "omnibus"}
    assert (alone["shared_gap"], alone["shared_model"], alone["labels"]) == (None, None, None)
    assert set(alone["results"]) == {"in-use"}
    assert set(made["many"]["levels"][0]["adjusted_pvalues"]) == {
        "together", "in-use", "r-div", "score"
    }  # fmt: skip
    assert made["models"]["by"] == "model"


def test_the_version_is_in_the_document_and_in_the_name(made: dict[str, dict[str, Any]]) -> None:
    assert {document["schema"] for document in made.values()} == {SCHEMA}
    assert (FOLDER / f"compare-{SCHEMA}.schema.json").is_file()
