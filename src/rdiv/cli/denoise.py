"""rdiv denoise: the rows of a table whose labels are probably wrong."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdiv.cli.display import Summary, show, stages
from rdiv.cli.inputs import Input, read_input
from rdiv.cli.options import MODELS, DataDir, Jobs, JsonFile, MaxDecompressed, Seed
from rdiv.cli.outputs import STANDARD_OUTPUT, check_destination, deliver, write_bytes
from rdiv.errors import InputError, naming
from rdiv.remarks import SUSPECTED_LABELS, wrong_with

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rdiv.noisy_labels import LabelNoise

__all__ = ["check_ending", "denoise_labels", "kept_rows"]


TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".feather")
PACKED = (".csv", ".tsv", ".jsonl", ".ndjson")


def check_ending(path: str, sample: Any) -> None:
    """Refuse a name that does not say how to write the sample.

    Examples
    --------
    >>> check_ending("clean.xlsx", object())
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: 'clean.xlsx' must end in .csv, .tsv, .jsonl, .ndjson, ...
    """
    import numpy as np

    arrays = isinstance(sample, tuple | np.ndarray)
    if arrays and _ending(path) != ".npz":
        raise InputError(f"{path!r} must end in .npz, as the data are arrays; choose such a name.")
    if not arrays and _ending(path) not in TABLES:
        names = ", ".join(TABLES[:-1])
        raise InputError(
            f"{path!r} must end in {names} or {TABLES[-1]} (text also in .gz); choose such a name."
        )


def kept_rows(sample: Any, kept: NDArray[np.bool_], path: str) -> bytes:
    """The rows of a sample that a mask keeps, as the bytes of a file.

    Parameters
    ----------
    sample : polars frame or pair of arrays
    kept : (n,) mask
    path : str
        The file, whose ending says how to write it.
    """
    buffer = BytesIO()
    if isinstance(sample, tuple):
        import numpy as np

        np.savez_compressed(buffer, x=sample[0][kept], y=sample[1][kept])
        return buffer.getvalue()
    with naming(f"writing the rows as {path!r}", "choose a name that ends in .parquet"):
        _write(sample.filter(kept), _ending(path), buffer)
    packed = path.lower().endswith(".gz")
    return gzip.compress(buffer.getvalue(), mtime=0) if packed else buffer.getvalue()


def _write(frame: Any, ending: str, buffer: BytesIO) -> None:
    if ending in (".csv", ".tsv"):
        frame.write_csv(buffer, separator="," if ending == ".csv" else "\t")
    elif ending == ".parquet":
        frame.write_parquet(buffer)
    elif ending == ".feather":
        frame.write_ipc(buffer)
    else:
        frame.write_ndjson(buffer)


def _ending(path: str) -> str:
    name = Path(path).name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    return suffix if not name.endswith(".gz") or suffix in PACKED else ".gz"


SHOWN = 10
"""Most suspected rows that are printed; the JSON document has all of them."""

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="The rows: csv, tsv, jsonl (each also .gz), parquet, feather, or an npz file of x and "
        "y. It is never changed.",
        show_default=False,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="COL",
        help="The column of labels, text or whole numbers; an npz file of x and y has its own.",
        show_default=False,
    ),
]
Rate = Annotated[
    str,
    typer.Option(
        "--noise-rate",
        metavar="G",
        help="Share of rows to suspect: a number, auto to estimate it, or paper for the paper's "
        "rule.",
    ),
]
Classifier = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME",
        help=f"What learns the labels: one that predicts classes, of {MODELS}.",
    ),
]
NoiseFolds = Annotated[
    int,
    typer.Option(
        metavar="K",
        min=2,
        help="Judge every row by a model fitted to the other K - 1 folds.",
    ),
]
Clean = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Write the rows that are not suspected to FILE, in the format of its ending.",
        show_default=False,
    ),
]
Page = Annotated[
    str | None,
    typer.Option(
        "--html", metavar="FILE", help="Write a report to FILE, as one page.", show_default=False
    ),
]


def denoise_labels(
    context: typer.Context,
    data: Data,
    target: Labels = None,
    noise_rate: Rate = "auto",
    model: Classifier = "boosting",
    folds: NoiseFolds = 5,
    out: Clean = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
    data_dir: DataDir = None,
    max_decompressed: MaxDecompressed = None,
    json: JsonFile = None,
    html: Page = None,
) -> None:
    """Find the rows whose labels are probably wrong.

    Every row is judged by a model that did not see it. Suspected rows are listed with the given
    label, the suggested label and the loss; DATA itself is not changed.
    """
    _check_places(data, out, json, html)
    from rdiv.noisy_labels import LabelNoiseDetector

    detector = LabelNoiseDetector(model, _rate(noise_rate), folds, n_jobs=jobs)
    with stages() as stage:
        stage("reading")
        given = read_input(data, data_dir, max_decompressed, hashed=html is not None)
        sample = given.sample
        _check_sample(sample, target, out)
        stage("judging the labels")
        found = detector.fit(sample, target=target, rng=seed)
        stage("writing")
        if out is not None:
            write_bytes(out, kept_rows(sample, ~found.suspected, out))
        if html is not None:
            typed = context.find_root().obj or []
            write_bytes(html, _page(found, given, typed).encode())
    deliver(json, found.to_json(), lambda: show(_summary(found, data, out, html)))


def _check_places(data: str, out: str | None, json: str | None, html: str | None) -> None:
    from itertools import combinations
    from os.path import realpath

    given = {"--out": out, "--json": json, "--html": html}
    places = {name: path for name, path in given.items() if path is not None}
    for name, path in places.items():
        check_destination(path, data)
        if path == STANDARD_OUTPUT and name != "--json":
            raise InputError(f"{name} needs the name of a file, got '-'.")
    for (one, path), (other, second) in combinations(places.items(), 2):
        if path != STANDARD_OUTPUT and realpath(path) == realpath(second):
            raise InputError(f"{one} and {other} need two files, got {path!r} for both.")


def _rate(text: str) -> Any:
    if text in ("auto", "paper"):
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"--noise-rate takes a share such as 0.1, auto or paper, got {text!r}."
        ) from None


def _check_sample(sample: Any, target: str | None, out: str | None) -> None:
    if target is None and not isinstance(sample, tuple):
        raise InputError("--target must name the column of labels; add --target COL.")
    if out is not None:
        check_ending(out, sample)


def _page(found: LabelNoise, given: Input, typed: Sequence[str]) -> str:
    from shlex import join

    from rdiv.report import InputFile, Provenance, versions
    from rdiv.report.noise_view import noise_page

    assert given.fingerprint is not None
    file = InputFile("data", given.source, *given.fingerprint)
    return noise_page(found, Provenance(join(["rdiv", *typed]), versions(), (file,)))


def _summary(found: LabelNoise, data: str, out: str | None, html: str | None) -> Summary:
    lines = [*found.details(), *_listed(found), f"file: {data}"]
    if out is not None:
        lines.append(f"kept rows: {int((~found.suspected).sum())}, written to {out}")
    if html is not None:
        lines.append(f"page: {html}")
    remarks = [f"{SUSPECTED_LABELS} Rows are counted from 0."]
    return Summary("rdiv denoise", f"{found.headline()}.", lines, remarks)


def _listed(found: LabelNoise) -> list[str]:
    """The most suspicious rows, one line each."""
    columns = found.rows(SHOWN)
    lines = [
        f"row {row}: given {given}, suggested {suggested}, loss {loss:.3g}, wrong with "
        f"probability {wrong_with(wrong)}"
        for row, given, suggested, loss, wrong in zip(*columns.values(), strict=True)
    ]
    left = int(found.suspected.sum()) - len(lines)
    more = [f"and {left} more: they are in the document of --json and the page of --html"]
    return [*lines, *(more if left > 0 else [])]
