"""A function over many keys, whose results are kept as they come."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from rdiv.studies.execution import spread
from rdiv.studies.journal import Journal

__all__ = ["resume_map"]

Key = dict[str, Any]
Result = dict[str, Any]


def resume_map(
    function: Callable[[Key], Result],
    keys: Sequence[Key],
    *,
    file: str | Path | None = None,
    n_jobs: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Results of a function for every key, in the order of the keys.

    Parameters
    ----------
    function : callable
        From a key to a dict of numbers and texts.
    keys : sequence of dict
        Everything that decides a result, the seed included; a folder of data does not.
    file : path, optional
        A `Journal`: each result is appended to it when it is there, and those of an earlier run
        of the same keys are not computed again.
    n_jobs, scheduler
        Where the work is done, see `rdiv.power_study`.
    progress : callable, optional
        Called with the number of results found and asked for.

    Examples
    --------
    >>> print(resume_map(lambda key: {"double": 2 * key["x"]}, [{"x": 3}]))
    [{'double': 6}]
    """
    opened = nullcontext() if file is None else Journal(file, check=_check, task="result")
    with opened as journal:
        rows = [] if journal is None else journal.rows
        known = {_name(row["key"]): row["result"] for row in rows}
        missing = [key for key in keys if _name(key) not in known]
        done = len(keys) - len(missing)
        finished = spread(_apply, function, missing, n_jobs=n_jobs, scheduler=scheduler)
        with closing(finished):
            for row in finished:
                known[_name(row["key"])] = row["result"]
                if journal is not None:
                    journal.append(row)
                done += 1
                if progress is not None:
                    progress(done, len(keys))
    return [known[_name(key)] for key in keys]


def _apply(function: Callable[[Key], Result], key: Key) -> dict[str, Any]:
    return {"key": key, "result": function(key)}


def _check(row: dict[str, Any]) -> None:
    """Refuse a row that `resume_map` did not write."""
    if [type(row[name]) for name in ("key", "result")] != [dict, dict]:
        raise TypeError("a key and a result are dicts")


def _name(key: Key) -> str:
    return json.dumps(key, sort_keys=True)
