"""Results survive JSON, print in a few lines and hide nothing that is needed to repeat them."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdiv
from rdiv.results import SCHEMA, TwoSampleResult, as_json, plain

KEYS = {
    "schema", "statistic", "ranked", "null_distribution", "pvalue", "alpha", "rejected", "n_p",
    "n_q", "n_resamples", "discrepancy", "model", "seed", "risk_p", "risk_q", "notes",
}  # fmt: skip


def result(**changes: Any) -> TwoSampleResult:
    plainest = TwoSampleResult(
        statistic=0.5,
        ranked=2.5,
        null_distribution=np.linspace(0, 3, 19),
        pvalue=0.2,
        alpha=0.05,
        n_p=10,
        n_q=12,
        n_resamples=19,
        discrepancy="r-div",
        model="kde",
        seed=3,
        risk_p=1.5,
        risk_q=2.0,
        notes={"task": "density"},
    )
    return replace(plainest, **changes)


anything = st.floats(allow_nan=True, allow_infinity=True)


def same(read: Any, value: float) -> bool:
    return read is None if not math.isfinite(value) else read == value


@given(
    statistic=anything,
    ranked=anything,
    risk=st.one_of(st.none(), anything),
    null=st.lists(anything, max_size=10),
    pvalue=st.floats(0.001, 1),
    note=st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), anything, st.text()),
        lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
        max_leaves=8,
    ),
    model=st.one_of(st.none(), st.text()),
)
def test_documents_survive_json(
    statistic: float,
    ranked: float,
    risk: float | None,
    null: list[float],
    pvalue: float,
    note: Any,
    model: str | None,
) -> None:
    given_result = result(
        statistic=statistic, ranked=ranked, risk_p=risk, null_distribution=np.array(null),
        pvalue=pvalue, notes={"note": note}, model=model,
    )  # fmt: skip
    document = given_result.to_dict()
    read = json.loads(given_result.to_json())
    assert read == document  # what is not finite is None already
    assert same(read["statistic"], statistic)
    assert same(read["ranked"], ranked)
    assert read["risk_p"] is None if risk is None else same(read["risk_p"], risk)
    assert all(same(a, b) for a, b in zip(read["null_distribution"], null, strict=True))
    assert read["pvalue"] == pvalue
    assert read["rejected"] is (pvalue <= 0.05)
    assert given_result.to_json() == given_result.to_json()


def test_the_document_has_the_names_of_the_contract() -> None:
    document = result().to_dict()
    assert set(document) == KEYS
    assert document["schema"] == SCHEMA == 2
    assert set(result().fields()) == KEYS - {"schema"}
    assert type(document["null_distribution"]) is list


@given(st.recursive(st.one_of(anything, st.integers(), st.text()), st.lists, max_leaves=10))
def test_plain_values_stay(value: Any) -> None:
    assert as_json({"value": plain(value)})
    assert plain(plain(value)) == plain(value)


def test_numpy_becomes_plain() -> None:
    found = plain(
        {
            1: np.float32(0.5),
            "b": (np.int8(1), np.bool_(True), np.str_("x")),
            "c": np.array([[1.0, np.inf]]),
            "d": np.float64("nan"),
            "e": -np.inf,
        }
    )
    assert found == {"1": 0.5, "b": [1, True, "x"], "c": [[1.0, None]], "d": None, "e": None}
    assert [type(v) for v in found["b"]] == [int, bool, str]


def test_json_keeps_text_as_it_is() -> None:
    text = result(model="naïve 🦊 <b>").to_json()
    assert "naïve 🦊 <b>" in text
    assert json.loads(text)["model"] == "naïve 🦊 <b>"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"model": None},
        {"risk_p": None, "risk_q": None},
        {"pvalue": 0.05},
        {"n_resamples": 999},
        {"statistic": float("nan"), "ranked": float("inf")},
    ],
    ids=str,
)
def test_the_text_has_two_to_four_lines(changes: dict[str, Any]) -> None:
    text = str(result(**changes))
    assert 2 <= len(text.splitlines()) <= 4
    assert repr(result(**changes)) == text
    assert "r-div" in text
    assert "seed 3" in text
    assert "10 + 12 rows" in text


def test_the_text_says_what_was_found() -> None:
    assert "no difference found at level 0.05" in str(result())
    assert ": different at level 0.05" in str(result(pvalue=0.05))
    assert "equal" not in str(result())
    assert "19 of 999 permutations" in str(result(n_resamples=999))
    assert "mean loss 1.5 on p and 2 on q" in str(result())


def test_rejected_means_at_most_alpha() -> None:
    assert result(pvalue=0.05).rejected
    assert not result(pvalue=0.0500001).rejected


def test_html_is_the_text_escaped() -> None:
    page = result(model="<script>alert('x')</script> & co")._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "&amp; co" in page


def test_results_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        result().pvalue = 0.0  # type: ignore[misc]


@pytest.mark.parametrize("how", [{"model": "kde"}, {"model": "gmm", "folds": 3}, {}])
def test_the_same_seed_gives_the_same_bytes_for_any_jobs(how: dict[str, Any]) -> None:
    x = np.random.default_rng(0).normal(size=(50, 2))
    how = {"discrepancy": "r-div" if how else "energy", "n_resamples": 599, "rng": 1} | how
    results = [rdiv.two_sample_test(x[:20], x[20:], n_jobs=n, **how) for n in (None, 1, 2)]
    assert len({result.to_json() for result in results}) == 1


def test_documents_hold_no_time_path_or_address() -> None:
    x = np.random.default_rng(0).normal(size=(20, 2))

    class Mine:
        def fit(self, pool: Any, rng: Any) -> Any:
            return self

        def losses(self, pool: Any) -> np.ndarray:
            return pool.numbers()[:, 0]

    text = rdiv.two_sample_test(x[:9], x[9:], model=Mine(), n_resamples=19, rng=0).to_json()
    assert "0x" not in text
    assert json.loads(text)["model"] == "Mine"


def test_the_picture_shows_where_the_observed_number_lies() -> None:
    rng = np.random.default_rng(0)
    result = rdiv.two_sample_test(rng.normal(size=(30, 1)), rng.normal(size=(30, 1)), rng=0)
    axes = result.plot()
    assert axes.lines[0].get_xdata()[0] == result.ranked
    assert sum(bar.get_height() for bar in axes.patches) == len(result.null_distribution)
    assert result.plot(axes) is axes
