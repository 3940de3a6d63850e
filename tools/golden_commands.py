"""The command lines that tools/golden.py runs, by how their numbers are kept."""

from __future__ import annotations

from tools.golden_rules import Kept

MIXED = "reference.csv current.csv"
PLAIN = "p.csv q.csv"
WITH_TARGET = "p.npz q.npz"
TO_FILE = "--json result.json"

LEARNED = ("l-div", "me", "scf", "c2st-s", "c2st-l", "mmd-d")
"""Discrepancies that train a network or learn features."""

CLOSED = ("energy", "mmd-o")
"""Discrepancies without a model, or with one in closed form."""


def command_lines() -> dict[Kept, list[str]]:
    """Every command line, without the leading ``rdiv``; ``< FILE`` fills standard input."""
    lines: dict[Kept, list[str]] = {
        "exact": [*exact_lines(), *wrong_lines(), *help_lines()],
        "iterative": iterative_lines(),
        "searched": [
            f"test {PLAIN} --model kde --resamples 199",
            f"test {PLAIN} --model kde --folds 3 --resamples 99 --seed 5",
            f"compare {PLAIN} --resamples 199",
        ],
        "structure": unstable_lines(),
    }
    for name, kept in every_discrepancy().items():
        pair = MIXED if kept == "exact" else PLAIN
        lines[kept].append(f"test {pair} --discrepancy {name} --resamples 99")
    return {kept: [with_json(line) for line in some] for kept, some in lines.items()}


def every_discrepancy() -> dict[str, Kept]:
    """Every name in the registry, and how its numbers are kept with its default model."""
    from rdiv.discrepancies import BY_NAME

    kept: dict[str, Kept] = dict.fromkeys(BY_NAME, "searched")
    kept |= dict.fromkeys(LEARNED, "structure")
    kept |= dict.fromkeys(CLOSED, "exact")
    return {name: kept[name] for name in BY_NAME}


def with_json(line: str) -> str:
    """A command line that writes its result as JSON, if the command can."""
    name = line.split()[0]
    if "--json" in line or "--help" in line or name not in JSON_COMMANDS:
        return line
    before, arrow, after = line.partition(" < ")
    return f"{before} {TO_FILE}{arrow}{after}"


JSON_COMMANDS = ("test", "compare", "plan", "power", "denoise", "bound", "demo")


def exact_lines() -> list[str]:
    """Linear algebra, kernels and arithmetic."""
    score, groups = "--target score --model ridge", "--groups shop"
    return [
        f"test {PLAIN} --model pca --resamples 199 --json -",
        f"test {PLAIN} --model pca --folds 3 --resamples 99 --seed 5",
        f"test {MIXED} {score} --resamples 99",
        f"test {MIXED} {score} --folds 3 {groups} --resamples 99",
        f"test {MIXED} {score} --strata week --resamples 99",
        f"test {MIXED} --discrepancy energy {groups} --resamples 99",
        f"test {MIXED} --discrepancy mmd-o --strata week --resamples 99",
        f"test {MIXED} --discrepancy mmd-o --subsample 40 --resamples 99",
        f"test {MIXED} --discrepancy score {score} --resamples 99",
        f"test {MIXED} --discrepancy omnibus {score} --folds 3 --resamples 99",
        f"test {MIXED} --discrepancy ks-loss {score} --resamples 99",
        f"test {MIXED} --discrepancy cross-risk {score} --resamples 99",
        f"test {MIXED} --discrepancy h-div {score} --resamples 99",
        f"test {WITH_TARGET} --model ridge --folds 5 --resamples 99",
        "test p.npz::x q.npy --model pca --resamples 99",
        "test - current.csv --discrepancy energy --resamples 99 < reference.csv",
        "test reference.csv current.parquet --discrepancy energy --resamples 99",
        "test reference.csv current.jsonl --discrepancy energy --resamples 99",
        f"compare {PLAIN} --model pca --resamples 199",
        f"compare {MIXED} {score} --resamples 199 --html report.html",
        f"compare {MIXED} {score} {groups} --resamples 99 --json -",
        f"compare {MIXED} {score} --folds 0 --resamples 99",
        f"compare {MIXED} {score} --resamples 99 --no-rows",
        f"compare {MIXED} {score} --equivalence-margin 9 --not-worse-than 8 --resamples 99",
        f"compare reference.csv same.csv {score} --equivalence-margin 0.1 --resamples 99",
        f"compare {MIXED} {score} --resamples 99 --fail-on-shift",
        f"compare {MIXED} {score} --resamples 99 --fail-on-shift --min-gap 40",
        f"compare reference.csv same.csv {score} --resamples 99 --fail-on-shift",
        f"compare reference.csv current.csv same.csv {score} --resamples 199 --fail-on-shift",
        f"compare {MIXED} same.csv {score} --resamples 199 --correction bh --html report.html",
        f"compare {MIXED} {score} --by week --resamples 199",
        f"compare {MIXED} {score} --by week --alpha 0.1 --resamples 99 "
        "--min-gap 0.5 --fail-on-shift",
        f"compare {WITH_TARGET} --model ridge --resamples 199 --alpha 0.1 --seed 3",
        f"plan {MIXED} {score} --gap 0.8",
        f"plan {MIXED} {score} {groups} --ratio 2 --power 0.9 --sizes 50,400",
        f"plan {PLAIN} --discrepancy energy --sizes 20,40 --trials 5 --resamples 39 --json -",
        "power blob --discrepancy energy --discrepancy mmd-o --discrepancy r-div:pca --null "
        "--sizes 40,60 --trials 3 --repeats 2 --alpha 0.05,0.1 --resamples 39 --json -",
        "power hdgm:d=4 --discrepancy energy --sizes 40 --trials 3 --ratio 1.5 --json - --out kept",
        "power hdgm:d=4 --discrepancy energy --sizes 40 --trials 4 --ratio 1.5 --json - --out kept "
        "--extend",
        f"power --pair {PLAIN} --discrepancy energy --sizes 20 --trials 4 --jobs 2 --json -",
        "bound --complexity-p 0.05 --complexity-q 0.1 --rows 100,10000",
        "bound --norms 1.5,2 --lipschitz 0.5 --radius 2 --c 3 --delta 0.1 --json -",
        "reproduce",
        "reproduce blob --plan",
        "--version",
    ]


