"""Pieces of work whose results are kept as they come, for tables that are no power studies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rdiv.reproduction.protocol import Run

__all__ = ["work_through"]

Key = dict[str, Any]
Result = dict[str, Any]


def work_through(
    function: Callable[[Key], Result], keys: Sequence[Key], run: Run, name: str
) -> list[Result]:
    """Results of a function for every key, in the order of the keys.

    Each is appended to ``NAME.jsonl`` in the folder of the run when it is there, and those of an
    earlier run of the same keys are not computed again.

    Parameters
    ----------
    function : callable
        From a key to a dict of numbers and texts; a function of a module, so that workers find it.
    keys : sequence of dict
        Everything that decides a result, the seed included; a folder of data does not.
    run : Run
    name : str
        Of the file.

    Examples
    --------
    >>> print(work_through(lambda key: {"double": 2 * key["x"]}, [{"x": 3}], Run(), "doubles"))
    [{'double': 6}]
    """
    file = None if run.kept is None else Path(run.kept) / f"{name}.jsonl"
    known = {} if file is None else _known(file)
    missing = [key for key in keys if _name(key) not in known]
    done = len(keys) - len(missing)
    for key, result in _results(function, missing, run):
        known[_name(key)] = result
        done += 1
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            with open(file, "a", encoding="utf-8") as lines:
                lines.write(json.dumps([key, result]) + "\n")
        if run.progress is not None:
            run.progress(done, len(keys))
    return [known[_name(key)] for key in keys]


def _known(file: Path) -> dict[str, Result]:
    """Results of earlier runs; a last line that was cut off is dropped from the file too."""
    if not file.exists():
        return {}
    whole = [line for line in file.read_text(encoding="utf-8").splitlines(True) if line[-1] == "\n"]
    file.write_text("".join(whole), encoding="utf-8")
    return {_name(key): result for key, result in map(json.loads, whole)}


def _name(key: Key) -> str:
    return json.dumps(key, sort_keys=True)


def _results(
    function: Callable[[Key], Result], keys: Sequence[Key], run: Run
) -> Iterator[tuple[Key, Result]]:
    if run.scheduler is not None:
        from rdiv.studies.execution import _client

        with _client(run.scheduler) as client:
            futures = client.map(function, keys, pure=False)
            for key, future in zip(keys, futures, strict=True):
                yield key, future.result()
    elif run.n_jobs in (None, 1):
        for key in keys:
            yield key, function(key)
    else:
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=run.n_jobs, return_as="generator")
        yield from zip(keys, parallel(delayed(function)(key) for key in keys), strict=True)
