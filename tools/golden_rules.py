"""What of a result counts as the same: the rules of tools/golden.py.

Every case says how its numbers are kept in the committed files:

- ``exact``: closed forms and linear algebra, to 1e-8 (1e-10 near zero);
- ``iterative``: fits that stop at a tolerance (boosting, mixtures, logistic regression), to 1e-4
  (1e-6 near zero);
- ``searched``: bandwidths found by a coarse search (kde, the default of small tables), to 1e-2
  (1e-4 near zero);
- ``structure``: trained networks, learned features and nearly singular fits, which come out
  differently on each processor: keys and kinds of values, no values at all.

Kept exactly in all but the last: p-values of permutations, whole numbers, flags, missing values,
the order of keys, the lengths of lists, and names. A name is a text without a space, or one that
stands under a key of `NAMED`. Any other text is words: what it says is compared on demand only,
and the committed files have ``...`` in its place. Two runs on one machine are compared bit for bit
whatever the case says.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

Kept = Literal["exact", "iterative", "searched", "structure"]
Path = tuple[str, ...]

NAMED = {"verdict", "direction", "model", "discrepancy", "default model", "clauses", "tests"}
"""Keys under which a text is a name although it may have spaces."""

WORDS = "words"
"""Key under which a case has what a person reads."""

MARGINS = {"equivalence", "not_worse"}
"""Keys of tests whose p-values come from a distribution function, not from permutations."""

LONGEST = 8
"""Items of a list up to which the committed files hold all of them."""

FIRST = 2
"""Items of a longer list that they hold; of numbers they also hold two means.

One mean changes with any number, the other one with their order as well.
"""

SHOWN = 3
"""Differences of one list that are told one by one."""


@dataclass(frozen=True)
class Closeness:
    """How much two results may differ.

    Parameters
    ----------
    relative, absolute : float
        Of numbers other than p-values; 0 asks for the same bits.
    words : bool
        Compare what people read, too.
    """

    relative: float = 0.0
    absolute: float = 0.0
    words: bool = False


CLOSENESS: dict[Kept, Closeness] = {
    "exact": Closeness(1e-8, 1e-10),
    "iterative": Closeness(1e-4, 1e-6),
    "searched": Closeness(1e-2, 1e-4),
    "structure": Closeness(),
}


def differences(old: Any, new: Any, close: Closeness, path: Path = ()) -> Iterator[str]:
    """Every difference as a line that starts with its path.

    Examples
    --------
    >>> print(*differences({"n": 1, "gap": 0.5}, {"n": 1, "gap": 0.25}, Closeness()))
    gap: 0.5 -> 0.25
    """
    if type(old) is not type(new):
        yield line(path, old, new)
    elif isinstance(old, dict):
        yield from _of_mappings(old, new, close, path)
    elif isinstance(old, list):
        yield from _of_lists(old, new, close, path)
    elif not same(old, new, close, path):
        yield line(path, old, new)


def _of_mappings(
    old: dict[str, Any], new: dict[str, Any], close: Closeness, path: Path
) -> Iterator[str]:
    for key in old:
        if key not in new:
            yield f"{' > '.join([*path, key])}: is gone"
        elif key != WORDS or close.words:
            yield from differences(old[key], new[key], close, (*path, key))
    for key in new:
        if key not in old:
            yield f"{' > '.join([*path, key])}: is new"
    if old.keys() == new.keys() and list(old) != list(new):
        yield line((*path, "order of keys"), list(old), list(new))


def _of_lists(old: list[Any], new: list[Any], close: Closeness, path: Path) -> Iterator[str]:
    if len(old) != len(new):
        yield line((*path, "length"), len(old), len(new))
    found = [
        text
        for place, (one, other) in enumerate(zip(old, new, strict=False))
        for text in differences(one, other, close, (*path, str(place)))
    ]
    yield from found[:SHOWN]
    if len(found) > SHOWN:
        yield f"{' > '.join(path)}: {len(found) - SHOWN} more differences in this list"


def line(path: Path, old: Any, new: Any) -> str:
    """One difference."""
    return f"{' > '.join(path)}: {brief(old)} -> {brief(new)}"


def brief(value: Any) -> str:
    """A value on one line that is not too long."""
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def same(old: Any, new: Any, close: Closeness, path: Path) -> bool:
    """Whether two leaves of one type agree."""
    if isinstance(old, float):
        if repr(old) == repr(new):  # tells 0.0 from -0.0, and takes NaN for NaN
            return True
        if is_permutation_pvalue(path) or not close.relative:
            return False
        return math.isclose(old, new, rel_tol=close.relative, abs_tol=close.absolute)
    if isinstance(old, str) and is_words(old, path) and is_words(new, path):
        return not close.words or old == new
    return bool(old == new)


def is_words(text: str, path: Path) -> bool:
    """Whether a text is for people, and may be put in other words.

    Examples
    --------
    >>> print(is_words("no shift", ("verdict",)), is_words("ask for folds", ("notes", "folds")))
    False True
    """
    return " " in text and not NAMED.intersection(path[-2:])


def is_permutation_pvalue(path: Path) -> bool:
    """Whether a number is a count of permutations over their number.

    Examples
    --------
    >>> print(is_permutation_pvalue(("results", "r-div", "pvalue")))
    True
    """
    return any("pvalue" in key for key in path) and not MARGINS.intersection(path)


def committed(case: dict[str, Any]) -> dict[str, Any]:
    """A case as the committed files have it: without words, with few and rounded numbers."""
    kept: Kept = case["kept"]
    reduced = {key: value for key, value in case.items() if key not in (WORDS, "result")}
    if "result" in case:
        result = case["result"]
        digits = 10 if kept == "exact" else 6
        reduced["result"] = shape(result) if kept == "structure" else shortened(result, digits)
    return reduced


def shape(value: Any) -> Any:
    """Keys and kinds of values; a list has the shape of its first item.

    Examples
    --------
    >>> print(shape({"n": 3, "null": [0.5, 0.25], "notes": {}}))
    {'n': 'number', 'null': ['number'], 'notes': {}}
    """
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value[:1]]
    if value is None or isinstance(value, bool):
        return "flag" if isinstance(value, bool) else None
    return "text" if isinstance(value, str) else "number"


def shortened(value: Any, digits: int, path: Path = ()) -> Any:
    """The same with rounded numbers, without words, and with a few numbers for a long list."""
    if isinstance(value, dict):
        return {key: shortened(item, digits, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return _short_list(value, digits, path)
    if isinstance(value, float) and not is_permutation_pvalue(path):
        return rounded(value, digits)
    return "..." if isinstance(value, str) and is_words(value, path) else value


def _short_list(values: list[Any], digits: int, path: Path) -> Any:
    items = [shortened(item, digits, (*path, str(place))) for place, item in enumerate(values)]
    if len(values) <= LONGEST:
        return items
    kinds = {type(value) for value in values}
    if kinds <= {int, bool, str}:
        return {"length": len(values), "digest": digest(items)}
    short: dict[str, Any] = {"length": len(values), "first": items[:FIRST]}
    if kinds == {float} and all(map(math.isfinite, values)):
        places = range(1, len(values) + 1)
        by_place = [place * value for place, value in zip(places, values, strict=True)]
        short["mean"] = rounded(math.fsum(values) / len(values), digits)
        short["mean by place"] = rounded(math.fsum(by_place) / len(values) ** 2, digits)
    return short


def rounded(value: float, digits: int) -> float:
    """A number to so many significant digits."""
    return float(f"{value:.{digits}g}")


def digest(value: Any) -> str:
    """A short text that stands for a value of whole numbers, flags and names."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
