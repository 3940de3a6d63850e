"""A study as data: its keys, its tests, its document, what it refuses."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.studies.toys import Learning, Plain, shifted

import rdiv
from rdiv.discrepancies import Energy, Omnibus, RDivergence
from rdiv.models import GaussianMixture
from rdiv.sources import Blob, Hdgm, Higgs, Pair
from rdiv.studies.study import StudyTest, as_study, as_study_test


def study(source: Any = "blob", tests: Any = "energy", **settings: Any) -> Any:
    given = {
        "sizes": [10], "trials": 3, "repeats": 1, "n_resamples": 19, "alpha": 0.05,
        "train": "half", "null": False, "seed": 0,
    }  # fmt: skip
    return as_study(source, tests, **{**given, **settings})


def test_keys_cover_every_cell_exactly_once() -> None:
    asked = study(
        ["blob", Hdgm(d=2), shifted], ["energy", "r-div:gmm"],
        sizes=(10, 20), trials=4, repeats=3, null=True,
    )  # fmt: skip
    keys = [
        (key.source, key.test, key.n, key.null, key.repeat, key.trial) for key in asked.all_keys()
    ]
    wanted = [*product(range(3), range(2), (10, 20), (False, True), range(3), range(4))]
    assert Counter(keys) == Counter(wanted)
    names = [tuple(asked.identity(key).values()) for key in asked.all_keys()]
    assert len({*names}) == len(names) == len(wanted)


def test_cells_fill_evenly() -> None:
    """Whenever a study is stopped, its cells have the same number of trials, but for one."""
    asked = study(["blob", "hdgm"], ["energy", "r-div"], sizes=(10, 20), trials=5, null=True)
    counts: Counter[Any] = Counter()
    for key in asked.all_keys():
        counts[key.source, key.test, key.n, key.null] += 1
        if len(counts) == 16:
            assert max(counts.values()) - min(counts.values()) <= 1


def test_without_null_there_are_no_null_keys() -> None:
    assert not any(key.null for key in study().all_keys())


def test_one_or_several() -> None:
    one, several = study(sizes=10, alpha=0.05), study(sizes=[10], alpha=[0.05])
    assert one.to_dict() == several.to_dict()
    assert study(sizes=np.array([10, 20])).sizes == (10, 20)
    assert study(sizes=[20, 10, 20], alpha=(0.2, 0.1, 0.2)).sizes == (20, 10)
    assert study(alpha=(0.2, 0.1, 0.2)).alphas == (0.2, 0.1)
    assert study(alpha=np.float32(0.25)).alphas == (0.25,)


def test_the_document_is_plain_json() -> None:
    import json

    asked = study(["blob", Higgs(columns=[1, 2])], ["energy", Plain("mine"), "r-div:gmm"])
    document = asked.to_dict()
    assert json.loads(json.dumps(document)) == document
    assert document["sources"] == ["blob", "higgs(columns=(1, 2))"]
    assert document["tests"] == ["energy", "Plain(name='mine')", "r-div:gmm"]
    assert "data_dir" not in str(document)


def test_the_document_changes_with_the_data_of_a_pair() -> None:
    x = np.arange(30.0)
    documents = [study(Pair(x, x + shift)).to_dict() for shift in (1.0, 1.0, 2.0)]
    assert documents[0] == documents[1] != documents[2]


@pytest.mark.parametrize(
    ("given", "text", "label"),
    [
        ("energy", ("energy", None), "energy"),
        ("r-div", ("r-div", "kde"), "r-div:kde"),  # the model that the source carries
        ("r-div:gmm", ("r-div", "gmm"), "r-div:gmm"),
        ("mmd-d", ("mmd-d", None), "mmd-d"),  # what it takes for a model is none of the source's
        ("c2st-s:logistic", ("c2st-s", "logistic"), "c2st-s:logistic"),
        (Energy(subsample=50), ("energy(subsample=50)", None), "energy(subsample=50)"),
        (RDivergence(GaussianMixture()), ("r-div", "gmm"), "r-div:gmm"),
        (Learning(), ("Learning", None), "Learning"),
    ],
)
def test_study_tests(given: Any, text: tuple[str, str | None], label: str) -> None:
    test = as_study_test(given)
    assert test.names(Blob()) == text
    assert test.label(Blob()) == label
    assert as_study_test(test) is test


def test_a_source_without_a_model_leaves_the_choice_to_the_data() -> None:
    assert as_study_test("r-div").names(Pair([1.0], [1.0])) == ("r-div", None)
    found = rdiv.power_study(shifted, "r-div", sizes=10, trials=1)
    assert found.table()["model"] == ["mixed"]


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ("energie", ValueError, "unknown discrepancy 'energie'; did you mean 'energy'"),
        ("r-div:kd", ValueError, "unknown model 'kd'; did you mean 'kde'"),
        ("energy:kde", ValueError, "energy needs no model"),
        (Energy, TypeError, "must be an object, got the class Energy; add"),
        (3, TypeError, "a name or have prepare\\(pool, rng\\), got int"),
    ],
)
def test_what_is_no_study_test(given: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        as_study_test(given)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"sizes": []}, "sizes must not be empty"),
        ({"alpha": []}, "alpha must not be empty"),
        ({"tests": []}, "discrepancies must not be empty"),
        ({"source": []}, "source must not be empty"),
        ({"sizes": [10, 0]}, "sizes must be whole numbers of at least 1, got 0"),
        ({"sizes": [10.5]}, "sizes must be whole numbers of at least 1, got 10.5"),
        ({"sizes": ["10"]}, "sizes must be whole numbers of at least 1, got '10'"),
        ({"trials": 0}, "trials must be whole numbers of at least 1, got 0"),
        ({"trials": None}, "trials must be whole numbers of at least 1, got None"),
        ({"repeats": True}, "repeats must be whole numbers of at least 1, got True"),
        ({"train": "all"}, "train must be 'half' or 'fresh', got 'all'"),
        ({"alpha": 0.01}, "n_resamples=19 can never reach alpha = 0.01"),
        ({"alpha": (0.05, 1.5)}, "alpha must lie strictly between 0 and 1, got 1.5"),
        ({"source": "blop"}, "unknown source 'blop'"),
        ({"tests": ["energy", "energy"]}, "got energy on blob twice"),
        ({"tests": ["r-div", "r-div:kde"]}, "got r-div:kde on blob twice"),
        ({"source": ["blob", Blob()]}, "got energy on blob twice"),
    ],
)
def test_what_is_no_study(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        study(**settings)


@pytest.mark.parametrize(
    ("test", "learns"),
    [
        ("r-div", False), ("omnibus", False), ("energy", False), ("mmd-o", False), ("me", True),
        ("mmd-d", True), ("c2st-l:logistic", True), ("l-div", True), (Learning(), True),
        (Omnibus(members=[Energy(), Learning()]), True), (Plain(), False),
    ],
    ids=str,
)  # fmt: skip
def test_which_tests_learn_from_a_separate_draw(test: Any, learns: bool) -> None:
    for train in ("half", "fresh"):
        asked = study("higgs", test, train=train)
        fresh = [asked.is_fresh(key) for key in asked.all_keys()]
        assert fresh == [learns and train == "fresh"] * 3
    assert isinstance(asked.tests[0], StudyTest)
