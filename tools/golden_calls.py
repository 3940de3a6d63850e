"""The Python calls that tools/golden.py makes, by how their numbers are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from tools.golden_data import arrays, encodings, images, table
from tools.golden_rules import Kept

Calls = dict[str, Callable[[], Any]]


def python_calls() -> dict[Kept, Calls]:
    """Every call by its name; a call gives what `plain` of tools/golden.py can write."""
    exact = [gaps, comparisons, tests, rows, studies, draws, bounds, labels]
    return {
        "exact": {name: call for group in exact for name, call in group().items()},
        "iterative": {**fitted_gaps(), **fitted_labels()},
        "searched": searched_gaps(),
        "structure": trained(),
    }


def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The reference and the current table."""
    return table(60, 0.0, 1), table(50, 1.0, 2)


def gaps() -> Calls:
    """Estimates of the gap and the divergence alone."""
    import rdiv

    p, q = arrays("p"), arrays("q")
    reference, current = tables()
    frames: dict[str, Any] = {"target": "score", "model": "ridge", "rng": 0}
    return {
        "r_divergence ridge": lambda: rdiv.r_divergence(p, q, model="ridge", rng=0),
        "r_divergence pca": lambda: rdiv.r_divergence(p[0], q[0], model="pca", rng=0),
        "r_divergence pca, 3 folds": lambda: rdiv.r_divergence(
            p[0], q[0], model="pca", folds=3, rng=1
        ),
        "estimate_gap ridge": lambda: rdiv.estimate_gap(p, q, model="ridge", rng=0),
        "estimate_gap groups": lambda: rdiv.estimate_gap(
            reference, current, groups="shop", **frames
        ),
        "estimate_gap bootstrap": lambda: rdiv.estimate_gap(
            reference, current, method="bootstrap", n_resamples=199, **frames
        ),
        "estimate_gap population": lambda: rdiv.estimate_gap(
            p, q, model="ridge", estimand="population", alpha=0.1, rng=0
        ),
        "plan arrays": lambda: rdiv.plan(p, q, model="ridge", gap=0.5, rng=0),
    }


