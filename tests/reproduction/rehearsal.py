"""Plans made small: the paper's with one epoch and few rows, a smoke scale with two quick tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tests.studies.toys import Slow

from rdiv.reproduction import BY_NAME
from rdiv.reproduction.parts import Part
from rdiv.reproduction.power_table import PowerTable


def shortened(obj: Any) -> Any:
    """The same test or model with one epoch wherever it has a number of them."""
    if not is_dataclass(obj) or isinstance(obj, type):
        return obj
    changes = {}
    for field in fields(obj):
        value = getattr(obj, field.name)
        if field.name == "epochs":
            changes["epochs"] = 1
        elif is_dataclass(value):
            changes[field.name] = shortened(value)
    return replace(obj, **changes)


def rehearsed(part: Part, most: int) -> Part:
    """A part with its first size capped, its first source, one permutation at a level of a half."""
    tests: Mapping[str, Any] = {name: shortened(test) for name, test in part.tests.items()}
    label, source = next(iter(part.sources.items()))
    return replace(
        part, tests=tests, sources={label: source}, sizes=(min(part.sizes[0], most),),
        trials=1, repeats=1, n_resamples=1, alphas=(0.5,),
    )  # fmt: skip


def in_miniature(name: str, seconds: float = 0.0) -> PowerTable:
    """A table whose smoke scale has all its parts, with two quick tests and one that learns.

    A test of the first part takes as long as it is told to.
    """
    table = BY_NAME[name]
    assert isinstance(table, PowerTable)
    fitted, *learned = table.scales["smoke"].parts
    quick = {"R-Div": fitted.tests["R-Div"], "slow": Slow(seconds)}
    parts = [replace(fitted, tests=quick)]
    parts += [
        replace(part, tests={"MMD-O": part.tests["MMD-O"]})
        for part in learned
        if "MMD-O" in part.tests
    ]
    smoke = replace(table.scales["smoke"], parts=tuple(parts))
    return replace(table, scales={**table.scales, "smoke": smoke})
