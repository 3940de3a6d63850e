"""Any call: a result, or an error of our own that says what to do."""

from __future__ import annotations

from hypothesis import HealthCheck, example, given, settings
from tests.fuzz.calls import Arrays, Call, calls
from tests.fuzz.promise import call, examples


@settings(
    max_examples=examples(60), suppress_health_check=list(HealthCheck), deadline=None, database=None
)
@example(Call("compare", Arrays("normal", 20), Arrays("normal", 20), "few losses"))
@example(Call("compare", Arrays("normal", 20), Arrays("normal", 20), "no losses"))
@example(Call("compare_many", Arrays("whole", 40), Arrays("whole", 40), "huge losses"))
@given(calls())
def test_no_call_raises_what_another_library_raises(one: Call) -> None:
    result = one.run(call)
    if result is not None and one.function != "r_divergence":  # which returns a number
        call(result.to_json, kind="json")
        call(str, result, kind="text")
