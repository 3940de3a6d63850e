"""The arguments and options that commands share, each described once."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "DISCREPANCIES",
    "MODELS",
    "Alpha",
    "Current",
    "DataDir",
    "Discrepancy",
    "Folds",
    "Groups",
    "Jobs",
    "JsonFile",
    "ModelName",
    "Reference",
    "Resamples",
    "Seed",
    "Strata",
    "Target",
    "Task",
]

# Written out because importing the packages that hold them would slow down --help.
MODELS = (
    "kde, gmm, pca, logistic, ridge, boosting, vae, mlp, alexnet, resnet18, senet, convnext, vit"
)
DISCREPANCIES = (
    "r-div, h-div, l-div, cross-risk, score, omnibus, me, scf, c2st-s, c2st-l, mmd-o, mmd-d, "
    "energy, ks-loss"
)

Reference = Annotated[
    str,
    typer.Argument(
        metavar="REFERENCE",
        help="What the model is used to: csv, tsv, jsonl (each also .gz), parquet, feather, npy or "
        "npz. FILE.npz::NAME is one array of many; an npz file of x and y brings its target. One "
        "sample may be - for standard input.",
        show_default=False,
    ),
]
Current = Annotated[
    str,
    typer.Argument(
        metavar="CURRENT",
        help="What the model sees now, with the same columns in any order.",
        show_default=False,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="The column that the model predicts. Without one, a density model looks at the "
        "inputs alone.",
        show_default=False,
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        metavar="TASK",
        help="classification or regression, where the guess from the target is wrong.",
        show_default=False,
    ),
]
Folds = Annotated[
    int,
    typer.Option(
        metavar="K",
        min=0,
        help="Take each row's loss from a model fitted on the other K - 1 folds; 0 takes in-sample "
        "losses. The default model for a target always has folds.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of what rows belong to (a patient, a shop): rows of one group stay together. "
        "It is not an input.",
        show_default=False,
    ),
]
Strata = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column within whose values rows are compared (a week, a pair). It stays an input.",
        show_default=False,
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help=f"The model: {MODELS}. By default boosting when there is a target, else a density "
        "model chosen by the shape of the data.",
        show_default=False,
    ),
]
Discrepancy = Annotated[
    str,
    typer.Option(metavar="NAME", help=f"How to compare the samples: {DISCREPANCIES}."),
]
Alpha = Annotated[
    float,
    typer.Option(metavar="LEVEL", help="Level of the test: how often it may cry wolf."),
]
Resamples = Annotated[
    int,
    typer.Option(metavar="B", help="Random relabellings; the p-value is at least 1 / (B + 1)."),
]
Seed = Annotated[
    int,
    typer.Option(metavar="SEED", min=0, help="The same seed gives the same result."),
]
Jobs = Annotated[
    int,
    typer.Option(metavar="N", min=1, help="Tasks at a time; the result does not depend on it."),
]
DataDir = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Second place to look for the files; by default the folder in RDIV_DATA.",
        show_default=False,
    ),
]
JsonFile = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write the whole result to FILE as JSON; with - to standard output, and nothing else.",
        show_default=False,
    ),
]