def iterative_lines() -> list[str]:
    """Boosting, logistic regression and mixtures."""
    label = "--target label --model logistic"
    return [
        f"test {PLAIN} --model gmm --resamples 199",
        f"test {PLAIN} --model gmm --folds 3 --resamples 99",
        f"test {MIXED} --target score --model boosting --resamples 99",
        f"test {MIXED} --target score --resamples 99",
        f"test {MIXED} {label} --resamples 99",
        f"test {MIXED} {label} --folds 5 --groups shop --resamples 99",
        f"test {MIXED} --target label --model boosting --strata week --resamples 99",
        f"test {MIXED} --target week --task classification --resamples 99",
        f"test {MIXED} --discrepancy score {label} --resamples 99",
        f"test {MIXED} --discrepancy omnibus {label} --folds 3 --resamples 99",
        f"test {PLAIN} --discrepancy h-div --model gmm --resamples 39",
        f"test {PLAIN} --discrepancy c2st-s --model logistic --resamples 99",
        f"test {PLAIN} --discrepancy c2st-l --model logistic --resamples 99",
        f"compare {MIXED} --target score --resamples 99 --not-worse-than 20",
        f"compare {MIXED} {label} --resamples 199 --html report.html",
        f"compare {MIXED} {label} --strata week --resamples 99",
        f"plan {MIXED} --target label --gap 0.2",
        f"plan {PLAIN} --discrepancy r-div --model gmm --folds 0",
        "power blob --discrepancy r-div --discrepancy score --model gmm --sizes 60 --trials 2 "
        "--share-fits --train fresh --json -",
        "denoise reference.csv --target label --out clean.csv --html report.html",
        "denoise reference.csv --target label --model logistic --noise-rate 0.1 --folds 3",
        "denoise reference.csv --target label --model logistic --noise-rate paper --json -",
    ]


def unstable_lines() -> list[str]:
    """Networks, and densities of more columns than so few rows can tell apart."""
    return [
        f"test {PLAIN} --model vae --resamples 39",
        f"test {WITH_TARGET} --model mlp --resamples 39",
        f"compare {MIXED} --resamples 99",
        f"compare {MIXED} --model pca --resamples 199",
    ]


def wrong_lines() -> list[str]:
    """Mistakes of users: all that counts is the exit code, and one sentence."""
    return [
        "test reference.csv nowhere.csv",
        "test reference.csv notes.docx",
        "test reference.csv empty.csv",
        "test reference.csv one_row.csv",
        "test reference.csv mixed.csv",
        "test reference.csv narrow.csv",
        "test reference.csv infinite.csv --discrepancy energy",
        "test p.npz::z q.npy",
        "test reference.csv",
        f"test {MIXED} --target scores",
        f"test {MIXED} --target label --task regression",
        f"test {MIXED} --task clustering --target label",
        f"test {MIXED} --groups nobody",
        f"test {MIXED} --strata shop",
        f"test {MIXED} --alpha 0",
        f"test {MIXED} --alpha 1.5",
        f"test {MIXED} --alpha high",
        f"test {MIXED} --resamples 10",
        f"test {MIXED} --seed -1",
        f"test {MIXED} --folds 1",
        f"test {MIXED} --discrepancy rdiv",
        f"test {MIXED} --discrepancy energy --model kde",
        f"test {MIXED} --subsample 20",
        f"test {MIXED} --model forest",
        f"test {MIXED} --model ridge",
        f"test {PLAIN} --model mlp",
        f"test {MIXED} --json nowhere/result.json",
        f"test {MIXED} --json current.csv",
        f"test {MIXED} --colour red",
        "compare - - < reference.csv",
        f"compare {MIXED} --by nowhere",
        f"compare {MIXED} --by city",
        f"compare {MIXED} same.csv --by week",
        f"compare {MIXED} same.csv --correction fdr",
        f"compare {MIXED} same.csv --resamples 19",
        f"compare {MIXED} --min-gap -1",
        f"compare {MIXED} --min-gap 1 --folds 0",
        f"compare {MIXED} --equivalence-margin 0",
        f"compare {MIXED} --html -",
        f"plan {MIXED} --power 2",
        f"plan {MIXED} --discrepancy energy --gap 1",
        "power blob --discrepancy energy",
        "power blobs --discrepancy energy --sizes 40",
        "power blob --discrepancy energy --sizes many",
        "power blob --sizes 40",
        "denoise reference.csv",
        "denoise reference.csv --target score",
        "denoise reference.csv --target label --noise-rate 1.5",
        "bound",
        "bound --complexity-p 0.1 --delta 2",
        "reproduce nothing",
        "data path nothing",
        "forecast",
    ]


def help_lines() -> list[str]:
    """The help of every command."""
    from typer.main import get_command

    from rdiv.cli import app

    commands = getattr(get_command(app), "commands", {})
    return ["--help", *(f"{name} --help" for name in commands)]
