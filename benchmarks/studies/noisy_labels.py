"""Wrong labels found and trained around: rdiv beside cleanlab and beside plain training.

    python benchmarks/studies/noisy_labels.py --rows ROWS --out docs/measured/noisy_labels_study.md

Every piece of work is one line in a file of ROWS, so that a run that was stopped goes on where it
was. cleanlab gets the same class probabilities out of fold as rdiv; its columns stay empty where
it is not installed (`--cleanlab DIR` names a folder that has it).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rdiv.models import Boosting, CrossFit, Logistic, Mlp, Training
from rdiv.noisy_labels import LabelNoiseDetector, flip_labels
from rdiv.noisy_labels.detection import class_probabilities, detect
from rdiv.noisy_labels.labelled import LabelledRows, pool_labelled
from rdiv.noisy_labels.posterior import fit_posterior
from rdiv.noisy_labels.retraining import retrain
from rdiv.noisy_labels.splitting import paper_share
from rdiv.noisy_labels.sweep import accuracy
from rdiv.parallel.threads import one_thread
from rdiv.samples.pool import Pool
from rdiv.sources.data_files import data_dir
from rdiv.studies.journal import Journal

Row = dict[str, Any]
SEED, RATE, FOLDS = 90, 0.2, 5
MNIST_ROWS, MNIST_TEST, DIGITS_ROWS, ACS_ROWS = 5000, 3000, 1200, 6000
NETWORK = Mlp(training=Training(epochs=20, schedule="step"))
DIGITS_NETWORK = Mlp(training=Training(epochs=50, schedule="step"))
ONE_SIDED = {0: 0.2, 1: 0.0}
_LOADED: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {}


def load(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows and right labels of a data set."""
    if name not in _LOADED:
        if name == "digits":
            from sklearn.datasets import load_digits

            x, y = load_digits(return_X_y=True)
            _LOADED[name] = x / 16, y
        elif name == "mnist":
            with np.load(data_dir() / "mnist.npz") as file:
                x = file["x_train"].reshape(60000, -1).astype(np.float32) / 255
                _LOADED[name] = x, file["y_train"].astype(int)
        else:
            with np.load(data_dir() / "acs_employment_ma.npz") as file:
                _LOADED[name] = file["x"].astype(np.float32), file["y"].astype(int)
    return _LOADED[name]


def draw(name: str, n: int, n_test: int, seed: int) -> tuple[Any, ...]:
    """Training rows, right labels, test rows and theirs."""
    x, y = load(name)
    order = np.random.default_rng([SEED, seed]).permutation(len(y))
    train, test = order[:n], order[n : n + n_test]
    return x[train], y[train], x[test], y[test]


def flipped(y: NDArray[Any], kind: str, rate: float, seed: int) -> NDArray[Any]:
    rng = np.random.default_rng([SEED, seed, 1])
    if kind == "one-sided":
        chance = np.vectorize(ONE_SIDED.__getitem__)(y)
        return np.where(rng.random(len(y)) < chance, 1 - y, y)
    return flip_labels(y, kind, rate, rng)  # type: ignore[arg-type]


# Scores and rates


