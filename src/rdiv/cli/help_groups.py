"""Help in groups: what the data are, which model, how to decide, what to write."""

from __future__ import annotations

from typing import Any

import typer.core

__all__ = ["GROUPS", "GroupedCommand"]

GROUPS: dict[str, tuple[str, ...]] = {
    "Data": (
        "pair", "target", "prediction", "loss", "drop", "task", "groups", "strata", "by", "batches",
        "unit", "name", "train", "null", "sizes", "ratio", "data_dir", "max_decompressed",
        "subsample", "state", "reference", "cells",
    ),
    "Model": (
        "model", "retrain", "train_share", "folds", "fit_rows", "sample_rows", "discrepancy",
        "method", "noise_rate",
    ),
    "Decision": (
        "alpha", "resamples", "correction", "equivalence_margin", "not_worse_than",
        "fail_on_shift", "fail_on_alarm", "min_gap", "gap", "power", "rows",
    ),
    "Output": ("json", "html", "no_rows", "out", "part", "compact", "plot", "picture"),
    "Running": (
        "seed", "jobs", "scheduler", "trials", "repeats", "scale", "share_fits", "extend", "plan",
        "trained_trials", "minutes",
    ),
}  # fmt: skip
"""The groups of options, by the names that commands give their parameters."""

_OTHER = "Options"


class GroupedCommand(typer.core.TyperCommand):
    """A command whose help lists its options by what they are about."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then one list of options per group."""
        sections: dict[str, list[Any]] = {name: [] for name in ("Arguments", *GROUPS, _OTHER)}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                sections[_group(param)].append(record)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def _group(param: Any) -> str:
    if param.param_type_name == "argument":
        return "Arguments"
    return next((name for name, known in GROUPS.items() if param.name in known), _OTHER)
