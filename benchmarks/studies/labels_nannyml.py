"""Run NannyML's estimators on stored draws; called by labels_accuracy.py in another interpreter.

    python labels_nannyml.py DRAWS.npz KIND OUT.json

`KIND` is "cbpe" (0/1 loss, from probabilities of class 1) or "dle" (squared error). Every draw
gives the estimated mean loss on its current rows.
"""

from __future__ import annotations

import json
import os
import sys
import warnings

os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"
warnings.simplefilter("ignore")

import nannyml  # type: ignore[import-not-found]  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402


def frame(draws: np.lib.npyio.NpzFile, side: str, i: int) -> pd.DataFrame:
    """One side of a draw: inputs, what was predicted, and on the reference the target."""
    x = draws[f"{side}_x_{i}"]
    table = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
    table["score"] = draws[f"{side}_score_{i}"]
    table["target"] = draws[f"{side}_y_{i}"]
    return table


def estimate(reference: pd.DataFrame, current: pd.DataFrame, kind: str) -> float:
    """The mean loss on current that NannyML expects."""
    current = current.drop(columns="target")
    if kind == "cbpe":
        for table in (reference, current):
            table["predicted"] = (table["score"] >= 0.5).astype(int)
        reference["target"] = reference["target"].astype(int)
        method = nannyml.CBPE(
            metrics=["accuracy"], y_pred="predicted", y_pred_proba="score", y_true="target",
            problem_type="classification_binary", chunk_number=1,
        )  # fmt: skip
        column = "accuracy"
    else:
        inputs = [name for name in current.columns if name.startswith("x")]
        method = nannyml.DLE(
            metrics=["mse"], feature_column_names=inputs, y_pred="score", y_true="target",
            chunk_number=1,
        )  # fmt: skip
        column = "mse"
    found = method.fit(reference).estimate(current).filter(period="analysis").to_df()
    value = float(found[(column, "value")].iloc[0])
    return 1 - value if kind == "cbpe" else value


def main() -> None:
    """Estimate all draws of a file."""
    path, kind, out = sys.argv[1:4]
    with np.load(path) as draws:
        count = int(draws["count"])
        values = [
            estimate(frame(draws, "reference", i), frame(draws, "current", i), kind)
            for i in range(count)
        ]
    with open(out, "w", encoding="utf-8") as file:
        json.dump(values, file)


if __name__ == "__main__":
    main()