def fitted_gaps() -> Calls:
    """The same with fits that stop at a tolerance, and estimators of scikit-learn."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import rdiv

    p, q = arrays("p"), arrays("q")
    labelled = [(x, np.where(y > 0, "up", "down")) for x, y in (p, q)]
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    return {
        "r_divergence gmm": lambda: rdiv.r_divergence(p[0], q[0], model="gmm", rng=0),
        "r_divergence boosting": lambda: rdiv.r_divergence(p, q, rng=0),
        "estimate_gap logistic population": lambda: rdiv.estimate_gap(
            *labelled, model="logistic", estimand="population", rng=0
        ),
        "compare pipeline": lambda: rdiv.compare(
            *labelled, model=pipeline, n_resamples=99, drivers=False, rng=0
        ),
        "two_sample_test pipeline, 3 folds": lambda: rdiv.two_sample_test(
            *labelled, model=pipeline, folds=3, n_resamples=99, rng=0
        ),
    }


def searched_gaps() -> Calls:
    """The same with a bandwidth that is searched for."""
    import rdiv

    p, q = arrays("p")[0], arrays("q")[0]
    return {
        "r_divergence kde": lambda: rdiv.r_divergence(p, q, model="kde", rng=0),
        "estimate_gap kde": lambda: rdiv.estimate_gap(p, q, model="kde", rng=0),
    }


def comparisons() -> Calls:
    """`compare` and `compare_many` with options that no command has."""
    import rdiv

    p, q = arrays("p"), arrays("q")
    reference, current = tables()
    days = {"mon": (p[0][:30], p[1][:30]), "tue": q, "few": (q[0][:9], q[1][:9])}
    shared: dict[str, Any] = {"model": "ridge", "rng": 0}
    return {
        "compare groups as arrays": lambda: rdiv.compare(
            p, q, groups=(np.arange(60) // 3, 100 + np.arange(50) // 3), n_resamples=99, **shared
        ),
        "compare without drivers": lambda: rdiv.compare(
            p, q, drivers=False, n_resamples=99, **shared
        ),
        "compare_many holm": lambda: rdiv.compare_many(p, days, n_resamples=99, **shared),
        "compare_many bh": lambda: rdiv.compare_many(
            p, days, correction="bh", alpha=0.1, n_resamples=199, drivers=False,
            equivalence_margin=3, **shared
        ),
        "compare_many by": lambda: rdiv.compare_many(
            reference, current, by="week", target="score", groups="shop", n_resamples=99, **shared
        ),
    }  # fmt: skip


def tests() -> Calls:
    """`two_sample_test` with objects, frozen models and cells of every encoding."""
    from sklearn.linear_model import LinearRegression

    import rdiv
    from rdiv.discrepancies import Energy, GaussianMmd, Omnibus, RDivergence, Score
    from rdiv.models import CrossFit, Frozen, KernelDensity, PrincipalComponents, Ridge

    p, q = arrays("p"), arrays("q")
    frozen = Frozen(LinearRegression().fit(np.eye(3), np.arange(3)), trained_on="neither")
    pairs: dict[str, tuple[Any, Any, Any]] = {
        "Energy(scaled=True)": (p[0], q[0], Energy(scaled=True)),
        "GaussianMmd(power)": (p[0], q[0], GaussianMmd(bandwidth="power")),
        "RDivergence not studentised": (p, q, RDivergence(Ridge(), studentize=False)),
        "Score(CrossFit(Ridge))": (p, q, Score(CrossFit(Ridge(), 4))),
        "Omnibus of three": (
            p[0], q[0],
            Omnibus(members=(Energy(), GaussianMmd(), RDivergence(PrincipalComponents(2)))),
        ),
        "KernelDensity(0.5)": (p[0], q[0], RDivergence(KernelDensity(bandwidth=0.5))),
        "Frozen(LinearRegression)": (p, q, RDivergence(frozen)),
    }  # fmt: skip
    pairs |= {f"{name}, energy": (*pair, Energy()) for name, pair in encodings().items()}
    pairs |= {
        f"{name}, pca": (*pair, RDivergence(CrossFit(PrincipalComponents(1), 3)))
        for name, pair in encodings().items()
    }

    def call(pair: tuple[Any, Any, Any]) -> Callable[[], Any]:
        return lambda: rdiv.two_sample_test(*pair, n_resamples=99, rng=0)

    return {f"two_sample_test {name}": call(pair) for name, pair in pairs.items()}


def rows() -> Calls:
    """Pools: the canonical order, the streams of every stage, the prepared numbers."""
    import rdiv
    from rdiv.samples import pool_samples, resolve_seed

    p, q = arrays("p"), arrays("q")
    reference, current = tables()
    stages = ("halves", "learn", "fit", "masks", "drivers")

    def pooled(*pair: Any, **settings: Any) -> dict[str, Any]:
        found: Any = pool_samples(*pair, rng=4, **settings)
        pool = found.pool
        return {
            "seed": found.seed,
            "is_p": found.is_p,
            "places": found.places,
            "task": pool.task,
            "y": pool.y,
            "groups": pool.groups,
            "strata": pool.strata,
            "numbers": pool.numbers(),
            "twins": pool.first_copy,
            "streams": {stage: found.stream(stage).random(2) for stage in stages},
        }

    return {
        "pool of arrays": lambda: pooled(p[0], q[0]),
        "pool of pairs": lambda: pooled(p, q),
        "pool of tables": lambda: pooled(reference, current, target="label", strata="week"),
        "pool of grouped tables": lambda: pooled(reference, current, target="score", groups="shop"),
        "pool of images": lambda: pooled(*(x[:48].reshape(16, 3, 3) for x in (p[0], q[0]))),
        "read csv": lambda: rdiv.read("reference.csv"),
        "read npz": lambda: rdiv.read("p.npz"),
        "read parquet": lambda: rdiv.read("current.parquet"),
        "resolve_seed": lambda: [resolve_seed(3), resolve_seed(np.random.default_rng(3))],
    }


def studies() -> Calls:
    """Power studies with options that `rdiv power` has no words for."""
    import rdiv
    from rdiv.discrepancies import BY_NAME, Energy, describe

    p, q = arrays("p"), arrays("q")

    def spread(n: int, rng: np.random.Generator, null: bool) -> tuple[Any, Any]:
        return rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) * (1.0 if null else 3.0)

    few: dict[str, Any] = {"sizes": [20], "trials": 3, "n_resamples": 39}
    return {
        "power_study of a function": lambda: rdiv.power_study(
            spread, ["r-div:pca", Energy()], null=True, rng=2, **few
        ),
        "power_study of a pair": lambda: rdiv.power_study((p, q), ["r-div:ridge"], **few),
        "describe": lambda: [found.name for found in describe()] == list(BY_NAME),
    }


def draws() -> Calls:
    """Sources that need no file."""
    from rdiv.sources import Blob, Drawn, Hdgm, Pair, as_source

    p, q = arrays("p"), arrays("q")
    sources: dict[str, Any] = {
        "Blob": Blob(ratio=1.5),
        "Hdgm": Hdgm(d=3),
        "Hdgm rotated": Hdgm(d=4, rotated=True),
        "Pair": Pair(p, q),
        "Drawn": Drawn(lambda n, rng, null: (rng.normal(size=n), rng.normal(size=n) + null)),
        "as_source": as_source("blob"),
    }

    def call(source: Any, null: bool) -> Callable[[], Any]:
        return lambda: source.draw(12, np.random.default_rng(3), null)

    named = {
        f"{name}.draw{' null' if null else ''}": call(source, null)
        for name, source in sources.items()
        for null in (False, True)
    }
    return {**named, "Pair.fingerprint": lambda: Pair(p, q).fingerprint().split()}


def bounds() -> Calls:
    """Every bound and complexity of the theory."""
    from rdiv import theory

    risks: dict[str, Any] = {"n": 500, "c": 1.0, "l_divergence": 0.1}
    general: dict[str, Any] = {**risks, "complexity_p": 0.05, "complexity_q": 0.1}
    network: dict[str, Any] = {"n": 500, "lipschitz": 1.0, "radius": 2.0, "norms": [1.5, 2.0]}
    conditional: dict[str, Any] = {**network, "c": 1.0, "delta": 0.05}
    losses = np.abs(arrays("p")[0].T) % 1.0
    return {
        "general_bound": lambda: theory.general_bound(delta=0.05, **general),
        "deviation_bound": lambda: theory.deviation_bound(**general),
        "network_bound": lambda: theory.network_bound(l_divergence=0.1, **conditional),
        "conditional_bound": lambda: theory.conditional_bound(**conditional),
        "limit_bound": lambda: theory.limit_bound(l_divergence=0.3, r_divergence=0.1),
        "network_complexity": lambda: theory.network_complexity(outputs=3, **network),
        "sharp_general_bound": lambda: theory.sharp_general_bound(
            delta=0.05, expected=True, **general
        ),
        "sharp_deviation_bound": lambda: theory.sharp_deviation_bound(**general),
        "sharp_network_bound": lambda: theory.sharp_network_bound(l_divergence=0.1, **conditional),
        "sharp_conditional_bound": lambda: theory.sharp_conditional_bound(**conditional),
        "sharp_limit_bound": lambda: theory.sharp_limit_bound(l_divergence=0.3),
        "rademacher_complexity finite": lambda: theory.rademacher_complexity(
            losses, draws=200, rng=0
        ),
        "rademacher_complexity linear": lambda: theory.rademacher_complexity(
            theory.LinearClass(arrays("p")[0]), draws=200, confidence=0.9, rng=0
        ),
    }


def labels() -> Calls:
    """Labels made wrong on purpose."""
    from rdiv import noisy_labels

    names = np.repeat(["cat", "dog", "owl"], 12)
    return {
        "flip_labels symmetric": lambda: noisy_labels.flip_labels(names, rate=0.3, rng=0),
        "flip_labels pair": lambda: noisy_labels.flip_labels(names, "pair", 0.4, rng=1),
        "transition_matrix": lambda: noisy_labels.transition_matrix("pair", 0.2, 3),
        "split_by_loss": lambda: noisy_labels.split_by_loss(np.abs(arrays("p")[1]), 0.2),
    }


def fitted_labels() -> Calls:
    """Wrong labels found, and trained around."""
    from rdiv.noisy_labels import LabelNoiseDetector, RobustClassifier, flip_labels

    x, y = arrays("p")
    flipped = flip_labels((y > 0).astype(int), rate=0.15, rng=0)
    return {
        "LabelNoiseDetector loss": lambda: LabelNoiseDetector(
            "logistic", noise_rate=0.15, ranking="loss"
        ).fit(x, flipped, rng=0),
        "LabelNoiseDetector in-sample": lambda: LabelNoiseDetector(
            "logistic", noise_rate="paper", folds=None
        ).fit(x, flipped, rng=0),
        "RobustClassifier weight": lambda: (
            RobustClassifier(folds=3, random_state=0).fit(x, flipped).predict_proba(x)
        ),
        "RobustClassifier drop": lambda: (
            RobustClassifier(folds=3, action="drop", noise_rate=0.2, random_state=0)
            .fit(x, flipped)
            .predict_proba(x)
        ),
    }


def trained() -> Calls:
    """Networks, each trained for a moment."""
    import rdiv
    from rdiv.models import BY_NAME, Mlp, Vae
    from rdiv.noisy_labels import noise_sweep

    p, q = arrays("p"), arrays("q")
    y = (p[1] > 0).astype(int)
    data: Any = ((p[0][:40], y[:40]), (p[0][40:], y[40:]))
    names = ("alexnet", "resnet18", "senet", "convnext", "vit")

    def on_images(name: str) -> Callable[[], Any]:
        model = BY_NAME[name](width=8, epochs=1)
        return lambda: rdiv.r_divergence(images(0), images(1), model=model, rng=0)

    return {
        "r_divergence Mlp": lambda: rdiv.r_divergence(p, q, model=Mlp(epochs=2), rng=0),
        "two_sample_test Vae": lambda: rdiv.two_sample_test(
            p[0], q[0], model=Vae(epochs=2), n_resamples=39, rng=0
        ),
        "noise_sweep": lambda: (
            noise_sweep(
                *data, model=Mlp(epochs=2), shares=[0.2], trials=1, objectives=["weighted"]
            ).rows
        ),
        **{f"r_divergence {name}": on_images(name) for name in names},
    }