def judged(wrong: NDArray[np.bool_], suspicion: NDArray[np.float64]) -> Row:
    """Ranking quality: area under the curve, average precision, precision at the true rate."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    top = np.argsort(-suspicion, kind="stable")[: wrong.sum()]
    return {
        "auroc": float(roc_auc_score(wrong, suspicion)),
        "ap": float(average_precision_score(wrong, suspicion)),
        "precision": float(wrong[top].mean()),
    }


def peer_scores(given: Any, predicted: Any) -> dict[str, Any]:
    """What cleanlab says; nothing where it is absent."""
    try:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from cleanlab.count import num_label_issues
            from cleanlab.filter import find_label_issues
            from cleanlab.rank import get_label_quality_scores
    except ImportError:
        return {}
    return {
        "self": 1 - get_label_quality_scores(given, predicted),
        "margin": 1 - get_label_quality_scores(given, predicted, method="normalized_margin"),
        "issues": find_label_issues(given, predicted, n_jobs=1),
        "rate": num_label_issues(given, predicted) / len(given),
    }


def mixture_rate(losses: NDArray[np.float64], seed: int) -> float:
    """Weight of the upper of two normals fitted to the log odds of the given labels."""
    from sklearn.mixture import GaussianMixture

    p = np.clip(np.exp(-losses), 1e-6, 1 - 1e-6)
    mixture = GaussianMixture(2, random_state=seed).fit(np.log((1 - p) / p)[:, None])
    return float(mixture.weights_[mixture.means_[:, 0].argmax()])


def compared(rows: LabelledRows, model: Any, right: NDArray[Any], seed: int) -> tuple[Row, Any]:
    """Cross-fit once; rank by rdiv, by the loss and by cleanlab from the same probabilities."""
    judge = CrossFit(model, FOLDS)
    with one_thread():
        start = process_time()
        fitted = judge.fit(rows.pool, rows.stream())
        fitted.losses(rows.pool)
        cross_fit = process_time() - start
        start = process_time()
        noise = detect(rows, judge, fitted, LabelNoiseDetector(model))
        more = process_time() - start
        predicted = rows.as_given(class_probabilities(fitted, rows.pool))
        start = process_time()
        fitted.losses(rows.pool)
        again = process_time() - start
    wrong = noise.given != right
    codes = np.searchsorted(noise.classes, noise.given)
    posterior = fit_posterior(predicted, codes)
    assert noise.noise_interval is not None
    found: Row = {
        "cost": 1 + (more - again) / cross_fit,
        "true": float(wrong.mean()),
        "auto": noise.noise_rate,
        "anchors": posterior.anchor_rate,
        "low": noise.noise_interval.low,
        "high": noise.noise_interval.high,
        "mixture": mixture_rate(noise.losses, seed),
        "paper": paper_share(noise.losses) / 2,
    }
    peer = peer_scores(codes, predicted)
    found["cleanlab"] = peer.get("rate")
    if wrong.any():
        found["rdiv"] = judged(wrong, -noise.ranks.astype(float))
        found["loss"] = judged(wrong, noise.losses)
        found["suspected"] = _caught(noise.suspected, wrong)
        for name in ("self", "margin"):
            found[name] = judged(wrong, peer[name]) if peer else None
        found["issues"] = _caught(peer["issues"], wrong) if peer else None
    return found, (fitted, noise)


def _caught(flagged: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> Row:
    hits = float((flagged & wrong).sum())
    precision, recall = hits / max(flagged.sum(), 1), hits / max(wrong.sum(), 1)
    return {"precision": precision, "recall": recall}


# Pieces of work


def digits_detection(kind: str, seed: int) -> Row:
    x, y = load("digits")
    rows = pool_labelled(x, flipped(y, kind, RATE, seed), rng=seed)
    return compared(rows, Logistic(), y, seed)[0]


def digits_rate(kind: str, rate: float, seed: int) -> Row:
    x, y = load("digits")
    rows = pool_labelled(x, flipped(y, kind, rate, seed), rng=seed)
    return compared(rows, Logistic(), y, seed)[0]


def acs_detection(kind: str, seed: int) -> Row:
    x, y, *_ = draw("acs", ACS_ROWS, 0, seed)
    rows = pool_labelled(x, flipped(y, kind, 0.1, seed), rng=seed)
    return compared(rows, Boosting(), y, seed)[0]


def network(data: str, kind: str, seed: int) -> Row:
    """Detection and retraining with one cross-fit; kind "none" leaves the labels right."""
    n, n_test = (DIGITS_ROWS, 597) if data == "digits" else (MNIST_ROWS, MNIST_TEST)
    model = DIGITS_NETWORK if data == "digits" else NETWORK
    x, y, x_test, y_test = draw(data, n, n_test, seed)
    given = y if kind == "none" else flipped(y, kind, RATE, seed)
    rows = pool_labelled(x, given, rng=seed)
    found, (fitted, noise) = compared(rows, model, y, seed)
    assert rows.pool.classes is not None
    test = Pool(x_test, y=y_test, task="classification", classes=rows.pool.classes)
    recipe = fitted.fits[0].recipe
    ranks, wrong = -noise.ranks[rows.places], noise.probabilities[rows.places]

    def score(share: float, objective: str = "complementary") -> float:
        rng = np.random.default_rng([SEED, seed, 2])
        return accuracy(retrain(recipe, rows.pool, ranks, wrong, share, objective, rng), test)

    with one_thread():
        found["plain"] = score(0.0)
        found["robust"] = {"auto": score(noise.noise_rate)}
        if kind != "none":
            found["robust"]["paper"] = score(paper_share(noise.losses))
            for share in (0.2, 0.3, 0.4):
                found["robust"][f"{share:g}"] = score(share)
            found["weighted"], found["difference"] = {}, {}
            for objective in ("weighted", "difference"):
                for share in (0.2, 0.4):
                    found[objective][f"{share:g}"] = _or_none(score, share, objective)
    return found


def _or_none(score: Callable[..., float], share: float, objective: str) -> float | None:
    try:
        return score(share, objective)
    except ValueError:
        return None


def sklearn_robust(kind: str, seed: int) -> Row:
    """A scikit-learn classifier on digits: suspected rows weighed or dropped."""
    from sklearn.linear_model import LogisticRegression

    from rdiv.noisy_labels import RobustClassifier

    x, y, x_test, y_test = draw("digits", DIGITS_ROWS, 597, seed)
    given = y if kind == "none" else flipped(y, kind, RATE, seed)
    model = LogisticRegression(max_iter=500)
    found: Row = {"plain": float(model.fit(x, given).score(x_test, y_test))}
    for action in ("weight", "drop"):
        for share in ("auto",) if kind == "none" else ("auto", 0.2, 0.3, 0.4):
            robust = RobustClassifier(model, noise_rate=share, action=action, random_state=seed)
            found[f"{action} {share}"] = float(robust.fit(x, given).score(x_test, y_test))
    return found


KINDS = ("symmetric", "pair")
PARTS: dict[str, tuple[Callable[..., Row], Callable[[], Iterator[tuple[Any, ...]]]]] = {
    "digits": (digits_detection, lambda: ((k, s) for s in range(20) for k in KINDS)),
    "rates": (
        digits_rate,
        lambda: ((k, r, s) for s in range(5) for r in (0.0, 0.05, 0.1, 0.3, 0.4) for k in KINDS),
    ),
    "sklearn": (sklearn_robust, lambda: ((k, s) for s in range(5) for k in (*KINDS, "none"))),
    "acs": (
        acs_detection,
        lambda: ((k, s) for s in range(5, 10) for k in ("symmetric", "one-sided")),
    ),
    "digits-network": (
        lambda kind, seed: network("digits", kind, seed),
        lambda: ((k, s) for s in range(5) for k in (*KINDS, "none")),
    ),
    "mnist-network": (
        lambda kind, seed: network("mnist", kind, seed),
        lambda: ((k, s) for s in range(5) for k in (*KINDS, "none")),
    ),
}


def work(part: str, folder: Path, most: float) -> dict[tuple[Any, ...], Row]:
    """Rows of a part, from disk and, while time is left, computed."""
    function, keys = PARTS[part]
    start = process_time()
    with Journal(folder / f"{part}.jsonl", task="draw") as journal:
        known = {tuple(row["key"]): row["result"] for row in journal.rows}
        for key in keys():
            if key in known or (most < np.inf and process_time() - start >= most):
                continue
            known[key] = function(*key)
            journal.append({"key": [*key], "result": known[key]})
            print(part, *key, f"{process_time() - start:.0f} s", flush=True)
    return known


# The page


def interval(values: Any) -> str:
    """Mean and 95 % t interval."""
    from scipy.stats import t

    v = np.asarray([x for x in values if x is not None], dtype=float)
    if not len(v):
        return "-"
    if len(v) == 1:
        return f"{v[0]:.3f}"
    half = t.ppf(0.975, len(v) - 1) * v.std(ddof=1) / len(v) ** 0.5
    return f"{v.mean():.3f} ± {half:.3f}"


def gain(ours: Any, theirs: Any) -> str:
    """Paired mean difference and its 95 % t interval, with a sign."""
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None]
    if not pairs:
        return "-"
    text = interval([a - b for a, b in pairs])
    return text if text.startswith("-") else f"+{text}"


def table(head: list[str], body: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return [*lines, *("| " + " | ".join(row) + " |" for row in body), ""]


def of_kind(rows: dict[tuple[Any, ...], Row], kind: str) -> list[Row]:
    return [row for key, row in sorted(rows.items(), key=str) if key[0] == kind]


def detection_lines(title: str, rows: dict[tuple[Any, ...], Row], kinds: tuple[str, ...]) -> Any:
    head = ["flips", "measure", "rdiv", "by the loss", "cleanlab, self-confidence",
            "cleanlab, margin", "rdiv - self-confidence"]  # fmt: skip
    names = {"auroc": "AUROC", "ap": "average precision", "precision": "precision at true rate"}
    body = []
    for kind in kinds:
        chosen = of_kind(rows, kind)
        for measure, words in names.items():
            columns = [
                [(row[who] or {}).get(measure) for row in chosen]
                for who in ("rdiv", "loss", "self", "margin")
            ]
            cells = [interval(column) for column in columns]
            body.append([kind, words, *cells, gain(columns[0], columns[2])])
        for which in ("precision", "recall"):
            ours = [row["suspected"][which] for row in chosen]
            theirs = [(row["issues"] or {}).get(which) for row in chosen]
            cells = [interval(ours), "", interval(theirs), "", gain(ours, theirs)]
            body.append([kind, f"{which} of the rows flagged", *cells])
    trials = len(of_kind(rows, kinds[0]))
    if not trials:
        return []
    return [f"## {title}", "", f"{trials} seeds.", "", *table(head, body)]


def rate_lines(parts: dict[str, dict[tuple[Any, ...], Row]]) -> list[str]:
    names = {
        "auto": "auto",
        "anchors": "anchors",
        "mixture": "loss mixture",
        "cleanlab": "cleanlab",
        "paper": "paper's rule / 2",
    }
    groups: dict[str, list[Row]] = {}
    for kind in KINDS:
        for rate in (0.0, 0.05, 0.1, 0.3, 0.4):
            chosen = [r for key, r in parts["rates"].items() if key[:2] == (kind, rate)]
            groups[f"digits, {kind}, {rate:g}"] = chosen
        groups[f"digits, {kind}, 0.2"] = of_kind(parts["digits"], kind)
        groups[f"digits network, {kind}, 0.2"] = of_kind(parts["digits-network"], kind)
        groups[f"MNIST, {kind}, 0.2"] = of_kind(parts["mnist-network"], kind)
    for data in ("digits", "mnist"):
        groups[f"{data} network, no flips"] = of_kind(parts[f"{data}-network"], "none")
    groups["ACS, symmetric, 0.1"] = of_kind(parts["acs"], "symmetric")
    groups["ACS, one-sided"] = of_kind(parts["acs"], "one-sided")
    body, errors = [], {name: [] for name in names}  # type: ignore[var-annotated]
    inside = total = 0
    for title in sorted(groups):
        chosen = groups[title]
        if not chosen:
            continue
        hits = sum(row["low"] <= row["true"] <= row["high"] for row in chosen)
        inside, total = inside + hits, total + len(chosen)
        cells = []
        for name in names:
            misses = [row[name] - row["true"] for row in chosen if row[name] is not None]
            errors[name] += [float(np.mean(np.abs(misses)))] if misses else []
            cells.append(f"{np.mean(misses):+.3f}" if misses else "-")
        true = f"{np.mean([row['true'] for row in chosen]):.3f}"
        body.append([title, true, *cells, f"{hits} of {len(chosen)}"])
    means = [f"{np.mean(errors[name]):.3f}" if errors[name] else "-" for name in names]
    body.append(["**mean absolute error**", "", *means, f"{inside} of {total}"])
    head = ["data, flips, rate", "true share", *names.values(), "truth in the interval"]
    about = "Mean error of every estimate (estimate minus truth)."
    return ["## How many labels are wrong", "", about, "", *table(head, body)]


def robust_lines(title: str, rows: dict[tuple[Any, ...], Row]) -> list[str]:
    if not rows:
        return []
    body = []
    for kind in KINDS:
        chosen = of_kind(rows, kind)
        plain = [row["plain"] for row in chosen]
        body.append([kind, "plain training", "", interval(plain), ""])
        for objective in ("robust", "weighted", "difference"):
            name = "complementary" if objective == "robust" else objective
            for share in chosen[0][objective] if chosen else ():
                ours = [row[objective][share] for row in chosen]
                body.append([kind, name, share, interval(ours), gain(ours, plain)])
    none = of_kind(rows, "none")
    if none:
        plain = [row["plain"] for row in none]
        ours = [row["robust"]["auto"] for row in none]
        body.append(["none", "plain training", "", interval(plain), ""])
        body.append(["none", "complementary", "auto", interval(ours), gain(ours, plain)])
    head = ["flips", "objective", "gamma", "accuracy", "minus plain"]
    return [f"## {title}", "", f"{len(of_kind(rows, KINDS[0]))} seeds.", "", *table(head, body)]


def sklearn_lines(rows: dict[tuple[Any, ...], Row]) -> list[str]:
    if not rows:
        return []
    body = []
    for kind in (*KINDS, "none"):
        chosen = of_kind(rows, kind)
        plain = [row["plain"] for row in chosen]
        body.append([kind, "plain", "", interval(plain), ""])
        for name in [name for name in chosen[0] if name != "plain"] if chosen else []:
            ours = [row[name] for row in chosen]
            body.append([kind, *name.split(), interval(ours), gain(ours, plain)])
    head = ["flips", "action", "gamma", "accuracy", "minus plain"]
    title = "## Logistic regression on digits: suspected rows weighed or dropped"
    return [title, "", f"{len(of_kind(rows, 'none'))} seeds.", "", *table(head, body)]


def page(parts: dict[str, dict[tuple[Any, ...], Row]]) -> str:
    costs = {name: [row["cost"] for row in rows.values()] for name, rows in parts.items()
             if rows and name != "sklearn"}  # fmt: skip
    cost = ", ".join(f"{name} {np.median(values):.3f}" for name, values in costs.items())
    lines = [
        "# Wrong labels: what was measured",
        "",
        "<!-- Written by benchmarks/studies/noisy_labels.py; do not edit. -->",
        "",
        f"Seeds start from {SEED}; {RATE:.0%} of the labels flip unless said otherwise; {FOLDS}",
        "folds; the same folds and probabilities for rdiv and cleanlab. Digits: 1797 rows and",
        f"logistic regression (detection), {DIGITS_ROWS} rows and a perceptron of 128 + 128 units",
        f"for 50 epochs (networks). MNIST: {MNIST_ROWS} rows and such a perceptron for 20 epochs,",
        f"tested on {MNIST_TEST} other rows. ACS: {ACS_ROWS} rows, boosting. `±` is a 95 % t",
        "interval of the mean over seeds, differences are paired. How many anchors are taken, the",
        "floor of clean probabilities and when classes get rates of their own was chosen on other",
        "draws of flips of digits, and on other rows of ACS. That `auto`",
        "is the mean probability of a wrong label was settled after one seed of MNIST, which is in",
        "the table.",
        "",
        f"Time of detection over the time of the cross-fit alone (median): {cost}.",
        "",
        *detection_lines("Digits, logistic regression", parts["digits"], KINDS),
        *detection_lines("MNIST, perceptron", parts["mnist-network"], KINDS),
        *detection_lines("Digits, perceptron", parts["digits-network"], KINDS),
        *detection_lines(
            "ACS employment, boosting, 10 % flips (one-sided: 20 % of class 0)",
            parts["acs"],
            ("symmetric", "one-sided"),
        ),
        *rate_lines(parts),
        *robust_lines("Retraining a perceptron on digits", parts["digits-network"]),
        *robust_lines("Retraining a perceptron on MNIST", parts["mnist-network"]),
        *sklearn_lines(parts["sklearn"]),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Work through the parts and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=Path, default=Path("noisy_labels_rows"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", choices=list(PARTS), action="append")
    parser.add_argument("--cleanlab", help="a folder that has cleanlab, for the comparison")
    parser.add_argument("--most", type=float, default=np.inf, help="seconds of work a part")
    args = parser.parse_args()
    if args.cleanlab:
        sys.path.append(args.cleanlab)
    if not peer_scores(np.array([0, 1]), np.eye(2) * 0.8 + 0.1):
        print("cleanlab is not installed, so its columns stay empty; pip install cleanlab.")
    args.rows.mkdir(parents=True, exist_ok=True)
    wanted = args.only or list(PARTS)
    parts = {name: work(name, args.rows, args.most if name in wanted else 0) for name in PARTS}
    if args.out:
        args.out.write_text(page(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
