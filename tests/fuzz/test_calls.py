"""Any call: a result, or an error of our own that says what to do."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from tests.fuzz.calls import Arrays, Call, calls
from tests.fuzz.promise import call, examples, scratch
from tests.fuzz.settings import Asked, asked

import rdiv
from rdiv import theory


def drawn(result: Any) -> None:
    """Draw a result where it can be drawn, and forget the picture."""
    from matplotlib import pyplot

    try:
        result.plot()
        pyplot.gcf().canvas.draw()
    finally:
        pyplot.close("all")


@settings(
    max_examples=examples(60), suppress_health_check=list(HealthCheck), deadline=None, database=None
)
@example(Call("compare", Arrays("normal", 20), Arrays("normal", 20), "few losses"))
@example(Call("compare", Arrays("normal", 20), Arrays("normal", 20), "no losses"))
@example(Call("plan", Arrays("normal", 24), Arrays("normal", 24), "equal losses"))
@example(Call("compare_many", Arrays("whole", 40), Arrays("whole", 40), "huge losses"))
@example(
    Call("plan", Arrays("huge", 20), Arrays("huge", 20), "gmm", None, (("discrepancy", "score"),))
)
@given(calls())
def test_no_call_raises_what_another_library_raises(one: Call) -> None:
    result = one.run(call)
    if result is not None and one.function != "r_divergence":  # which returns a number
        call(result.to_json, kind="json")
        call(str, result, kind="text")
        call(result._repr_html_, kind="notebook view")
        call(drawn, result, kind="picture")
        if hasattr(result, "to_html"):
            with scratch() as folder:
                call(result.to_html, folder / "page.html", kind="page")


@settings(
    max_examples=examples(60), suppress_health_check=list(HealthCheck), deadline=None, database=None
)
@example(Asked(rdiv.scan, (("source", "a" * 300),)))
@example(Asked(theory.read_weights, (("path", None),)))
@example(Asked(theory.rademacher_complexity, (("hypotheses", ""),)))
@example(Asked(theory.rademacher_complexity, (("hypotheses", np.eye(4)), ("confidence", "x"))))
@given(asked())
def test_no_setting_raises_what_another_library_raises(one: Asked) -> None:
    """Public functions that take no samples: bounds, flips, splits, studies, files."""
    kind = f"call of {one.function.__qualname__}"
    call(partial(one.function, **dict(one.options)), kind=kind)
